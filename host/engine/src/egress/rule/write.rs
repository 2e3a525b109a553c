//! Writing a rule, so that reading it gives the same rule.

use std::fmt;

use ipnet::IpNet;
use serde::{Serialize, Serializer};

use super::{HostPattern, HttpRule, InDoubt};
use crate::egress::Scheme;

impl fmt::Display for HttpRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, method) in self.methods.iter().enumerate() {
            write!(f, "{}{method}", if place > 0 { "," } else { "" })?;
        }
        if !self.methods.is_empty() {
            f.write_str(" ")?;
        }
        if self.scheme == Scheme::Http {
            f.write_str("http://")?;
        }
        write!(f, "{}", self.host)?;
        if self.port != self.scheme.port() {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(self.path.as_deref().unwrap_or_default())?;
        if self.private {
            f.write_str(" private")?;
        }
        match self.in_doubt {
            InDoubt::Resend => Ok(()),
            InDoubt::Fail => f.write_str(" in-doubt=fail"),
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Name(name) => f.write_str(name),
            Self::Below(domain) => write!(f, "*.{domain}"),
            Self::Range(range @ IpNet::V4(_)) if range.prefix_len() == 32 => write!(f, "{}", range.addr()),
            Self::Range(range @ IpNet::V6(_)) if range.prefix_len() == 128 => write!(f, "[{}]", range.addr()),
            Self::Range(range @ IpNet::V4(_)) => write!(f, "{range}"),
            Self::Range(range @ IpNet::V6(_)) => write!(f, "[{range}]"),
        }
    }
}

/// As its text.
impl Serialize for HttpRule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

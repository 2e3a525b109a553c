//! Where a request goes, in the one spelling that rules are compared with.

use std::fmt;
use std::net::IpAddr;

use url::{Host, Url};

use super::{Code, Failure};

/// The two ways to speak HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Scheme {
    Https,
    Http,
}

/// A host: a name in lower case and punycode, without the dot at its end, or an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Peer {
    Name(String),
    Address(IpAddr),
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Target {
    pub scheme: Scheme,
    pub peer: Peer,
    pub port: u16,
    /// As it goes over the wire, without the query: `.` and `..` are worked out.
    pub path: String,
}

impl Scheme {
    /// The port where nothing else is said.
    pub fn port(self) -> u16 {
        match self {
            Self::Https => 443,
            Self::Http => 80,
        }
    }

    /// `https` or `http`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }
}

impl Peer {
    /// The host of a URL. An IPv4 address written as IPv6 (`::ffff:10.0.0.5`) is the IPv4 address.
    pub fn of(host: Host<&str>) -> Self {
        match host {
            Host::Domain(name) => Self::Name(name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()),
            Host::Ipv4(address) => Self::Address(address.into()),
            Host::Ipv6(address) => Self::Address(IpAddr::V6(address).to_canonical()),
        }
    }
}

impl Target {
    /// Where a URL leads. [`Url`] has normalised it: every spelling of an IPv4 address (`127.1`, `0x7f000001`) is an address
    /// by now, names are in punycode, and `..` and `%2e%2e` in the path are gone.
    pub fn of(url: &Url) -> Result<Self, Failure> {
        let invalid = |why: &str| Err(Failure::unsent(Code::RequestUriInvalid, why));
        let scheme = match url.scheme() {
            "https" => Scheme::Https,
            "http" => Scheme::Http,
            _ => return invalid("the URL's scheme is neither https nor http"),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return invalid("the URL holds a user name or a password; put them into the header `authorization`");
        }
        let Some(host) = url.host() else { return invalid("the URL has no host") };
        let port = url.port().unwrap_or(scheme.port());
        Ok(Self { scheme, peer: Peer::of(host), port, path: url.path().to_owned() })
    }

    /// Host and port, as they are in a URL, the port only where it is not the usual one.
    pub fn authority(&self) -> String {
        match self.port == self.scheme.port() {
            true => self.peer.to_string(),
            false => format!("{}:{}", self.peer, self.port),
        }
    }
}

/// Without path and query, which may hold what is nobody's business.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme.as_str(), self.authority())
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Address(IpAddr::V4(address)) => write!(f, "{address}"),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

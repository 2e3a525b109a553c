//! What an operator allows, and a plugin declares: hosts, with methods and paths where it matters.
//!
//! | rule | allows |
//! |---|---|
//! | `api.example.com` | `https://api.example.com`, port 443, any method and path |
//! | `api.example.com:8443` | the same at port 8443, and only there |
//! | `*.example.com` | every name below `example.com`, at any depth, not `example.com` itself |
//! | `*` | every name that leads to a public address |
//! | `http://internal.example:8080` | plain HTTP, which nothing else allows |
//! | `GET,HEAD api.example.com` | these methods only |
//! | `api.example.com/v1` | the path `/v1`, and what is below it: `/v1/x`, not `/v1x` |
//! | `api.example.com/v1/` | what is below `/v1/`, not `/v1` |
//! | `10.0.0.5`, `[fd00::5]:8080` | this address, private or not, written as an address in the URL |
//! | `10.0.0.0/8`, `[fd00::/8]:8080` | every address in that range, written as an address in the URL |
//! | `localhost:9000` | a name whose address is this machine's own |
//! | `api.internal private` | a name that may lead to a private address or to this machine |
//! | `api.example.com in-doubt=fail` | a request whose outcome a crash left unknown is not sent again |
//!
//! Nothing is allowed that no rule allows. A name's rule never allows a URL with an address in it, nor the other way round.

mod path;
mod read;
#[cfg(test)]
mod tests;
mod write;

use std::net::IpAddr;

use http::Method;
use ipnet::IpNet;

use super::address::Kind;
use super::target::Peer;
use super::{Scheme, Target};

/// A host that may be spoken to, and how. Its grammar is a table at the top of `rule.rs`, and in `docs/http.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HttpRule {
    scheme: Scheme,
    host: HostPattern,
    port: u16,
    /// In alphabetical order; none at all: every method.
    methods: Vec<Method>,
    path: Option<String>,
    private: bool,
    in_doubt: InDoubt,
}

/// Which hosts a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    /// Every name.
    Any,
    /// One name.
    Name(String),
    /// Every name below this one.
    Below(String),
    /// Addresses, one or a range.
    Range(IpNet),
}

/// What becomes of a request that was on its way when the host died.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum InDoubt {
    /// It is sent again, with the same `Idempotency-Key`.
    #[default]
    Resend,
    /// It fails, and the guest decides: for peers that ignore the key.
    Fail,
}

impl HttpRule {
    /// Whether the rule allows a request of that method to go there. The address that a name leads to is another question:
    /// [`HttpRule::admits`].
    pub fn allows(&self, method: &Method, target: &Target) -> bool {
        self.scheme == target.scheme
            && self.port == target.port
            && self.host.covers(&target.peer)
            && (self.methods.is_empty() || self.methods.contains(method))
            && self.path.as_deref().is_none_or(|prefix| path::is_below(prefix, &target.path))
    }

    /// Whether a request that the rule allows may go to that address.
    pub fn admits(&self, address: IpAddr) -> bool {
        match &self.host {
            // An address that is named is named, whatever it is.
            HostPattern::Range(range) => range.contains(&address),
            HostPattern::Name(name) | HostPattern::Below(name) if is_localhost(name) => {
                Kind::of(address) == Kind::Loopback
            }
            _ => match Kind::of(address) {
                Kind::Public => true,
                kind => self.private && kind.is_private(),
            },
        }
    }

    /// Whether the rule is about that host at all, by whatever port, method and path.
    pub(super) fn is_about(&self, target: &Target) -> bool {
        self.host.covers(&target.peer)
    }

    /// What is left of a rule that an operator grants to a plugin that declares `declared`: what both allow. Whether a name
    /// may lead to a private address, and what becomes of requests in doubt, is the operator's word alone.
    pub fn within(&self, declared: &Self) -> Option<Self> {
        if self.scheme != declared.scheme || self.port != declared.port {
            return None;
        }
        let methods = match (self.methods.as_slice(), declared.methods.as_slice()) {
            ([], some) | (some, []) => some.to_vec(),
            (these, those) => {
                let both: Vec<_> = these.iter().filter(|method| those.contains(method)).cloned().collect();
                (!both.is_empty()).then_some(both)?
            }
        };
        let path = match (&self.path, &declared.path) {
            (None, path) | (path, None) => path.clone(),
            (Some(this), Some(that)) if path::is_below(that, this) => Some(this.clone()),
            (Some(this), Some(that)) if path::is_below(this, that) => Some(that.clone()),
            _ => return None,
        };
        Some(Self { host: self.host.meet(&declared.host)?, methods, path, ..self.clone() })
    }

    /// What becomes of a request that was on its way when the host died.
    pub fn in_doubt(&self) -> InDoubt {
        self.in_doubt
    }

    /// Whether everything that it allows is either encrypted or near: where a secret may go.
    pub(super) fn keeps_secrets(&self) -> bool {
        self.scheme == Scheme::Https
            || self.private
            || match &self.host {
                HostPattern::Name(name) | HostPattern::Below(name) => is_localhost(name),
                HostPattern::Range(range) => {
                    // Both ends of a range may be private with public addresses between them only if it is larger than
                    // any private range is, and then its first address is not private.
                    [range.network(), range.broadcast()].iter().all(|&end| {
                        let kind = Kind::of(end);
                        kind.is_private() || kind == Kind::LinkLocal
                    })
                }
                HostPattern::Any => false,
            }
    }
}

impl HostPattern {
    fn covers(&self, peer: &Peer) -> bool {
        match (self, peer) {
            (Self::Any, Peer::Name(_)) => true,
            (Self::Name(this), Peer::Name(name)) => this == name,
            (Self::Below(domain), Peer::Name(name)) => is_below(domain, name),
            (Self::Range(range), Peer::Address(address)) => range.contains(address),
            (Self::Range(_), Peer::Name(_)) | (_, Peer::Address(_)) => false,
        }
    }

    /// The hosts that both are about.
    fn meet(&self, other: &Self) -> Option<Self> {
        let smaller = match (self, other) {
            (Self::Any, name @ (Self::Any | Self::Name(_) | Self::Below(_)))
            | (name @ (Self::Name(_) | Self::Below(_)), Self::Any) => name,
            (Self::Name(this), Self::Name(that)) if this == that => self,
            (Self::Name(name), Self::Below(domain)) if is_below(domain, name) => self,
            (Self::Below(domain), Self::Name(name)) if is_below(domain, name) => other,
            (Self::Below(this), Self::Below(that)) if this == that || is_below(that, this) => self,
            (Self::Below(this), Self::Below(that)) if is_below(this, that) => other,
            (Self::Range(this), Self::Range(that)) if that.contains(this) => self,
            (Self::Range(this), Self::Range(that)) if this.contains(that) => other,
            _ => return None,
        };
        Some(smaller.clone())
    }
}

fn is_below(domain: &str, name: &str) -> bool {
    name.strip_suffix(domain).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

/// Whether a name is this machine's own by its nature (RFC 6761), so that a rule for it means nothing else.
fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

//! What leaves the machine for a task, and what comes back.
//!
//! A guest has no network. It hands over a whole request; here it is judged by the [rules](HttpRule) that the task has, its
//! host's name is resolved and the address judged too, [secrets](SecretUse) are put in, it is sent over a connection to
//! exactly that address, and the response is read within bounds and rid of the secrets before anybody sees it. What
//! [`Egress::send`] returns may be journaled.
//!
//! `docs/http.md` says the same to operators and authors.

mod address;
mod config;
mod connect;
mod exchange;
mod failure;
mod headers;
mod kept;
mod key;
mod mask;
mod proxy;
mod resolve;
mod rule;
mod secret;
mod send;
mod target;
#[cfg(test)]
mod tests;
mod tls;
mod transfer;

pub(crate) use config::HttpConfig;
pub(crate) use exchange::{Bounds, Incoming, Outgoing};
pub(crate) use failure::{Code, Failure};
pub(crate) use headers::is_forbidden;
pub(crate) use kept::{keep, read_kept};
pub(crate) use key::{key, resend};
pub(crate) use resolve::Resolve;
pub(crate) use rule::{HttpRule, InDoubt};
pub(crate) use secret::{Secret, SecretSource, SecretUse};
pub(crate) use send::Egress;
pub(crate) use target::{Scheme, Target};

/// Whether an address belongs to the internet at large.
pub(crate) fn is_public(address: std::net::IpAddr) -> bool {
    address::Kind::of(address) == address::Kind::Public
}

/// Who sends something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub namespace: &'a str,
    /// `None`: the host itself does, in the namespace's behalf.
    pub plugin: Option<&'a str>,
}

/// What a task may send, now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed<'a> {
    pub whose: Whose<'a>,
    pub rules: &'a [HttpRule],
    pub secrets: &'a [Secret],
    /// The task's seed, from which its placeholders come.
    pub seed: &'a [u8; 32],
}

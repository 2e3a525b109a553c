//! What leaves the machine for a task, and what comes back.
//!
//! A guest has no network. It hands over a whole request; here it is judged by the [rules](HttpRule) that the task has, its
//! host's name is resolved and the address judged too, [secrets](SecretUse) are put in, it is sent over a connection to
//! exactly that address, and the response is read within bounds and rid of the secrets before anybody sees it. What
//! [`Egress::send`] returns may be journaled.
//!
//! `docs/http.md` says the same to operators and authors.

// Nothing outside sends yet.
#![allow(dead_code, unused_imports)]

mod address;
mod exchange;
mod failure;
mod headers;
mod key;
mod rule;
mod secret;
mod target;

pub(crate) use exchange::{Bounds, Incoming, Outgoing};
pub(crate) use failure::{Code, Failure};
pub(crate) use headers::is_forbidden;
pub(crate) use key::{key, resend};
pub(crate) use rule::{HttpRule, InDoubt};
pub(crate) use secret::{Secret, SecretPlace, SecretSource, SecretUse, placeholder};
pub(crate) use target::{Scheme, Target};

/// What a task may send, now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Allowed<'a> {
    pub rules: &'a [HttpRule],
    pub secrets: &'a [Secret],
    /// The attempt's seed, from which its placeholders come.
    pub seed: &'a [u8; 32],
}

/// The way out. A copy shares all that the first has.
#[derive(Clone)]
pub(crate) struct Egress {}

impl Egress {
    /// Sends a request that is allowed, and reads its response. What it returns may be journaled: no secret is in it.
    pub async fn send(&self, allowed: Allowed<'_>, bounds: &Bounds, request: Outgoing) -> Result<Incoming, Failure> {
        let _ = (allowed, bounds, request);
        Err(Failure::unsent(Code::ConfigurationError, "nothing leaves this host yet"))
    }
}

//! Secrets: where they are, where they may go, and how they get there. A guest never has one.

mod former;
mod place;
mod read;
#[cfg(test)]
mod tests;
mod value;

use std::path::PathBuf;

use http::HeaderName;
use serde::Deserialize;

use super::HttpRule;
pub(super) use former::Former;
pub(super) use value::SecretValue;

/// A secret that a task may have put on the wire.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Secret {
    /// What the plugin calls it, and what stands where it was masked.
    pub name: String,
    pub source: SecretSource,
    pub usage: SecretUse,
}

/// Where a secret is, in the policy's `[secrets]`: `{ env = "VARIABLE" }` or `{ file = "PATH" }`. It is read each time it is
/// needed, so that a new one is seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SecretSource {
    /// In an environment variable of the host.
    Env(String),
    /// In a file. The end of line after it, if there is one, is no part of it.
    File(#[serde(deserialize_with = "crate::egress::config::path")] PathBuf),
}

/// What may be done with a secret: `{ to = ["api.example.com"], as = "bearer" }`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "read::Table")]
pub(crate) struct SecretUse {
    /// Which of the policy's secrets it is, if it is not called as the plugin calls it.
    pub secret: Option<String>,
    /// Where it may go, and nowhere else.
    pub to: Vec<HttpRule>,
    /// Where in the request it is put.
    pub place: SecretPlace,
}

/// Where in a request a secret is put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SecretPlace {
    /// `as = "bearer"`, `as = { header = "x-api-key" }`, or with a `prefix` before the secret.
    Header { name: HeaderName, prefix: String },
    /// `as = { basic = "USER" }`: `Authorization: Basic …`, of this user and the secret as the password.
    Basic { user: String },
    /// `as = { query = "key" }`: a parameter of the query.
    Query { parameter: String },
    /// `as = "placeholder"`: wherever the guest wrote what it was given in the secret's place, in headers; and there too:
    /// `as = { placeholder = "body" }`.
    Placeholder { also: Option<Part> },
}

/// A part of a request that is no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The path and the query of its URL, in which the secret is written as what it is there: data.
    Url,
    /// Its body.
    Body,
}

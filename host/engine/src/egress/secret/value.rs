//! A secret's bytes, read when they are needed and gone when they are not.

use std::fmt;

use zeroize::Zeroizing;

use super::{Secret, SecretSource};
use crate::egress::{Code, Failure};

/// Bytes that a secret has at least. What is shorter can be guessed, and would be masked where it is not meant.
const SHORTEST: usize = 16;
/// Bytes that a secret has at most: a signed token has some thousands.
const LONGEST: usize = 16 << 10;

/// A secret's bytes. They are not shown by any formatting, and overwritten when they are dropped.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::egress) struct SecretValue(pub(in crate::egress) Zeroizing<Vec<u8>>);

impl SecretValue {
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl Secret {
    /// Whether it can be read from where it is.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.read().map(drop).map_err(|failure| failure.why)
    }

    /// Reads it from where it is. An error names the secret and its source, never what is in it.
    pub(in crate::egress) fn read(&self) -> Result<SecretValue, Failure> {
        let wrong =
            |what: String| Failure::unsent(Code::ConfigurationError, format!("the secret `{}` {what}", self.name));
        let (found, from) = match &self.source {
            SecretSource::Env(variable) => match std::env::var_os(variable) {
                Some(value) => {
                    (Zeroizing::new(value.into_encoded_bytes()), format!("environment variable `{variable}`"))
                }
                None => return Err(wrong(format!("is not there: the environment variable `{variable}` is not set"))),
            },
            SecretSource::File(path) => match std::fs::read(path) {
                Ok(bytes) => (Zeroizing::new(bytes), format!("file `{}`", path.display())),
                Err(error) => return Err(wrong(format!("is not there: `{}`: {error}", path.display()))),
            },
        };
        let bytes = found.strip_suffix(b"\n").unwrap_or(&found);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        match bytes.len() {
            ..SHORTEST => {
                Err(wrong(format!("is too short: the {from} has fewer than {SHORTEST} bytes, and could be guessed")))
            }
            SHORTEST..=LONGEST => Ok(SecretValue(Zeroizing::new(bytes.to_vec()))),
            _ => Err(wrong(format!("is too long: the {from} has more than {LONGEST} bytes"))),
        }
    }
}

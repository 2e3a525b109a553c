//! Putting secrets into a request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::HeaderValue;
use http::header::AUTHORIZATION;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use sha2::{Digest, Sha256};
use url::Url;
use zeroize::Zeroizing;

use super::{Part, Secret, SecretPlace, SecretValue};
use crate::egress::{Code, Failure, Outgoing};

/// What is written as it is in a URL's path and query, whatever stands around it (RFC 3986, 2.3).
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What stands for a secret of that name: nothing that anybody else could guess, so that no text from outside can have a
/// secret put into it.
fn token(seed: &[u8; 32], name: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(b"longhaul placeholder\0");
    hash.update(seed);
    hash.update(name.as_bytes());
    let hex: String = hash.finalize()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("lh-secret-{hex}")
}

impl Secret {
    /// What a guest is given in the secret's place, if that is how it gets into requests: the same whenever a task asks, in
    /// all its attempts, so that its requests are the same too. `seed` is the task's.
    pub(crate) fn placeholder(&self, seed: &[u8; 32]) -> Option<String> {
        matches!(self.usage.place, SecretPlace::Placeholder { .. }).then(|| token(seed, &self.name))
    }

    /// Puts the secret where its use says, over what the guest put there.
    pub(in crate::egress) fn put_into(
        &self,
        request: &mut Outgoing,
        value: &SecretValue,
        seed: &[u8; 32],
    ) -> Result<(), Failure> {
        match &self.usage.place {
            SecretPlace::Header { name, prefix } => {
                let mut text = Zeroizing::new(prefix.clone().into_bytes());
                text.extend_from_slice(value.bytes());
                request.headers.insert(name, self.header(&text)?);
            }
            SecretPlace::Basic { user } => {
                let mut pair = Zeroizing::new(format!("{user}:").into_bytes());
                pair.extend_from_slice(value.bytes());
                let text = Zeroizing::new(format!("Basic {}", STANDARD.encode(&*pair)));
                request.headers.insert(AUTHORIZATION, self.header(text.as_bytes())?);
            }
            SecretPlace::Query { parameter } => {
                let Ok(text) = std::str::from_utf8(value.bytes()) else {
                    return Err(self.unfit("a query"));
                };
                let others: Vec<_> = request
                    .url
                    .query_pairs()
                    .filter(|(name, _)| name != parameter)
                    .map(|(name, value)| (name.into_owned(), value.into_owned()))
                    .collect();
                request.url.query_pairs_mut().clear().extend_pairs(others).append_pair(parameter, text);
            }
            SecretPlace::Placeholder { also } => {
                let token = token(seed, &self.name);
                for header in request.headers.values_mut() {
                    if let Some(text) = replace(header.as_bytes(), token.as_bytes(), value.bytes()) {
                        *header = self.header(&text)?;
                    }
                }
                match also {
                    Some(Part::Body) => {
                        if let Some(body) = replace(&request.body, token.as_bytes(), value.bytes()) {
                            request.body = Bytes::from(body.to_vec());
                        }
                    }
                    Some(Part::Url) => put_into_url(&mut request.url, &token, value),
                    None => {}
                }
            }
        }
        Ok(())
    }

    fn header(&self, text: &[u8]) -> Result<HeaderValue, Failure> {
        let mut header = HeaderValue::from_bytes(text).map_err(|_| self.unfit("a header"))?;
        header.set_sensitive(true);
        Ok(header)
    }

    fn unfit(&self, part: &str) -> Failure {
        let why = format!("the secret `{}` has characters that do not go into {part}", self.name);
        Failure::unsent(Code::ConfigurationError, why)
    }
}

/// Wherever it stands it can end nothing: no part of the path, and no parameter.
fn put_into_url(url: &mut Url, token: &str, value: &SecretValue) {
    let written = Zeroizing::new(percent_encode(value.bytes(), UNRESERVED).to_string());
    let put = |text: &str| text.contains(token).then(|| Zeroizing::new(text.replace(token, &written)));
    if let Some(path) = put(url.path()) {
        url.set_path(&path);
    }
    if let Some(query) = url.query().and_then(put) {
        url.set_query(Some(&query));
    }
}

/// `text` with every `token` replaced, if there is one.
fn replace(text: &[u8], token: &[u8], by: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let found = |text: &[u8]| text.windows(token.len()).position(|window| window == token);
    let mut rest = text;
    let mut whole = Zeroizing::new(Vec::new());
    while let Some(at) = found(rest) {
        whole.extend_from_slice(&rest[..at]);
        whole.extend_from_slice(by);
        rest = &rest[at + token.len()..];
    }
    if rest.len() == text.len() {
        return None;
    }
    whole.extend_from_slice(rest);
    Some(whole)
}

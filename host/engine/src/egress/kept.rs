//! What became of a request, in the journal: a head in JSON that says how long it is, and the body as it is.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};

use super::{Failure, Incoming};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Head {
    Response { status: u16, headers: Fields, trailers: Option<Fields> },
    Failure(Failure),
}

/// Names and values. A value may be no UTF-8, so each of its bytes is a character.
type Fields = Vec<(String, String)>;

const LENGTH: usize = size_of::<u32>();

/// What is kept of an outcome.
pub(crate) fn keep(outcome: &Result<Incoming, Failure>) -> Vec<u8> {
    let (head, body) = match outcome {
        Ok(response) => {
            let Incoming { status, headers, body, trailers } = response;
            let (status, headers) = (status.as_u16(), fields(headers));
            (Head::Response { status, headers, trailers: trailers.as_ref().map(fields) }, body.as_ref())
        }
        Err(failure) => (Head::Failure(failure.clone()), &[][..]),
    };
    let head = serde_json::to_vec(&head).unwrap_or_default();
    let length = u32::try_from(head.len()).unwrap_or(u32::MAX).to_le_bytes();
    [&length, head.as_slice(), body].concat()
}

/// The outcome that was kept so; `None`: the bytes are no such thing.
pub(crate) fn read_kept(kept: Vec<u8>) -> Option<Result<Incoming, Failure>> {
    let mut rest = Bytes::from(kept);
    let length = rest.get(..LENGTH)?.try_into().map(u32::from_le_bytes).ok()?;
    let head = rest.slice(LENGTH..).get(..length as usize).map(serde_json::from_slice::<Head>)?.ok()?;
    match head {
        Head::Failure(failure) => Some(Err(failure)),
        Head::Response { status, headers, trailers } => Some(Ok(Incoming {
            status: StatusCode::from_u16(status).ok()?,
            headers: map(headers)?,
            trailers: match trailers {
                Some(trailers) => Some(map(trailers)?),
                None => None,
            },
            body: rest.split_off(LENGTH + length as usize),
        })),
    }
}

fn fields(map: &HeaderMap) -> Fields {
    let text = |value: &HeaderValue| value.as_bytes().iter().copied().map(char::from).collect();
    map.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

fn map(fields: Fields) -> Option<HeaderMap> {
    let mut map = HeaderMap::new();
    for (name, value) in fields {
        let value: Option<Vec<u8>> = value.chars().map(|byte| u8::try_from(byte).ok()).collect();
        map.try_append(HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(&value?).ok()?).ok()?;
    }
    Some(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::Code;

    fn headers() -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.append("set-cookie", HeaderValue::from_static("a=1"));
        headers.append("set-cookie", HeaderValue::from_static("b=2"));
        headers.append("x-old", HeaderValue::from_bytes(b"caf\xe9 \"\\").unwrap());
        headers
    }

    #[test]
    fn what_was_kept_is_read_back() {
        let body = Bytes::from_static(b"\0\xff{}");
        let response = Incoming { status: StatusCode::CREATED, headers: headers(), body, trailers: Some(headers()) };
        let failure = Failure::sent(Code::Refused { what: "https://a.example".into() }, "no rule");
        for outcome in [Ok(response), Err(failure)] {
            assert_eq!(read_kept(keep(&outcome)), Some(outcome));
        }
    }

    #[test]
    fn what_is_damaged_is_refused_and_never_panics() {
        let outcome = Ok(Incoming { status: StatusCode::OK, headers: headers(), body: Bytes::new(), trailers: None });
        let kept = keep(&outcome);
        for place in 0..kept.len() {
            assert_eq!(read_kept(kept[..place].to_vec()), None);
            let mut damaged = kept.clone();
            damaged[place] ^= 0x80;
            let _ = read_kept(damaged);
        }
    }
}

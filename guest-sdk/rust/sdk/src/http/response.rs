//! What came back.

use std::time::Duration;

use serde::de::DeserializeOwned;
use wasip2::http::types::{Fields, IncomingBody, IncomingResponse};
use wasip2::io::streams::StreamError;

use super::error::{HttpError, HttpErrorKind};

/// A response, whole.
#[derive(Debug, Clone)]
pub struct Response {
    status: u16,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    trailers: Vec<(String, Vec<u8>)>,
}

/// Bytes that are read at once.
const PIECE: u64 = 64 << 10;

impl Response {
    pub(super) fn read(response: IncomingResponse) -> Result<Self, HttpError> {
        let status = response.status();
        let headers = response.headers().entries();
        let taken = |()| HttpError::new(HttpErrorKind::Other, "its body was taken");
        let incoming = response.consume().map_err(taken)?;
        let stream = incoming.stream().map_err(taken)?;
        let mut body = Vec::new();
        loop {
            match stream.blocking_read(PIECE) {
                Ok(mut piece) => body.append(&mut piece),
                Err(StreamError::Closed) => break,
                Err(StreamError::LastOperationFailed(error)) => {
                    return Err(HttpError::new(HttpErrorKind::Other, error.to_debug_string()));
                }
            }
        }
        drop(stream);
        let future = IncomingBody::finish(incoming);
        future.subscribe().block();
        let trailers = match future.get() {
            Some(Ok(Ok(Some(trailers)))) => Fields::entries(&trailers),
            _ => Vec::new(),
        };
        Ok(Self { status, headers, body, trailers })
    }

    /// Such as 200.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Whether the status is one of success: 200 to 299.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The response, if its status is one of success.
    ///
    /// # Errors
    /// [`HttpErrorKind::Status`] with the status and the beginning of the body. As a
    /// [`ToolError`](crate::ToolError) it is `unavailable` for 408, 425, 429 and 500 and above, not before `retry-after`.
    pub fn success(self) -> Result<Self, HttpError> {
        if self.is_success() {
            return Ok(self);
        }
        let text = self.text();
        let brief: String = text.trim().chars().take(200).collect();
        let said = if brief.is_empty() { String::new() } else { format!(": {brief}") };
        let error = HttpError::new(HttpErrorKind::Status(self.status), format!("status {}{said}", self.status));
        Err(error.retry_after(self.retry_after()))
    }

    /// A header's value, the first if there are several; `None` if it is no text either.
    pub fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// All headers, in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.headers.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// A trailer's value.
    pub fn trailer(&self, name: &str) -> Option<&str> {
        find(&self.trailers, name)
    }

    /// How long to wait before the next request, as `retry-after` says it in seconds.
    pub fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
    }

    /// The body.
    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    /// The body, to keep.
    pub fn into_bytes(self) -> Vec<u8> {
        self.body
    }

    /// The body as text. What is no UTF-8 is replaced.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Errors
    /// [`HttpErrorKind::Unreadable`] if it is no JSON, or no `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, HttpError> {
        serde_json::from_slice(&self.body).map_err(|problem| {
            HttpError::new(
                HttpErrorKind::Unreadable,
                format!("the response is not the JSON that was expected: {problem}"),
            )
        })
    }
}

fn find<'a>(fields: &'a [(String, Vec<u8>)], name: &str) -> Option<&'a str> {
    let (_, value) = fields.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))?;
    std::str::from_utf8(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ErrorKind, ToolError};

    fn response(status: u16, body: &str) -> Response {
        let headers = vec![("retry-after".to_owned(), b"7".to_vec()), ("x".to_owned(), b"\xff".to_vec())];
        Response { status, headers, body: body.into(), trailers: Vec::new() }
    }

    #[test]
    fn a_status_is_an_error_only_if_one_asks() {
        assert!(response(204, "").success().is_ok());
        let error = response(503, " busy\n").success().unwrap_err();
        assert_eq!(error.to_string(), "status 503: busy");
        let error = ToolError::from(error);
        assert_eq!(
            (error.kind(), error.clone()),
            (ErrorKind::Unavailable, ToolError::unavailable("status 503: busy").retry_after(Duration::from_secs(7)))
        );
        assert_eq!(ToolError::from(response(404, "").success().unwrap_err()).kind(), ErrorKind::Failed);
    }

    #[test]
    fn a_body_is_read_as_asked() {
        assert_eq!(response(200, "[1,2]").json::<Vec<u8>>().unwrap(), [1, 2]);
        let error = response(200, "<html>").json::<Vec<u8>>().unwrap_err();
        assert_eq!(error.kind(), HttpErrorKind::Unreadable);
        assert_eq!(response(200, "").header("Retry-After"), Some("7"));
        assert_eq!(response(200, "").header("x"), None);
    }
}

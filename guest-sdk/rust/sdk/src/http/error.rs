//! Why there is no response, or not the one that was hoped for.

use std::fmt;
use std::time::Duration;

use wasip2::http::types::ErrorCode;

use crate::error::ToolError;

/// Why a request has no response, or not one that is of use.
#[derive(Debug, Clone, PartialEq)]
pub struct HttpError {
    kind: HttpErrorKind,
    message: String,
    retry_after: Option<Duration>,
}

/// What went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The request can't be sent as it is.
    Invalid,
    /// No grant allows it, or its address is one that no grant names.
    Refused,
    /// The peer was not reached, or went away.
    Unreachable,
    /// It took too long.
    Timeout,
    /// A response that is larger than it may be.
    TooLarge,
    /// The status is none of success, where one was asked for.
    Status(u16),
    /// The body is not what was expected.
    Unreadable,
    /// Anything else, such as a limit that the task has reached; the text says what.
    Other,
}

impl HttpError {
    pub(super) fn new(kind: HttpErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(HttpErrorKind::Invalid, message)
    }

    pub(super) fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Says which request it was.
    pub(super) fn of(mut self, request: &str) -> Self {
        self.message = format!("{request}: {}", self.message);
        self
    }

    pub(super) fn from_code(code: ErrorCode) -> Self {
        let (kind, message) = match code {
            ErrorCode::HttpRequestDenied => {
                let remedy = "the plugin has to declare it under `needs`, and the operator to grant it";
                let grant = "`longhaul plugin grant PLUGIN http:HOST`";
                (HttpErrorKind::Refused, format!("no grant allows it; {remedy}: {grant}"))
            }
            ErrorCode::DestinationIpProhibited => {
                let remedy = "the operator grants `HOST private`, or the address itself, where that is meant";
                let what = "its name leads to an address of a private network or of the machine itself";
                (HttpErrorKind::Refused, format!("{what}, which no grant names; {remedy}"))
            }
            ErrorCode::InternalError(Some(message)) => (HttpErrorKind::Other, message),
            ErrorCode::HttpRequestMethodInvalid => (HttpErrorKind::Invalid, "a tool can't use this method".to_owned()),
            ErrorCode::HttpRequestUriInvalid => (HttpErrorKind::Invalid, "the URL is not one".to_owned()),
            ErrorCode::HttpRequestBodySize(_) => (HttpErrorKind::Invalid, "its body has the wrong size".to_owned()),
            ErrorCode::DnsTimeout | ErrorCode::DnsError(_) => {
                (HttpErrorKind::Unreachable, "its name is not known".to_owned())
            }
            ErrorCode::DestinationNotFound
            | ErrorCode::DestinationUnavailable
            | ErrorCode::DestinationIpUnroutable
            | ErrorCode::ConnectionRefused
            | ErrorCode::ConnectionTerminated
            | ErrorCode::HttpResponseIncomplete => (HttpErrorKind::Unreachable, plain(&code)),
            ErrorCode::ConnectionTimeout
            | ErrorCode::ConnectionReadTimeout
            | ErrorCode::ConnectionWriteTimeout
            | ErrorCode::HttpResponseTimeout => (HttpErrorKind::Timeout, plain(&code)),
            ErrorCode::HttpResponseBodySize(_)
            | ErrorCode::HttpResponseHeaderSectionSize(_)
            | ErrorCode::HttpResponseHeaderSize(_)
            | ErrorCode::HttpResponseTrailerSectionSize(_)
            | ErrorCode::HttpResponseTrailerSize(_) => (HttpErrorKind::TooLarge, plain(&code)),
            other => (HttpErrorKind::Other, plain(&other)),
        };
        Self::new(kind, message)
    }

    /// What went wrong.
    pub fn kind(&self) -> HttpErrorKind {
        self.kind
    }

    /// Whether a grant is missing. The task's journal says which, and what to add.
    pub fn is_refused(&self) -> bool {
        self.kind == HttpErrorKind::Refused
    }

    /// Whether it may pass: the peer was not reached, took too long, or says so itself.
    pub fn is_temporary(&self) -> bool {
        match self.kind {
            HttpErrorKind::Unreachable | HttpErrorKind::Timeout => true,
            HttpErrorKind::Status(status) => matches!(status, 408 | 425 | 429 | 500..),
            _ => false,
        }
    }
}

/// A case's name as words: `ConnectionRefused` is `connection refused`.
fn plain(code: &ErrorCode) -> String {
    let name = format!("{code:?}");
    let name = name.trim_start_matches("ErrorCode::");
    let mut words = String::new();
    for c in name.chars().take_while(|c| c.is_ascii_alphanumeric()) {
        if c.is_ascii_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HttpError {}

/// `unavailable` if it [may pass](HttpError::is_temporary), `failed` if not.
impl From<HttpError> for ToolError {
    fn from(error: HttpError) -> Self {
        let wait = error.retry_after;
        match error.is_temporary() {
            true => wait.into_iter().fold(Self::unavailable(error), Self::retry_after),
            false => Self::failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn what_may_pass_is_unavailable() {
        let error = HttpError::from_code(ErrorCode::ConnectionRefused).of("GET https://a.example/");
        assert_eq!(error.to_string(), "GET https://a.example/: connection refused");
        assert_eq!(ToolError::from(error).kind(), ErrorKind::Unavailable);
        let refused = HttpError::from_code(ErrorCode::HttpRequestDenied);
        assert!(refused.is_refused() && refused.to_string().contains("longhaul plugin grant PLUGIN http:HOST"));
        assert_eq!(ToolError::from(refused).kind(), ErrorKind::Failed);
    }
}

//! Why there is no response.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Bounds;
use crate::limits::Limit;

/// Why a request has no response. It is journaled, and told to the guest, so no secret and no query is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{why}")]
pub(crate) struct Failure {
    /// Which of the errors that `wasi:http` knows it is.
    pub code: Code,
    /// Whether the request may have reached the peer.
    pub in_doubt: bool,
    /// What happened, to a person.
    pub why: String,
    /// The limit that it is of, until whoever knows what that allows has said so in `why`.
    #[serde(skip)]
    pub limit: Option<Limit>,
}

/// The kinds of failure, in the words of `wasi:http`'s `error-code`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Code {
    /// `HTTP-request-denied`: no rule allows it. `what` is what an operator would have to grant.
    Refused { what: String },
    /// `destination-IP-prohibited`: the name leads to an address that the rule does not name.
    DestinationIpProhibited,
    /// `DNS-timeout`.
    DnsTimeout,
    /// `DNS-error`: there is no such name, or nobody who knows.
    DnsError,
    /// `connection-refused`.
    ConnectionRefused,
    /// `connection-timeout`.
    ConnectionTimeout,
    /// `connection-terminated`: the peer went away before there was a response.
    ConnectionTerminated,
    /// `connection-read-timeout`: too long a pause within the response.
    ConnectionReadTimeout,
    /// `destination-unavailable`: the network does not lead there.
    DestinationUnavailable,
    /// `TLS-protocol-error`.
    TlsProtocolError,
    /// `TLS-certificate-error`.
    TlsCertificateError,
    /// `TLS-alert-received`.
    TlsAlertReceived,
    /// `HTTP-request-method-invalid`: such as `CONNECT`.
    RequestMethodInvalid,
    /// `HTTP-request-URI-invalid`.
    RequestUriInvalid,
    /// `HTTP-request-body-size`: the guest's `content-length` is another.
    RequestBodySize,
    /// `HTTP-response-timeout`: the head did not come in time, or the whole not in its time.
    ResponseTimeout,
    /// `HTTP-response-incomplete`: the peer went away in the middle.
    ResponseIncomplete,
    /// `HTTP-response-header-section-size`.
    ResponseHeaderSectionSize,
    /// `HTTP-response-body-size`.
    ResponseBodySize,
    /// `HTTP-response-trailer-section-size`.
    ResponseTrailerSectionSize,
    /// `HTTP-response-content-coding`: compressed, where secrets have to be looked for.
    ResponseContentCoding,
    /// `HTTP-protocol-error`.
    ProtocolError,
    /// `configuration-error`: a secret, the proxy or a certificate of the operator's is not as it should be.
    ConfigurationError,
    /// `internal-error`: whether the request was carried out is not known, and its rule says not to send it twice.
    InDoubt,
    /// `internal-error`: what `wasi:http` has no word for, such as a limit of the task's.
    Internal,
}

impl Failure {
    /// A failure before anything was sent.
    pub fn unsent(code: Code, why: impl Into<String>) -> Self {
        Self { code, in_doubt: false, why: why.into(), limit: None }
    }

    /// A failure after the request may have reached the peer.
    pub fn sent(code: Code, why: impl Into<String>) -> Self {
        Self { code, in_doubt: true, why: why.into(), limit: None }
    }

    /// The same, of that limit.
    pub fn of(self, limit: Limit) -> Self {
        Self { limit: Some(limit), ..self }
    }

    /// The same, after that time: a limit's, unless the guest itself wanted to wait for less.
    pub(super) fn of_time(self, waited: Duration, bounds: &Bounds) -> Self {
        let limits = [(bounds.first_byte, Limit::http_first_byte), (bounds.total, Limit::http_time)];
        let limit = limits.into_iter().find(|(most, _)| waited >= *most).map(|(_, limit)| limit);
        Self { limit, ..self }
    }
}

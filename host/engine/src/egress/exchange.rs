//! A request and its response, whole, as they pass between a guest and the network.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// A request of a guest, whole.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    pub method: Method,
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: Option<HeaderMap>,
    /// What the guest asked for. It may wait for less than the task's limits allow, never for more.
    pub connect_timeout: Option<Duration>,
    /// As `connect_timeout`: from the request's having been handed over to the response's head.
    pub first_byte_timeout: Option<Duration>,
    /// As `connect_timeout`: between two pieces of the response's body.
    pub between_bytes_timeout: Option<Duration>,
}

/// A response, whole, and without the secrets that were in it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Incoming {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub trailers: Option<HeaderMap>,
}

/// How much of a response is read, and for how long it is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes of the body.
    pub body_bytes: u64,
    /// Bytes of all headers together, and of all trailers.
    pub header_bytes: usize,
    /// Until the response's head is there; also the longest pause between two pieces of its body, and the longest time
    /// that connecting takes.
    pub first_byte: Duration,
    /// From the first look at the request to the last byte of the response.
    pub total: Duration,
}

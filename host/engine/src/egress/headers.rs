//! Headers that are not a guest's to set, or not its business.

use http::header::{self, HeaderMap, HeaderName};

/// Headers that say how a message travels from here to the next machine, or to whom it goes: the host's own. A guest may not
/// set them, and does not see them.
pub(crate) fn is_forbidden(name: &HeaderName) -> bool {
    const OWN: [HeaderName; 9] = [
        header::CONNECTION,
        header::EXPECT,
        header::HOST,
        header::PROXY_AUTHENTICATE,
        header::PROXY_AUTHORIZATION,
        header::TE,
        header::TRAILER,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ];
    OWN.contains(name) || matches!(name.as_str(), "keep-alive" | "proxy-connection" | "http2-settings")
}

/// Removes what [`is_forbidden`].
pub(super) fn without_forbidden(headers: HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::with_capacity(headers.len());
    let mut last = None;
    for (name, value) in headers {
        // A name is given once for all of its values.
        last = name.or(last);
        if let Some(name) = last.as_ref().filter(|name| !is_forbidden(name)) {
            kept.append(name, value);
        }
    }
    kept
}

/// Bytes of headers as limits count them: HTTP/2's way, 32 for each beside name and value (RFC 9113, 6.5.2), so that a
/// million empty ones are not nothing.
pub(super) fn size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 32).sum()
}

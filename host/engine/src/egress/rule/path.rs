//! Whether a path lies below another, for servers too that decode more than they should.

use percent_encoding::percent_decode;

/// Times that a path is decoded to see whether it changes its meaning. Nobody who means well encodes so often.
const ROUNDS: usize = 4;

/// Whether `path` is `prefix` or lies below it. A path that some server might understand differently lies below nothing.
pub(super) fn is_below(prefix: &str, path: &str) -> bool {
    let below = match path.strip_prefix(prefix) {
        Some("") => true,
        Some(rest) => prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    };
    below && path.split('/').all(is_plain)
}

/// Whether a segment of a path is the same to every server. What a server could take for another place: a slash in disguise
/// (`%2f`, `%5c`), a step up in disguise (`%252e%252e`, `..;`), what is no UTF-8 (`%c0%ae` was a dot once), a `%` that
/// encodes nothing, a control character.
fn is_plain(segment: &str) -> bool {
    let mut bytes = segment.as_bytes().to_vec();
    if encodes_nothing(&bytes) {
        return false;
    }
    for _ in 0..ROUNDS {
        let name = bytes.split(|&byte| byte == b';').next().unwrap_or_default();
        if name == b"." || name == b".." || bytes.iter().any(|&byte| matches!(byte, b'/' | b'\\' | 0..=31 | 127)) {
            return false;
        }
        let decoded: Vec<u8> = percent_decode(&bytes).collect();
        if decoded == bytes {
            return std::str::from_utf8(&bytes).is_ok();
        }
        bytes = decoded;
    }
    false
}

fn encodes_nothing(bytes: &[u8]) -> bool {
    let hex = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_hexdigit);
    (0..bytes.len()).any(|at| bytes[at] == b'%' && !(hex(at + 1) && hex(at + 2)))
}

//! The forms in which a secret is looked for.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::unescape::{Unescape, units};

/// One form of a secret.
pub(super) struct Form {
    /// Of which one.
    pub secret: usize,
    /// What is looked for, in any case.
    pub bytes: Vec<u8>,
    /// Characters before it that belong to the secret too.
    pub before: usize,
    /// Whether the character after it belongs to the secret too.
    pub and_next: bool,
}

/// Bytes at the beginning of a secret that are not looked for, only masked: what stands in front of a secret may swallow them
/// as part of an escape of its own. After `\u` it is four, in `\uab12…`, where the secret is `ab12…`.
const SWALLOWED: usize = 4;
/// Bytes of a form at least. Only what is unescaped can be shorter than the secret.
const SHORTEST: usize = 8;

/// Adds the forms of a secret.
pub(super) fn of(secret: usize, value: &[u8], forms: &mut Vec<Form>) {
    let once: Vec<u8> = Unescape::of(units(value)).map(|unit| unit.byte).collect();
    let twice: Vec<u8> = Unescape::of(units(&once)).map(|unit| unit.byte).collect();
    // A form's text has `+` for a space.
    let plus: Vec<u8> = value.iter().map(|&byte| if byte == b' ' { b'+' } else { byte }).collect();
    let mut plain = vec![value.to_vec(), once, twice, plus];
    plain.sort();
    plain.dedup();
    for text in plain.iter().filter(|text| text.len() >= SWALLOWED + SHORTEST) {
        forms.push(Form { secret, bytes: text[SWALLOWED..].to_vec(), before: SWALLOWED, and_next: false });
    }
    let mut add = |bytes| forms.push(Form { secret, bytes, before: 0, and_next: false });
    add(value.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect());
    if let Ok(text) = std::str::from_utf8(value) {
        add(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        add(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    for before in 0..3 {
        base64(secret, before, value, forms);
    }
}

/// A secret in base64 with `before` bytes in front of it in its group of three. Only characters that the secret alone decides
/// are looked for; one at each end may be decided in part.
fn base64(secret: usize, before: usize, value: &[u8], forms: &mut Vec<Form>) {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value);
    let first = (before * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    let and_next = !(bytes.len() * 8).is_multiple_of(6);
    for text in [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)] {
        let bytes = text.as_bytes()[first..last].to_vec();
        forms.push(Form { secret, bytes, before: usize::from(before > 0), and_next });
    }
}

/// Whether a byte is a character of base64, in either alphabet.
pub(super) fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/-_".contains(&byte)
}

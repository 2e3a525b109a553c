use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use proptest::prelude::*;
use zeroize::Zeroizing;

use super::Masker;
use crate::egress::Incoming;
use crate::egress::secret::SecretValue;

fn masker(secret: &str) -> Masker {
    let value = SecretValue(Zeroizing::new(secret.as_bytes().to_vec()));
    Masker::new(&[("token", &value)]).unwrap().unwrap()
}

fn mask(secret: &str, text: &[u8]) -> String {
    let masker = masker(secret);
    String::from_utf8_lossy(&masker.bytes(Bytes::copy_from_slice(text))).into_owned()
}

const SECRET: &str = "s3cr3t/To+ken=&%41\"x y";

/// The name of a form, and how it is written.
type Form = (&'static str, fn(&str) -> Vec<u8>);

/// The forms in which servers give back what they were sent.
fn forms() -> Vec<Form> {
    fn each(text: &str, write: impl Fn(u8) -> String) -> Vec<u8> {
        text.bytes().map(write).collect::<String>().into_bytes()
    }
    fn base64(engine: &impl Engine, before: &str, text: &str) -> Vec<u8> {
        engine.encode(format!("{before}{text}")).into_bytes()
    }
    fn percent(text: &str, keep: impl Fn(u8) -> bool) -> Vec<u8> {
        each(text, |byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
    }
    vec![
        ("plain", |text| text.into()),
        ("upper case", |text| text.to_ascii_uppercase().into()),
        ("percent", |text| percent(text, |byte| byte.is_ascii_alphanumeric())),
        ("percent, lower case", |text| each(text, |byte| format!("%{byte:02x}"))),
        ("percent, in part", |text| percent(text, |byte| byte % 3 != 0 && byte != b'%')),
        ("percent, twice", |text| {
            let once = String::from_utf8(percent(text, |byte| byte.is_ascii_alphanumeric())).unwrap();
            percent(&once, |byte| byte.is_ascii_alphanumeric())
        }),
        ("form", |text| {
            percent(text, |byte| byte.is_ascii_alphanumeric() || byte == b' ')
                .iter()
                .map(|&byte| if byte == b' ' { b'+' } else { byte })
                .collect()
        }),
        ("JSON", |text| serde_json::to_vec(text).unwrap()),
        ("JSON, slashes", |text| serde_json::to_string(text).unwrap().replace('/', "\\/").into()),
        ("JSON, all", |text| each(text, |byte| format!("\\u{byte:04X}"))),
        ("JSON in JSON", |text| serde_json::to_vec(&serde_json::to_string(text).unwrap()).unwrap()),
        ("JavaScript", |text| each(text, |byte| format!("\\x{byte:02x}"))),
        ("JavaScript, braces", |text| each(text, |byte| format!("\\u{{{byte:x}}}"))),
        ("octal", |text| each(text, |byte| format!("\\{byte:03o}"))),
        ("HTML", |text| text.replace('&', "&amp;").replace('"', "&quot;").into()),
        ("HTML, decimal", |text| each(text, |byte| format!("&#{byte};"))),
        ("HTML, hex", |text| each(text, |byte| format!("&#x{byte:x};"))),
        ("hex", |text| each(text, |byte| format!("{byte:02x}"))),
        ("hex, upper case", |text| each(text, |byte| format!("{byte:02X}"))),
        ("base64", |text| base64(&STANDARD, "", text)),
        ("base64, one before", |text| base64(&STANDARD, "u", text)),
        ("base64, two before", |text| base64(&STANDARD, "u:", text)),
        ("base64, no padding", |text| base64(&STANDARD_NO_PAD, "u:", text)),
        ("base64 for URLs", |text| base64(&URL_SAFE, "", text)),
        ("base64 for URLs, one before", |text| base64(&URL_SAFE_NO_PAD, "u", text)),
        ("base64 for URLs, two before", |text| base64(&URL_SAFE_NO_PAD, "uu", text)),
        ("base64, in a URL", |text| {
            let base64 = String::from_utf8(base64(&STANDARD, "u:", text)).unwrap();
            percent(&base64, |byte| byte.is_ascii_alphanumeric())
        }),
        ("base64, in lines", |text| {
            let base64 = String::from_utf8(base64(&STANDARD, "u:", text)).unwrap();
            base64
                .as_bytes()
                .chunks(7)
                .map(|line| String::from_utf8_lossy(line))
                .collect::<Vec<_>>()
                .join("\r\n")
                .into()
        }),
        ("UTF-16, little end first", |text| text.encode_utf16().flat_map(u16::to_le_bytes).collect()),
        ("UTF-16, big end first", |text| text.encode_utf16().flat_map(u16::to_be_bytes).collect()),
    ]
}

#[test]
fn a_secret_is_masked_in_every_form() {
    for (form, write) in forms() {
        let masked = mask(SECRET, &[b"before ", write(SECRET).as_slice(), b" after"].concat());
        assert!(masked.starts_with("before ") && masked.ends_with(" after"), "{form}: {masked}");
        assert!(masked.contains("[secret:token]"), "{form}: {masked}");
        let rest = masked.replace("[secret:token]", "");
        // Quotes around it, the user before it, the padding behind it.
        assert!(rest.len() <= "before  after".len() + 6, "{form}: {masked}");
    }
}

#[test]
fn what_stands_in_front_of_a_secret_cannot_hide_it() {
    // A secret whose beginning could be the end of somebody else's escape.
    let secret = "abcd41ef0123456789";
    for before in ["%", "\\", "\\u", "\\x", "%u", "&#", "&#x", "%%", "\\\\u", "=", "%2"] {
        for (form, write) in forms() {
            let text = [before.as_bytes(), &write(secret)].concat();
            let masked = mask(secret, &text);
            assert!(masked.contains("[secret:token]"), "{form} behind {before}: {masked}");
        }
    }
}

#[test]
fn texts_without_a_secret_stay_as_they_are() {
    let text = "100% of \\n &amp; %41 c2VjcmV0 \u{fc}\r\n".repeat(50);
    assert_eq!(mask(SECRET, text.as_bytes()), text);
}

#[test]
fn a_secret_is_masked_wherever_it_is_in_a_response() {
    let masker = masker("0123456789abcdef");
    let mut headers = HeaderMap::new();
    headers.insert("x-echo", HeaderValue::from_static("Bearer 0123456789abcdef"));
    headers.append("x-echo", HeaderValue::from_static("nothing"));
    headers.insert("x-0123456789abcdef", HeaderValue::from_static("1"));
    headers.insert("content-length", HeaderValue::from_static("34"));
    let body = Bytes::from_static(b"0123456789ABCDEF, 0123456789abcdef");
    let trailers = Some(headers.clone());
    let response = masker.response(Incoming { status: StatusCode::OK, headers, body, trailers });
    assert_eq!(response.body, "[secret:token], [secret:token]");
    assert_eq!(response.headers["content-length"], "30");
    for fields in [&response.headers, response.trailers.as_ref().unwrap()] {
        let echoes: Vec<_> = fields.get_all("x-echo").iter().collect();
        assert_eq!(echoes, ["Bearer [secret:token]", "nothing"]);
        assert_eq!(fields.len(), 3);
    }
}

#[test]
fn of_two_secrets_that_overlap_nothing_is_left() {
    let (one, two) = (Zeroizing::new(b"0123456789abcdefgh".to_vec()), Zeroizing::new(b"efgh0123456789abcd".to_vec()));
    let (one, two) = (SecretValue(one), SecretValue(two));
    let masker = Masker::new(&[("one", &one), ("two", &two)]).unwrap().unwrap();
    let masked = masker.bytes(Bytes::from_static(b"<0123456789abcdefgh0123456789abcd>"));
    // It begins a little early, where the other secret would have begun.
    assert_eq!(masked, "[secret:two]>");
}

#[test]
fn a_secret_that_looks_like_an_escape_or_ends_in_one_is_masked() {
    for (secret, text) in
        [("a0 a\\000 a aAAa0", "a%30 a\\%30%30%30 a aAAa%30"), ("aaA AaaA\"AAA a0\\", "aaA AaaA&quot;AAA a0\\A")]
    {
        let masked = mask(secret, text.as_bytes());
        assert!(masked.starts_with("[secret:token]"), "{masked}");
    }
}

proptest! {
    #[test]
    fn no_form_of_any_secret_survives(
        secret in "[ -~]{16,40}",
        before in "[ -~]{0,8}",
        after in "[ -~]{0,8}",
        form in 0..forms().len(),
    ) {
        let (name, write) = forms()[form];
        let written = write(&secret);
        let masked = mask(&secret, &[before.as_bytes(), &written, after.as_bytes()].concat());
        prop_assert!(masked.contains("[secret:token]"), "{}: {}", name, masked);
        prop_assert!(!masked.contains(&*String::from_utf8_lossy(&written)), "{}: {}", name, masked);
    }

    #[test]
    fn any_bytes_are_looked_through(text in prop::collection::vec(any::<u8>(), 0..200)) {
        mask(SECRET, &text);
    }

    #[test]
    fn any_text_of_escapes_is_looked_through(text in "[%\\\\&#;xuU{}0-9a-f\r\n]{0,60}") {
        mask(SECRET, text.as_bytes());
    }
}

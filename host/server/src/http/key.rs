//! The header `Idempotency-Key`.

use ::http::HeaderMap;

use crate::Problem;

/// The key, if there is one: a string as structured fields have it (`"abc"`), or the bare text that most clients send.
///
/// <https://datatracker.ietf.org/doc/draft-ietf-httpapi-idempotency-key-header/>
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let mut given = headers.get_all("idempotency-key").iter();
    let Some(value) = given.next() else { return Ok(None) };
    let wrong = || Problem::invalid("`Idempotency-Key` must be one text of visible ASCII, such as \"8e03978e\"");
    let text = value.to_str().map_err(|_| wrong())?.trim();
    if given.next().is_some() || text.is_empty() {
        return Err(wrong());
    }
    let Some(quoted) = text.strip_prefix('"') else { return Ok(Some(text.to_owned())) };
    let mut key = String::with_capacity(quoted.len());
    let mut chars = quoted.chars();
    loop {
        match chars.next() {
            Some('\\') => match chars.next() {
                Some(escaped @ ('"' | '\\')) => key.push(escaped),
                _ => return Err(wrong()),
            },
            Some('"') if chars.as_str().is_empty() && !key.is_empty() => return Ok(Some(key)),
            Some('"') | None => return Err(wrong()),
            Some(other) => key.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_structured_field_s_string_or_bare() {
        let key = |text: &'static str| {
            idempotency_key(&HeaderMap::from_iter([(
                "idempotency-key".parse().unwrap(),
                ::http::HeaderValue::from_static(text),
            )]))
        };
        assert_eq!(key("8e03-97 8e"), Ok(Some("8e03-97 8e".into())));
        assert_eq!(key("\"8e03\""), Ok(Some("8e03".into())));
        assert_eq!(key(r#""a\"b\\c""#), Ok(Some("a\"b\\c".into())));
        for wrong in ["", "\"\"", "\"a", "\"a\"b", "\"a\\", "\"a\\n\""] {
            assert!(key(wrong).is_err(), "{wrong}");
        }
        assert_eq!(idempotency_key(&HeaderMap::new()), Ok(None));
    }
}

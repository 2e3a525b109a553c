//! From what a person entered to a value, or the reason why it is none.

use longhaul::FieldKind;
use serde_json::Value;

use super::ask::Entry;
use crate::json::place;
use crate::text::{line, shortened};

/// Reads what was typed. `None`: the entry is left out.
pub fn typed(entry: &Entry, text: &str) -> Result<Option<Value>, String> {
    let kind = entry.field.as_ref().map(|field| &field.kind);
    if text.trim().is_empty() {
        // Empty text is an answer only where the tool itself proposes it: Enter alone is too easily pressed.
        return match entry.required {
            false => Ok(None),
            true if entry.default.as_ref().and_then(Value::as_str) == Some("") => Ok(Some("".into())),
            true => Err("an answer is needed".into()),
        };
    }
    let value = match kind {
        Some(FieldKind::Text { .. }) => Value::String(text.to_owned()),
        Some(_) => serde_json::from_str(text.trim())
            .map_err(|_| format!("`{}` is not a number", line(&shortened(text.trim(), 40))))?,
        None => serde_json::from_str(text.trim()).map_err(|e| format!("this is not JSON: {}", place(&e)))?,
    };
    fits(entry, &value)?;
    Ok(Some(value))
}

/// Whether the value is an answer, or why not. What this version does not understand is left to the host.
pub fn fits(entry: &Entry, value: &Value) -> Result<(), String> {
    entry.field.as_ref().map_or(Ok(()), |field| field.check(value).map_err(|why| line(&why)))
}

/// What is asked of a value, for the person who is about to enter it: `a whole number, 1 to 10`.
pub fn wanted(entry: &Entry) -> String {
    let mut parts = Vec::new();
    match entry.field.as_ref().map(|field| &field.kind) {
        Some(FieldKind::Number { integer, minimum, maximum }) => {
            parts.push(if *integer { "a whole number".to_owned() } else { "a number".to_owned() });
            parts.extend(range(minimum.as_ref(), maximum.as_ref(), ""));
        }
        Some(FieldKind::Text { min_length, max_length, format }) => {
            parts.extend(format.map(|format| format.as_str().to_owned()));
            parts.extend(range(min_length.as_ref(), max_length.as_ref(), " characters"));
        }
        Some(FieldKind::Choices { min, max, .. }) => parts.extend(range(min.as_ref(), max.as_ref(), " of them")),
        Some(FieldKind::Confirm | FieldKind::Choice { .. }) => {}
        None => parts.push("JSON".to_owned()),
    }
    if !entry.required {
        parts.push("may be left out".to_owned());
    }
    parts.join(", ")
}

fn range<N: ToString>(low: Option<&N>, high: Option<&N>, unit: &str) -> Option<String> {
    match (low.map(N::to_string), high.map(N::to_string)) {
        (Some(low), Some(high)) => Some(format!("{low} to {high}{unit}")),
        (Some(low), None) => Some(format!("at least {low}{unit}")),
        (None, Some(high)) => Some(format!("at most {high}{unit}")),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ask::{entries, tests::question};
    use super::*;

    fn entry(schema: Value) -> Entry {
        entries(&question(schema)).remove(0)
    }

    fn optional(schema: Value) -> Entry {
        Entry { required: false, ..entry(schema) }
    }

    #[test]
    fn what_is_typed_becomes_a_value_of_the_kind_that_is_asked_for() {
        assert_eq!(typed(&entry(json!({"type": "string"})), "12"), Ok(Some(json!("12"))));
        assert_eq!(typed(&entry(json!({"type": "integer"})), " 12 "), Ok(Some(json!(12))));
        assert_eq!(typed(&entry(json!({"type": "number"})), "1.5"), Ok(Some(json!(1.5))));
        assert_eq!(typed(&entry(json!({"type": "hologram"})), "[1]"), Ok(Some(json!([1]))));
    }

    #[test]
    fn what_does_not_fit_is_told_with_the_reason() {
        let size = entry(json!({"type": "integer", "minimum": 1, "maximum": 10}));
        assert_eq!(typed(&size, "many").unwrap_err(), "`many` is not a number");
        assert_eq!(typed(&size, "11").unwrap_err(), "11 is more than 10");
        assert!(typed(&size, "1.5").unwrap_err().contains("whole number"));
        assert!(typed(&size, "[]").unwrap_err().contains("whole number"));
        assert!(typed(&entry(json!({"type": "string", "format": "email"})), "ana").unwrap_err().contains("e-mail"));
        assert!(typed(&entry(json!({"type": "hologram"})), "{").unwrap_err().starts_with("this is not JSON: line 1"));
    }

    #[test]
    fn only_what_is_not_required_can_be_left_out() {
        assert_eq!(typed(&entry(json!({"type": "string"})), " ").unwrap_err(), "an answer is needed");
        assert_eq!(typed(&optional(json!({"type": "integer"})), ""), Ok(None));
        assert_eq!(typed(&entry(json!({"type": "string", "default": ""})), ""), Ok(Some(json!(""))));
    }

    #[test]
    fn the_reason_has_no_control_characters() {
        let date = entry(json!({"type": "string", "format": "date"}));
        assert!(!typed(&date, "\u{1b}[2J\u{202e}").unwrap_err().contains(['\u{1b}', '\u{202e}']));
    }

    #[test]
    fn what_is_wanted_is_told_before() {
        assert_eq!(wanted(&entry(json!({"type": "integer", "minimum": 1, "maximum": 10}))), "a whole number, 1 to 10");
        let short = optional(json!({"type": "string", "maxLength": 80}));
        assert_eq!(wanted(&short), "at most 80 characters, may be left out");
        assert_eq!(wanted(&entry(json!({"type": "boolean"}))), "");
    }
}

//! An answer that was given with the command, read as what the question asks for.

use longhaul::{AnswerSchema, Choice, FieldKind, OpenQuestion};
use serde_json::{Number, Value};

use super::ask::entries;
use super::check::wanted;
use crate::json::place;
use crate::text::{line, shortened};

/// Of the choices, and of what was given, so many characters are repeated.
const SHOWN: usize = 200;

/// The value that a text stands for: text as it is, `yes` and `no`, a number, a choice by its value or title, choices with
/// commas between them; and always JSON. Or what the question takes instead.
pub fn value(question: &OpenQuestion, text: &str) -> Result<Value, String> {
    match AnswerSchema::parse(&question.answer) {
        Ok(AnswerSchema::One(field)) => {
            let given = || line(&shortened(text, SHOWN));
            one(&field.kind, text)
                .ok_or_else(|| format!("it takes {}, not `{}`", takes(question, &field.kind), given()))
        }
        Ok(AnswerSchema::Form(_)) | Err(_) => {
            serde_json::from_str(text).map_err(|e| format!("it takes JSON, and this is none: {}", place(&e)))
        }
    }
}

fn one(kind: &FieldKind, text: &str) -> Option<Value> {
    match kind {
        FieldKind::Confirm => match text.trim().to_ascii_lowercase().as_str() {
            "yes" | "y" | "true" => Some(Value::Bool(true)),
            "no" | "n" | "false" => Some(Value::Bool(false)),
            _ => None,
        },
        FieldKind::Text { .. } => Some(unquoted(text).unwrap_or_else(|| text.to_owned()).into()),
        FieldKind::Number { .. } => serde_json::from_str::<Number>(text.trim()).ok().map(Value::Number),
        FieldKind::Choice { choices } => chosen(choices, text),
        FieldKind::Choices { choices, .. } => match serde_json::from_str(text) {
            Ok(Value::Array(values)) => Some(Value::Array(values)),
            _ => chosen(choices, text).map(|one| Value::Array(vec![one])).or_else(|| {
                text.split(',').map(|part| chosen(choices, part.trim())).collect::<Option<_>>().map(Value::Array)
            }),
        },
    }
}

/// A text that is written as JSON.
fn unquoted(text: &str) -> Option<String> {
    serde_json::from_str(text).ok()
}

fn chosen(choices: &[Choice], text: &str) -> Option<Value> {
    let titled = |choice: &&Choice| choice.label().to_lowercase() == text.to_lowercase();
    let found = choices.iter().find(|choice| choice.value == text).or_else(|| choices.iter().find(titled));
    let found = found.or_else(|| choices.iter().find(|choice| unquoted(text).as_ref() == Some(&choice.value)));
    found.map(|choice| choice.value.as_str().into())
}

/// What a question takes, in words.
fn takes(question: &OpenQuestion, kind: &FieldKind) -> String {
    let list = |choices: &[Choice]| {
        let named = choices.iter().map(|choice| match &choice.title {
            Some(title) if *title != choice.value => format!("{} ({})", line(&choice.value), line(title)),
            _ => line(&choice.value),
        });
        shortened(&named.collect::<Vec<_>>().join(", "), SHOWN)
    };
    match kind {
        FieldKind::Confirm => "yes or no (or true, false)".to_owned(),
        FieldKind::Choice { choices } => format!("one of: {}", list(choices)),
        FieldKind::Choices { choices, .. } => format!("any of these, with commas between them: {}", list(choices)),
        FieldKind::Text { .. } | FieldKind::Number { .. } => {
            entries(question).first().map(wanted).filter(|wanted| !wanted.is_empty()).unwrap_or_else(|| "a text".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::ask::tests::question;
    use super::*;

    fn given(schema: Value, text: &str) -> Result<Value, String> {
        value(&question(schema), text)
    }

    #[test]
    fn an_answer_is_read_as_what_the_question_asks_for() {
        let boolean = || json!({"type": "boolean"});
        for (text, value) in [("yes", true), ("Y", true), ("true", true), ("no", false), ("False", false)] {
            assert_eq!(given(boolean(), text), Ok(json!(value)), "{text}");
        }
        let text = || json!({"type": "string"});
        for (given_text, value) in [("plain", "plain"), ("\"quoted\"", "quoted"), ("12", "12"), ("{", "{")] {
            assert_eq!(given(text(), given_text), Ok(json!(value)));
        }
        assert_eq!(given(json!({"type": "integer"}), " -3 "), Ok(json!(-3)));
        let one = || json!({"type": "string", "oneOf": [{"const": "a", "title": "First, of all"}, {"const": "b", "title": "b"}]});
        for (text, value) in [("a", "a"), ("\"a\"", "a"), ("first, OF all", "a"), ("b", "b")] {
            assert_eq!(given(one(), text), Ok(json!(value)), "{text}");
        }
        let several = || json!({"type": "array", "items": {"type": "string", "enum": ["a", "b", "c,d"]}});
        for (text, value) in
            [("a", json!(["a"])), ("b, a", json!(["b", "a"])), ("c,d", json!(["c,d"])), ("[]", json!([]))]
        {
            assert_eq!(given(several(), text), Ok(value), "{text}");
        }
        let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        assert_eq!(given(form, "{\"n\": 1}"), Ok(json!({"n": 1})));
        assert_eq!(given(json!({"type": "hologram"}), "[1]"), Ok(json!([1])));
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_the_question_takes() {
        let wrong = |schema, text: &str| given(schema, text).unwrap_err();
        assert_eq!(wrong(json!({"type": "boolean"}), "nope"), "it takes yes or no (or true, false), not `nope`");
        let size = json!({"type": "integer", "minimum": 1, "maximum": 10});
        assert_eq!(wrong(size, "many\u{1b}"), "it takes a whole number, 1 to 10, not `many␛`");
        let one = json!({"type": "string", "oneOf": [{"const": ",", "title": "comma"}, {"const": "b", "title": "b"}]});
        assert_eq!(wrong(one, "x"), "it takes one of: , (comma), b, not `x`");
        let several = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}});
        assert_eq!(wrong(several, "a,x"), "it takes any of these, with commas between them: a, b, not `a,x`");
        let form = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
        assert!(wrong(form, "yes").starts_with("it takes JSON, and this is none: line 1"), "");
    }
}

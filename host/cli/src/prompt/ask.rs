//! What a question asks for: the entries that a person fills in, one by one.

use longhaul::{AnswerSchema, Field, FieldKind, OpenQuestion, TextFormat};
use serde_json::{Map, Value, json};

/// One thing to enter.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The name of a form's field; none when the entry is the whole answer.
    pub name: Option<String>,
    /// What a person reads for it.
    pub label: String,
    pub required: bool,
    pub default: Option<Value>,
    /// None: a schema that this version does not understand. Its answer is typed as JSON.
    pub field: Option<Field>,
}

impl Entry {
    /// A value in the words that were offered for it.
    pub fn in_words(&self, value: &Value) -> String {
        self.field.as_ref().map_or_else(|| plain(value), |field| value_in_words(&field.kind, value))
    }
}

/// The entries of a question, in order; at least one.
pub fn entries(question: &OpenQuestion) -> Vec<Entry> {
    let hinted = question.options.as_ref().and_then(|options| options.get("default"));
    let whole = |field: Option<Field>| Entry {
        name: None,
        label: String::new(),
        required: true,
        default: hinted.cloned().or_else(|| field.as_ref()?.default.clone()),
        field,
    };
    match AnswerSchema::parse(&question.answer) {
        Err(_) => vec![whole(None)],
        Ok(AnswerSchema::One(field)) => vec![whole(Some(field))],
        Ok(AnswerSchema::Form(form)) => form
            .fields
            .into_iter()
            .map(|field| Entry {
                label: field.label().to_owned(),
                required: field.required,
                default: hinted.and_then(|values| values.get(&field.name)).or(field.field.default.as_ref()).cloned(),
                name: Some(field.name),
                field: Some(field.field),
            })
            .collect(),
    }
}

/// The answer that the entries make. An entry without a value is left out.
pub fn answer<'a>(entries: impl IntoIterator<Item = (&'a Entry, Option<Value>)>) -> Value {
    let mut form = Map::new();
    for (entry, value) in entries {
        match (&entry.name, value) {
            (None, value) => return value.unwrap_or_default(),
            (Some(name), Some(value)) => drop(form.insert(name.clone(), value)),
            (Some(_), None) => {}
        }
    }
    Value::Object(form)
}

/// An answer in the words that the question offered: `yes` for true, the title of a choice for its value, and for a
/// form its fields one after the other.
pub fn in_words(question: &OpenQuestion, answer: &Value) -> String {
    match (AnswerSchema::parse(&question.answer), answer) {
        (Ok(AnswerSchema::One(field)), value) => value_in_words(&field.kind, value),
        (Ok(AnswerSchema::Form(form)), Value::Object(values)) => {
            let given = form.fields.iter().filter_map(|field| {
                let value = values.get(&field.name)?;
                Some(format!("{}: {}", field.label(), value_in_words(&field.field.kind, value)))
            });
            given.collect::<Vec<_>>().join(", ")
        }
        (_, value) => plain(value),
    }
}

fn value_in_words(kind: &FieldKind, value: &Value) -> String {
    let label = |value: &Value| match kind {
        FieldKind::Choice { choices } | FieldKind::Choices { choices, .. } => {
            let chosen = choices.iter().find(|choice| *value == choice.value);
            chosen.map_or_else(|| plain(value), |choice| choice.label().to_owned())
        }
        _ => plain(value),
    };
    match (kind, value) {
        (FieldKind::Confirm, Value::Bool(true)) => "yes".to_owned(),
        (FieldKind::Confirm, Value::Bool(false)) => "no".to_owned(),
        (FieldKind::Choices { .. }, Value::Array(chosen)) => chosen.iter().map(label).collect::<Vec<_>>().join(", "),
        (_, value) => label(value),
    }
}

/// Text as it is, other values as JSON.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// An answer that fits, for a person who answers with a command: `yes`, `text`, `a,b`, `{"name":"text"}`.
pub fn example(question: &OpenQuestion) -> String {
    let entries = entries(question);
    let one = entries.len() == 1;
    let value = answer(entries.iter().map(|entry| (entry, (entry.required || one).then(|| example_of(entry)))));
    let whole = entries.first().filter(|entry| entry.name.is_none()).and_then(|entry| entry.field.as_ref());
    match (whole.map(|field| &field.kind), &value) {
        (Some(kind @ FieldKind::Confirm), value) => value_in_words(kind, value),
        (Some(FieldKind::Choices { .. }), Value::Array(values)) => {
            let texts = values.iter().map(|value| value.as_str().filter(|text| !text.contains(',')));
            texts.collect::<Option<Vec<_>>>().map_or_else(|| value.to_string(), |texts| texts.join(","))
        }
        (Some(_), value) => plain(value),
        (None, value) => value.to_string(),
    }
}

fn example_of(entry: &Entry) -> Value {
    if let Some(default) = &entry.default {
        return default.clone();
    }
    match entry.field.as_ref().map(|field| &field.kind) {
        Some(FieldKind::Confirm) => json!(true),
        Some(FieldKind::Text { format: Some(format), .. }) => json!(match format {
            TextFormat::Email => "ana@example.com",
            TextFormat::Uri => "https://example.com/",
            TextFormat::Date => "2026-11-30",
            TextFormat::DateTime => "2026-11-30T09:00:00Z",
        }),
        Some(FieldKind::Text { min_length, max_length, .. }) => {
            let length = 4.max(min_length.unwrap_or(0)).min(max_length.unwrap_or(u64::MAX));
            // One that must be very long is nothing that anybody types.
            json!("text".chars().cycle().take(length.min(80) as usize).collect::<String>())
        }
        None => json!("text"),
        Some(FieldKind::Number { minimum, maximum, .. }) => {
            minimum.clone().or_else(|| maximum.clone()).map_or(json!(1), Value::Number)
        }
        Some(FieldKind::Choice { choices }) => choices.first().map(|choice| json!(choice.value)).unwrap_or_default(),
        Some(FieldKind::Choices { choices, min, .. }) => {
            let least = min.unwrap_or(0).max(1) as usize;
            choices.iter().take(least).map(|choice| json!(choice.value)).collect()
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn question(answer: Value) -> OpenQuestion {
        OpenQuestion {
            question: 1,
            task: None,
            prompt: "Well?".into(),
            detail: None,
            answer,
            deadline: None,
            options: None,
        }
    }

    #[test]
    fn a_form_has_its_entries_with_defaults_and_what_is_required() {
        let mut form = question(json!({
            "type": "object", "required": ["name"],
            "properties": {"name": {"type": "string", "title": "Name"}, "size": {"type": "integer", "default": 3}}
        }));
        form.options = Some(json!({"default": {"name": "Ana"}}));
        let entries = entries(&form);
        let name = entries.iter().find(|entry| entry.label == "Name").unwrap();
        let size = entries.iter().find(|entry| entry.label == "size").unwrap();
        assert!(name.required && !size.required);
        assert_eq!(name.default, Some(json!("Ana")));
        assert_eq!(size.default, Some(json!(3)));
    }

    #[test]
    fn the_example_is_an_answer_that_fits() {
        let answers = [
            (json!({"type": "boolean"}), "yes"),
            (json!({"type": "string"}), "text"),
            (json!({"type": "string", "minLength": 6}), "textte"),
            (json!({"type": "string", "format": "date"}), "2026-11-30"),
            (json!({"type": "string", "enum": ["a", "b"]}), "a"),
            (json!({"type": "array", "minItems": 2, "items": {"type": "string", "enum": ["a", "b", "c"]}}), "a,b"),
            (json!({"type": "array", "items": {"type": "string", "enum": ["a,b", "c"]}}), "[\"a,b\"]"),
            (json!({"type": "number", "maximum": -2}), "-2"),
            (json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 5}}}), "{\"n\":5}"),
        ];
        for (schema, example) in answers {
            let asked = question(schema.clone());
            assert_eq!(super::example(&asked), example);
            let value = super::super::given::value(&asked, example).unwrap();
            assert_eq!(AnswerSchema::parse(&schema).unwrap().check(&value), Ok(()));
        }
    }

    #[test]
    fn an_answer_is_told_in_the_words_of_its_question() {
        let words = |schema, value| in_words(&question(schema), &value);
        assert_eq!(words(json!({"type": "boolean"}), json!(false)), "no");
        let titled = json!({"type": "string", "oneOf": [{"const": ";", "title": "semicolon"}]});
        assert_eq!(words(titled, json!(";")), "semicolon");
        assert_eq!(words(json!({"type": "string"}), json!("a b")), "a b");
        assert_eq!(words(json!({"type": "integer"}), json!(3)), "3");
        let form = json!({"type": "object", "properties": {"sure": {"type": "boolean", "title": "Sure?"}, "n": {"type": "integer"}}});
        assert_eq!(words(form, json!({"n": 3, "sure": true})), "Sure?: yes, n: 3");
    }

    #[test]
    fn a_schema_of_a_later_version_is_answered_as_json() {
        let later = question(json!({"type": "hologram"}));
        assert!(entries(&later)[0].field.is_none());
    }
}

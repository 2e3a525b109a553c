//! What an answer may look like: MCP's elicitation subset of JSON Schema.
//!
//! A *field* is a boolean, a number, an integer, a string, a choice (a string with `enum` or `oneOf`) or an array of
//! choices. An answer is one field, or a flat object of fields: a form.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::schema;

const MOST_FIELDS: usize = 50;
const MOST_CHOICES: usize = 500;

const KINDS: &str =
    "an answer is a boolean, a number, an integer, a string, a choice, an array of choices or a flat form of these";

/// The formats of strings that every face knows how to ask for.
const FORMATS: [&str; 4] = ["date", "date-time", "email", "uri"];

/// The schema of `T` in the subset, as far as it can be brought there.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let mut schema = schema::inline::<T>();
    // A form takes its fields and no others anyway.
    if let Some(members) = schema.as_object_mut().filter(|members| members.contains_key("properties"))
        && members.get("additionalProperties") == Some(&Value::Bool(false))
    {
        members.remove("additionalProperties");
    }
    match schema.get_mut("properties").and_then(Value::as_object_mut) {
        Some(fields) => fields.values_mut().for_each(simplify),
        None => simplify(&mut schema),
    }
    schema
}

/// A choice among `(value, title)`.
pub(crate) fn choice(choices: impl IntoIterator<Item = (String, String)>) -> Value {
    json!({ "type": "string", "oneOf": titled(choices) })
}

/// Several of what the schema of one choice offers.
pub(crate) fn several(mut choice: Value) -> Value {
    // MCP writes titled choices as `oneOf` where one is chosen and as `anyOf` where several are.
    if let Some(members) = choice.as_object_mut()
        && let Some(titled) = members.remove("oneOf")
    {
        members.remove("type");
        members.insert("anyOf".into(), titled);
    }
    json!({ "type": "array", "items": choice })
}

fn titled(choices: impl IntoIterator<Item = (String, String)>) -> Value {
    choices.into_iter().map(|(value, title)| json!({ "const": value, "title": title })).collect()
}

/// Rewrites what schemars says about one field in the words of the subset.
fn simplify(field: &mut Value) {
    unwrap_option(field);
    let Some(members) = field.as_object_mut() else {
        return;
    };
    if let Some(choices) = members.get("oneOf").and_then(Value::as_array).and_then(|all| choices(all)) {
        members.insert("type".into(), "string".into());
        members.insert("oneOf".into(), titled(choices));
    }
    if members.get("type").is_some_and(|kind| kind == "array")
        && let Some(mut items) = members.remove("items")
    {
        simplify(&mut items);
        members.insert("items".into(), several(items)["items"].take());
    }
}

/// A field that may be left out is not in `required`; that it could also be `null` is no help to a person.
fn unwrap_option(field: &mut Value) {
    let Some(members) = field.as_object_mut() else {
        return;
    };
    if let Some(Value::Array(kinds)) = members.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &mut kinds[..] {
            let kind = kind.take();
            members.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(cases)) = members.get_mut("anyOf") {
        cases.retain(|case| case.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = &mut cases[..] {
            let only = std::mem::take(only);
            members.remove("anyOf");
            for (name, value) in only {
                members.entry(name).or_insert(value);
            }
        }
    }
    if let Some(Value::Array(values)) = members.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
}

/// The `(value, title)` of an enum some of whose variants have a doc comment; none if a variant carries data.
fn choices(variants: &[Value]) -> Option<Vec<(String, String)>> {
    let mut choices = Vec::new();
    for variant in variants {
        let title = ["title", "description"].iter().find_map(|name| variant.get(name)?.as_str());
        let values = match (variant.get("const"), variant.get("enum")) {
            (Some(value), None) => std::slice::from_ref(value),
            (None, Some(Value::Array(values))) => values,
            _ => return None,
        };
        for value in values {
            let value = value.as_str()?;
            choices.push((value.to_owned(), title.unwrap_or(value).to_owned()));
        }
    }
    Some(choices)
}

/// Whether an answer's schema is within the subset; if not, which part of it is not and why.
///
/// As strict as the host, so that a unit test of [`Question::check`](crate::Question::check) tells what the host would.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return check_field(schema).map_err(|problem| format!("the answer {problem}"));
    }
    only(schema, &["type", "title", "description", "properties", "required"])
        .map_err(|keyword| format!("a form is a plain struct: `{keyword}` is more than that"))?;
    let Some(fields) = schema.get("properties").and_then(Value::as_object) else {
        return Err("a form needs at least one field".into());
    };
    if !(1..=MOST_FIELDS).contains(&fields.len()) {
        return Err(format!("a form has 1 to {MOST_FIELDS} fields, not {}", fields.len()));
    }
    for (name, field) in fields {
        check_field(field).map_err(|problem| format!("the form's field `{name}` {problem}"))?;
    }
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    match required.iter().find(|name| name.as_str().is_none_or(|name| !fields.contains_key(name))) {
        Some(name) => Err(format!("the form requires {name}, which is none of its fields")),
        None => Ok(()),
    }
}

fn check_field(field: &Value) -> Result<(), String> {
    let known: &[&str] = match field.get("type").and_then(Value::as_str) {
        Some("boolean") => &[],
        Some("number" | "integer") => &["minimum", "maximum"],
        Some("string") => return check_string(field),
        Some("array") => {
            check_items(field.get("items").unwrap_or(&Value::Null))?;
            &["items", "minItems", "maxItems", "uniqueItems"]
        }
        Some("object") => return Err(format!("is an object; {KINDS}")),
        Some(other) => return Err(format!("is of type `{other}`; {KINDS}")),
        None if field.get("oneOf").is_some() || field.get("anyOf").is_some() => {
            return Err(format!("has several shapes; {KINDS}, and a choice is an enum whose variants carry no data"));
        }
        None => return Err(format!("has no single type; {KINDS}")),
    };
    only_of_field(field, known)
}

fn check_string(field: &Value) -> Result<(), String> {
    if let Some(choices) = field.get("oneOf") {
        check_titled(choices)?;
        return only_of_field(field, &["oneOf"]);
    }
    if let Some(choices) = field.get("enum") {
        check_plain_choices(choices)?;
        return only_of_field(field, &["enum", "enumNames"]);
    }
    match field.get("format").map(|format| format.as_str().unwrap_or_default()) {
        Some(format) if !FORMATS.contains(&format) => {
            Err(format!("is a string of the format `{format}`; {} can be asked for", FORMATS.join(", ")))
        }
        _ => only_of_field(field, &["minLength", "maxLength", "format"]),
    }
}

fn check_items(items: &Value) -> Result<(), String> {
    let beyond = |keyword| format!("is an array whose items have `{keyword}`, which cannot be asked for");
    if let Some(choices) = items.get("anyOf") {
        only(items, &["anyOf"]).map_err(beyond)?;
        check_titled(choices)
    } else if let Some(choices) = items.get("enum") {
        only(items, &["type", "enum"]).map_err(beyond)?;
        check_plain_choices(choices)
    } else {
        Err("is an array of something else than choices; only an array of choices can be asked for".into())
    }
}

fn check_titled(choices: &Value) -> Result<(), String> {
    let choices = choices.as_array().map_or(&[][..], Vec::as_slice);
    let is_string = |choice: &Value, name| choice.get(name).is_some_and(Value::is_string);
    if choices.iter().any(|choice| !is_string(choice, "const") || !is_string(choice, "title")) {
        return Err("is a choice that carries data: only an enum whose variants carry none can be asked for".into());
    }
    check_choices(choices.iter().filter_map(|choice| choice["const"].as_str()))
}

fn check_plain_choices(choices: &Value) -> Result<(), String> {
    let choices = choices.as_array().map_or(&[][..], Vec::as_slice);
    if !choices.iter().all(Value::is_string) {
        return Err("is a choice among values that are not strings".into());
    }
    check_choices(choices.iter().filter_map(Value::as_str))
}

fn check_choices<'a>(choices: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for choice in choices {
        if !seen.insert(choice) {
            return Err(format!("is a choice that offers `{choice}` twice"));
        }
    }
    match seen.len() {
        0 => Err("is a choice with nothing to choose from".into()),
        1..=MOST_CHOICES => Ok(()),
        count => Err(format!("is a choice among {count}; {MOST_CHOICES} is the most")),
    }
}

fn only_of_field(field: &Value, known: &[&str]) -> Result<(), String> {
    only(field, &[&["type", "title", "description", "default"], known].concat())
        .map_err(|keyword| format!("has `{keyword}`, which cannot be asked for; {KINDS}"))
}

/// The first keyword that is not known.
fn only<'a>(schema: &'a Value, known: &[&str]) -> Result<(), &'a str> {
    let keywords = schema.as_object().into_iter().flat_map(Map::keys);
    match keywords.into_iter().find(|keyword| !known.contains(&keyword.as_str())) {
        Some(keyword) => Err(keyword),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;

//! What an answer may look like: MCP's elicitation subset of JSON Schema.
//!
//! A *field* is a boolean, a number, an integer, a string, a choice (a string with `enum` or `oneOf`) or an array of
//! choices. An answer is one field, or a flat object of fields: a form.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::schema;

/// The formats of strings that every face knows how to ask for.
const FORMATS: [&str; 4] = ["date", "date-time", "email", "uri"];

/// The schema of `T` in the subset, as far as it can be brought there.
pub(crate) fn of<T: JsonSchema>() -> Value {
    let mut schema = schema::inline::<T>();
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
    choices
        .into_iter()
        .map(|(value, title)| json!({ "const": value, "title": title }))
        .collect()
}

/// Rewrites what schemars says about one field in the words of the subset.
fn simplify(field: &mut Value) {
    unwrap_option(field);
    let Some(members) = field.as_object_mut() else {
        return;
    };
    if let Some(choices) = members
        .get("oneOf")
        .and_then(Value::as_array)
        .and_then(|all| choices(all))
    {
        members.insert("type".into(), "string".into());
        members.insert("oneOf".into(), titled(choices));
    }
    if members
        .get("type")
        .is_some_and(|kind| kind == "integer" || kind == "number")
    {
        plain_number(members);
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
        let title = ["title", "description"]
            .iter()
            .find_map(|name| variant.get(name)?.as_str());
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

/// Rust's number formats become bounds, so that an answer that does not fit is refused while the person is there.
fn plain_number(members: &mut Map<String, Value>) {
    let bounds = match members.remove("format").as_ref().and_then(Value::as_str) {
        Some("int32") => (json!(i32::MIN), json!(i32::MAX)),
        Some("uint32") => (json!(0), json!(u32::MAX)),
        _ => return,
    };
    members.entry("minimum").or_insert(bounds.0);
    members.entry("maximum").or_insert(bounds.1);
}

/// Whether an answer's schema is within the subset; if not, which part of it is not and why.
pub(crate) fn check(schema: &Value) -> Result<(), String> {
    if schema.get("type").is_none_or(|kind| kind != "object") {
        return check_field(schema).map_err(|problem| format!("the answer {problem}"));
    }
    for keyword in [
        "oneOf",
        "anyOf",
        "allOf",
        "$ref",
        "$defs",
        "patternProperties",
        "additionalProperties",
    ] {
        // A closed form is still flat.
        if schema
            .get(keyword)
            .is_some_and(|value| *value != Value::Bool(false))
        {
            return Err(format!(
                "a form is a plain struct: `{keyword}` is more than that"
            ));
        }
    }
    let Some(fields) = schema
        .get("properties")
        .map_or(Some(&Map::new()), Value::as_object)
        .cloned()
    else {
        return Err("a form's `properties` are an object".into());
    };
    for (name, field) in &fields {
        check_field(field).map_err(|problem| format!("the form's field `{name}` {problem}"))?;
    }
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .map_or(&[][..], Vec::as_slice);
    match required
        .iter()
        .find(|name| name.as_str().is_none_or(|name| !fields.contains_key(name)))
    {
        Some(name) => Err(format!(
            "the form requires {name}, which is none of its fields"
        )),
        None => Ok(()),
    }
}

fn check_field(field: &Value) -> Result<(), String> {
    const KINDS: &str = "an answer is a boolean, a number, an integer, a string, a choice, an array of choices or a flat form of these";
    let kind = field.get("type").and_then(Value::as_str);
    for keyword in ["allOf", "$ref", "not", "if"] {
        if field.get(keyword).is_some() {
            return Err(format!("uses `{keyword}`; {KINDS}"));
        }
    }
    match kind {
        Some("boolean" | "number" | "integer") => Ok(()),
        Some("string") => check_string(field),
        Some("array") => match field.get("items") {
            Some(items) => check_items(items),
            None => Err(
                "is an array that does not say of what; only an array of choices can be asked for"
                    .into(),
            ),
        },
        Some("object") => Err(format!("is an object; {KINDS}")),
        Some(other) => Err(format!("is of type `{other}`; {KINDS}")),
        None if field.get("oneOf").is_some() || field.get("anyOf").is_some() => Err(format!(
            "has several shapes; {KINDS}, and a choice is an enum whose variants carry no data"
        )),
        None => Err(format!("has no single type; {KINDS}")),
    }
}

fn check_string(field: &Value) -> Result<(), String> {
    if let Some(choices) = field.get("oneOf") {
        return check_titled(choices);
    }
    if let Some(choices) = field.get("enum") {
        return check_plain_choices(choices);
    }
    match field
        .get("format")
        .map(|format| format.as_str().unwrap_or_default())
    {
        Some(format) if !FORMATS.contains(&format) => Err(format!(
            "is a string of the format `{format}`; {} can be asked for",
            FORMATS.join(", ")
        )),
        _ => Ok(()),
    }
}

fn check_items(items: &Value) -> Result<(), String> {
    if let Some(choices) = items.get("anyOf") {
        check_titled(choices)
    } else if let Some(choices) = items.get("enum") {
        check_plain_choices(choices)
    } else {
        Err(
            "is an array of something else than choices; only an array of choices can be asked for"
                .into(),
        )
    }
}

fn check_titled(choices: &Value) -> Result<(), String> {
    let choices = choices.as_array().map_or(&[][..], Vec::as_slice);
    if choices.is_empty() {
        return Err("is a choice with nothing to choose from".into());
    }
    if choices
        .iter()
        .any(|choice| choice.get("const").is_none_or(|value| !value.is_string()))
    {
        return Err("is a choice that carries data: only an enum whose variants carry none can be asked for".into());
    }
    no_doubles(choices.iter().filter_map(|choice| choice["const"].as_str()))
}

fn check_plain_choices(choices: &Value) -> Result<(), String> {
    match choices.as_array().map_or(&[][..], Vec::as_slice) {
        [] => Err("is a choice with nothing to choose from".into()),
        choices if choices.iter().all(Value::is_string) => {
            no_doubles(choices.iter().filter_map(Value::as_str))
        }
        _ => Err("is a choice among values that are not strings".into()),
    }
}

fn no_doubles<'a>(choices: impl Iterator<Item = &'a str>) -> Result<(), String> {
    let mut seen = std::collections::BTreeSet::new();
    for choice in choices {
        if !seen.insert(choice) {
            return Err(format!("is a choice that offers `{choice}` twice"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

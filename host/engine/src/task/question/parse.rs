//! From a JSON Schema within the elicitation subset to the types.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use super::check::compare;
use super::{AnswerSchema, Choice, Field, FieldKind, Form, FormField, TextFormat};
use crate::json::{Problem, brief, child, cut, dialect, problem};

/// A form that has more is none that a person fills in.
const MOST_FIELDS: usize = 50;
/// Over all fields of a question.
const MOST_CHOICES: usize = 500;

type Members = Map<String, Value>;

impl AnswerSchema {
    /// Reads the schema that a tool gave with its question, or says where (a JSON pointer into it) it is not within the
    /// subset, and why.
    pub fn parse(schema: &Value) -> Result<Self, String> {
        Self::read(schema).map_err(|problem| problem.to_string())
    }

    fn read(schema: &Value) -> Result<Self, Problem> {
        let mut parser = Parser { choices: 0 };
        let members = object(schema, "")?;
        dialect(members)?;
        match kind(members, "")? {
            "object" => parser.form(members).map(Self::Form),
            kind => parser.field(members, kind, "", &["$schema"]).map(Self::One),
        }
    }
}

struct Parser {
    choices: usize,
}

impl Parser {
    fn form(&mut self, members: &Members) -> Result<Form, Problem> {
        only(members, "", &[&["$schema", "type", "title", "description", "properties", "required"]])?;
        let properties = match members.get("properties") {
            Some(properties) => object(properties, "/properties")?,
            None => return Err(problem("/properties", "a form needs its fields")),
        };
        if properties.is_empty() || properties.len() > MOST_FIELDS {
            return Err(problem(
                "/properties",
                format_args!("a form has 1 to {MOST_FIELDS} fields, not {}", properties.len()),
            ));
        }
        let required = match members.get("required") {
            Some(required) => strings(required, "/required")?,
            None => Vec::new(),
        };
        for (index, name) in required.iter().enumerate() {
            if !properties.contains_key(*name) {
                let at = child("/required", index);
                return Err(problem(&at, format_args!("there is no property \"{}\"", cut(name))));
            }
        }
        let mut fields = Vec::with_capacity(properties.len());
        for (name, schema) in properties {
            let at = child("/properties", name);
            let members = object(schema, &at)?;
            let kind = kind(members, &at)?;
            if kind == "object" {
                return Err(problem(&at, "a form is flat: its fields cannot be objects"));
            }
            let required = required.contains(&name.as_str());
            fields.push(FormField { name: name.clone(), required, field: self.field(members, kind, &at, &[])? });
        }
        Ok(Form { title: text(members, "title", "")?, description: text(members, "description", "")?, fields })
    }

    /// `also`: further keywords that may stand here.
    fn field(&mut self, members: &Members, kind: &str, at: &str, also: &[&str]) -> Result<Field, Problem> {
        const COMMON: &[&str] = &["type", "title", "description", "default"];
        let only = |these: &[&str]| only(members, at, &[COMMON, also, these]);
        let kind = match kind {
            "boolean" => {
                only(&[])?;
                FieldKind::Confirm
            }
            "string" => self.string(members, at, &only)?,
            "number" | "integer" => {
                only(&["minimum", "maximum"])?;
                let (minimum, maximum) = (number(members, "minimum", at)?, number(members, "maximum", at)?);
                if let (Some(minimum), Some(maximum)) = (&minimum, &maximum)
                    && compare(minimum, maximum) == Ordering::Greater
                {
                    return Err(problem(&child(at, "minimum"), format_args!("{minimum} is more than the maximum")));
                }
                FieldKind::Number { integer: kind == "integer", minimum, maximum }
            }
            "array" => {
                only(&["items", "minItems", "maxItems", "uniqueItems"])?;
                self.several(members, at)?
            }
            other => {
                let at = child(at, "type");
                return Err(problem(
                    &at,
                    format_args!(
                        "\"{}\" is not one of \"boolean\", \"string\", \"number\", \"integer\", \"array\", \"object\"",
                        cut(other)
                    ),
                ));
            }
        };
        let default = members.get("default").cloned();
        if let Some(default) = &default {
            kind.check(&child(at, "default"), default)?;
        }
        Ok(Field { title: text(members, "title", at)?, description: text(members, "description", at)?, default, kind })
    }

    fn string(
        &mut self,
        members: &Members,
        at: &str,
        only: &impl Fn(&[&str]) -> Result<(), Problem>,
    ) -> Result<FieldKind, Problem> {
        if members.contains_key("enum") {
            only(&["enum", "enumNames"])?;
            return Ok(FieldKind::Choice { choices: self.untitled(members, at)? });
        }
        if let Some(titled) = members.get("oneOf") {
            only(&["oneOf"])?;
            return Ok(FieldKind::Choice { choices: self.titled(titled, &child(at, "oneOf"))? });
        }
        only(&["minLength", "maxLength", "format"])?;
        let (min_length, max_length) = bounds(members, at, "minLength", "maxLength")?;
        Ok(FieldKind::Text { min_length, max_length, format: format(members, at)? })
    }

    fn several(&mut self, members: &Members, at: &str) -> Result<FieldKind, Problem> {
        let inner = child(at, "items");
        let Some(items) = members.get("items") else {
            return Err(problem(&inner, "a list needs the choices that it is made of"));
        };
        let items = object(items, &inner)?;
        let choices = if let Some(titled) = items.get("anyOf") {
            only(items, &inner, &[&["anyOf"]])?;
            self.titled(titled, &child(&inner, "anyOf"))?
        } else {
            only(items, &inner, &[&["type", "enum"]])?;
            if kind(items, &inner)? != "string" || !items.contains_key("enum") {
                return Err(problem(
                    &inner,
                    "a list is made of choices: a string with `enum`, or `anyOf` of constants",
                ));
            }
            self.untitled(items, &inner)?
        };
        let (min, max) = bounds(members, at, "minItems", "maxItems")?;
        let unique = match members.get("uniqueItems") {
            None => false,
            Some(Value::Bool(unique)) => *unique,
            Some(other) => {
                let at = child(at, "uniqueItems");
                return Err(problem(&at, format_args!("{} is not true or false", brief(other))));
            }
        };
        if unique && min.is_some_and(|min| min > choices.len() as u64) {
            let at = child(at, "minItems");
            return Err(problem(&at, format_args!("there are only {} different choices", choices.len())));
        }
        Ok(FieldKind::Choices { choices, min, max, unique })
    }

    /// `enum`, with `enumNames` if there are any.
    fn untitled(&mut self, members: &Members, at: &str) -> Result<Vec<Choice>, Problem> {
        let values = strings(members.get("enum").unwrap_or(&Value::Null), &child(at, "enum"))?;
        let titles = match members.get("enumNames") {
            None => vec![None; values.len()],
            Some(names) => {
                let at = child(at, "enumNames");
                let names = strings(names, &at)?;
                if names.len() != values.len() {
                    return Err(problem(&at, format_args!("{} names for {} choices", names.len(), values.len())));
                }
                names.into_iter().map(Some).collect()
            }
        };
        self.choices(values.into_iter().zip(titles).collect(), &child(at, "enum"))
    }

    /// `[{const, title}]`.
    fn titled(&mut self, list: &Value, at: &str) -> Result<Vec<Choice>, Problem> {
        let mut choices = Vec::new();
        for (index, choice) in array(list, at)?.iter().enumerate() {
            let at = child(at, index);
            let members = object(choice, &at)?;
            only(members, &at, &[&["const", "title"]])?;
            match (members.get("const"), members.get("title")) {
                (Some(Value::String(value)), Some(Value::String(title))) => {
                    choices.push((value.as_str(), Some(title.as_str())));
                }
                _ => return Err(problem(&at, "a choice has a `const` and a `title`, both of them strings")),
            }
        }
        self.choices(choices, at)
    }

    fn choices(&mut self, choices: Vec<(&str, Option<&str>)>, at: &str) -> Result<Vec<Choice>, Problem> {
        if choices.is_empty() {
            return Err(problem(at, "there is nothing to choose"));
        }
        self.choices += choices.len();
        if self.choices > MOST_CHOICES {
            return Err(problem(at, format_args!("a question offers at most {MOST_CHOICES} choices in all")));
        }
        let mut seen = HashSet::new();
        for (index, (value, _)) in choices.iter().enumerate() {
            if !seen.insert(value) {
                return Err(problem(&child(at, index), format_args!("\"{}\" is offered twice", cut(value))));
            }
        }
        let owned = |(value, title): (&str, Option<&str>)| Choice { value: value.into(), title: title.map(Into::into) };
        Ok(choices.into_iter().map(owned).collect())
    }
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Members, Problem> {
    value.as_object().ok_or_else(|| problem(at, format_args!("{} is not an object", brief(value))))
}

fn array<'a>(value: &'a Value, at: &str) -> Result<&'a [Value], Problem> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(problem(at, format_args!("{} is not a list", brief(other)))),
    }
}

fn strings<'a>(value: &'a Value, at: &str) -> Result<Vec<&'a str>, Problem> {
    let string = |(index, item): (usize, &'a Value)| {
        item.as_str().ok_or_else(|| problem(&child(at, index), format_args!("{} is not a string", brief(item))))
    };
    array(value, at)?.iter().enumerate().map(string).collect()
}

fn kind<'a>(members: &'a Members, at: &str) -> Result<&'a str, Problem> {
    match members.get("type") {
        Some(Value::String(kind)) => Ok(kind),
        Some(other) => Err(problem(&child(at, "type"), format_args!("{} is not a single type", brief(other)))),
        None => Err(problem(&child(at, "type"), "it is missing")),
    }
}

fn only(members: &Members, at: &str, known: &[&[&str]]) -> Result<(), Problem> {
    match members.keys().find(|key| !known.iter().any(|known| known.contains(&key.as_str()))) {
        None => Ok(()),
        Some(key) => Err(problem(
            &child(at, cut(key)),
            "this keyword has no place here in the elicitation subset of JSON Schema",
        )),
    }
}

fn text(members: &Members, key: &str, at: &str) -> Result<Option<String>, Problem> {
    match members.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(problem(&child(at, key), format_args!("{} is not a string", brief(other)))),
    }
}

fn number(members: &Members, key: &str, at: &str) -> Result<Option<Number>, Problem> {
    match members.get(key) {
        None => Ok(None),
        Some(Value::Number(number)) => Ok(Some(number.clone())),
        Some(other) => Err(problem(&child(at, key), format_args!("{} is not a number", brief(other)))),
    }
}

fn bounds(members: &Members, at: &str, min: &str, max: &str) -> Result<(Option<u64>, Option<u64>), Problem> {
    let count = |key: &str| match members.get(key) {
        None => Ok(None),
        Some(value) => match value.as_u64() {
            Some(count) => Ok(Some(count)),
            None => Err(problem(&child(at, key), format_args!("{} is not a whole number from 0", brief(value)))),
        },
    };
    match (count(min)?, count(max)?) {
        (Some(least), Some(most)) if least > most => {
            Err(problem(&child(at, min), format_args!("{least} is more than `{max}`")))
        }
        both => Ok(both),
    }
}

fn format(members: &Members, at: &str) -> Result<Option<TextFormat>, Problem> {
    let Some(name) = text(members, "format", at)? else { return Ok(None) };
    match TextFormat::ALL.into_iter().find(|format| format.as_str() == name) {
        Some(format) => Ok(Some(format)),
        None => Err(problem(
            &child(at, "format"),
            format_args!("\"{}\" is not one of \"email\", \"uri\", \"date\", \"date-time\"", cut(&name)),
        )),
    }
}

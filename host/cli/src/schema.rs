//! What a JSON Schema says about one value: which kinds of JSON it may be, and which values.
//!
//! Enough to turn `KEY=VALUE` into JSON. Whether the whole input is valid is for the host to say.

use serde_json::{Map, Value};

/// References and combinations are followed this far, which also ends the ones that lead in a circle.
const DEPTH: usize = 16;

/// The kinds of JSON that a schema lets through.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Kinds {
    names: Vec<&'static str>,
    /// The only values allowed, where they are listed.
    pub listed: Vec<Value>,
}

const NAMES: [&str; 7] = ["string", "integer", "number", "boolean", "array", "object", "null"];

impl Kinds {
    /// Reads `schema`, which is somewhere inside `root`.
    pub fn of(root: &Value, schema: &Value) -> Self {
        let mut kinds = Self::default();
        kinds.gather(root, schema, DEPTH);
        kinds
    }

    /// The schema says nothing: anything goes.
    pub fn is_any(&self) -> bool {
        self.names.is_empty()
    }

    pub fn allows(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    pub fn allows_value(&self, value: &Value) -> bool {
        match value {
            Value::Null => self.allows("null"),
            Value::Bool(_) => self.allows("boolean"),
            Value::Number(n) => self.allows("number") || (self.allows("integer") && !is_fraction(n)),
            Value::String(_) => self.allows("string"),
            Value::Array(_) => self.allows("array"),
            Value::Object(_) => self.allows("object"),
        }
    }

    /// For a person: `a number`, `an array or null`.
    pub fn words(&self) -> String {
        let words: Vec<_> = self
            .names
            .iter()
            .map(|name| match *name {
                "integer" | "array" | "object" => format!("an {name}"),
                "null" => "null".to_owned(),
                name => format!("a {name}"),
            })
            .collect();
        words.join(" or ")
    }

    fn gather(&mut self, root: &Value, schema: &Value, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|at| local(root, at)) {
            self.gather(root, target, depth);
        }
        for name in as_list(schema.get("type")).filter_map(Value::as_str) {
            self.add(name);
        }
        let only = schema.get("const").into_iter();
        for value in only.chain(schema.get("enum").and_then(Value::as_array).into_iter().flatten()) {
            self.add(kind_of(value));
            self.listed.push(value.clone());
        }
        for branch in branches(schema) {
            self.gather(root, branch, depth);
        }
    }

    fn add(&mut self, name: &str) {
        if let Some(known) = NAMES.into_iter().find(|known| *known == name)
            && !self.names.contains(&known)
        {
            self.names.push(known);
        }
    }
}

/// The properties that an object's schema names.
pub fn properties(root: &Value) -> Map<String, Value> {
    fn gather(root: &Value, schema: &Value, depth: usize, into: &mut Map<String, Value>) {
        let Some(depth) = depth.checked_sub(1) else { return };
        if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|at| local(root, at)) {
            gather(root, target, depth, into);
        }
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            into.entry(name.as_str()).or_insert_with(|| property.clone());
        }
        for branch in branches(schema) {
            gather(root, branch, depth, into);
        }
    }
    let mut found = Map::new();
    gather(root, root, DEPTH, &mut found);
    found
}

fn branches(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|name| schema.get(name)?.as_array()).flatten()
}

/// A reference within the same document; others are not followed.
fn local<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

fn as_list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    let (one, many) = match value {
        Some(Value::Array(values)) => (None, values.as_slice()),
        other => (other, [].as_slice()),
    };
    one.into_iter().chain(many)
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_fraction(number: &serde_json::Number) -> bool {
    number.as_f64().is_some_and(|n| n.fract() != 0.0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(schema: &Value) -> String {
        Kinds::of(schema, schema).words()
    }

    #[test]
    fn kinds_are_found_behind_references_combinations_and_lists_of_values() {
        assert_eq!(words(&json!({"type": "integer"})), "an integer");
        assert_eq!(words(&json!({"type": ["string", "null"]})), "a string or null");
        assert_eq!(words(&json!({"enum": ["a", 1]})), "a string or a number");
        assert_eq!(words(&json!({"oneOf": [{"const": "a"}, {"const": "b"}]})), "a string");
        let optional =
            json!({"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}], "$defs": {"Size": {"type": "number"}}});
        assert_eq!(words(&optional), "a number or null");
        assert!(Kinds::of(&json!({}), &json!({})).is_any());
    }

    #[test]
    fn a_reference_to_itself_comes_to_an_end() {
        let round = json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}}});
        assert_eq!(words(&round), "null");
    }

    #[test]
    fn properties_are_found_behind_references() {
        let schema = json!({"$ref": "#/$defs/Input", "$defs": {"Input": {"properties": {"csv": {"type": "string"}}}}});
        assert_eq!(properties(&schema).keys().collect::<Vec<_>>(), ["csv"]);
    }
}

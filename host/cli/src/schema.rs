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
        visit(root, schema, DEPTH, &mut |schema| kinds.gather(schema));
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

    /// For a person: `numbers`, `arrays or nulls`.
    pub fn plural(&self) -> String {
        self.names.iter().map(|name| format!("{name}s")).collect::<Vec<_>>().join(" or ")
    }

    fn gather(&mut self, schema: &Value) {
        for name in as_list(schema.get("type")).filter_map(Value::as_str) {
            self.add(name);
        }
        let only = schema.get("const").into_iter();
        for value in only.chain(schema.get("enum").and_then(Value::as_array).into_iter().flatten()) {
            self.add(kind_of(value));
            self.listed.push(value.clone());
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

/// The properties that a whole schema names.
pub fn properties(root: &Value) -> Map<String, Value> {
    properties_of(root, root)
}

/// The properties that an object's schema names, which is somewhere inside `root`.
pub fn properties_of(root: &Value, schema: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    visit(root, schema, DEPTH, &mut |schema| {
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            found.entry(name.as_str()).or_insert_with(|| property.clone());
        }
    });
    found
}

/// The properties that an object must have.
pub fn required(root: &Value, schema: &Value) -> Vec<String> {
    let target = |schema: &Value| local(root, schema.get("$ref")?.as_str()?);
    // What a branch requires is not required of all.
    let schema = (0..DEPTH).try_fold(schema, |schema, _| target(schema).ok_or(schema)).unwrap_or_else(|last| last);
    as_list(schema.get("required")).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The schema of an array's items.
pub fn items(root: &Value, schema: &Value) -> Option<Value> {
    let mut found = None;
    visit(root, schema, DEPTH, &mut |schema| {
        found = found.take().or_else(|| schema.get("items").cloned());
    });
    found
}

/// Looks at a schema, at what it refers to, and at each branch.
fn visit(root: &Value, schema: &Value, depth: usize, look: &mut impl FnMut(&Value)) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(target) = schema.get("$ref").and_then(Value::as_str).and_then(|at| local(root, at)) {
        visit(root, target, depth, look);
    }
    look(schema);
    for branch in branches(schema) {
        visit(root, branch, depth, look);
    }
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
        let list = json!({"$ref": "#/$defs/List", "$defs": {"List": {"type": "array", "items": {"type": "integer"}}}});
        assert_eq!(Kinds::of(&list, &items(&list, &list).unwrap()).plural(), "integers");
    }
}

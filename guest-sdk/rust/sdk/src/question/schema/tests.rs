#![allow(dead_code)]

use serde::Deserialize;

use super::*;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Plain {
    Red,
    Green,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Described {
    /// The file uses commas.
    Comma,
    Semicolon,
}

#[test]
fn an_enum_without_docs_is_a_plain_choice() {
    assert_eq!(of::<Plain>(), json!({ "type": "string", "enum": ["red", "green"] }));
    check(&of::<Plain>()).unwrap();
}

#[test]
fn docs_of_variants_are_titles() {
    let schema = of::<Described>();
    let mut choices = schema["oneOf"].as_array().unwrap().clone();
    choices.sort_by_key(|choice| choice["const"].to_string());
    assert_eq!(
        choices,
        [
            json!({ "const": "comma", "title": "The file uses commas." }),
            json!({ "const": "semicolon", "title": "semicolon" })
        ]
    );
    assert_eq!(schema["type"], "string");
    check(&schema).unwrap();
}

#[test]
fn several_choices_are_an_array() {
    let schema = several(of::<Described>());
    assert_eq!(schema["type"], "array");
    assert_eq!(schema["items"]["anyOf"].as_array().unwrap().len(), 2);
    check(&schema).unwrap();
    assert_eq!(several(of::<Plain>())["items"], of::<Plain>());
    check(&several(of::<Plain>())).unwrap();
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Form {
    /// Who pays?
    payer: Option<String>,
    colour: Option<Described>,
    colours: Vec<Plain>,
    amount: f64,
    copies: u32,
    small: i8,
    urgent: bool,
    #[serde(default)]
    note: Option<String>,
}

#[test]
fn a_flat_struct_is_a_form() {
    let schema = of::<Form>();
    check(&schema).unwrap();
    let fields = &schema["properties"];
    assert_eq!(fields["payer"], json!({ "type": "string", "description": "Who pays?" }));
    assert_eq!(fields["colour"]["type"], "string");
    assert_eq!(fields["amount"], json!({ "type": "number" }));
    assert_eq!(fields["copies"], json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX }));
    assert_eq!(fields["small"], json!({ "type": "integer", "minimum": -128, "maximum": 127 }));
    assert_eq!(schema.get("additionalProperties"), None);
    assert_eq!(fields["note"], json!({ "type": "string" }));
    assert_eq!(schema["required"], json!(["colours", "amount", "copies", "small", "urgent"]));
}

#[derive(Deserialize, JsonSchema)]
struct Nested {
    inner: Inner,
}

#[derive(Deserialize, JsonSchema)]
struct Inner {
    x: u8,
}

#[derive(Deserialize, JsonSchema)]
enum WithData {
    A(u8),
    B,
}

#[derive(Deserialize, JsonSchema)]
struct Recursive {
    next: Option<Box<Recursive>>,
}

#[derive(Deserialize, JsonSchema)]
struct ManyTexts {
    lines: Vec<String>,
}

fn problem_of<T: JsonSchema>() -> String {
    check(&of::<T>()).unwrap_err()
}

#[test]
fn what_is_not_flat_is_named() {
    assert!(problem_of::<Nested>().starts_with("the form's field `inner` is an object"), "{}", problem_of::<Nested>());
    assert!(problem_of::<WithData>().contains("variants carry no data"), "{}", problem_of::<WithData>());
    assert!(
        problem_of::<ManyTexts>().starts_with("the form's field `lines` is an array"),
        "{}",
        problem_of::<ManyTexts>()
    );
    assert!(problem_of::<Recursive>().contains('`'), "{}", problem_of::<Recursive>());
    assert!(problem_of::<std::collections::BTreeMap<String, u8>>().contains("additionalProperties"));
}

#[test]
fn odd_schemas_by_hand_are_refused() {
    for (schema, reason) in [
        (json!({}), "no single type"),
        (json!({ "type": "null" }), "`null`"),
        (json!({ "type": "object", "properties": {} }), "1 to 50 fields"),
        (json!({ "type": "string", "pattern": "^a" }), "`pattern`"),
        (json!({ "type": "integer", "multipleOf": 2 }), "`multipleOf`"),
        (json!({ "type": "array", "items": { "type": "string" } }), "something else than choices"),
        (json!({ "type": "string", "format": "ipv4" }), "`ipv4`"),
        (json!({ "type": "string", "enum": [] }), "nothing to choose"),
        (json!({ "type": "string", "enum": [1] }), "not strings"),
        (json!({ "type": "string", "enum": ["a", "a"] }), "`a` twice"),
        (
            json!({ "type": "object", "properties": {"b": { "type": "string" }}, "required": ["a"] }),
            "none of its fields",
        ),
    ] {
        let problem = check(&schema).unwrap_err();
        assert!(problem.contains(reason), "{problem}");
    }
}

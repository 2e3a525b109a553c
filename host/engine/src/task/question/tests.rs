//! What is a question, what is an answer, and that the JSON Schema which other faces use says the same.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn parse(schema: Value) -> AnswerSchema {
    AnswerSchema::parse(&schema).unwrap()
}

fn kind(schema: Value) -> FieldKind {
    match parse(schema) {
        AnswerSchema::One(field) => field.kind,
        AnswerSchema::Form(form) => panic!("{form:?}"),
    }
}

#[test]
fn every_kind_of_question() {
    assert_eq!(kind(json!({"type": "boolean"})), FieldKind::Confirm);
    assert_eq!(
        kind(json!({"type": "string", "minLength": 1, "maxLength": 80, "format": "email"})),
        FieldKind::Text { min_length: Some(1), max_length: Some(80), format: Some(TextFormat::Email) }
    );
    assert_eq!(
        kind(json!({"type": "integer", "minimum": 0, "maximum": 1.5})),
        FieldKind::Number { integer: true, minimum: Some(0.into()), maximum: Number::from_f64(1.5) }
    );
    let plain = |value: &str| Choice { value: value.into(), title: None };
    let titled = |value: &str, title: &str| Choice { value: value.into(), title: Some(title.into()) };
    assert_eq!(
        kind(json!({"type": "string", "enum": ["a", "b"]})),
        FieldKind::Choice { choices: vec![plain("a"), plain("b")] }
    );
    assert_eq!(
        kind(json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]})),
        FieldKind::Choice { choices: vec![titled("a", "A"), titled("b", "B")] }
    );
    assert_eq!(
        kind(json!({"type": "string", "oneOf": [{"const": "a", "title": "A"}]})),
        FieldKind::Choice { choices: vec![titled("a", "A")] }
    );
    assert_eq!(
        kind(json!({"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1, "uniqueItems": true})),
        FieldKind::Choices { choices: vec![plain("a")], min: Some(1), max: None, unique: true }
    );
    assert_eq!(
        kind(json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}, "maxItems": 1})),
        FieldKind::Choices { choices: vec![titled("a", "A")], min: None, max: Some(1), unique: false }
    );
}

/// A person fills in a form from the top, and its author has ordered it for them. This needs `preserve_order` of serde_json.
#[test]
fn a_forms_fields_keep_the_order_of_the_text() {
    let text = r#"{"type": "object", "title": "Deploy", "required": ["zone"], "properties": {
        "zone": {"type": "string"}, "node": {"type": "string", "title": "Node name"}, "at": {"type": "string"}
    }}"#;
    let AnswerSchema::Form(form) = parse(serde_json::from_str(text).unwrap()) else { panic!() };
    let names: Vec<_> = form.fields.iter().map(|field| (field.name.as_str(), field.label(), field.required)).collect();
    assert_eq!(names, [("zone", "zone", true), ("node", "Node name", false), ("at", "at", false)]);
    assert_eq!(form.title.as_deref(), Some("Deploy"));
}

#[test]
fn what_is_no_question_is_refused_with_its_place() {
    let many: Vec<_> = (0..501).map(|n| n.to_string()).collect();
    let half: Vec<_> = (0..251).map(|n| n.to_string()).collect();
    let fields: serde_json::Map<_, _> = (0..51).map(|n| (n.to_string(), json!({"type": "boolean"}))).collect();
    let subset = "this keyword has no place here in the elicitation subset of JSON Schema";
    let table = [
        (json!(true), "true is not an object".to_owned()),
        (json!({}), "at `/type`: it is missing".to_owned()),
        (json!({"type": ["string", "null"]}), "at `/type`: [\"string\",\"null\"] is not a single type".to_owned()),
        (
            json!({"type": "null"}),
            "at `/type`: \"null\" is not one of \"boolean\", \"string\", \"number\", \"integer\", \"array\", \"object\"".to_owned(),
        ),
        (
            json!({"type": "string", "$schema": "http://json-schema.org/draft-07/schema#"}),
            "at `/$schema`: \"http://json-schema.org/draft-07/schema#\" is not \
             \"https://json-schema.org/draft/2020-12/schema\""
                .to_owned(),
        ),
        (json!({"type": "string", "pattern": "a"}), format!("at `/pattern`: {subset}")),
        (json!({"type": "string", "enum": ["a"], "minLength": 1}), format!("at `/minLength`: {subset}")),
        (json!({"type": "string", "enum": ["a"], "oneOf": []}), format!("at `/oneOf`: {subset}")),
        (json!({"type": "integer", "format": "uint32"}), format!("at `/format`: {subset}")),
        (json!({"type": "number", "exclusiveMinimum": 0}), format!("at `/exclusiveMinimum`: {subset}")),
        (
            json!({"type": "string", "format": "uuid"}),
            "at `/format`: \"uuid\" is not one of \"email\", \"uri\", \"date\", \"date-time\"".to_owned(),
        ),
        (json!({"type": "string", "minLength": -1}), "at `/minLength`: -1 is not a whole number from 0".to_owned()),
        (json!({"type": "string", "minLength": 3, "maxLength": 2}), "at `/minLength`: 3 is more than `maxLength`".to_owned()),
        (json!({"type": "number", "minimum": "0"}), "at `/minimum`: \"0\" is not a number".to_owned()),
        (json!({"type": "number", "minimum": 2, "maximum": 1.5}), "at `/minimum`: 2 is more than the maximum".to_owned()),
        (json!({"type": "boolean", "title": 1}), "at `/title`: 1 is not a string".to_owned()),
        (json!({"type": "boolean", "default": "yes"}), "at `/default`: \"yes\" is not true or false".to_owned()),
        (json!({"type": "string", "enum": ["a"], "default": "b"}), "at `/default`: \"b\" is not one of \"a\"".to_owned()),
        (json!({"type": "string", "enum": []}), "at `/enum`: there is nothing to choose".to_owned()),
        (json!({"type": "string", "enum": ["a", 1]}), "at `/enum/1`: 1 is not a string".to_owned()),
        (json!({"type": "string", "enum": ["a", "a"]}), "at `/enum/1`: \"a\" is offered twice".to_owned()),
        (json!({"type": "string", "enum": many}), "at `/enum`: a question offers at most 500 choices in all".to_owned()),
        (
            json!({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}),
            "at `/enumNames`: 1 names for 2 choices".to_owned(),
        ),
        (
            json!({"type": "string", "oneOf": [{"const": "a"}]}),
            "at `/oneOf/0`: a choice has a `const` and a `title`, both of them strings".to_owned(),
        ),
        (json!({"type": "array"}), "at `/items`: a list needs the choices that it is made of".to_owned()),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            "at `/items`: a list is made of choices: a string with `enum`, or `anyOf` of constants".to_owned(),
        ),
        (
            json!({"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 2, "uniqueItems": true}),
            "at `/minItems`: there are only 1 different choices".to_owned(),
        ),
        (json!({"type": "object"}), "at `/properties`: a form needs its fields".to_owned()),
        (json!({"type": "object", "properties": {}}), "at `/properties`: a form has 1 to 50 fields, not 0".to_owned()),
        (json!({"type": "object", "properties": fields}), "at `/properties`: a form has 1 to 50 fields, not 51".to_owned()),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["b"]}),
            "at `/required/0`: there is no property \"b\"".to_owned(),
        ),
        (
            json!({"type": "object", "properties": {"a/b": {"type": "object"}}}),
            "at `/properties/a~1b`: a form is flat: its fields cannot be objects".to_owned(),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string", "format": "ipv4"}}}),
            "at `/properties/a/format`: \"ipv4\" is not one of \"email\", \"uri\", \"date\", \"date-time\"".to_owned(),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "boolean"}}, "additionalProperties": false}),
            format!("at `/additionalProperties`: {subset}"),
        ),
        (
            json!({"type": "object", "properties": {
                "a": {"type": "string", "enum": half}, "b": {"type": "string", "enum": half},
            }}),
            "at `/properties/b/enum`: a question offers at most 500 choices in all".to_owned(),
        ),
    ];
    for (schema, expected) in table {
        assert_eq!(AnswerSchema::parse(&schema).unwrap_err(), expected, "{schema}");
    }
}

#[test]
fn a_wrong_answer_is_told_where_and_why() {
    let form = json!({
        "type": "object",
        "required": ["who"],
        "properties": {
            "who": {"type": "string", "minLength": 2, "maxLength": 4},
            "mail": {"type": "string", "format": "email"},
            "count": {"type": "integer", "minimum": 1, "maximum": 3},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 2, "uniqueItems": true},
        }
    });
    let form = parse(form);
    form.check(&json!({"who": "Ann", "mail": "a@example.com", "count": 3.0, "tags": ["b"], "more": null})).unwrap();
    let table = [
        (json!([]), "[] is not an object of the form's fields"),
        (json!({}), "at `/who`: it is required, and missing"),
        (json!({"who": null}), "at `/who`: null is not a text"),
        (json!({"who": "A"}), "at `/who`: at least 2 characters are needed, not 1"),
        (json!({"who": "Ännchen"}), "at `/who`: at most 4 characters are allowed, not 7"),
        (json!({"who": "Ann", "mail": "ann"}), "at `/mail`: \"ann\" is not an e-mail address"),
        (json!({"who": "Ann", "count": 1.5}), "at `/count`: 1.5 is not a whole number"),
        (json!({"who": "Ann", "count": 0}), "at `/count`: 0 is less than 1"),
        (json!({"who": "Ann", "count": 4}), "at `/count`: 4 is more than 3"),
        (json!({"who": "Ann", "tags": "a"}), "at `/tags`: \"a\" is not a list of choices"),
        (json!({"who": "Ann", "tags": ["a", "c"]}), "at `/tags/1`: \"c\" is not one of \"a\", \"b\""),
        (json!({"who": "Ann", "tags": ["a", "a"]}), "at `/tags/1`: \"a\" is chosen twice"),
        (json!({"who": "Ann", "tags": ["a", "b", "a"]}), "at `/tags`: at most 2 choices are allowed, not 3"),
    ];
    for (answer, expected) in table {
        assert_eq!(form.check(&answer).unwrap_err(), expected, "{answer}");
    }
    let long = parse(json!({"type": "boolean"})).check(&json!("x".repeat(100_000))).unwrap_err();
    assert!(long.len() < 300, "{long}");
}

#[test]
fn numbers_compare_exactly() {
    let check = |bound: Value, number: Value| {
        parse(json!({"type": "number", "minimum": bound, "maximum": bound})).check(&number).is_ok()
    };
    assert!(check(json!(0), json!(-0.0)));
    assert!(check(json!(3), json!(3.0)));
    assert!(!check(json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0)));
    assert!(!check(json!(u64::MAX), json!(18_446_744_073_709_551_616.0)));
    assert!(!check(json!(i64::MIN), json!(u64::MAX)));
    assert!(check(json!(1e300), json!(1e300)));
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,5}",
        "[ä-ü]{0,5}",
        Just("2026-11-30".to_owned()),
        Just("2026-02-30".to_owned()),
        Just("2026-11-30T09:00:00Z".to_owned()),
        Just("2026-11-30T09:00:60+01:00".to_owned()),
        Just("ann@example.com".to_owned()),
        Just("https://example.com/a b".to_owned()),
        Just("https://example.com/page?x=1".to_owned()),
        ".{0,6}",
    ]
}

fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-4i64..4).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-8i32..8).prop_map(|n| json!(f64::from(n) / 2.0)),
        any::<f64>().prop_filter("JSON has no others", |n| n.is_finite()).prop_map(|n| json!(n)),
    ]
}

fn choices() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[a-d]{1,2}", 1..5).prop_map(|set| set.into_iter().collect())
}

fn titled(values: &[String]) -> Value {
    values.iter().map(|value| json!({"const": value, "title": value.to_uppercase()})).collect()
}

/// Sets the members that are there.
fn with(mut schema: Value, members: &[(&str, Option<Value>)]) -> Value {
    for (key, value) in members {
        if let Some(value) = value {
            schema[*key] = value.clone();
        }
    }
    schema
}

fn field_schema() -> impl Strategy<Value = Value> {
    let small = || prop::option::of((0u64..5).prop_map(Value::from));
    let format =
        prop::option::of(prop::sample::select(vec!["email", "uri", "date", "date-time"]).prop_map(Value::from));
    let flag = prop::option::of(any::<bool>().prop_map(Value::from));
    prop_oneof![
        Just(json!({"type": "boolean"})),
        (small(), small(), format).prop_map(|(min, max, format)| with(
            json!({"type": "string"}),
            &[("minLength", min), ("maxLength", max), ("format", format)]
        )),
        (any::<bool>(), prop::option::of(any_number()), prop::option::of(any_number())).prop_map(|(whole, min, max)| with(
            json!({"type": if whole { "integer" } else { "number" }}),
            &[("minimum", min), ("maximum", max)]
        )),
        choices().prop_map(|values| json!({"type": "string", "enum": values})),
        choices().prop_map(|values| json!({"type": "string", "oneOf": titled(&values)})),
        (choices(), any::<bool>(), small(), small(), flag).prop_map(|(values, plain, min, max, unique)| with(
            json!({
                "type": "array",
                "items": if plain { json!({"type": "string", "enum": values}) } else { json!({"anyOf": titled(&values)}) },
            }),
            &[("minItems", min), ("maxItems", max), ("uniqueItems", unique)]
        )),
    ]
}

fn schema() -> impl Strategy<Value = Value> {
    let form = prop::collection::btree_map("[a-c/~]{0,2}", (field_schema(), any::<bool>()), 1..4).prop_map(|fields| {
        let required: Vec<_> = fields.iter().filter(|(_, (_, required))| *required).map(|(name, _)| name).collect();
        let properties: serde_json::Map<_, _> =
            fields.iter().map(|(name, (schema, _))| (name.clone(), schema.clone())).collect();
        json!({"type": "object", "properties": properties, "required": required})
    });
    prop_oneof![field_schema(), form]
}

fn answer() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        text().prop_map(Value::from),
        prop::collection::vec("[a-d]{1,2}", 0..5).prop_map(|chosen| json!(chosen)),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c/~]{0,2}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Answers that are near to right: a form's have its names, and a list's its kind of items.
fn answers_to(schema: &Value) -> BoxedStrategy<Value> {
    match schema["properties"].as_object() {
        None => answer().boxed(),
        Some(properties) => {
            let members: Vec<_> = properties
                .iter()
                .map(|(name, schema)| {
                    let value = prop_oneof![1 => Just(None), 4 => answers_to(schema).prop_map(Some)];
                    (Just(name.clone()), value)
                })
                .collect();
            let object = members.prop_map(|members| {
                Value::Object(members.into_iter().filter_map(|(name, value)| Some((name, value?))).collect())
            });
            prop_oneof![4 => object, 1 => answer()].boxed()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Faces and clients that know JSON Schema, and not our types, take the same answers.
    #[test]
    fn the_types_and_the_schema_agree(
        (schema, answers) in schema().prop_flat_map(|schema| {
            let answers = prop::collection::vec(answers_to(&schema), 12);
            (Just(schema), answers)
        }),
    ) {
        // Some are refused, such as those whose bounds contradict each other.
        if let Ok(parsed) = AnswerSchema::parse(&schema) {
            let validator = jsonschema::options().should_validate_formats(true).build(&schema).unwrap();
            for answer in answers {
                prop_assert_eq!(parsed.check(&answer).is_ok(), validator.is_valid(&answer), "{} for {}", answer, schema);
            }
        }
    }

    /// Whatever a guest hands over as a schema, and whoever answers.
    #[test]
    fn nothing_panics(schema in answer(), answer in answer()) {
        for schema in [schema.clone(), json!({"type": "string", "enum": schema}), json!({"type": "object", "properties": schema})] {
            if let Ok(parsed) = AnswerSchema::parse(&schema) {
                let _ = parsed.check(&answer);
            }
        }
    }
}

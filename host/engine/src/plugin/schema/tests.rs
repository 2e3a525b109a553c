//! What is refused about a value, and which schemas are not evaluated at all.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::*;

/// What explodes takes years: this tells it from what does not, on a machine that is busy with other things.
const SOON: Duration = Duration::from_secs(30);

fn compiled(schema: Value) -> CompiledSchema {
    CompiledSchema::new(&schema).unwrap()
}

fn refused(schema: Value) -> String {
    CompiledSchema::new(&schema).unwrap_err()
}

#[test]
fn a_problem_has_its_place() {
    let schema = compiled(json!({
        "type": "object",
        "required": ["steps"],
        "additionalProperties": false,
        "properties": {
            "steps": {"type": "array", "items": {"type": "object", "properties": {
                "title": {"type": "string"}, "due": {"type": "string", "format": "date"},
            }}},
        },
    }));
    assert_eq!(schema.check(&json!({"steps": []})), Ok(()));
    let table = [
        (json!({}), "\"steps\" is a required property"),
        (json!({"steps": [{"title": 5}]}), "at `/steps/0/title`: 5 is not of type \"string\""),
        (json!({"steps": [{"due": "tomorrow"}]}), "at `/steps/0/due`: \"tomorrow\" is not a \"date\""),
        (
            json!({"steps": 1, "b": 2}),
            "at `/steps`: 1 is not of type \"array\"; \
             Additional properties are not allowed ('b' was unexpected)",
        ),
    ];
    for (value, expected) in table {
        assert_eq!(schema.check(&value).unwrap_err(), expected);
    }
}

#[test]
fn at_most_three_problems_and_little_of_the_value() {
    let schema = compiled(json!({"items": {"type": "string"}}));
    let error = schema.check(&json!([1, 2, 3, 4, 5])).unwrap_err();
    assert_eq!(error.matches("is not of type").count(), 3);
    let error = schema.check(&json!([vec![1; 100_000]])).unwrap_err();
    assert!(error.starts_with("at `/0`: [1,1,") && error.len() < 300, "{error}");
}

#[test]
fn a_place_is_told_also_in_a_large_value() {
    let schema = compiled(json!({"items": {"type": "integer"}}));
    let mut items = vec![json!(1); 200_000];
    items.push(json!("x"));
    assert_eq!(schema.check(&json!(items)).unwrap_err(), "at `/200000`: \"x\" is not of type \"integer\"");
    items.resize(2_000_000, json!("x"));
    assert!(schema.check(&json!(items)).unwrap_err().contains("too large to say where"));
}

#[test]
fn what_is_no_schema_is_refused_with_its_place() {
    let outside = "leads outside the schema; a reference is `#`, `#/…` or an `$anchor` in it, such as `#/$defs/name`";
    let table = [
        (json!(5), "5 is not a schema".to_owned()),
        (json!({"type": "strin"}), "at `/type`: \"strin\" is not one of JSON's types, or a list of them".into()),
        (
            json!({"properties": {"a": {"minLength": -1}}}),
            "at `/properties/a/minLength`: -1 is less than the minimum of 0".into(),
        ),
        (json!({"properties": {"a": 1}}), "at `/properties/a`: 1 is not a schema".into()),
        (
            json!({"$ref": "https://example.com/a.json"}),
            format!("at `/$ref`: \"https://example.com/a.json\" {outside}"),
        ),
        (json!({"items": {"$ref": "other.json#/a"}}), format!("at `/items/$ref`: \"other.json#/a\" {outside}")),
        (json!({"$ref": "#na%6De"}), format!("at `/$ref`: \"#na%6De\" {outside}")),
        (json!({"$ref": "#name"}), "at `/$ref`: there is nothing at \"#name\"".into()),
        (
            json!({"$ref": "#a", "$defs": {"b": {"$anchor": "a"}, "c": {"$anchor": "a"}}}),
            "at `/$defs/c/$anchor`: \"a\" is there twice".into(),
        ),
        (
            // Whoever evaluates it may see the one and not the other.
            json!({"$ref": "#a", "$dynamicAnchor": "a", "const": {"$anchor": "a"}}),
            "at `/const/$anchor`: \"a\" is there twice".into(),
        ),
        (json!({"$ref": ""}), format!("at `/$ref`: \"\" {outside}")),
        (json!({"$ref": "#/$defs/a"}), "at `/$ref`: there is nothing at \"#/$defs/a\"".into()),
        (json!({"$dynamicRef": "#a"}), "at `/$dynamicRef`: a reference is `$ref` with a place in this schema".into()),
        (
            json!({"$defs": {"a": {"$id": "https://example.com/a"}}}),
            "at `/$defs/a/$id`: `$id` has no place below the root of the schema".into(),
        ),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#"}),
            "at `/$schema`: \"http://json-schema.org/draft-07/schema#\" is not \
             \"https://json-schema.org/draft/2020-12/schema\""
                .into(),
        ),
    ];
    for (schema, expected) in table {
        assert_eq!(refused(schema.clone()), expected, "{schema}");
    }
    // Back-references need an engine that backtracks, and that one can be kept busy for years.
    assert!(refused(json!({"pattern": "(a)\\1"})).contains("/pattern"));
    assert!(refused(json!({"pattern": "((a{1000}){1000}){1000}"})).contains("/pattern"));
}

#[test]
fn a_place_is_referred_to_by_its_name_too() {
    let schema = compiled(json!({
        "$id": "https://example.com/contact",
        "properties": {"to": {"$ref": "#address"}, "from": {"$ref": "#/$defs/address"}},
        "$defs": {"address": {
            "$anchor": "address",
            "properties": {"street": {"type": "string"}, "next": {"$ref": "#address"}},
        }},
    }));
    assert_eq!(schema.check(&json!({"to": {"street": "a", "next": {"street": "b"}}})), Ok(()));
    for (value, at) in [
        (json!({"to": {"street": 1}}), "/to/street"),
        (json!({"from": {"next": {"next": {"street": 1}}}}), "/from/next/next/street"),
    ] {
        assert_eq!(schema.check(&value).unwrap_err(), format!("at `{at}`: 1 is not of type \"string\""));
    }
    // A name of something that is no schema names nothing.
    refused(json!({"$ref": "#a", "const": {"$anchor": "a"}}));
    // A property may be called so.
    compiled(json!({"properties": {"$anchor": {"type": "string"}}}));
}

#[test]
fn ordinary_schemas_are_taken() {
    // A tree, whose references have characters that are escaped.
    let tree = compiled(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://example.com/tree",
        "$ref": "#/$defs/Tree%3CNode%3E",
        "$defs": {"Tree<Node>": {
            "type": "object",
            "properties": {"$id": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#/$defs/Tree%3CNode%3E"}}},
            "unevaluatedProperties": false,
        }},
    }));
    assert_eq!(tree.check(&nested("children", 60, true)), Ok(()));
    assert!(
        tree.check(&json!({"children": [{"children": [{"x": 1}]}]}))
            .unwrap_err()
            .starts_with("at `/children/0/children/0`")
    );

    // An expression: a union that contains itself in several ways, under the same names.
    let operators = ["and", "or", "not", "xor", "nand", "nor", "if", "iff"];
    let branches: Vec<_> = operators
        .iter()
        .map(|name| {
            json!({
                "type": "object",
                "properties": {"op": {"const": name}, "args": {"type": "array", "items": {"$ref": "#/$defs/expr"}}},
                "required": ["op", "args"],
            })
        })
        .chain([json!({"type": "boolean"})])
        .collect();
    let expression = compiled(json!({"$ref": "#/$defs/expr", "$defs": {"expr": {"oneOf": branches}}}));
    let mut value = json!(true);
    for name in operators.iter().cycle().take(40) {
        value = json!({"op": name, "args": [value, false]});
    }
    assert_eq!(expression.check(&value), Ok(()));
    assert!(expression.check(&json!({"op": "and", "args": [1]})).is_err());
}

fn nested(name: &str, depth: usize, in_lists: bool) -> Value {
    (0..depth).fold(json!({}), |inner, _| if in_lists { json!({name: [inner]}) } else { json!({name: inner}) })
}

/// A chain of definitions, each made of the next one; the last is `last`.
fn chain(length: usize, link: impl Fn(Value) -> Value, last: Value) -> Value {
    let mut definitions = Map::new();
    for index in 0..length {
        definitions.insert(index.to_string(), link(json!({"$ref": format!("#/$defs/{}", index + 1)})));
    }
    definitions.insert(length.to_string(), last);
    json!({"$ref": "#/$defs/0", "$defs": definitions})
}

#[test]
fn bombs_are_refused() {
    let twice = |next: Value| json!({"allOf": [next, next]});
    let cycle = "a reference leads back to itself without going on to a part of the value";
    let unfolded = "with its references followed the schema has more than 100000 subschemas; simplify it";
    let beside = "more than 2000 subschemas apply to the same value; simplify it";
    let named = |next: usize| json!({"$anchor": format!("n{}", next - 1), "allOf": [{"$ref": format!("#n{next}")}, {"$ref": format!("#n{next}")}]});
    let mut by_name: Map<String, Value> = (1..=40).map(|next| (next.to_string(), named(next))).collect();
    by_name.insert("end".into(), json!({"$anchor": "n40"}));
    let table = [
        ("a reference to itself", json!({"$ref": "#"}), cycle),
        ("a reference to itself by name", json!({"$anchor": "a", "$ref": "#a"}), cycle),
        ("a cycle by name", json!({"$ref": "#a", "$defs": {"a": {"$anchor": "a", "anyOf": [{"$ref": "#"}]}}}), cycle),
        ("a doubling by name", json!({"$ref": "#n0", "$defs": by_name}), unfolded),
        ("a cycle", json!({"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#"}]}}}), cycle),
        ("a doubling", chain(40, twice, json!(true)), unfolded),
        ("a small doubling", chain(11, twice, json!(true)), beside),
        (
            "a doubling part by part",
            chain(40, |next| json!({"properties": {"x": {"allOf": [next, next]}}}), json!(true)),
            unfolded,
        ),
        (
            "a doubling that never ends",
            chain(40, |next| json!({"properties": {"x": {"allOf": [next, next]}}}), json!({"$ref": "#/$defs/0"})),
            unfolded,
        ),
        (
            "what is unevaluated, again and again",
            chain(20, |next| json!({"$ref": next["$ref"], "unevaluatedItems": true}), json!(true)),
            unfolded,
        ),
        ("a long chain", chain(30_000, |next| next, json!(true)), beside),
        (
            "a long chain at every step",
            chain(500, |next| next, json!({"properties": {"x": {"$ref": "#/$defs/0"}}})),
            "more than 10000 subschemas can be nested in one another; simplify it",
        ),
        (
            "many patterns",
            json!({"allOf": vec![json!({"pattern": "a"}); 201]}),
            "a schema may have 200 patterns in all",
        ),
    ];
    for (name, schema, expected) in table {
        let start = Instant::now();
        let error = refused(schema);
        assert!(error.ends_with(expected), "{name}: {error}");
        assert!(start.elapsed() < SOON, "{name}: {:?}", start.elapsed());
    }
}

/// What is just taken has to be safe, on a stack as small as a worker's.
#[test]
fn what_is_just_taken_is_safe_to_evaluate() {
    let union =
        (0..8).map(|kind| json!({"properties": {"x": {"$ref": "#"}, "kind": {"const": kind}}, "required": ["kind"]}));
    let wrapped = |next: Value| json!({"type": "object", "allOf": [{"oneOf": [next]}]});
    let bounded: Vec<(&str, Value)> = vec![
        ("a union", json!({"anyOf": union.collect::<Vec<_>>()})),
        ("a chain", chain(75, |next| next, json!({"properties": {"x": {"$ref": "#/$defs/0"}}}))),
        ("a wrapped chain", chain(24, wrapped, json!({"properties": {"x": {"$ref": "#/$defs/0"}}}))),
        (
            "a wrapped chain to the limit of problems",
            chain(4, wrapped, json!({"properties": {"x": {"$ref": "#/$defs/0"}}})),
        ),
        (
            "a double tree",
            json!({"properties": {"x": {"$ref": "#"}}, "patternProperties": {"": {"$ref": "#"}}, "required": ["y"]}),
        ),
    ];
    for (name, schema) in bounded {
        let schema = compiled(schema);
        let start = Instant::now();
        let check = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
            for depth in [1, 5, 20, 120] {
                let _ = schema.check(&nested("x", depth, false));
                let _ = schema.check(&json!({"x": nested("x", depth, false), "kind": 7}));
            }
        });
        check.unwrap().join().unwrap();
        assert!(start.elapsed() < SOON, "{name}: {:?}", start.elapsed());
    }
    let deep = nested("x", 200, false);
    assert_eq!(compiled(json!(true)).check(&deep).unwrap_err(), "the value is nested too deeply");
}

/// A list to choose from that the value has to be compared with one by one, and of which it is the last.
fn long_choice(length: u64) -> Value {
    let choices: Vec<_> = [json!(0.5)].into_iter().chain((1..length).map(|number| json!(number))).collect();
    json!({ "type": "array", "items": { "enum": choices } })
}

#[test]
fn promise_6_a_value_that_would_take_too_long_to_check_is_refused_before_it_is_looked_at() {
    let names: Map<String, Value> = (0..90_000).map(|name| (format!("{name:05}"), json!(true))).collect();
    let many: Vec<_> = (0..1_900).map(|_| json!({"minLength": 1})).collect();
    let unique = vec![json!({"uniqueItems": true}); 1_900];
    let table = [
        ("a long choice", long_choice(150_000), json!(vec![149_999; 2_000_000])),
        (
            "a long choice of integers",
            json!({"items": {"enum": (0..150_000).collect::<Vec<_>>()}}),
            json!(vec![0.5; 1_000_000]),
        ),
        ("a long constant", json!({"items": {"const": vec![1; 100_000]}}), json!(vec![vec![1; 10_000]; 300])),
        (
            "what all depends on",
            json!({"items": {"dependentRequired": {"a": (0..100_000).map(|name| name.to_string()).collect::<Vec<_>>()}}}),
            json!(vec![json!({}); 1_000]),
        ),
        ("many names", json!({"items": {"properties": names}}), json!(vec![json!({"99999": 1}); 100_000])),
        ("many at every value", json!({"items": {"anyOf": many}}), json!(vec![0; 2_000_000])),
        ("what is compared again and again", json!({"allOf": unique}), json!([vec![0; 1_000_000]])),
        ("a large pattern", json!({"pattern": "^[ab]*a[ab]{2000}$"}), json!("ab".repeat(2_000_000))),
        (
            "a large pattern of names",
            json!({"patternProperties": {"[ab]*a[ab]{2000}": true}}),
            json!({"ab".repeat(2_000_000): 1}),
        ),
        ("many patterns", json!({"allOf": vec![json!({"pattern": "^a*$"}); 199]}), json!("a".repeat(4 << 20))),
    ];
    for (name, schema, value) in table {
        let schema = compiled(schema);
        let start = Instant::now();
        let error = schema.check(&value).unwrap_err();
        assert!(error.contains("steps, and 20000000 is the most: value and schema are too large"), "{name}: {error}");
        assert!(start.elapsed() < SOON, "{name}: {:?}", start.elapsed());
        assert!(!schema.takes_long(&value), "{name}: refusing it takes no time");
    }
}

/// What the limit is not meant for: large values of schemas that people write.
#[test]
fn large_values_of_ordinary_schemas_are_checked() {
    let fields: Map<String, Value> =
        (0..200).map(|field| (format!("field_{field}"), json!({"type": "integer"}))).collect();
    let record: Map<String, Value> = fields.keys().map(|name| (name.clone(), json!(1))).collect();
    let codes: Vec<_> = (0..300).map(|code| json!(format!("{code:03}"))).collect();
    let table = [
        (
            "wide records",
            json!({"items": {"properties": fields, "additionalProperties": false}}),
            json!(vec![record; 1_000]),
        ),
        ("codes", json!({"items": {"enum": codes}}), json!(vec!["299"; 500_000])),
        ("numbers", json!({"items": {"enum": (0..10_000).collect::<Vec<_>>()}}), json!(vec![9_999; 500_000])),
        (
            "slugs",
            json!({"items": {"pattern": "^[a-z0-9-]+$", "format": "hostname"}}),
            json!(vec!["a-slug-of-20-letters"; 200_000]),
        ),
        (
            "one long text",
            json!({"properties": {"text": {"type": "string", "pattern": "^[^<>]*$"}}}),
            json!({"text": "a".repeat(4 << 20)}),
        ),
        (
            "a short choice of anything",
            json!({"items": {"enum": [null, true, 0.5, "a", [1]]}}),
            json!(vec![json!([1]); 100_000]),
        ),
    ];
    for (name, schema, value) in table {
        let schema = compiled(schema);
        assert_eq!(schema.check(&value), Ok(()), "{name}");
        assert!(schema.takes_long(&value), "{name}");
    }
    assert!(!compiled(long_choice(1_000)).takes_long(&json!([1, 2, 3])));
}

//! What is a manifest; and that the published schema says so too.

use std::sync::LazyLock;

use jsonschema::Validator;
use proptest::prelude::*;
use serde_json::json;

use super::*;

static PUBLISHED: LazyLock<Validator> = LazyLock::new(|| {
    let schema = serde_json::from_str(include_str!("../../../../../docs/manifest.schema.json")).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
});

/// What no schema can say, by words of the refusal.
const ONLY_THE_VALIDATOR: &[&str] = &[
    "is there twice",
    // The whole grammar of rules for HTTP.
    "is not a host such as",
    // A number that does not fit in 64 bits.
    "exceeds u64::MAX",
    // Embedded schemas that are valid, but reach outside or are not safe to evaluate.
    "leads outside the schema",
    "there is nothing at",
    "leads back to itself",
    "a reference is `$ref` with a place in this schema",
    "has no place below the root of the schema",
    "is not \"https://json-schema.org/draft/2020-12/schema\"",
    "is not a \"regex\"",
    "Invalid URI reference",
    "simplify it",
    "patterns in all",
];

fn good() -> Value {
    json!({
        "$schema": "https://example.com/manifest.schema.json",
        "manifest": 1,
        "name": "csv-profile",
        "version": "1.2.0-rc.1+build.007",
        "description": "Looks through tables.",
        "license": "MIT OR Apache-2.0",
        "homepage": "https://example.com/csv?a=1#top",
        "tools": [
            {
                "name": "profile_csv",
                "title": "Profile a CSV file",
                "description": "Says what is in a CSV file, column by column.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"csv": {"type": "string"}, "delimiter": {"$ref": "#/$defs/delimiter"}},
                    "required": ["csv"],
                    "$defs": {"delimiter": {"type": "string", "pattern": "^.$"}},
                },
                "outputSchema": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}}}},
                "hints": {"title": "Profile", "readOnlyHint": true, "openWorldHint": false},
                "pace": "long",
                "x-icon": "table",
            },
            {"name": "a", "description": "Nothing.", "inputSchema": {"type": "object"}},
        ],
        "needs": [
            {"kind": "http", "name": "api.example.com:8443", "why": "To look up currencies."},
            {"kind": "setting", "name": "max_rows", "why": "To stop early.", "required": false},
            {"kind": "secret", "name": "API_KEY", "why": "To be let in.", "required": true, "until": 2030},
            {"kind": "tool", "name": "other-plugin/other_tool", "why": "To convert."},
        ],
        "mood": {"nobody": ["knows", null, 1.0]},
    })
}

fn parse(value: &Value) -> Result<Manifest, PluginError> {
    Manifest::parse(&value.to_string())
}

/// `at: problem`
fn refused(text: &str) -> String {
    match Manifest::parse(text) {
        Err(PluginError::Manifest { at, problem }) => format!("{at}: {problem}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn everything_that_is_said_is_read() {
    let manifest = parse(&good()).unwrap();
    assert_eq!((manifest.manifest, &*manifest.name, &*manifest.version), (1, "csv-profile", "1.2.0-rc.1+build.007"));
    assert_eq!(manifest.description, "Looks through tables.");
    assert_eq!(manifest.license.as_deref(), Some("MIT OR Apache-2.0"));
    assert_eq!(manifest.homepage.as_deref(), Some("https://example.com/csv?a=1#top"));
    assert_eq!(manifest.extra.keys().collect::<Vec<_>>(), ["$schema", "mood"]);

    let tool = manifest.tool("profile_csv").unwrap();
    assert_eq!(tool.title.as_deref(), Some("Profile a CSV file"));
    assert_eq!(tool.input_schema["required"], json!(["csv"]));
    assert_eq!(tool.output_schema.as_ref().unwrap()["type"], "array");
    assert_eq!((tool.hints.read_only, tool.hints.destructive, tool.hints.open_world), (Some(true), None, Some(false)));
    assert_eq!(tool.hints.extra["title"], "Profile");
    assert_eq!(tool.pace, Pace::Long);
    assert_eq!(tool.extra["x-icon"], "table");
    assert_eq!(manifest.tools[1].pace, Pace::Any);
    assert!(manifest.tool("profile").is_none());

    let needs: Vec<_> = manifest.needs.iter().map(|need| (need.kind, &*need.name, need.required)).collect();
    assert_eq!(
        needs,
        [
            (NeedKind::Http, "api.example.com:8443", true),
            (NeedKind::Setting, "max_rows", false),
            (NeedKind::Secret, "API_KEY", true),
            (NeedKind::Tool, "other-plugin/other_tool", true),
        ]
    );
    assert_eq!(manifest.needs[2].extra["until"], 2030);
}

#[test]
fn it_is_shown_as_it_was_written() {
    let text = good().to_string();
    assert_eq!(serde_json::to_string(&Manifest::parse(&text).unwrap()).unwrap(), text);
}

/// The good manifest with one place changed; `None` takes it away.
fn changed(at: &str, to: Option<Value>) -> Value {
    let mut manifest = good();
    let (parent, name) = at.rsplit_once('/').unwrap();
    match (manifest.pointer_mut(parent).unwrap(), to) {
        (Value::Object(members), Some(value)) => drop(members.insert(name.replace("~1", "/"), value)),
        (Value::Object(members), None) => drop(members.shift_remove(name)),
        (Value::Array(items), Some(value)) => items[name.parse::<usize>().unwrap()] = value,
        (Value::Array(items), None) => drop(items.remove(name.parse().unwrap())),
        _ => panic!("{at}"),
    }
    manifest
}

#[test]
fn what_breaks_a_rule_is_refused_with_its_place() {
    let long = |length| Some(json!("x".repeat(length)));
    let input = "/tools/0/inputSchema";
    let table = [
        ("/manifest", None, ": `manifest` is missing"),
        ("/manifest", Some(json!(2)), "/manifest: a manifest of form 2 is newer than this host, which knows form 1"),
        ("/manifest", Some(json!("1")), "/manifest: \"1\" is not the number 1, the form of this manifest"),
        ("/name", None, ": `name` is missing"),
        (
            "/name",
            Some(json!("CSV")),
            "/name: \"CSV\" is not a name of 1 to 64 characters a-z, 0-9 and -, the first of them a letter",
        ),
        (
            "/version",
            Some(json!("1.0")),
            "/version: \"1.0\" is not a semantic version such as 1.0.0: unexpected end of input while parsing minor version number",
        ),
        ("/version", Some(json!(1)), "/version: 1 is not a text"),
        ("/description", Some(json!("")), "/description: a text of 0 characters, where 1 to 2000 are allowed"),
        ("/description", long(2001), "/description: a text of 2001 characters, where 1 to 2000 are allowed"),
        ("/license", Some(Value::Null), "/license: null is not a text"),
        (
            "/homepage",
            Some(json!("ftp://example.com")),
            "/homepage: \"ftp://example.com\" is not a URL such as https://example.com/page",
        ),
        ("/homepage", Some(json!("https://")), "/homepage: \"https://\" is not a URL such as https://example.com/page"),
        ("/tools", None, ": `tools` is missing"),
        ("/tools", Some(json!([])), "/tools: a list of 0, where 1 to 256 are allowed"),
        ("/tools", Some(json!({})), "/tools: {} is not a list"),
        ("/tools/1", Some(json!("a")), "/tools/1: \"a\" is not an object"),
        ("/tools/1/name", Some(json!("profile_csv")), "/tools/1: the tool `profile_csv` is there twice"),
        (
            "/tools/1/name",
            Some(json!("a-b")),
            "/tools/1/name: \"a-b\" is not a name of 1 to 64 characters a-z, 0-9 and _, the first of them a letter",
        ),
        ("/tools/0/title", Some(json!("")), "/tools/0/title: a text of 0 characters, where 1 to 100 are allowed"),
        ("/tools/0/description", None, "/tools/0: `description` is missing"),
        (
            "/tools/0/description",
            long(10_001),
            "/tools/0/description: a text of 10001 characters, where 1 to 10000 are allowed",
        ),
        (input, None, "/tools/0: `inputSchema` is missing"),
        (
            input,
            Some(json!(true)),
            "/tools/0/inputSchema: an input is an object, so its schema says \"type\": \"object\"",
        ),
        (
            input,
            Some(json!({"type": "array"})),
            "/tools/0/inputSchema: an input is an object, so its schema says \"type\": \"object\"",
        ),
        (
            "/tools/0/inputSchema/properties/csv/type",
            Some(json!("text")),
            "/tools/0/inputSchema/properties/csv/type: \"text\" is not one of JSON's types, or a list of them",
        ),
        (
            "/tools/0/inputSchema/properties/csv",
            Some(json!({"$ref": "https://example.com/csv.json"})),
            "/tools/0/inputSchema/properties/csv/$ref: \"https://example.com/csv.json\" leads outside the schema; \
             a reference is `#`, `#/…` or an `$anchor` in it, such as `#/$defs/name`",
        ),
        ("/tools/0/outputSchema", Some(json!("array")), "/tools/0/outputSchema: \"array\" is not a schema"),
        ("/tools/0/hints", Some(json!([])), "/tools/0/hints: [] is not an object"),
        (
            "/tools/0/hints/readOnlyHint",
            Some(json!("yes")),
            "/tools/0/hints/readOnlyHint: \"yes\" is not true or false",
        ),
        ("/tools/0/pace", Some(json!("slow")), "/tools/0/pace: \"slow\" is not one of \"quick\", \"any\", \"long\""),
        ("/needs", Some(Value::Null), "/needs: null is not a list"),
        ("/needs/0/kind", None, "/needs/0: `kind` is missing"),
        (
            "/needs/0/kind",
            Some(json!("file")),
            "/needs/0/kind: \"file\" is not one of \"http\", \"setting\", \"secret\", \"tool\"",
        ),
        ("/needs/0/name", Some(json!("a b")), "/needs/0/name: \"a b\" is not a host such as `api.example.com`"),
        (
            "/needs/1/name",
            Some(json!("1st")),
            "/needs/1/name: \"1st\" is not a name of 1 to 64 letters, digits, `_`, `.` and `-`, the first of them a letter",
        ),
        (
            "/needs/3/name",
            Some(json!("other_tool")),
            "/needs/3/name: \"other_tool\" is not a tool of another plugin such as `csv-profile/profile_csv`",
        ),
        ("/needs/0/why", None, "/needs/0: `why` is missing"),
        ("/needs/0/required", Some(json!(1)), "/needs/0/required: 1 is not true or false"),
    ];
    for (at, to, expected) in table {
        assert_eq!(refused(&changed(at, to).to_string()), expected);
    }
    let mut twice = good();
    twice["needs"][1] = json!({"kind": "secret", "name": "API_KEY", "why": "Another reason."});
    assert_eq!(refused(&twice.to_string()), "/needs/2: the secret `API_KEY` is there twice");
}

#[test]
fn what_is_not_plain_json_is_refused() {
    assert_eq!(refused(""), ": it is not JSON: EOF while parsing a value at line 1 column 0");
    assert_eq!(refused("[]"), ": [] is not an object");
    assert_eq!(refused("{} {}"), ": it is not JSON: trailing characters at line 1 column 4");
    assert_eq!(
        refused(r#"{"manifest": 1, "tools": [{"hints": {"a": 1, "\u0061": 2}}]}"#),
        "/tools/0/hints: the name \"a\" comes twice in the same object"
    );
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(&deep).starts_with(": it is not JSON: recursion limit exceeded"));
    assert!(refused(&format!(r#"{{"a": {deep}}}"#)).starts_with(": it is not JSON: recursion limit exceeded"));
    assert_eq!(
        refused(&changed("/description", Some(json!("x".repeat(10_000_000)))).to_string()),
        ": it has 10001149 bytes; a manifest may have 1048576"
    );
    assert!(refused(r#"{"manifest": 1e999}"#).starts_with(": it is not JSON: number out of range"));
}

/// Either both accept, or both refuse, or it is something that only the validator can see.
fn agree(manifest: &Value) -> Result<(), String> {
    let published = PUBLISHED.is_valid(manifest);
    match parse(manifest) {
        Ok(_) if published => Ok(()),
        Ok(_) => {
            let error = PUBLISHED.validate(manifest).map_err(|error| error.to_string());
            Err(format!("only the schema refuses {manifest}: {error:?}"))
        }
        Err(_) if !published => Ok(()),
        Err(error) if ONLY_THE_VALIDATOR.iter().any(|words| error.to_string().contains(words)) => Ok(()),
        Err(error) => Err(format!("only the validator refuses {manifest}: {error}")),
    }
}

/// Values that are near to the rules.
fn interesting() -> Vec<Value> {
    let texts = [
        "",
        "a",
        "a-b",
        "a_b",
        "ab1",
        "A",
        "1a",
        "-a",
        "a b",
        "é",
        "a\n",
        "a/b",
        "a-b/c_d",
        "a_b/c-d",
        "/",
        "a/b/c",
        "a.b",
        "1.0.0",
        "1.0",
        "v1.0.0",
        "01.0.0",
        "1.0.0-",
        "1.0.0-01",
        "1.0.0-0a.1",
        "1.0.0+001",
        "1.0.0+",
        "1.0.0-a..b",
        "1.0.0 ",
        "0.0.0",
        "99999999999999999999.0.0",
        "http://a",
        "https://",
        "https:///a",
        "https://?",
        "HTTPS://a",
        "https://a b",
        "https://é",
        "https://a\n",
        "quick",
        "any",
        "long",
        "Quick",
        "http",
        "setting",
        "secret",
        "tool",
        "object",
        "array",
        "#",
        "#/tools",
        "$ref",
    ];
    let mut values: Vec<_> = texts.iter().map(|text| json!(text)).collect();
    for length in [63, 64, 65, 100, 101, 200, 201, 259, 260, 1_000, 1_001, 2_000, 2_001, 10_000, 10_001] {
        values.push(json!("a".repeat(length)));
        values.push(json!(format!("https://{}", "a".repeat(length - 8))));
    }
    // Characters, not bytes.
    values.extend([json!("é".repeat(100)), json!("é".repeat(2_000))]);
    values.extend([
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(1.0),
        json!(1.5),
        json!(2),
        json!(-1),
    ]);
    values.extend([json!([]), json!({}), json!([{}]), json!({"type": "object"}), json!({"type": ["object"]})]);
    values.extend([json!({"type": "object", "pattern": "("}), json!({"type": "object", "minLength": -1})]);
    values.extend([json!({"type": "object", "$ref": "#"}), json!({"type": "object", "$ref": "a.json"})]);
    let tool = json!({"name": "t", "description": "d", "inputSchema": {"type": "object"}});
    let need = json!({"kind": "http", "name": "a", "why": "b"});
    for count in [1, 256, 257] {
        let named = |item: &Value| -> Value {
            (0..count)
                .map(|number| {
                    let mut item = item.clone();
                    item["name"] = json!(format!("t{number}"));
                    item
                })
                .collect()
        };
        values.extend([named(&tool), named(&need)]);
    }
    values
}

/// The pointers to everything in a value, and to a member that is new.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            found.push(format!("{at}/new"));
            for (name, value) in members {
                let at = crate::json::child(at, name);
                found.push(at.clone());
                pointers(value, &at, found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                found.push(format!("{at}/{place}"));
                pointers(value, &format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
}

/// Every place with every interesting value, and without anything.
#[test]
fn the_published_schema_agrees_place_by_place() {
    let mut places = Vec::new();
    pointers(&good(), "", &mut places);
    // Inside the embedded schemas, both ask the same meta-schema.
    places.retain(|at| !at.contains("Schema/"));
    let mut accepted = 0;
    for at in &places {
        for to in interesting().into_iter().map(Some).chain([None]) {
            let manifest = changed(at, to);
            agree(&manifest).unwrap_or_else(|problem| panic!("{at}: {problem:.2000}"));
            accepted += usize::from(PUBLISHED.is_valid(&manifest));
        }
    }
    assert!(accepted > 1_000, "{accepted}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn the_published_schema_agrees(changes in prop::collection::vec((any::<prop::sample::Index>(), value(), any::<bool>()), 1..4)) {
        let mut manifest = good();
        for (place, value, remove) in changes {
            let mut places = Vec::new();
            pointers(&manifest, "", &mut places);
            let at = place.get(&places);
            let (parent, name) = at.rsplit_once('/').unwrap_or_default();
            match manifest.pointer_mut(parent) {
                Some(Value::Object(members)) if remove => drop(members.shift_remove(name)),
                Some(Value::Object(members)) => drop(members.insert(name.to_owned(), value)),
                Some(Value::Array(items)) if remove => drop(items.remove(name.parse().unwrap())),
                Some(Value::Array(items)) => items.push(value),
                _ => unreachable!(),
            }
        }
        prop_assert_eq!(agree(&manifest), Ok(()));
    }

    /// Whatever a guest's `describe` returns.
    #[test]
    fn nothing_panics(text in ".{0,200}", value in value()) {
        let _ = Manifest::parse(&text);
        let _ = parse(&value);
    }

    /// A good one in which some characters were replaced: it is refused, or is kept as it was read.
    #[test]
    fn a_damaged_manifest_is_read_or_refused(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..3usize, token()), 1..3),
    ) {
        let mut text: Vec<char> = good().to_string().chars().collect();
        for (place, length, put) in damage {
            let start = place.index(text.len());
            text.splice(start..(start + length).min(text.len()), put.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(manifest) = Manifest::parse(&text) {
            let kept = serde_json::to_string(&manifest).unwrap();
            prop_assert_eq!(Manifest::parse(&kept).unwrap(), manifest);
        }
    }
}

/// What stands in JSON, and what should not.
fn token() -> impl Strategy<Value = String> {
    let tokens =
        ["", "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "null", "-1", "1e999", "\0", "\u{feff}"];
    prop_oneof![3 => prop::sample::select(tokens.to_vec()).prop_map(str::to_owned), 1 => ".{1,3}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        3 => prop::sample::select(interesting()),
        1 => ".{0,8}".prop_map(Value::from),
        1 => any::<f64>().prop_filter("JSON has no others", |n| n.is_finite()).prop_map(|n| json!(n)),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        let keyword = prop::sample::select(vec![
            "type",
            "name",
            "description",
            "inputSchema",
            "properties",
            "items",
            "allOf",
            "$ref",
            "$defs",
            "$id",
            "pattern",
            "kind",
            "why",
            "required",
            "not",
            "minimum",
            "enum",
            "const",
            "unevaluatedItems",
            "$anchor",
            "$dynamicRef",
            "$schema",
        ]);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((keyword, inner), 0..4).prop_map(|members| Value::Object(
                members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
            )),
        ]
    })
}

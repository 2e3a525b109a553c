//! Manifests and schemas that are bombs.

use longhaul::{Error, NewTask, PluginError};
use longhaul_tests::hostile;
use serde_json::json;

use crate::arena::Arena;

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_reaches_outside_or_costs_too_much_is_no_plugin() {
    let arena = Arena::open().await;
    let doubling: String = (0..60)
        .map(|n| format!(r##""d{n}":{{"allOf":[{{"$ref":"#/$defs/d{m}"}},{{"$ref":"#/$defs/d{m}"}}]}},"##, m = n + 1))
        .collect();
    let bombs = [
        r##"{"type":"object","$ref":"https://example.com/schema.json"}"##.to_owned(),
        r##"{"type":"object","$ref":"file:///etc/passwd"}"##.to_owned(),
        r##"{"type":"object","$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}"##.to_owned(),
        format!(r##"{{"type":"object","$ref":"#/$defs/d0","$defs":{{{doubling}"d60":{{}}}}}}"##),
        r#"{"type":"object","patternProperties":{"(((a{1000}){1000}){1000})":{}}}"#.to_owned(),
    ];
    for schema in bombs {
        let guest = hostile::with_manifest("loop", &hostile::manifest("bomb", &schema));
        let (refused, ()) = tokio::join!(arena.host.install(guest), arena.witness());
        assert!(matches!(refused, Err(Error::Plugin(PluginError::Manifest { .. }))), "{refused:?} of {schema:.200}");
    }
    arena.close().await;
}

/// On an engine that goes back and tries again this takes longer than the sun will last.
#[tokio::test(flavor = "multi_thread")]
async fn a_catastrophic_pattern_takes_no_longer_than_another() {
    let arena = Arena::open().await;
    let schema = r#"{"type":"object","properties":{"a":{"type":"string","pattern":"^(a+)+$"}}}"#;
    let guest = hostile::with_manifest("loop", &hostile::manifest("bomb", schema));
    let plugin = arena.host.install(guest).await.unwrap().digest;
    let input = json!({ "a": format!("{}!", "a".repeat(100_000)) });
    let refused = arena.host.start(NewTask::new(plugin, "run").input(input)).await.unwrap_err();
    assert!(matches!(refused, Error::Input { .. }), "{refused}");
    arena.witness().await;
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_of_megabytes_or_of_deep_json_is_no_plugin() {
    let arena = Arena::open().await;
    let good = hostile::manifest("bomb", r#"{"type":"object"}"#);
    let long = good.replacen("A test.", &"x".repeat(1 << 21), 1);
    let deep =
        good.replacen(r#""tools""#, &format!(r#""x":{}{},"tools""#, "[".repeat(200_000), "]".repeat(200_000)), 1);
    for manifest in [long, deep, good[..good.len() - 1].to_owned(), String::new()] {
        let refused = arena.host.install(hostile::with_manifest("loop", &manifest)).await;
        assert!(matches!(refused, Err(Error::Plugin(_))), "{refused:?}");
    }
    arena.witness().await;
    arena.close().await;
}

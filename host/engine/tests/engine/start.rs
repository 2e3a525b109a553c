//! Promise 11: the host takes only work that it can finish. After each refusal no task exists.

use std::time::Duration;

use crate::common::{Guest, host, manifest};
use longhaul::{Error, Host, Limits, NeedKind, NewTask, TaskState};
use serde_json::{Value, json};

const SCHEMA: &str = r#"{"type":"object","properties":{"steps":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}},"text":{"type":"string"}},"additionalProperties":false}"#;

fn guest(needs: &str) -> Guest {
    let manifest = manifest("test", "run").replace(r#"{"type":"object"}"#, SCHEMA);
    let manifest = manifest.replacen('{', &format!(r#"{{"needs":[{needs}],"#), 1);
    Guest { manifest, ..Guest::default() }
}

fn new() -> NewTask {
    NewTask::new("test", "run")
}

/// The host refuses the start, and knows no more tasks than before.
async fn refused(host: &Host, task: NewTask) -> Error {
    let before = host.tasks(Default::default()).await.unwrap().len();
    let error = host.start(task).await.expect_err("it is refused");
    assert_eq!(host.tasks(Default::default()).await.unwrap().len(), before, "{error}");
    error
}

async fn with(needs: &str) -> (tempfile::TempDir, Host) {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    host.install(guest(needs).build()).await.unwrap();
    (dir, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_an_unknown_plugin_or_tool_is_refused() {
    let (_dir, host) = with("").await;
    let error = refused(&host, NewTask::new("tset", "run")).await;
    assert!(matches!(&error, Error::UnknownPlugin(name) if name == "tset"), "{error}");
    let error = refused(&host, NewTask::new("test", "walk")).await;
    assert_eq!(error.to_string(), "plugin `test` has no tool `walk`; it has: run");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_an_input_that_is_not_valid_is_refused_with_a_pointer() {
    let (_dir, host) = with("").await;
    for (input, place) in [
        (json!({"steps": [{"n": 1}, {"n": "two"}]}), "/steps/1/n"),
        (json!({"steps": [{}]}), "/steps/0"),
        (json!({"steps": 3}), "/steps"),
        (json!({"steqs": []}), "steqs"),
        (json!([]), "object"),
        (Value::Null, "object"),
    ] {
        let error = refused(&host, new().input(input.clone())).await;
        assert!(
            matches!(&error, Error::Input { tool, problem } if tool == "run" && problem.contains(place)),
            "{error}"
        );
    }
    let mut deep = json!(1);
    for _ in 0..1_000 {
        deep = json!([deep]);
    }
    let error = refused(&host, new().input(json!({ "steps": deep.clone() }))).await;
    assert!(matches!(error, Error::Input { .. }), "{error}");
    // What could not be read back is not written down.
    let error = refused(&host, new().context(deep)).await;
    assert!(matches!(error, Error::OutOfRange { what: "context", .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_an_input_may_have_4_mib_as_json() {
    let (_dir, host) = with("").await;
    let around = json!({"text": ""}).to_string().len();
    let text = |bytes: usize| new().input(json!({"text": "x".repeat(bytes - around)}));
    let error = refused(&host, text(longhaul::Limits::default().input as usize + 1)).await;
    assert!(matches!(&error, Error::Input { problem, .. } if problem.contains("4194305 bytes")), "{error}");
    let most = host.start(text(longhaul::Limits::default().input as usize)).await.unwrap();
    assert_eq!(host.wait(&most.id).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_settings_and_grants_are_checked() {
    let needs = r#"{"kind":"setting","name":"region","why":"Where to look."},
        {"kind":"setting","name":"limit","why":"How much.","required":false}"#;
    let (_dir, host) = with(needs).await;
    let error = refused(&host, new()).await;
    assert_eq!(
        error.to_string(),
        "`test` needs setting `region`, which is not granted (Where to look.); add `region = \"VALUE\"` to \
         `[plugins.test.settings]` in longhaul.toml"
    );
    let error = refused(&host, new().setting("region", "eu").setting("colour", "red")).await;
    assert!(matches!(&error, Error::UndeclaredSetting { name, .. } if name == "colour"), "{error}");
    let error = refused(&host, new().setting("region", "x".repeat(5_000))).await;
    assert!(matches!(error, Error::OutOfRange { what: "setting", .. }), "{error}");
    let done = host.start(new().setting("region", "eu")).await.unwrap();
    assert_eq!(host.wait(&done.id).await.unwrap().state, TaskState::Completed);
    for (kind, name, line) in [
        (NeedKind::Http, "api.example.com", "`http = [\"api.example.com\"]` to `[plugins.test]`"),
        (NeedKind::Secret, "token", "`token = { … }` to `[plugins.test.secrets]`"),
        (NeedKind::Tool, "other/run_it", "`tools = [\"other/run_it\"]` to `[plugins.test]`"),
    ] {
        let (_dir, host) = with(&format!(r#"{{"kind":"{kind}","name":"{name}","why":"To work."}}"#)).await;
        let error = refused(&host, new()).await;
        assert!(matches!(&error, Error::MissingGrant { kind: k, .. } if *k == kind), "{error}");
        assert!(error.to_string().contains(line), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_limits_above_the_hosts_are_refused_and_the_limit_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (replay_fuel, run_time) = (2_000_000_000, Duration::from_secs(60));
    let most = Limits { fuel: 1_000_000_000, memory: 64 << 20, replay_fuel, run_time, ..Limits::default() };
    let host = Host::builder().data_dir(dir.path()).limits(most).open().await.unwrap();
    host.install(guest("").build()).await.unwrap();
    for (limits, name) in [
        (Limits { fuel: most.fuel + 1, ..most }, "fuel"),
        (Limits { memory: most.memory + 1, ..most }, "memory"),
        (Limits { run_time: most.run_time + Duration::from_millis(1), ..most }, "run_time"),
        (Limits::default(), "fuel"),
    ] {
        let error = refused(&host, new().limits(limits)).await;
        assert!(error.to_string().contains(&format!("`{name}`")), "{error}");
    }
    let done = host.start(new().limits(most)).await.unwrap();
    assert_eq!(host.wait(&done.id).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_what_comes_with_a_start_is_bounded() {
    let (_dir, host) = with("").await;
    let error = refused(&host, new().deadline(longhaul::LIFE + Duration::from_secs(1))).await;
    assert!(matches!(&error, Error::OutOfRange { what: "deadline", .. }), "{error}");
    assert!(error.to_string().contains("90 days"), "{error}");
    let error = refused(&host, new().deadline(Duration::MAX)).await;
    assert!(matches!(&error, Error::OutOfRange { what: "deadline", .. }), "{error}");
    let long = "x".repeat(5_000);
    for (task, what) in [
        (new().session(&long), "session"),
        (new().idempotency_key(&long), "idempotency key"),
        (new().context(json!("x".repeat(70_000))), "context"),
    ] {
        let error = refused(&host, task).await;
        assert!(matches!(&error, Error::OutOfRange { what: named, .. } if *named == what), "{error}");
    }
    host.start(new().deadline(longhaul::LIFE)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_key_that_is_used_again_starts_nothing_twice() {
    let (_dir, host) = with("").await;
    let first = host.start(new().idempotency_key("k").input(json!({"text": "a"}))).await.unwrap();
    assert!(!first.existing);
    let again = host.start(new().idempotency_key("k").input(json!({"text": "a"}))).await.unwrap();
    assert_eq!((again.id, again.existing), (first.id.clone(), true));
    for other in [
        new().input(json!({"text": "b"})),
        new().input(json!({"text": "a"})).session("s"),
        new().input(json!({"text": "a"})).context(json!(1)),
    ] {
        let error = refused(&host, other.idempotency_key("k")).await;
        assert!(
            matches!(&error, Error::IdempotencyMismatch { key, task } if key == "k" && *task == first.id),
            "{error}"
        );
    }
    let at_once = (0..40).map(|_| host.start(new().idempotency_key("k2")));
    let started = futures_util::future::try_join_all(at_once).await.unwrap();
    assert_eq!(started.iter().filter(|started| !started.existing).count(), 1);
    assert!(started.iter().all(|one| one.id == started[0].id));
    assert_eq!(host.tasks(Default::default()).await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_host_that_stops_takes_nothing_new() {
    let (_dir, host) = with("").await;
    host.clone().shutdown().await;
    let error = refused(&host, new()).await;
    assert!(matches!(error, Error::ShuttingDown), "{error}");
}

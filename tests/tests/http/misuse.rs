//! Guests that use `wasi:http` against its rules are told so, at once.

use longhaul::{ErrorClass, Host, NewTask, TaskState};
use longhaul_tests::embedded::with_probe;
use serde_json::{Value, json};

/// What the probe was told.
async fn told(how: &str) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let input = json!({ "authority": "127.0.0.1:9", "how": how });
    let id = host.start(NewTask::new("probe", "http_misuse").input(input)).await.unwrap().id;
    let task = host.wait(&id).await.unwrap();
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!(replayed.diverged, None);
    assert_eq!(replayed.output, task.output, "a replay is told the same");
    host.shutdown().await;
    let values = task.output.unwrap().structured.unwrap()["values"].clone();
    values.as_array().unwrap().iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_waits_before_it_has_finished_its_request_is_told_so_and_does_not_hang() {
    let told = told("wait-unfinished").await;
    assert_eq!(told[..2], ["none yet=true", "ready=false"]);
    assert!(told[2].contains("InternalError") && told[2].contains("outgoing-body.finish"), "{told:?}");
    assert_eq!(told[3..], ["again=Some(true)", "finished=true"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_not_what_was_announced_is_not_sent() {
    let short = told("short-body").await;
    assert!(short[0].contains("HttpRequestBodySize"), "{short:?}");
    assert!(short[1].contains("HttpRequestBodySize"), "{short:?}");
    let dropped = told("drop-body").await;
    assert!(dropped[0].contains("its body was dropped"), "{dropped:?}");
    let connect = told("connect").await;
    assert!(connect[0].contains("HttpRequestMethodInvalid"), "{connect:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_can_spell_nothing_that_would_be_another_request() {
    let told = told("headers").await;
    let expected = [
        "host=Err(HeaderError::Forbidden)",
        "split=Err(HeaderError::InvalidSyntax)",
        "name=Err(HeaderError::InvalidSyntax)",
        "immutable=Err(HeaderError::Immutable)",
        "path=Err(())",
        "authority=Err(())",
        "method=Err(())",
    ];
    assert_eq!(told, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_headers_beyond_their_limit_stop_the_guest_and_the_limit_is_named() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let input = json!({ "authority": "127.0.0.1:9", "how": "many-headers" });
    let id = host.start(NewTask::new("probe", "http_misuse").input(input)).await.unwrap().id;
    let error = host.wait(&id).await.unwrap().error.unwrap();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Run, "limit"));
    assert!(error.message.contains("limit `http_headers`"), "{}", error.message);
    host.shutdown().await;
}

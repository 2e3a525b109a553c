//! The engine by itself, with guests written in WebAssembly text.

use std::time::Duration;

use crate::common::{Guest, host};
use longhaul::{Error, Limits, NewTask, Reply, TaskState};
use serde_json::json;

/// Asks "go on?" for a boolean, as text at 2048 and a schema at 2100.
const ASK: &str = r#"
    (call $ask (i32.const 2048) (i32.const 6) (i32.const 0) (i32.const 0) (i32.const 0)
      (i32.const 2100) (i32.const 18) (i32.const 0) (i64.const 0) (i32.const 0) (i32.const 0) (i32.const 0)
      (i32.const 3000))
"#;
const ASK_DATA: &str = r#"
    (data (i32.const 2048) "go on?")
    (data (i32.const 2100) "{\"type\":\"boolean\"}")
"#;

fn asks() -> Guest {
    Guest { more: ASK_DATA.into(), ..Guest::new(ASK) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_runs_and_completes() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let plugin = host.install(Guest::new("").build()).await.unwrap();
    assert_eq!(plugin.name, "test");
    let task = host.start(NewTask::new("test", "run")).await.unwrap();
    let done = host.wait(&task.id).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
    assert!(done.fuel_used > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_once() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    host.install(asks().build()).await.unwrap();
    let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
    until_asked(&host, &task).await;
    let answer = |value| Reply::Answered { value, by: Some("ann".into()) };
    let wrong = host.answer(&task, 1, answer(json!("yes"))).await.unwrap_err();
    assert!(matches!(wrong, Error::Answer { .. }), "{wrong}");
    host.answer(&task, 1, answer(json!(true))).await.unwrap();
    let late = host.answer(&task, 1, answer(json!(false))).await.unwrap_err();
    assert!(matches!(late, Error::AlreadySettled { ref reply, .. } if **reply == answer(json!(true))), "{late}");
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_instance_is_rebuilt_when_it_is_answered() {
    let dir = tempfile::tempdir().unwrap();
    let host = longhaul::Host::builder().data_dir(dir.path()).warm(Duration::ZERO).open().await.unwrap();
    host.install(asks().build()).await.unwrap();
    let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
    until_asked(&host, &task).await;
    host.answer(&task, 1, Reply::Declined { reason: None, by: None }).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_fuel_is_enforced_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    host.install(Guest::new("(loop $forever (br $forever))").build()).await.unwrap();
    let limits = Limits { fuel: 50_000_000, ..Limits::default() };
    let task = host.start(NewTask::new("test", "run").limits(limits)).await.unwrap();
    let done = host.wait(&task.id).await.unwrap();
    let error = done.error.unwrap();
    assert_eq!((done.state, error.code.as_str()), (TaskState::Failed, "fuel"), "{error:?}");
    assert_eq!(done.fuel_used, 50_000_000);
}

async fn until_asked(host: &longhaul::Host, task: &longhaul::TaskId) {
    use futures_util::TryStreamExt;
    let events = host.events(task, 0);
    let mut events = std::pin::pin!(events);
    while let Some(event) = events.try_next().await.unwrap() {
        if event.kind.name() == "question" {
            return;
        }
    }
    panic!("the task ended without a question");
}

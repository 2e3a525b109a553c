//! A guest that does something else on replay than it did.

use longhaul::{ErrorClass, Host, Reply, TaskState};
use longhaul_tests::audit::{audit, database, number};
use longhaul_tests::embedded::{journal, with_probe};
use longhaul_tests::worker::Worker;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn promise_3_a_guest_that_does_something_else_on_replay_is_stopped_and_nothing_is_asked_twice() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let mut worker = Worker::new(dir.path());
    let input = json!({ "prompt": "Go on?", "schema": { "type": "boolean" } });
    let id = worker.start("ask", "ask", &input);
    longhaul_tests::cli::eventually("it asks", || {
        (number(dir.path(), "SELECT count(*) FROM entry WHERE kind = 'question'") == 1).then_some(())
    });
    worker.kill();
    // The same question in other words: what another build of the plugin might ask.
    let other = json!({ "prompt": "Stop?", "schema": { "type": "boolean" } });
    database(dir.path()).execute("UPDATE task SET input = ?1", [other.to_string()]).unwrap();
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let id = host.find_task(&id).await.unwrap();
    host.answer(&id, 1, Reply::Answered { value: json!(true), by: None }).await.unwrap();
    let task = host.wait(&id).await.unwrap();
    assert_eq!(task.state, TaskState::Failed);
    let error = task.error.unwrap();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Run, "replay-diverged"));
    for part in ["Go on?", "Stop?"] {
        assert!(error.message.contains(part), "both are named: {}", error.message);
    }
    let events = journal(&host, &id).await;
    let kinds: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
    assert_eq!(kinds, ["started", "attempt", "question", "reply", "ended"], "the journal is kept as it was");
    assert_eq!(audit(dir.path()), [""; 0]);
    host.shutdown().await;
}

//! Guests that wait for longer than anybody lives.

use longhaul::{NewTask, Reply, TaskState, WaitingOn};
use longhaul_tests::hostile;
use serde_json::json;

use crate::arena::{Arena, completed};

/// 2^64 milliseconds, or nanoseconds: nothing overflows, and it waits like any other.
#[tokio::test(flavor = "multi_thread")]
async fn sleeping_for_584_years_is_waiting_until_somebody_stops_it() {
    let arena = Arena::open_with(|host| host.warm(std::time::Duration::ZERO)).await;
    let plugin = arena.host.install(hostile::guest("sleep")).await.unwrap().digest;
    let mut waiting = Vec::new();
    for which in 0..4 {
        let task = NewTask::new(plugin.as_str(), "run").input(json!({ "which": which }));
        let id = arena.host.start(task).await.unwrap().id;
        let waits = longhaul_tests::embedded::until(&arena.host, &id, |task| task.state == TaskState::Waiting).await;
        assert!(matches!(waits.waiting.unwrap().on, WaitingOn::Timer | WaitingOn::Human), "{which}");
        waiting.push(id);
    }
    arena.witness().await;
    for id in &waiting {
        arena.host.cancel(id).await.unwrap();
    }
    for id in waiting {
        // The contract's waits say that it is cancelled, and it returns; a timer of WASI can't, and is stopped.
        let ended = arena.host.wait(&id).await.unwrap();
        assert!(matches!(ended.state, TaskState::Completed | TaskState::Cancelled), "{:?}", ended.error);
    }
    arena.close().await;
}

/// Questions and children are told apart by numbers, which are each task's own.
#[tokio::test(flavor = "multi_thread")]
async fn promise_8_a_guest_that_guesses_handles_finds_nothing_of_other_tasks() {
    let arena = Arena::open().await;
    let other = arena.host.namespace("other");
    let asks = NewTask::new("probe", "ask").input(json!({ "prompt": "Shall we?", "schema": { "type": "boolean" } }));
    let asks = other.start(asks).await.unwrap().id;
    longhaul_tests::embedded::until(&other, &asks, |task| !task.questions.is_empty()).await;
    let guesses = arena.run("guess").await;
    completed(&guesses);
    assert_eq!(guesses.progress.unwrap().done, Some(0.0), "it found something");
    // Nobody has withdrawn or answered it.
    other.answer(&asks, 1, Reply::Answered { value: true.into(), by: None }).await.unwrap();
    completed(&other.wait(&asks).await.unwrap());
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_child_that_there_is_not_is_refused() {
    let arena = Arena::open().await;
    completed(&arena.run_as("sleep", 4).await);
    arena.close().await;
}

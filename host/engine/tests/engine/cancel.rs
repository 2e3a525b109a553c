//! Promise 9: cancelling is idempotent and answers with the state it found; an end is never overwritten.

use std::time::Duration;

use crate::common::{
    CANCELLED, FOR_EVER, Guest, advancing, ask, begin, clock, cold_host_at, error, event, eventually, failure, find,
    host_at, pending, said, say, spin, yes,
};
use longhaul::{ErrorClass, EventKind, Host, NewTask, Reply, TaskId, TaskState};

/// Cancels twice, and waits for the end, which nothing after it changes.
async fn cancelled(host: &Host, task: &TaskId, found: TaskState) {
    assert_eq!(host.cancel(task).await.unwrap(), found);
    let again = host.cancel(task).await.unwrap();
    assert!(again == found || !found.is_terminal(), "{again}");
    let done = host.wait(task).await.unwrap();
    assert_eq!(done.state, TaskState::Cancelled);
    let error = done.error.unwrap();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Tool, "cancelled"));
    let before = serde_json::to_value(host.task(task).await.unwrap()).unwrap();
    assert_eq!(host.cancel(task).await.unwrap(), TaskState::Cancelled);
    assert_eq!(serde_json::to_value(host.task(task).await.unwrap()).unwrap(), before);
    let names = crate::common::names(host, task).await;
    assert_eq!(names.iter().filter(|name| *name == "cancel-requested").count(), 1, "{names:?}");
    assert_eq!(names.iter().position(|name| name == "ended"), Some(names.len() - 1), "{names:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_task_that_waits_for_a_person() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    // `err(cancelled)` from the wait: the tool cleans up, and says that it stopped.
    let task = begin(&host, &Guest::new(&format!("{} {}", ask(None), error(CANCELLED, None))).with_question()).await;
    event(&host, &task, "question", 0).await;
    cancelled(&host, &task, TaskState::Waiting).await;
    let reply = find(&host, &task, 0, |event| event.kind.name() == "reply").await.unwrap();
    assert!(matches!(reply.kind, EventKind::Reply { question: 1, reply: Reply::Closed }));
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_task_that_waits_for_a_timer() {
    let (_dir, clock, host) = crate::common::cold_host().await;
    let sleeps = format!(
        "(call $sleep (i64.const 86400000) (i32.const 3000)) {} {}",
        say("(i32.load8_u (i32.const 3000))"),
        error(CANCELLED, None)
    );
    let task = begin(&host, &Guest::new(&sleeps)).await;
    event(&host, &task, "sleep", 0).await;
    cancelled(&host, &task, TaskState::Waiting).await;
    assert_eq!(said(&host, &task).await, [1.0]);
    assert_eq!(host.task(&task).await.unwrap().ended_at.unwrap(), longhaul::Clock::now(&clock), "no time has passed");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_task_that_waits_for_its_ticket_or_another_attempt() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    let guest = Guest { await_task: "unreachable".into(), ..Guest::new(&pending(2048, 3, Some(60_000))) };
    let task = begin(&host, &guest).await;
    event(&host, &task, "checkpoint", 0).await;
    cancelled(&host, &task, TaskState::Waiting).await;
    let task = begin(&host, &Guest::new(&error(crate::common::UNAVAILABLE, None))).await;
    event(&host, &task, "retry", 0).await;
    cancelled(&host, &task, TaskState::Waiting).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_task_that_runs() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    let polls = format!(
        "{} (loop $l (br_if $l (i32.eqz (call $is_cancelled)))) {}",
        say("(i32.const 1)"),
        error(CANCELLED, None)
    );
    let task = begin(&host, &Guest::new(&polls)).await;
    event(&host, &task, "progress", 0).await;
    cancelled(&host, &task, TaskState::Running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_task_that_stands_in_line() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let guest = Guest::new(&say("(i32.const 1)"));
    host.install(guest.build()).await.unwrap();
    // Nobody runs it: the host that has taken it is about to go.
    let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
    host.wait(&task).await.unwrap();
    crate::common::database(dir.path())
        .execute("UPDATE task SET state = 'queued', ended_at = NULL, ended_seq = NULL, begun = 0", [])
        .unwrap();
    assert_eq!(host.cancel(&task).await.unwrap(), TaskState::Queued);
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_completed_or_failed_task_changes_nothing() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    for (guest, state) in [(Guest::new(""), TaskState::Completed), (Guest::new("unreachable"), TaskState::Failed)] {
        let task = begin(&host, &guest).await;
        let done = serde_json::to_value(host.wait(&task).await.unwrap()).unwrap();
        assert_eq!(host.cancel(&task).await.unwrap(), state);
        assert_eq!(host.cancel(&task).await.unwrap(), state);
        assert_eq!(serde_json::to_value(host.task(&task).await.unwrap()).unwrap(), done);
    }
    let unknown: TaskId = serde_json::from_str("\"nobody\"").unwrap();
    assert!(host.cancel(&unknown).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_done_after_the_request_is_completed() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    let task = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &task, "question", 0).await;
    assert_eq!(host.cancel(&task).await.unwrap(), TaskState::Waiting);
    let done = host.wait(&task).await.unwrap();
    assert_eq!((done.state, done.cancel_requested), (TaskState::Completed, true));
    assert_eq!(host.cancel(&task).await.unwrap(), TaskState::Completed);
    assert_eq!(host.task(&task).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_one_that_says_it_was_cancelled_and_was_not_has_failed() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    let task = begin(&host, &Guest::new(&error(CANCELLED, None))).await;
    assert_eq!(failure(&host, &task).await.1, "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_guest_that_ignores_the_request_is_stopped_ten_seconds_after_it() {
    let sleeps = "(loop $l (call $sleep (i64.const 1000) (i32.const 3000)) (br $l))";
    for ignores in [FOR_EVER, sleeps] {
        let (_dir, clock, host) = crate::common::cold_host().await;
        let task = begin(&host, &Guest::new(&format!("{} {ignores}", say("(i32.const 1)")))).await;
        event(&host, &task, "progress", 0).await;
        assert!(!host.cancel(&task).await.unwrap().is_terminal());
        let asked = event(&host, &task, "cancel-requested", 0).await.at;
        let done = advancing(&clock, Duration::from_millis(500), host.wait(&task)).await.unwrap();
        assert_eq!(done.state, TaskState::Cancelled, "{:?}", done.error);
        let grace = done.ended_at.unwrap().since(asked);
        assert!(grace >= Duration::from_secs(10), "{grace:?}");
    }
}

/// WASI's timers know of no request to stop. Such a task waits as a row, and has to be brought back to be stopped.
#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_guest_that_waits_for_a_timer_of_wasi_is_stopped_ten_seconds_after_the_request() {
    let (_dir, clock, host) = crate::common::cold_host().await;
    let century = "(call $block (call $subscribe (i64.const 3000000000000000000)))";
    let task = begin(&host, &Guest::new(century)).await;
    crate::common::eventually(async || {
        let waits = host.task(&task).await.unwrap().state == TaskState::Waiting;
        waits.then_some(())
    })
    .await;
    host.cancel(&task).await.unwrap();
    // The timer has a century to go.
    let ended = advancing(&clock, Duration::from_secs(1), host.wait(&task)).await.unwrap();
    assert_eq!(ended.state, TaskState::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_request_outlives_the_host() {
    let (dir, clock, host) = crate::common::cold_host().await;
    let task = begin(&host, &Guest::new(&format!("{} {}", ask(None), error(CANCELLED, None))).with_question()).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    let host = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    assert_eq!(host.cancel(&task).await.unwrap(), TaskState::Waiting);
    host.shutdown().await;
    let host = cold_host_at(dir.path(), &clock).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Cancelled);
}

fn asks_and_cleans_up() -> Guest {
    Guest::new(&format!("{} {}", ask(None), error(CANCELLED, None))).with_question()
}

/// Bytes of the one instance that is kept while its task waits, or of none.
async fn kept(host: &Host, bytes: u64) {
    eventually(async || (longhaul::testing::warm_bytes(host) == bytes).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_task_whose_instance_is_kept_or_dropped_through_its_host_or_another() {
    for (warm, bytes) in [(Duration::from_secs(3_600), 4 << 20), (Duration::ZERO, 0)] {
        for through_another in [false, true] {
            let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
            let owner = Host::builder().data_dir(dir.path()).clock(clock.clone()).warm(warm).open().await.unwrap();
            let other = Host::builder().data_dir(dir.path()).clock(clock).take_over(false).open().await.unwrap();
            let task = begin(&owner, &asks_and_cleans_up()).await;
            event(&owner, &task, "question", 0).await;
            kept(&owner, bytes).await;
            cancelled(if through_another { &other } else { &owner }, &task, TaskState::Waiting).await;
            kept(&owner, 0).await;
        }
    }
}

/// Its owner is dead, and nobody has taken it over: the request is kept for whoever does.
#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancel_of_a_stalled_task() {
    let polls = format!(
        "{} (loop $l (br_if $l (i32.eqz (call $is_cancelled)))) {}",
        say("(i32.const 1)"),
        error(CANCELLED, None)
    );
    for (guest, reached, found, then) in [
        (Guest::new(&polls), "progress", TaskState::Running, TaskState::Running),
        // It waits for nothing any more.
        (asks_and_cleans_up(), "question", TaskState::Waiting, TaskState::Queued),
    ] {
        let (dir, clock, host) = crate::common::cold_host().await;
        let task = begin(&host, &guest).await;
        event(&host, &task, reached, 0).await;
        // The lock of owner 999 is held by nobody.
        eventually(async || (host.task(&task).await.unwrap().state == found).then_some(())).await;
        crate::common::database(dir.path()).execute("UPDATE task SET owner = 999, epoch = epoch + 1", []).unwrap();
        host.shutdown().await;
        let host = Host::builder().data_dir(dir.path()).clock(clock).take_over(false).open().await.unwrap();
        assert_eq!(host.cancel(&task).await.unwrap(), found);
        assert_eq!(host.cancel(&task).await.unwrap(), then);
        let stalled = host.task(&task).await.unwrap();
        assert!(stalled.stalled && stalled.cancel_requested && !stalled.state.is_terminal(), "{stalled:?}");
        assert!(host.adopt(&task).await.unwrap());
        assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Cancelled);
        let names = crate::common::names(&host, &task).await;
        assert_eq!(names.iter().filter(|name| *name == "cancel-requested").count(), 1, "{names:?}");
    }
}

/// Whatever comes first, the task ends once, its journal ends with its end, and what was said stays true.
#[tokio::test(flavor = "multi_thread")]
async fn promise_9_races_of_cancel_completion_and_answer_lose_nothing() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let answered = Guest::new(&format!("{} {} {}", spin(1), ask(None), spin(3))).with_question();
    let quick = Guest::new(&format!("{} {} {}", say("(i32.const 1)"), spin(20_000), say("(i32.const 2)")));
    for round in 0..120u64 {
        let guest = if round % 2 == 0 { &answered } else { &quick };
        let task = begin(&host, guest).await;
        if round % 4 == 0 {
            event(&host, &task, "question", 0).await;
        }
        let cancel = tokio::spawn({
            let (host, task) = (host.clone(), task.clone());
            async move {
                for _ in 0..round % 7 {
                    tokio::task::yield_now().await;
                }
                host.cancel(&task).await
            }
        });
        let answer = host.answer(&task, 1, yes()).await;
        let found = cancel.await.unwrap().unwrap();
        let done = host.wait(&task).await.unwrap();
        assert!(matches!(done.state, TaskState::Completed | TaskState::Cancelled), "{done:?}");
        if found.is_terminal() {
            assert_eq!(found, done.state);
        }
        let names = crate::common::names(&host, &task).await;
        assert_eq!(names.iter().filter(|name| *name == "ended").count(), 1);
        assert_eq!(names.last().unwrap(), "ended", "{names:?}");
        if answer.is_ok() {
            let reply = find(&host, &task, 0, |event| event.kind.name() == "reply").await.unwrap();
            assert!(matches!(reply.kind, EventKind::Reply { reply: Reply::Answered { .. }, .. }));
        }
        // Nothing comes after the end.
        assert_eq!(host.cancel(&task).await.unwrap(), done.state);
        assert_eq!(host.task(&task).await.unwrap().output, done.output);
    }
    // Whoever still ran has been told.
    host.shutdown().await;
    let after = crate::common::after_the_end(dir.path());
    assert_eq!(after, 0, "a journal ends with the task's end");
}

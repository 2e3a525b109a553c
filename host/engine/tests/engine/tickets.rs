//! Work that is pending outside, attempts that fail for now, and the three failures that stay apart.

use std::time::Duration;

use crate::common::{
    CANCELLED, FAILED, Guest, INVALID_INPUT, UNAVAILABLE, advancing, begin, clock, cold_host_at, error, event, failure,
    find, host_at, names, pending, said, say,
};
use longhaul::{
    Clock, ErrorClass, Event, EventKind, Host, NewTask, RetryPolicy, SimulatedClock, TaskId, TaskState, Timestamp,
    WaitingOn,
};

async fn open() -> (tempfile::TempDir, SimulatedClock, Host) {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    (dir, clock, host)
}

/// Moves the clock to a moment, and not beyond.
fn advance_to(clock: &SimulatedClock, to: Timestamp) {
    clock.advance(to.since(clock.now()));
}

fn until(event: &Event) -> Timestamp {
    match &event.kind {
        EventKind::Retry { until, .. } | EventKind::Checkpoint { until, .. } => *until,
        other => panic!("{other:?} has no time"),
    }
}

/// Attempt by attempt: how long each waited for the next, until the task ends.
async fn attempts(host: &Host, clock: &SimulatedClock, task: &TaskId) -> Vec<Duration> {
    let mut waited = Vec::new();
    let mut after = 0;
    while let Some(event) = find(host, task, after, |event| event.kind.name() == "retry").await {
        after = event.seq;
        waited.push(until(&event).since(event.at));
        let waiting = host.task(task).await.unwrap().waiting.unwrap();
        assert_eq!((waiting.on, waiting.until), (WaitingOn::Retry, Some(until(&event))));
        // A moment before, nothing has happened.
        clock.advance(until(&event).since(clock.now()).saturating_sub(Duration::from_millis(1)));
        assert_eq!(host.task(task).await.unwrap().state, TaskState::Waiting);
        clock.advance(Duration::from_millis(1));
    }
    waited
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_unavailable_is_tried_three_times_with_backoff() {
    let (_dir, clock, host) = open().await;
    let task = begin(&host, &Guest::new(&[say("(local.get $attempt)"), error(UNAVAILABLE, None)].concat())).await;
    let waited = attempts(&host, &clock, &task).await;
    assert_eq!(waited.len(), 2);
    for (waited, seconds) in waited.iter().zip([1, 2]) {
        let base = Duration::from_secs(seconds);
        assert!(*waited >= base && *waited <= base * 3 / 2, "{waited:?}");
    }
    let (class, code, _) = failure(&host, &task).await;
    assert_eq!((class, code.as_str()), (ErrorClass::Tool, "unavailable"));
    assert_eq!(host.task(&task).await.unwrap().attempt, 3);
    assert_eq!(said(&host, &task).await, [1.0, 2.0, 3.0]);
    let tries: Vec<_> = names(&host, &task).await;
    assert_eq!(
        tries,
        ["started", "attempt", "progress", "retry", "attempt", "progress", "retry", "attempt", "progress", "ended"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tasks_own_retry_policy_is_followed() {
    let (_dir, clock, host) = open().await;
    host.install(Guest::new(&error(UNAVAILABLE, None)).build()).await.unwrap();
    let second = Duration::from_secs(1);
    let policy = RetryPolicy { attempts: 5, first: 10 * second, factor: 3, cap: 60 * second };
    let task = host.start(NewTask::new("test", "run").retry(policy)).await.unwrap().id;
    let waited = attempts(&host, &clock, &task).await;
    assert_eq!(waited.len(), 4, "five attempts");
    for (waited, seconds) in waited.iter().zip([10, 30, 60, 60]) {
        assert!(*waited >= seconds * second && *waited <= seconds * second * 3 / 2, "{waited:?}");
    }
    assert_eq!(failure(&host, &task).await.1, "unavailable");
    let once = RetryPolicy { attempts: 1, ..RetryPolicy::default() };
    let task = host.start(NewTask::new("test", "run").retry(once)).await.unwrap().id;
    assert_eq!(attempts(&host, &clock, &task).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_retry_policy_that_makes_no_sense_is_refused_and_its_value_named() {
    let (_dir, _clock, host) = open().await;
    host.install(Guest::new("").build()).await.unwrap();
    let usual = RetryPolicy::default;
    for (policy, what) in [
        (RetryPolicy { attempts: 0, ..usual() }, "retry `attempts`"),
        (RetryPolicy { attempts: 1_001, ..usual() }, "retry `attempts`"),
        (RetryPolicy { factor: 0, ..usual() }, "retry `factor`"),
        (RetryPolicy { factor: 101, ..usual() }, "retry `factor`"),
        (RetryPolicy { first: usual().cap + Duration::from_millis(1), ..usual() }, "retry `first`"),
        (RetryPolicy { cap: Duration::MAX, ..usual() }, "retry `cap`"),
    ] {
        let refused = host.start(NewTask::new("test", "run").retry(policy)).await;
        assert!(matches!(&refused, Err(longhaul::Error::OutOfRange { what: named, .. }) if *named == what), "{what}");
    }
    assert!(host.tasks(Default::default()).await.unwrap().is_empty());
}

/// As if the process had died before its retry was written down, and the attempt were run to its end once more.
#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_that_is_run_again_is_followed_after_the_same_delay() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let asks = Guest::new(&format!("{} {}", crate::common::ask(None), error(UNAVAILABLE, None))).with_question();
    let task = begin(&host, &asks).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    let again = tempfile::tempdir().unwrap();
    let copy = again.path().join("longhaul.db");
    crate::common::database(dir.path()).execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
    let mut delays = Vec::new();
    for dir in [&dir, &again] {
        let host = cold_host_at(dir.path(), &clock).await;
        host.answer(&task, 1, crate::common::yes()).await.unwrap();
        let retry = event(&host, &task, "retry", 0).await;
        delays.push(until(&retry).since(retry.at));
        host.shutdown().await;
        clock.advance(Duration::from_millis(777));
    }
    assert_eq!(delays[0], delays[1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_the_next_attempt_has_what_is_left_of_the_fuel_after_a_restart_too() {
    let (dir, clock, host) = open().await;
    host.install(Guest::new(&format!("{} {}", crate::common::spin(100_000), error(UNAVAILABLE, None))).build())
        .await
        .unwrap();
    let once = RetryPolicy { attempts: 1, ..RetryPolicy::default() };
    let task = host.start(NewTask::new("test", "run").retry(once)).await.unwrap().id;
    let one = host.wait(&task).await.unwrap().fuel_used;
    let limits = longhaul::Limits { fuel: one * 3 / 2, ..Default::default() };
    let task = host.start(NewTask::new("test", "run").limits(limits)).await.unwrap().id;
    let retry = event(&host, &task, "retry", 0).await;
    host.shutdown().await;
    let host = host_at(dir.path(), &clock).await;
    assert_eq!(host.task(&task).await.unwrap().fuel_used, one);
    advance_to(&clock, until(&retry));
    assert_eq!(failure(&host, &task).await.1, "fuel");
    let failed = host.task(&task).await.unwrap();
    assert_eq!((failed.attempt, failed.fuel_used), (2, limits.fuel));
}

#[tokio::test(flavor = "multi_thread")]
async fn retry_after_is_respected() {
    let (_dir, clock, host) = open().await;
    let task = begin(&host, &Guest::new(&error(UNAVAILABLE, Some(120_000)))).await;
    assert_eq!(attempts(&host, &clock, &task).await, [Duration::from_secs(120); 2]);
    // One that is longer than the task may live ends with the deadline.
    let task = begin(&host, &Guest::new(&error(UNAVAILABLE, Some(u64::MAX)))).await;
    event(&host, &task, "retry", 0).await;
    clock.advance(longhaul::LIFE);
    assert_eq!(failure(&host, &task).await.1, "deadline");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_retry_outlives_the_host() {
    let (dir, clock, host) = open().await;
    let task = begin(&host, &Guest::new(&error(UNAVAILABLE, None))).await;
    let retry = event(&host, &task, "retry", 0).await;
    host.shutdown().await;
    let host = host_at(dir.path(), &clock).await;
    assert_eq!(host.task(&task).await.unwrap().attempt, 1);
    advance_to(&clock, until(&retry));
    event(&host, &task, "retry", retry.seq).await;
    assert_eq!(host.task(&task).await.unwrap().attempt, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_final_is_not_tried_again() {
    let (_dir, _clock, host) = open().await;
    for (kind, code) in [(FAILED, "failed"), (INVALID_INPUT, "invalid-input")] {
        let task = begin(&host, &Guest::new(&error(kind, Some(5)))).await;
        let (class, found, _) = failure(&host, &task).await;
        assert_eq!((class, found.as_str()), (ErrorClass::Tool, code));
        assert_eq!(host.task(&task).await.unwrap().attempt, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_12_the_tool_failed_the_run_broke_and_nobody_runs_it_stay_apart() {
    let (dir, clock, host) = open().await;
    let tool = begin(&host, &Guest::new(&error(FAILED, None))).await;
    assert_eq!(failure(&host, &tool).await.0, ErrorClass::Tool);
    let run = begin(&host, &Guest::new("unreachable")).await;
    let (class, code, message) = failure(&host, &run).await;
    assert_eq!((class, code.as_str()), (ErrorClass::Run, "trap"));
    assert!(message.contains("unreachable"), "{message}");
    let nobody = begin(&host, &Guest::new(&format!("{} {}", say("(i32.const 1)"), crate::common::FOR_EVER))).await;
    event(&host, &nobody, "progress", 0).await;
    assert!(!host.task(&nobody).await.unwrap().stalled);
    let other = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    assert!(!other.task(&nobody).await.unwrap().stalled, "its owner lives");
    assert!(!other.adopt(&nobody).await.unwrap());
    // Gone without a word.
    drop(host);
    crate::common::eventually(async || other.task(&nobody).await.unwrap().stalled.then_some(())).await;
    let seen = other.task(&nobody).await.unwrap();
    assert!(!seen.state.is_terminal() && seen.error.is_none());
    assert!(!other.task(&tool).await.unwrap().stalled, "what has ended needs nobody");
    assert!(other.adopt(&nobody).await.unwrap());
    assert!(!other.task(&nobody).await.unwrap().stalled);
    other.cancel(&nobody).await.unwrap();
    let step = Duration::from_secs(1);
    assert_eq!(crate::common::advancing(&clock, step, other.wait(&nobody)).await.unwrap().state, TaskState::Cancelled);
    assert!(!other.adopt(&tool).await.unwrap());
}

/// `execute` leaves a ticket; `await-task` says when it was called, and returns it unchanged.
fn looks_after(hint: Option<u64>) -> Guest {
    let ticket = pending(2048, 3, hint);
    Guest {
        await_task: format!("{} {ticket}", say("(i32.wrap_i64 (i64.div_u (call $now) (i64.const 1000000)))")),
        ..Guest::new(&ticket).text(2048, "job")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_without_a_hint_is_looked_after_with_backoff() {
    let (_dir, clock, host) = open().await;
    let task = begin(&host, &looks_after(None)).await;
    let mut after = 0;
    let mut waited = Vec::new();
    for _ in 0..8 {
        let checkpoint = event(&host, &task, "checkpoint", after).await;
        after = checkpoint.seq;
        waited.push(until(&checkpoint).since(checkpoint.at).as_secs());
        advance_to(&clock, until(&checkpoint));
    }
    assert_eq!(waited, [1, 2, 4, 8, 16, 30, 30, 30]);
    event(&host, &task, "checkpoint", after).await;
    let times: Vec<_> = said(&host, &task).await;
    assert_eq!(times, [1_000.0, 3_000.0, 7_000.0, 15_000.0, 31_000.0, 61_000.0, 91_000.0, 121_000.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tickets_hint_is_followed_and_the_work_ends() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    // Done when it is looked at; the ticket comes back as it was.
    let guest = Guest {
        await_task: say("(i32.sub (i32.load8_u (local.get $ticket)) (local.get $ticket_len))"),
        ..Guest::new(&pending(2048, 3, Some(3_600_000))).text(2048, "job")
    };
    let task = begin(&host, &guest).await;
    let checkpoint = event(&host, &task, "checkpoint", 0).await;
    assert_eq!(until(&checkpoint).since(checkpoint.at), Duration::from_secs(3_600));
    let waiting = host.task(&task).await.unwrap();
    assert_eq!((waiting.state, waiting.waiting.unwrap().on), (TaskState::Waiting, WaitingOn::Ticket));
    host.shutdown().await;
    let host = cold_host_at(dir.path(), &clock).await;
    clock.advance(Duration::from_secs(3_599));
    assert_eq!(host.task(&task).await.unwrap().state, TaskState::Waiting);
    clock.advance(Duration::from_secs(1));
    let done = host.wait(&task).await.unwrap();
    assert_eq!((done.state, done.attempt), (TaskState::Completed, 1));
    assert_eq!(said(&host, &task).await, [f64::from(b'j') - 3.0]);
}

/// Waits until `cancel-task` is owed no more.
async fn cancel_calls(dir: &std::path::Path) {
    let database = crate::common::database(dir);
    crate::common::eventually(async || {
        let owed: i64 =
            database.query_row("SELECT count(*) FROM task WHERE ticket IS NOT NULL", [], |row| row.get(0)).unwrap();
        (owed == 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_task_is_called_when_a_task_ends_with_its_ticket_outstanding() {
    // Cancelled, by this host and by another; too late; crashed; the last retry failed.
    for case in ["cancel", "cancel elsewhere", "deadline", "crash"] {
        let (dir, clock, host) = open().await;
        let guest = Guest { await_task: "unreachable".into(), ..looks_after(Some(1_000)) };
        let task = begin(&host, &guest).await;
        let checkpoint = event(&host, &task, "checkpoint", 0).await;
        match case {
            "cancel" => assert_eq!(host.cancel(&task).await.unwrap(), TaskState::Waiting),
            "cancel elsewhere" => {
                let other =
                    Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
                assert_eq!(other.cancel(&task).await.unwrap(), TaskState::Waiting);
                other.shutdown().await;
            }
            "deadline" => clock.advance(longhaul::LIFE),
            _ => advance_to(&clock, until(&checkpoint)),
        }
        let done = host.wait(&task).await.unwrap();
        assert!(done.state.is_terminal());
        cancel_calls(dir.path()).await;
        let before = names(&host, &task).await;
        assert_eq!(before.last().unwrap(), "ended");
        assert_eq!(host.task(&task).await.unwrap().state, done.state);
    }
}

/// What `cancel-task` does changes nothing about the task, and it may take its time.
#[tokio::test(flavor = "multi_thread")]
async fn cancel_task_is_called_whatever_ended_the_task_and_is_shown_to_nobody() {
    let fuel = crate::common::spin(1_000_000);
    let sleeps = "(call $sleep (i64.const 1000) (i32.const 3000))";
    for cancel in [&say("(i32.const 7)"), &fuel, sleeps] {
        let (dir, clock, host) = open().await;
        // By then the task has used up what it may, and its time is over.
        let guest = Guest {
            cancel: cancel.replace("(local.set $n", "(global.set $g").replace("(local.get $n)", "(global.get $g)"),
            await_task: crate::common::FOR_EVER.into(),
            more: "(global $g (mut i64) (i64.const 0))".into(),
            ..looks_after(Some(1_000))
        }
        .text(2048, "job");
        host.install(guest.build()).await.unwrap();
        let limits = longhaul::Limits { fuel: 10_000_000, ..Default::default() };
        let new = NewTask::new("test", "run").limits(limits).deadline(Duration::from_secs(5));
        let task = host.start(new).await.unwrap().id;
        let done = advancing(&clock, Duration::from_millis(100), host.wait(&task)).await.unwrap();
        assert_eq!(done.state, TaskState::Failed);
        advancing(&clock, Duration::from_secs(1), cancel_calls(dir.path())).await;
        assert_eq!(names(&host, &task).await.last().unwrap(), "ended");
    }
}

/// What `cancel-task` is owed: how often it was called, and the milliseconds until it is called again.
async fn called(dir: &std::path::Path, clock: &SimulatedClock, times: i64) -> i64 {
    let database = crate::common::database(dir);
    let due: i64 = crate::common::eventually(async || {
        let select = "SELECT due_at FROM task WHERE ticket IS NOT NULL AND ended_at IS NOT NULL AND cancel_tries = ?1";
        database.query_row(select, [times], |row| row.get(0)).ok()
    })
    .await;
    due - clock.now().as_millis() as i64
}

/// A tool whose `cancel-task` crashes until its task is 100 s old.
fn cancels_late() -> Guest {
    let crashes = "(if (i64.lt_u (call $now) (i64.const 100000000000)) (then unreachable))";
    Guest { cancel: crashes.into(), ..looks_after(Some(1_000)) }
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_task_is_owed_until_it_returned_once_and_called_ever_more_rarely() {
    let (dir, clock, host) = open().await;
    let task = begin(&host, &cancels_late()).await;
    event(&host, &task, "checkpoint", 0).await;
    host.cancel(&task).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Cancelled);
    for (times, seconds) in [(1, 1), (2, 2), (3, 4), (4, 8)] {
        assert_eq!(called(dir.path(), &clock, times).await, seconds * 1_000);
        clock.advance(Duration::from_secs(seconds as u64));
    }
    assert_eq!(called(dir.path(), &clock, 5).await, 16_000);
    host.shutdown().await;
    // The next host goes on where this one stood, and not from the beginning.
    let host = host_at(dir.path(), &clock).await;
    assert!(matches!(host.remove_plugin("test").await, Err(longhaul::Error::PluginInUse { tasks: 1, .. })));
    clock.advance(Duration::from_secs(16));
    assert_eq!(called(dir.path(), &clock, 6).await, 32_000);
    advancing(&clock, Duration::from_secs(1), cancel_calls(dir.path())).await;
    assert!(clock.now().since(host.task(&task).await.unwrap().created_at) >= Duration::from_secs(100));
    assert_eq!(names(&host, &task).await.last().unwrap(), "ended");
    host.remove_plugin("test").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_task_that_is_unavailable_is_called_again_and_any_other_error_is_its_last_word() {
    for (kind, again) in [(UNAVAILABLE, true), (FAILED, false), (CANCELLED, false)] {
        let (dir, clock, host) = open().await;
        let fails = format!("(if (i64.lt_u (call $now) (i64.const 100000000000)) (then {}))", error(kind, None));
        let task = begin(&host, &Guest { cancel: fails, ..looks_after(Some(1_000)) }).await;
        event(&host, &task, "checkpoint", 0).await;
        host.cancel(&task).await.unwrap();
        if again {
            assert_eq!(called(dir.path(), &clock, 1).await, 1_000);
            clock.advance(Duration::from_secs(1));
            assert_eq!(called(dir.path(), &clock, 2).await, 2_000);
            advancing(&clock, Duration::from_secs(1), cancel_calls(dir.path())).await;
        } else {
            // The clock stands still: it was called once.
            cancel_calls(dir.path()).await;
        }
        let old = clock.now().since(host.task(&task).await.unwrap().created_at) >= Duration::from_secs(100);
        assert_eq!(old, again, "{kind}");
        assert_eq!(host.task(&task).await.unwrap().state, TaskState::Cancelled);
        host.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_is_removed_exists_no_more_and_its_cancel_task_is_called_all_the_same() {
    let (dir, clock, host) = open().await;
    host.install(cancels_late().build()).await.unwrap();
    let task = host.start(NewTask::new("test", "run").idempotency_key("k")).await.unwrap().id;
    event(&host, &task, "checkpoint", 0).await;
    host.cancel(&task).await.unwrap();
    called(dir.path(), &clock, 1).await;
    host.remove(&task).await.unwrap();
    assert!(matches!(host.task(&task).await, Err(longhaul::Error::UnknownTask(_))));
    assert!(matches!(host.find_task(task.as_str()).await, Err(longhaul::Error::UnknownTask(_))));
    assert!(matches!(host.remove(&task).await, Err(longhaul::Error::UnknownTask(_))));
    assert!(host.tasks(Default::default()).await.unwrap().is_empty());
    // Nobody sees what the plugin is needed for, so that it can be removed; its file stays for the call.
    host.remove_plugin("test").await.unwrap();
    host.shutdown().await;
    let host = host_at(dir.path(), &clock).await;
    let database = crate::common::database(dir.path());
    let rows = || -> (i64, i64, i64) {
        let select = "SELECT (SELECT count(*) FROM task), (SELECT count(*) FROM entry), (SELECT count(*) FROM plugin)";
        database.query_row(select, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap()
    };
    assert_eq!((rows().0, rows().2), (1, 1));
    let gone = crate::common::eventually(async || (rows() == (0, 0, 0)).then_some(()));
    advancing(&clock, Duration::from_secs(1), gone).await;
    // The key is free.
    host.install(cancels_late().build()).await.unwrap();
    assert!(!host.start(NewTask::new("test", "run").idempotency_key("k")).await.unwrap().existing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ticket_whose_plugin_cannot_be_loaded_is_kept() {
    let (dir, clock, host) = open().await;
    let task = begin(&host, &looks_after(Some(1_000))).await;
    event(&host, &task, "checkpoint", 0).await;
    host.shutdown().await;
    let database = crate::common::database(dir.path());
    database.execute_batch("CREATE TABLE kept AS SELECT * FROM plugin; DELETE FROM plugin;").unwrap();
    std::fs::remove_dir_all(dir.path().join("compiled")).unwrap();
    let host = host_at(dir.path(), &clock).await;
    host.cancel(&task).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Cancelled);
    called(dir.path(), &clock, 1).await;
    database.execute_batch("INSERT INTO plugin SELECT * FROM kept; DROP TABLE kept;").unwrap();
    advancing(&clock, Duration::from_secs(1), cancel_calls(dir.path())).await;
}

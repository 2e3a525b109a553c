//! Promise 6: every limit is enforced, on by default, and named in the error; a crash or a restart does not refill it.

use std::time::Duration;

use crate::common::{
    FOR_EVER, Guest, UNAVAILABLE, advancing, ask, begin, clock, cold_host_at, database, error, event, failure, find,
    host, host_at, said, say, spin, yes,
};
use longhaul::{ErrorClass, Host, Limits, NewTask, TaskId, TaskState};

/// Starts the tool of a guest that is installed already.
async fn start(host: &Host, limits: Limits) -> TaskId {
    host.start(NewTask::new("test", "run").limits(limits)).await.unwrap().id
}

async fn broke(host: &Host, task: &TaskId, code: &str) -> String {
    let (class, found, message) = failure(host, task).await;
    assert_eq!((class, found.as_str()), (ErrorClass::Run, code), "{message}");
    message
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_fuel_is_enough_or_it_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let task = begin(&host, &Guest::new(&spin(100_000))).await;
    let fuel = host.wait(&task).await.unwrap().fuel_used;
    assert!(fuel > 100_000);
    let enough = start(&host, Limits { fuel, ..Limits::default() }).await;
    let done = host.wait(&enough).await.unwrap();
    assert_eq!((done.state, done.fuel_used), (TaskState::Completed, fuel));
    // The guest is looked at when it loops and calls.
    let short = start(&host, Limits { fuel: fuel - 1_000, ..Limits::default() }).await;
    let message = broke(&host, &short, "fuel").await;
    assert!(message.contains("limit `fuel`"), "{message}");
    assert_eq!(host.task(&short).await.unwrap().fuel_used, fuel - 1_000);
    let none = start(&host, Limits { fuel: 0, ..Limits::default() }).await;
    broke(&host, &none, "fuel").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_fuel_is_not_refilled_by_dropping_the_instance_or_the_host() {
    let guest = Guest::new(&format!("{} {} {}", spin(200_000), ask(None), spin(200_000))).with_question();
    let clock = clock();
    let warm = tempfile::tempdir().unwrap();
    let host = host_at(warm.path(), &clock).await;
    let task = begin(&host, &guest).await;
    event(&host, &task, "question", 0).await;
    host.answer(&task, 1, yes()).await.unwrap();
    let fuel = host.wait(&task).await.unwrap().fuel_used;
    host.shutdown().await;
    for (limit, reopen) in [(fuel, false), (fuel, true), (fuel - 1_000, false), (fuel - 1_000, true)] {
        let dir = tempfile::tempdir().unwrap();
        let mut host = cold_host_at(dir.path(), &clock).await;
        host.install(guest.build()).await.unwrap();
        let task = start(&host, Limits { fuel: limit, ..Limits::default() }).await;
        event(&host, &task, "question", 0).await;
        if reopen {
            host.shutdown().await;
            host = cold_host_at(dir.path(), &clock).await;
        }
        host.answer(&task, 1, yes()).await.unwrap();
        let done = host.wait(&task).await.unwrap();
        let state = if limit == fuel { TaskState::Completed } else { TaskState::Failed };
        assert_eq!((done.state, done.fuel_used), (state, limit), "{:?}", done.error);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_the_attempts_of_a_task_share_one_budget() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let guest = Guest::new(&format!("{} {}", spin(100_000), error(UNAVAILABLE, None)));
    host.install(guest.build()).await.unwrap();
    let all = start(&host, Limits::default()).await;
    let done = advancing(&clock, Duration::from_secs(1), host.wait(&all)).await.unwrap();
    assert_eq!((done.attempt, done.error.unwrap().code.as_str()), (3, "unavailable"));
    let fuel = done.fuel_used;
    let short = start(&host, Limits { fuel: fuel - 1_000, ..Limits::default() }).await;
    let done = advancing(&clock, Duration::from_secs(1), host.wait(&short)).await.unwrap();
    assert_eq!((done.attempt, done.error.unwrap().code.as_str()), (3, "fuel"));
    assert_eq!(done.fuel_used, fuel - 1_000);
}

/// Grows its memory by `more` pages of 64 KiB; it began with 64.
fn grows(more: u32) -> String {
    say(&format!("(memory.grow (i32.const {more}))"))
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_memory_beyond_the_limit_answers_minus_one_in_the_guest() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let eight = Limits { memory: 8 << 20, ..Limits::default() };
    host.install(Guest::new(&[grows(65), grows(64), grows(1)].concat()).build()).await.unwrap();
    let task = start(&host, eight).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [-1.0, 64.0, -1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_guest_that_crashes_for_want_of_memory_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let eight = Limits { memory: 8 << 20, ..Limits::default() };
    host.install(Guest::new("(if (i32.eq (memory.grow (i32.const 65)) (i32.const -1)) (then unreachable))").build())
        .await
        .unwrap();
    let message = broke(&host, &start(&host, eight).await, "memory").await;
    assert!(message.contains("limit `memory`"), "{message}");
    // By default it has enough.
    let task = start(&host, Limits::default()).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    // It may not even begin.
    let message = broke(&host, &start(&host, Limits { memory: 1 << 20, ..eight }).await, "memory").await;
    assert!(message.contains("limit `memory`"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_guests_memories_are_counted_together() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let guest = Guest::new(&[say("(memory.grow (i32.const 33))"), say("(memory.grow (i32.const 32))")].concat());
    host.install(crate::common::with_another_memory(guest.build(), 32)).await.unwrap();
    let task = start(&host, Limits { memory: 8 << 20, ..Limits::default() }).await;
    host.wait(&task).await.unwrap();
    assert_eq!(said(&host, &task).await, [-1.0, 64.0]);
    broke(&host, &start(&host, Limits { memory: 5 << 20, ..Limits::default() }).await, "memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_tables_are_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let grow = |by: u32| say(&format!("(table.grow $t (ref.null func) (i32.const {by}))"));
    let guest = Guest {
        more: "(table $t 0 funcref)".into(),
        ..Guest::new(&[grow(100_001), grow(90_000), grow(20_000)].concat())
    };
    let task = begin(&host, &guest).await;
    host.wait(&task).await.unwrap();
    assert_eq!(said(&host, &task).await, [-1.0, 0.0, -1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_run_time_stops_a_guest_that_spins() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    host.install(Guest::new(FOR_EVER).build()).await.unwrap();
    let task = start(&host, Limits { run_time: Duration::from_millis(100), ..Limits::default() }).await;
    let message = broke(&host, &task, "run-time").await;
    assert!(message.contains("limit `run_time` = 100ms;"), "{message}");
    // Time spent waiting does not count, whoever's clock it is.
    let clock = clock();
    let dir = tempfile::tempdir().unwrap();
    let host = host_at(dir.path(), &clock).await;
    host.install(Guest::new("(call $sleep (i64.const 86400000) (i32.const 3000))").build()).await.unwrap();
    let task = start(&host, Limits { run_time: Duration::from_secs(30), ..Limits::default() }).await;
    event(&host, &task, "sleep", 0).await;
    let done = advancing(&clock, Duration::from_secs(3_600), host.wait(&task)).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_run_time_is_not_refilled_by_a_restart() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let task =
        begin(&host, &Guest::new(&format!("{} {} {FOR_EVER}", spin(20_000_000), ask(None))).with_question()).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    let used: i64 = database(dir.path()).query_row("SELECT run_ms FROM task", [], |row| row.get(0)).unwrap();
    assert!(used > 0, "what it computed before it asked is on disk");
    // As if it had computed for nearly as long as it may.
    database(dir.path()).execute("UPDATE task SET run_ms = 3600000 - 50", []).unwrap();
    let host = cold_host_at(dir.path(), &clock).await;
    host.answer(&task, 1, yes()).await.unwrap();
    broke(&host, &task, "run-time").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_run_time_of_a_guest_that_does_nothing_else_is_on_disk_before_it_ends() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    begin(&host, &Guest::new(FOR_EVER)).await;
    let database = database(dir.path());
    crate::common::eventually(async || {
        let used: i64 = database.query_row("SELECT run_ms FROM task", [], |row| row.get(0)).unwrap();
        (used > 0).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_computes_is_shown_as_running() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let task = begin(&host, &Guest::new(FOR_EVER)).await;
    crate::common::eventually(async || (host.task(&task).await.unwrap().state == TaskState::Running).then_some(()))
        .await;
    assert_eq!(host.task(&task).await.unwrap().attempt, 1);
}

fn minute(task: NewTask) -> NewTask {
    task.deadline(Duration::from_secs(60))
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_deadline_passes_while_the_guest_runs() {
    for body in [FOR_EVER, "(loop $ever (call $sleep (i64.const 0) (i32.const 3000)) (br $ever))"] {
        let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
        let host = host_at(dir.path(), &clock).await;
        host.install(Guest::new(&format!("{} {body}", say("(i32.const 1)"))).build()).await.unwrap();
        let task = host.start(minute(NewTask::new("test", "run"))).await.unwrap().id;
        event(&host, &task, "progress", 0).await;
        clock.advance(Duration::from_secs(59));
        assert!(!host.task(&task).await.unwrap().state.is_terminal());
        clock.advance(Duration::from_secs(1));
        broke(&host, &task, "deadline").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_deadline_passes_while_the_task_waits_for_a_person() {
    for warm in [Duration::ZERO, Duration::from_secs(3_600)] {
        let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
        let host = Host::builder().data_dir(dir.path()).clock(clock.clone()).warm(warm).open().await.unwrap();
        host.install(Guest::new(&ask(None)).with_question().build()).await.unwrap();
        let task = host.start(minute(NewTask::new("test", "run"))).await.unwrap().id;
        event(&host, &task, "question", 0).await;
        clock.advance(Duration::from_secs(60));
        broke(&host, &task, "deadline").await;
        let reply = find(&host, &task, 0, |event| event.kind.name() == "reply").await;
        assert!(reply.is_some(), "its question is closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_deadline_passes_while_no_host_is_open() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    host.install(Guest::new(&ask(None)).with_question().build()).await.unwrap();
    let task = host.start(minute(NewTask::new("test", "run"))).await.unwrap().id;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    clock.advance(Duration::from_secs(3_600));
    let host = host_at(dir.path(), &clock).await;
    broke(&host, &task, "deadline").await;
}

/// A guest that only shows its face when it is not asked what it is: at the installation its random numbers are known.
fn two_faced(at_start: &str) -> Guest {
    let init = format!(
        "(func $init (if (i64.ne (call $random) (i64.const 0x903df1a0ade0b876)) (then {at_start}))) (start $init)"
    );
    Guest { more: init, ..Guest::new("") }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_guest_that_spins_while_it_is_instantiated_is_stopped() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    host.install(two_faced(FOR_EVER).build()).await.unwrap();
    let spins = start(&host, Limits { run_time: Duration::from_millis(100), ..Limits::default() }).await;
    broke(&host, &spins, "run-time").await;
    let cancelled = start(&host, Limits::default()).await;
    crate::common::eventually(async || {
        (host.task(&cancelled).await.unwrap().state == TaskState::Running).then_some(())
    })
    .await;
    host.cancel(&cancelled).await.unwrap();
    let done = advancing(&clock, Duration::from_secs(1), host.wait(&cancelled)).await.unwrap();
    assert_eq!(done.state, TaskState::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_guest_that_waits_while_it_is_instantiated_is_a_task_that_waits() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    host.install(two_faced("(call $block (call $subscribe (i64.const 5000000000)))").build()).await.unwrap();
    let task = start(&host, Limits::default()).await;
    let done = advancing(&clock, Duration::from_secs(1), host.wait(&task)).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
    assert!(done.ended_at.unwrap().since(done.created_at) >= Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_deep_recursion_is_a_crash_of_the_guest_alone() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let guest = Guest {
        more: "(func $deep (param i64) (result i64) (i64.add (call $deep (local.get 0)) (i64.const 1)))".into(),
        ..Guest::new("(drop (call $deep (i64.const 1)))")
    };
    let task = begin(&host, &guest).await;
    let message = broke(&host, &task, "trap").await;
    assert!(message.contains("stack"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_not_brought_back_without_end() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    // It computes, and then sleeps three times: each time that comes before is computed again.
    let sleeps = "(call $sleep (i64.const 1000) (i32.const 3000))".repeat(3);
    host.install(Guest::new(&format!("{} {sleeps}", spin(1_000_000))).build()).await.unwrap();
    let sql = database(dir.path());
    let account = |what: &str| -> i64 {
        sql.query_row(&format!("SELECT {what} FROM task ORDER BY n DESC LIMIT 1"), [], |row| row.get(0)).unwrap()
    };
    let run = async |replay_fuel| {
        let task = start(&host, Limits { replay_fuel, ..Limits::default() }).await;
        for nth in 0..3 {
            // Its instance is dropped, and what it would cost to rebuild it is on the account.
            crate::common::eventually(async || {
                let ended = host.task(&task).await.unwrap().state.is_terminal();
                (ended || account("iif(standing > 0, (2 * replay_fuel + standing) / (2 * standing), 99)") == nth)
                    .then_some(())
            })
            .await;
            clock.advance(Duration::from_secs(1));
        }
        host.wait(&task).await.unwrap()
    };
    let free = run(1_000_000_000).await;
    assert_eq!(free.state, TaskState::Completed, "{:?}", free.error);
    // What the tool itself used is the same however often it was brought back.
    let (once, burned) = (free.fuel_used, account("replay_fuel").cast_unsigned());
    assert!(burned > 2 * once && burned < 3 * once, "{burned} burned, {once} used");
    let enough = run(burned).await;
    assert_eq!((enough.state, enough.fuel_used), (TaskState::Completed, once), "{:?}", enough.error);
    let stopped = run(burned - 1).await;
    let error = stopped.error.unwrap();
    assert_eq!(error.code, "limit");
    assert!(error.message.contains("`replay_fuel`"), "{}", error.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn instances_that_wait_share_a_budget_of_memory() {
    let dir = tempfile::tempdir().unwrap();
    let warm = Duration::from_secs(3_600);
    let open = |budget| Host::builder().data_dir(dir.path()).warm(warm).warm_memory(budget).open();
    let kept = async |budget: u64, bytes: u64| {
        let host = open(budget).await.unwrap();
        let tasks = [begin(&host, &asks()).await, begin(&host, &asks()).await];
        crate::common::eventually(async || (longhaul::testing::warm_bytes(&host) == bytes).then_some(())).await;
        // Kept or not, each goes on when it is answered.
        for task in &tasks {
            crate::common::event(&host, task, "question", 0).await;
            host.answer(task, 1, yes()).await.unwrap();
            assert_eq!(host.wait(task).await.unwrap().state, TaskState::Completed);
        }
        crate::common::eventually(async || (longhaul::testing::warm_bytes(&host) == 0).then_some(())).await;
        host.shutdown().await;
    };
    let one = guest_bytes();
    kept(2 * one, 2 * one).await;
    kept(2 * one - 1, one).await;
    kept(one - 1, 0).await;
}

fn asks() -> Guest {
    Guest::new(&ask(None)).with_question()
}

/// The memory of a guest that asks.
fn guest_bytes() -> u64 {
    4 << 20
}

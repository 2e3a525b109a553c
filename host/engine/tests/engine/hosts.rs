//! Two hosts on one database: a task is run by one of them, and what comes through the other reaches it.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use crate::common::{
    Guest, ask, begin, clock, cold_host_at, database, event, eventually, host_at, names, said, say, spin, yes,
};
use longhaul::{ErrorClass, Host, NewTask, SimulatedClock, TaskState};

async fn second(dir: &std::path::Path, clock: &SimulatedClock, take_over: bool) -> Host {
    Host::builder().data_dir(dir).clock(clock.clone()).take_over(take_over).open().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_an_answer_through_another_host_wakes_the_task() {
    for warm in [Duration::ZERO, Duration::from_secs(3_600)] {
        let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
        let a = Host::builder().data_dir(dir.path()).clock(clock.clone()).warm(warm).open().await.unwrap();
        let b = second(dir.path(), &clock, true).await;
        let task = begin(&a, &Guest::new(&ask(None)).with_question()).await;
        event(&b, &task, "question", 0).await;
        b.answer(&task, 1, yes()).await.unwrap();
        let (by_a, by_b) = tokio::join!(a.wait(&task), b.wait(&task));
        assert_eq!(by_a.unwrap().state, TaskState::Completed);
        assert_eq!(by_b.unwrap().state, TaskState::Completed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_cancel_through_another_host_stops_the_guest() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let (a, b) = (host_at(dir.path(), &clock).await, second(dir.path(), &clock, true).await);
    let polls = format!(
        "{} (loop $l (br_if $l (i32.eqz (call $is_cancelled)))) {}",
        say("(i32.const 1)"),
        crate::common::error(crate::common::CANCELLED, None)
    );
    let task = begin(&a, &Guest::new(&polls)).await;
    event(&b, &task, "progress", 0).await;
    assert_eq!(b.cancel(&task).await.unwrap(), TaskState::Running);
    assert_eq!(b.wait(&task).await.unwrap().state, TaskState::Cancelled);
    assert_eq!(a.task(&task).await.unwrap().state, TaskState::Cancelled);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_2_the_tasks_of_a_dead_owner_are_taken_over() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let a = cold_host_at(dir.path(), &clock).await;
    let b = second(dir.path(), &clock, true).await;
    let mut tasks = Vec::new();
    for _ in 0..5 {
        let task = begin(&a, &Guest::new(&ask(None)).with_question()).await;
        event(&a, &task, "question", 0).await;
        tasks.push(task);
    }
    drop(a);
    for task in &tasks {
        b.answer(task, 1, yes()).await.unwrap();
        assert_eq!(b.wait(task).await.unwrap().state, TaskState::Completed);
        let names = names(&b, task).await;
        assert_eq!(names.iter().filter(|name| *name == "question").count(), 1, "nothing is asked twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_2_the_tasks_of_a_living_owner_are_left_to_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let a = cold_host_at(dir.path(), &clock).await;
    let task = begin(&a, &Guest::new(&ask(None)).with_question()).await;
    event(&a, &task, "question", 0).await;
    // It lives, and does nothing any more, as one that is frozen.
    std::mem::forget(a);
    let b = second(dir.path(), &clock, true).await;
    assert!(!b.adopt(&task).await.unwrap());
    let owner = |n: &str| -> i64 {
        database(dir.path()).query_row(&format!("SELECT {n} FROM task"), [], |row| row.get(0)).unwrap()
    };
    let (before, epoch) = (owner("owner"), owner("epoch"));
    // Another task of its own, so that it has looked around meanwhile.
    let own = begin(&b, &Guest::new("")).await;
    b.wait(&own).await.unwrap();
    assert_eq!((owner("owner"), owner("epoch")), (before, epoch));
    assert!(!b.task(&task).await.unwrap().stalled);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_2_a_task_is_never_run_by_two() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let first = cold_host_at(dir.path(), &clock).await;
    let guest =
        Guest::new(&format!("{} {} {}", ask(None), say("(i32.const 1)"), crate::common::spin(50_000))).with_question();
    first.install(guest.build()).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..20 {
        let task = first.start(NewTask::new("test", "run")).await.unwrap().id;
        event(&first, &task, "question", 0).await;
        tasks.push(task);
    }
    for task in &tasks {
        first.answer(task, 1, yes()).await.unwrap();
    }
    // Given up in the middle, and all of them wanted by three.
    first.shutdown().await;
    let (a, b, c) = tokio::join!(
        second(dir.path(), &clock, true),
        second(dir.path(), &clock, true),
        second(dir.path(), &clock, false)
    );
    for task in &tasks {
        c.adopt(task).await.unwrap();
    }
    for task in &tasks {
        for host in [&a, &b, &c] {
            assert_eq!(host.wait(task).await.unwrap().state, TaskState::Completed);
        }
        let names = names(&a, task).await;
        for once in ["attempt", "question", "progress", "ended"] {
            assert_eq!(names.iter().filter(|name| *name == once).count(), 1, "{once} in {names:?}");
        }
    }
}

/// A host that was thought dead writes nothing when it comes back.
#[tokio::test(flavor = "multi_thread")]
async fn promise_2_an_owner_that_lost_its_task_writes_nothing_more() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    // It would take the task back from one that is dead.
    let a = second(dir.path(), &clock, false).await;
    let polls = format!(
        "{} (loop $l (br_if $l (i32.eqz (call $is_cancelled)))) {}",
        say("(i32.const 1)"),
        say("(i32.const 2)")
    );
    let task = begin(&a, &Guest::new(&polls)).await;
    event(&a, &task, "progress", 0).await;
    // Somebody else has it now.
    database(dir.path()).execute("UPDATE task SET owner = 999, epoch = epoch + 1", []).unwrap();
    a.cancel(&task).await.unwrap();
    let before = names(&a, &task).await;
    a.clone().shutdown().await;
    assert_eq!(names(&a, &task).await, before);
    assert!(!a.task(&task).await.unwrap().state.is_terminal());
    // The lock of owner 999 is held by nobody.
    let b = host_at(dir.path(), &clock).await;
    assert_eq!(b.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(crate::common::said(&b, &task).await, [1.0, 2.0]);
}

/// An owner that holds its lock, and whose heart beats when the test lets it.
struct Frozen {
    id: i64,
    _lock: File,
}

impl Frozen {
    /// Makes all tasks its own.
    fn owning_all(dir: &Path, id: i64) -> Self {
        let lock = File::create(dir.join("owners").join(id.to_string())).unwrap();
        lock.lock().unwrap();
        let sql = database(dir);
        sql.execute("INSERT INTO owner (id, pid, started_at) VALUES (?1, 1, 0)", [id]).unwrap();
        sql.execute("UPDATE task SET owner = ?1, epoch = epoch + 1", [id]).unwrap();
        Self { id, _lock: lock }
    }

    fn beat(&self, dir: &Path) {
        database(dir).execute("UPDATE owner SET beats = beats + 1 WHERE id = ?1", [self.id]).unwrap();
    }
}

/// Beats fast, and so finds out soon who does not.
async fn impatient(dir: &Path, clock: &SimulatedClock, take_over: bool) -> Host {
    let builder = Host::builder().data_dir(dir).clock(clock.clone()).warm(Duration::ZERO);
    builder.heartbeat(Duration::from_millis(300)).take_over(take_over).open().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_2_an_owner_whose_heart_stands_still_is_stalled_until_it_beats_again() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let a = impatient(dir.path(), &clock, false).await;
    let task = begin(&a, &Guest::new(&ask(None)).with_question()).await;
    event(&a, &task, "question", 0).await;
    a.answer(&task, 1, yes()).await.unwrap();
    a.wait(&task).await.unwrap();
    let waits = begin(&a, &Guest::new(&ask(None)).with_question()).await;
    event(&a, &waits, "question", 0).await;
    let frozen = Frozen::owning_all(dir.path(), 77);
    a.answer(&waits, 1, yes()).await.unwrap();
    assert!(!a.task(&waits).await.unwrap().stalled, "nobody has looked for long enough");
    assert!(!a.adopt(&waits).await.unwrap());
    eventually(async || a.task(&waits).await.unwrap().stalled.then_some(())).await;
    eventually(async || {
        frozen.beat(dir.path());
        (!a.task(&waits).await.unwrap().stalled).then_some(())
    })
    .await;
    eventually(async || a.task(&waits).await.unwrap().stalled.then_some(())).await;
    assert!(a.adopt(&waits).await.unwrap());
    assert_eq!(a.wait(&waits).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_2_the_tasks_of_a_frozen_owner_are_taken_over_and_it_is_not_forgotten() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let a = impatient(dir.path(), &clock, false).await;
    let task = begin(&a, &Guest::new(&ask(None)).with_question()).await;
    event(&a, &task, "question", 0).await;
    a.shutdown().await;
    let frozen = Frozen::owning_all(dir.path(), 77);
    let b = impatient(dir.path(), &clock, true).await;
    let of = |sql: &str| -> i64 { database(dir.path()).query_row(sql, [], |row| row.get(0)).unwrap() };
    eventually(async || (of("SELECT owner FROM task") != frozen.id).then_some(())).await;
    b.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(b.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(of("SELECT deaths FROM task"), 0, "it did not die");
    assert_eq!(of("SELECT count(*) FROM owner WHERE id = 77"), 1, "it may come back");
    drop(frozen);
    eventually(async || (of("SELECT count(*) FROM owner") == 1).then_some(())).await;
}

/// As after a freeze: others took it over and died, before its guest was seen to have lost it.
#[tokio::test(flavor = "multi_thread")]
async fn promise_2_a_task_that_comes_back_to_its_owner_goes_on_there() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let warm = Duration::from_secs(3_600);
    let host = Host::builder().data_dir(dir.path()).clock(clock).warm(warm).open().await.unwrap();
    let task = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &task, "question", 0).await;
    dies(dir.path());
    database(dir.path()).execute("UPDATE task SET epoch = epoch + 1", []).unwrap();
    eventually(async || {
        let mine = "SELECT owner <> 999 FROM task";
        database(dir.path()).query_row(mine, [], |row| row.get::<_, bool>(0)).unwrap().then_some(())
    })
    .await;
    host.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
}

/// Makes it look as if the owner of all tasks had died.
fn dies(dir: &Path) {
    database(dir).execute("UPDATE task SET owner = 999 WHERE ended_at IS NULL", []).unwrap();
}

/// Waits until a new owner runs something that so many have died of.
async fn runs_after(dir: &Path, deaths: i64) {
    let sql = "SELECT max(deaths) FROM task WHERE ended_at IS NULL AND owner <> 999 AND state = 'running'";
    eventually(async || {
        let found: Option<i64> = database(dir).query_row(sql, [], |row| row.get(0)).unwrap();
        (found == Some(deaths)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_three_owners_died_of_is_run_no_more_and_those_beside_it_are() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let a = host_at(dir.path(), &clock).await;
    let computes = format!("{} {} {}", say("(i32.const 1)"), crate::common::FOR_EVER, say("(i32.const 2)"));
    let poison = begin(&a, &Guest::new(&computes)).await;
    event(&a, &poison, "progress", 0).await;
    let beside = begin(&a, &Guest::new(&format!("{} {}", ask(None), spin(1_000))).with_question()).await;
    event(&a, &beside, "question", 0).await;
    std::mem::forget(a);
    for deaths in 1..=3 {
        dies(dir.path());
        let next = host_at(dir.path(), &clock).await;
        if deaths < 3 {
            runs_after(dir.path(), deaths).await;
            assert!(!next.task(&poison).await.unwrap().state.is_terminal(), "{deaths}");
            std::mem::forget(next);
            continue;
        }
        let (class, code, message) = crate::common::failure(&next, &poison).await;
        assert_eq!((class, code.as_str()), (ErrorClass::Run, "host"));
        assert_eq!(message, "3 hosts in a row died while they ran this task; it is run no more");
        assert!(!names(&next, &poison).await.contains(&"retry".into()));
        assert_eq!(said(&next, &poison).await, [1.0]);
        next.answer(&beside, 1, yes()).await.unwrap();
        assert_eq!(next.wait(&beside).await.unwrap().state, TaskState::Completed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn deaths_of_owners_between_which_a_task_got_further_are_not_counted_together() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let deaths = || -> i64 { database(dir.path()).query_row("SELECT deaths FROM task", [], |row| row.get(0)).unwrap() };
    let a = host_at(dir.path(), &clock).await;
    let polls = "(loop $l (br_if $l (i32.eqz (call $is_cancelled))))";
    let task = begin(&a, &Guest::new(&format!("{} {polls} {}", say("(i32.const 1)"), say("(i32.const 2)")))).await;
    event(&a, &task, "progress", 0).await;
    std::mem::forget(a);
    for death in 1..=2 {
        dies(dir.path());
        std::mem::forget(host_at(dir.path(), &clock).await);
        runs_after(dir.path(), death).await;
    }
    dies(dir.path());
    // It stops in order, which is no death, whatever came before.
    database(dir.path()).execute("UPDATE task SET deaths = 1", []).unwrap();
    let orderly = host_at(dir.path(), &clock).await;
    runs_after(dir.path(), 2).await;
    orderly.shutdown().await;
    let next = host_at(dir.path(), &clock).await;
    next.cancel(&task).await.unwrap();
    assert_eq!(next.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(deaths(), 0);
}

/// Two that compute, and have been found running at two deaths: one of them goes first, and only that one dies next.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_on_their_last_chance_run_one_by_one() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let a = host_at(dir.path(), &clock).await;
    a.install(Guest::new(crate::common::FOR_EVER).build()).await.unwrap();
    for _ in 0..5 {
        a.start(NewTask::new("test", "run")).await.unwrap();
    }
    std::mem::forget(a);
    let of = |sql: &str| -> i64 { database(dir.path()).query_row(sql, [], |row| row.get(0)).unwrap() };
    eventually(async || (of("SELECT count(*) FROM task WHERE state = 'running'") == 5).then_some(())).await;
    for deaths in 1..=2 {
        dies(dir.path());
        std::mem::forget(host_at(dir.path(), &clock).await);
        runs_after(dir.path(), deaths).await;
        let running = if deaths == 1 { 5 } else { 1 };
        eventually(async || (of("SELECT count(*) FROM task WHERE state = 'running'") == running).then_some(())).await;
    }
    dies(dir.path());
    let last = host_at(dir.path(), &clock).await;
    eventually(async || (of("SELECT count(*) FROM task WHERE state = 'failed'") == 1).then_some(())).await;
    eventually(async || (of("SELECT count(*) FROM task WHERE state = 'running'") == 1).then_some(())).await;
    assert_eq!(of("SELECT count(*) FROM task WHERE state = 'queued'"), 3);
    last.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_without_pause_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let error = Host::builder().data_dir(dir.path()).heartbeat(Duration::ZERO).open().await.err().unwrap();
    assert_eq!(error.to_string(), "heartbeat is 0ns; at least 10ms must lie between two");
}

//! Two hosts on one database: a task is run by one of them, and what comes through the other reaches it.

use std::time::Duration;

use crate::common::{Guest, ask, begin, clock, cold_host_at, database, event, host_at, names, say, yes};
use longhaul::{Host, NewTask, SimulatedClock, TaskState};

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
    let a = host_at(dir.path(), &clock).await;
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

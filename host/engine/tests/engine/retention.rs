//! What is over goes: ended tasks that were kept for long enough, questions and tasks whose time is up, while the host was
//! down too.

use std::path::Path;
use std::time::Duration;

use crate::common::{Guest, ask, begin, clock, database, event, eventually, failure, find, host_at};
use longhaul::{Error, EventKind, Host, NewTask, Reply, SimulatedClock, TaskId, TaskState};

const DAY: Duration = Duration::from_secs(24 * 3_600);
const HOUR: Duration = Duration::from_secs(3_600);

async fn open(dir: &Path, clock: &SimulatedClock) -> Host {
    Host::builder().data_dir(dir).clock(clock.clone()).retention(10 * DAY).open().await.unwrap()
}

async fn gone(host: &Host, task: &TaskId) {
    eventually(async || matches!(host.task(task).await, Err(Error::UnknownTask(_))).then_some(())).await;
}

fn count(dir: &Path, what: &str) -> i64 {
    database(dir).query_row(&format!("SELECT count(*) FROM {what}"), [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_task_is_kept_for_so_long_and_one_that_lives_is_kept() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = open(dir.path(), &clock).await;
    let waits = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &waits, "question", 0).await;
    let old = begin(&host, &Guest::new("")).await;
    host.wait(&old).await.unwrap();
    clock.advance(5 * DAY);
    let young = begin(&host, &Guest::new("")).await;
    host.wait(&young).await.unwrap();
    clock.advance(5 * DAY - HOUR);
    assert_eq!(host.task(&old).await.unwrap().state, TaskState::Completed);
    clock.advance(2 * HOUR);
    gone(&host, &old).await;
    assert_eq!(host.task(&young).await.unwrap().state, TaskState::Completed);
    assert_eq!(host.task(&waits).await.unwrap().state, TaskState::Waiting);
    eventually(async || (count(dir.path(), "task") == 2).then_some(())).await;
    assert_eq!(count(dir.path(), "entry WHERE task NOT IN (SELECT n FROM task)"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_old_while_the_host_was_down_goes_at_the_start_with_a_plugin_that_nobody_needs() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = open(dir.path(), &clock).await;
    let old = begin(&host, &Guest::new("")).await;
    host.wait(&old).await.unwrap();
    host.remove_plugin("test").await.unwrap();
    assert_eq!(count(dir.path(), "plugin"), 1, "it is kept for the sake of its task");
    host.shutdown().await;
    // A journal that is not deleted in one step.
    let (entries, data) = (5_000, database(dir.path()));
    data.execute(
        "WITH RECURSIVE more (seq) AS (SELECT 100 UNION ALL SELECT seq + 1 FROM more LIMIT ?1)
         INSERT INTO entry (task, seq, at, kind) SELECT 1, seq, 0, 'records' FROM more",
        [entries],
    )
    .unwrap();
    clock.advance(11 * DAY);
    let passes_by = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).retention(DAY);
    let passes_by = passes_by.open().await.unwrap();
    passes_by.plugins().await.unwrap();
    passes_by.shutdown().await;
    assert_eq!(count(dir.path(), "task WHERE removed = 0"), 1, "one that runs only its own removes nothing");
    let host = open(dir.path(), &clock).await;
    gone(&host, &old).await;
    eventually(async || (count(dir.path(), "task") == 0).then_some(())).await;
    assert_eq!((count(dir.path(), "entry"), count(dir.path(), "plugin")), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_goes_with_its_root_and_not_before_all_of_it_has_ended() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = open(dir.path(), &clock).await;
    let root = begin(&host, &Guest::new("")).await;
    host.wait(&root).await.unwrap();
    let child = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &child, "question", 0).await;
    database(dir.path()).execute("UPDATE task SET parent = 1, root = 1, child = 1, depth = 1 WHERE n = 2", []).unwrap();
    clock.advance(11 * DAY);
    let other = begin(&host, &Guest::new("")).await;
    host.wait(&other).await.unwrap();
    assert_eq!(host.task(&root).await.unwrap().state, TaskState::Completed);
    host.answer(&child, 1, crate::common::yes()).await.unwrap();
    host.wait(&child).await.unwrap();
    clock.advance(HOUR);
    gone(&host, &root).await;
    gone(&host, &child).await;
    assert!(host.task(&other).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_due_while_the_host_was_down_is_judged_at_the_start_in_order() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    host.install(Guest::new(&ask(Some(60_000))).with_question().build()).await.unwrap();
    let late = host.start(NewTask::new("test", "run").deadline(HOUR)).await.unwrap().id;
    let early = host.start(NewTask::new("test", "run").deadline(10 * DAY)).await.unwrap().id;
    for task in [&late, &early] {
        event(&host, task, "question", 0).await;
    }
    host.shutdown().await;
    clock.advance(DAY);
    let host = host_at(dir.path(), &clock).await;
    assert_eq!(failure(&host, &late).await.1, "deadline");
    for task in [&late, &early] {
        let reply = find(&host, task, 0, |event| event.kind.name() == "reply").await.unwrap();
        assert!(matches!(reply.kind, EventKind::Reply { reply: Reply::TimedOut, .. }), "{reply:?}");
        let ended = event(&host, task, "ended", reply.seq).await;
        assert!(ended.at >= reply.at);
    }
    assert_eq!(host.wait(&early).await.unwrap().state, TaskState::Completed);
}

//! Promise 6, of journals: how long one may get, and what is worth an entry.

use crate::common::{
    Guest, START, ask, begin, clock, cold_host_at, database, event, failure, host, kid, names, parent, say, wait_any,
    yes,
};
use longhaul::{ErrorClass, EventKind, Host, NewTask, ReplayOptions, SimulatedClock, TaskId, TaskState};

const MOST_BYTES: i64 = 64 << 20;
const MOST_ENTRIES: i64 = 1_000_000;

fn column(dir: &tempfile::TempDir, what: &str) -> i64 {
    database(dir.path()).query_row(&format!("SELECT {what} FROM task WHERE n = 1"), [], |row| row.get(0)).unwrap()
}

async fn too_long(host: &Host, task: &TaskId) {
    let (class, code, message) = failure(host, task).await;
    assert_eq!((class, code.as_str()), (ErrorClass::Run, "limit"), "{message}");
    assert!(message.contains("limit `journal"), "{message}");
}

/// A guest that waits for an answer before it writes; and how much its journal grows after the question.
async fn asked(body: &str) -> (tempfile::TempDir, SimulatedClock, TaskId) {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let task = begin(&host, &Guest::new(&format!("{} {body}", ask(None))).with_question()).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    (dir, clock, task)
}

/// What it wrote before the host was closed counts, and the last byte and entry that fit are taken.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_journal_has_an_end_over_restarts_too() {
    let body = "(call $write (call $stdout) (i32.const 131072) (i32.const 1000) (i32.const 3000))";
    for (what, most) in [("journal_bytes", MOST_BYTES), ("last_seq", MOST_ENTRIES)] {
        let (dir, clock, task) = asked(body).await;
        let before = column(&dir, what);
        let host = cold_host_at(dir.path(), &clock).await;
        host.answer(&task, 1, yes()).await.unwrap();
        assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
        host.shutdown().await;
        // The end is not counted.
        let grown = column(&dir, what) - before - i64::from(what == "last_seq");
        assert!(grown > 0);
        for (room, enough) in [(grown, true), (grown - 1, false)] {
            let (dir, clock, task) = asked(body).await;
            let set = format!("UPDATE task SET {what} = {}", most - room);
            database(dir.path()).execute(&set, []).unwrap();
            let host = cold_host_at(dir.path(), &clock).await;
            host.answer(&task, 1, yes()).await.unwrap();
            match enough {
                true => assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed),
                false => too_long(&host, &task).await,
            }
            assert_eq!(names(&host, &task).await.last().unwrap(), "ended");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_guest_that_writes_without_end_is_stopped_at_64_mib() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let body = "(local.set $i (call $stdout)) (memory.fill (i32.const 131072) (i32.const 97) (i32.const 400000))
        (loop $l (call $write (local.get $i) (i32.const 131072) (i32.const 400000) (i32.const 3000)) (br $l))";
    let task = begin(&host, &Guest::new(body)).await;
    too_long(&host, &task).await;
    let kept = column(&dir, "(SELECT sum(length(data) + coalesce(length(blob), 0)) FROM entry WHERE kind <> 'ended')");
    assert!(kept <= MOST_BYTES && kept > MOST_BYTES - (6 << 20), "{kept}");
    assert!(host.task(&task).await.unwrap().fuel_used > 0);
    // It ends there when it is run again from it.
    let replayed = host.replay(&task, ReplayOptions::default(), |_| {}).await.unwrap();
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
}

/// What children do is shown as long as there is room, and never takes their parent's.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_children_do_not_fill_their_parents_journal() {
    for (filled, shown) in [(0, 1), (MOST_BYTES / 2, 0)] {
        let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
        let host = cold_host_at(dir.path(), &clock).await;
        host.install(kid(&say("(i32.const 1)")).build()).await.unwrap();
        let body = format!("{} {START} {} {}", ask(None), wait_any(&[2], None), say("(i32.const 2)"));
        let plugin = host.install(parent(&body).build()).await.unwrap();
        let task = host.start(NewTask::new(plugin.digest, "run").grant_tool("kid/run")).await.unwrap().id;
        event(&host, &task, "question", 0).await;
        host.shutdown().await;
        database(dir.path()).execute(&format!("UPDATE task SET journal_bytes = journal_bytes + {filled}"), []).unwrap();
        let host = cold_host_at(dir.path(), &clock).await;
        host.answer(&task, 1, yes()).await.unwrap();
        let done = host.wait(&task).await.unwrap();
        assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
        assert_eq!(done.children[0].state, TaskState::Completed);
        let names = names(&host, &task).await;
        assert_eq!(names.iter().filter(|name| *name == "child").count(), shown, "{names:?}");
        for told in ["child-started", "child-ended"] {
            assert!(names.iter().any(|name| name == told), "{names:?}");
        }
    }
}

/// No time passes: a burst of 50 is taken, and the newest at the end.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_progress_between_lines_of_output_is_held_to_its_rate() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let number = "(i32.wrap_i64 (local.get $n))";
    let body = format!(
        "(local.set $i (call $stdout)) (local.set $n (i64.const 2000))
         (loop $l (call $write (local.get $i) (i32.const 2048) (i32.const 1) (i32.const 3000)) {}
           (local.set $n (i64.sub (local.get $n) (i64.const 1))) (br_if $l (i64.gt_s (local.get $n) (i64.const 0))))",
        say(number)
    );
    let task = begin(&host, &Guest::new(&body).text(2048, "x")).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    let said = crate::common::said(&host, &task).await;
    assert_eq!((said.len(), said[0], said[50]), (51, 2000.0, 1.0));
    let text: usize = host
        .journal(&task, 0, usize::MAX >> 1)
        .await
        .unwrap()
        .iter()
        .map(|event| match &event.kind {
            EventKind::Log { text, .. } => text.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(text, 2_000, "all of the output is kept");
    let replayed = host.replay(&task, ReplayOptions::default(), |_| {}).await.unwrap();
    assert!(replayed.diverged.is_none(), "{:?}", replayed.diverged);
}

//! A database in every bad state: the error says what is wrong and what was not taken, and nothing else is harmed.

use std::path::Path;
use std::process::Command;

use crate::common::{Guest, ask, begin, clock, cold_host_at, database, event, eventually, host, yes};
use longhaul::{Error, Host, NewTask, QueueLimits, StoreError, TaskState};
use serde_json::json;

async fn open(dir: &Path) -> Result<Host, StoreError> {
    match Host::builder().data_dir(dir).open().await {
        Ok(host) => Ok(host),
        Err(Error::Store(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

async fn refused(dir: &Path) -> StoreError {
    open(dir).await.err().expect("it does not open")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_another_keeps_locked_is_told_and_used_when_it_is_free() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let waits = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &waits, "question", 0).await;
    let other = database(dir.path());
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let (opened, started, answered) =
        tokio::join!(open(dir.path()), host.start(NewTask::new("test", "run")), host.answer(&waits, 1, yes()));
    let locked = opened.err().expect("it does not open");
    assert!(matches!(locked, StoreError::Locked(_)), "{locked}");
    assert!(locked.to_string().ends_with("is locked by another process; nothing was taken"), "{locked}");
    for error in [started.unwrap_err(), answered.unwrap_err()] {
        assert!(matches!(error, Error::Store(StoreError::Locked(_))), "{error}");
    }
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(host.tasks(Default::default()).await.unwrap().len(), 1);
    host.answer(&waits, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&waits).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_place_of_the_data_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let error = refused(&file).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(error.to_string().contains("can't be written"), "{error}");
    assert!(matches!(refused(&file.join("below")).await, StoreError::ReadOnly { .. }));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    std::fs::create_dir(dir.path().join("longhaul.db")).unwrap();
    assert!(matches!(refused(dir.path()).await, StoreError::ReadOnly { .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_newer_version_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).await.unwrap().shutdown().await;
    database(dir.path()).pragma_update(None, "user_version", 99).unwrap();
    let error = refused(dir.path()).await;
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error}");
    assert!(error.to_string().contains("use a newer longhaul"), "{error}");
    let version: i64 = database(dir.path()).query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    assert_eq!(version, 99);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_no_database_is_told_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("longhaul.db");
    let garbage = "this is no database at all. ".repeat(1_000);
    std::fs::write(&file, &garbage).unwrap();
    let error = refused(dir.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), garbage);
    // A database, and not one of ours.
    std::fs::remove_file(&file).unwrap();
    database(dir.path()).execute_batch("CREATE TABLE task (a); CREATE TABLE plugin (b)").unwrap();
    let error = refused(dir.path()).await;
    assert!(matches!(error, StoreError::Corrupt { .. }), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_whose_pages_are_overwritten_is_told_to_be_damaged_and_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let clock = clock();
    let host = cold_host_at(dir.path(), &clock).await;
    for _ in 0..40 {
        let task = begin(&host, &Guest::new(&ask(None)).with_question()).await;
        event(&host, &task, "question", 0).await;
    }
    host.shutdown().await;
    database(dir.path()).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let file = dir.path().join("longhaul.db");
    let good = std::fs::read(&file).unwrap();
    assert!(good.len() > 20 * 4096, "{}", good.len());
    let damage = std::cell::Cell::new(0);
    let told = |error: Error| match error {
        Error::Store(error @ (StoreError::Corrupt { .. } | StoreError::Damaged { .. })) => {
            assert!(error.to_string().contains("is damaged"), "{error}");
            damage.set(damage.get() + 1);
        }
        Error::Store(error @ StoreError::Failed { .. }) => panic!("what to do is not told: {error}"),
        other => assert!(!other.to_string().is_empty()),
    };
    for page in 0..good.len() / 4096 {
        let mut bad = good.clone();
        bad[page * 4096..][..4096].fill(0xa5);
        let broken = tempfile::tempdir().unwrap();
        std::fs::write(broken.path().join("longhaul.db"), &bad).unwrap();
        let opened = Host::builder().data_dir(broken.path()).take_over(false).clock(clock.clone()).open().await;
        let host = match opened {
            Ok(host) => host,
            Err(error) => {
                told(error);
                continue;
            }
        };
        match host.tasks(Default::default()).await {
            Ok(tasks) => {
                for task in tasks.iter().take(3) {
                    let _ = host.journal(&task.id, 0, 100).await.map_err(told);
                    let _ = host.answer(&task.id, 1, yes()).await.map_err(told);
                }
            }
            Err(error) => told(error),
        }
        let _ = host.start(NewTask::new("test", "run")).await.map_err(told);
        let _ = host.plugins().await.map_err(told);
    }
    assert!(damage.get() > 10, "only {} errors", damage.get());
}

/// A file system of so many MiB, if this process may make one.
struct Small(tempfile::TempDir);

impl Small {
    fn new(mib: u32) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let size = format!("size={mib}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(dir.path()).output();
        if mounted.is_ok_and(|mounted| mounted.status.success()) {
            return Some(Self(dir));
        }
        eprintln!("not tested here: this needs the right to mount a small file system");
        None
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn remount(&self, how: &str) {
        let option = format!("remount,{how}");
        // Busy for as long as a host that was shut down closes its files.
        while !Command::new("mount").args(["-o", &option]).arg(self.path()).output().unwrap().status.success() {
            std::thread::yield_now();
        }
    }

    /// Fills it to the last byte.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.path().join("ballast")).unwrap();
        for size in [65_536, 4_096, 1] {
            while file.write_all(&vec![0; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.path().join("ballast")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.path()).status();
    }
}

/// Tasks that wait for an answer.
const ASKING: usize = 150;

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_full_disk_refuses_the_start_and_says_what_was_not_taken() {
    let Some(small) = Small::new(12) else { return };
    let host = host(small.path()).await;
    let mut asking = vec![begin(&host, &Guest::new(&ask(None)).with_question()).await];
    for _ in 1..ASKING {
        asking.push(host.start(NewTask::new("test", "run")).await.unwrap().id);
    }
    for task in &asking {
        event(&host, task, "question", 0).await;
    }
    host.install(Guest::new("").build()).await.unwrap();
    small.fill();
    let new = || NewTask::new("test", "run").input(json!({ "text": "x".repeat(200_000) }));
    let mut taken = Vec::new();
    let refused = loop {
        // Several at once: those that go to disk together are taken or refused together.
        let starts = futures_util::future::join_all((0..4).map(|_| host.start(new()))).await;
        let mut refused = None;
        for start in starts {
            match start {
                Ok(started) => taken.push(started.id),
                Err(error) => refused = Some(error),
            }
        }
        if let Some(refused) = refused {
            break refused;
        }
        assert!(taken.len() < 1_000, "it is full");
    };
    assert!(matches!(refused, Error::Store(StoreError::Full { .. })), "{refused}");
    let says = refused.to_string();
    assert!(says.starts_with("the disk is full: ") && says.ends_with(" task was not taken"), "{says}");
    let large = Guest {
        more: format!("(data (i32.const 131072) \"{}\")", "x".repeat(2_000_000)),
        ..Guest::new(&crate::common::say("(i32.const 1)"))
    };
    let error = host.install(large.build()).await.unwrap_err();
    assert!(matches!(error, Error::Store(StoreError::Full { .. })), "{error}");
    assert!(["a plugin", "the plugin"].iter().any(|what| error.to_string().contains(what)), "{error}");
    // It still reads, and an answer that could not be kept is not taken.
    let all = longhaul::TaskFilter { limit: usize::MAX, ..Default::default() };
    assert_eq!(host.tasks(all).await.unwrap().len(), taken.len() + ASKING);
    let mut answers = asking.into_iter();
    let (waits, error) = loop {
        // The database's log may have room for some yet.
        let task = answers.next().expect("an answer that finds no room");
        let reason = Some("no ".repeat(1_300));
        match host.answer(&task, 1, longhaul::Reply::Declined { reason, by: None }).await {
            Ok(()) => taken.push(task),
            Err(error) => break (task, error),
        }
    };
    assert!(matches!(error, Error::Store(StoreError::Full { .. })), "{error}");
    assert_eq!(host.task(&waits).await.unwrap().questions.len(), 1);
    small.free();
    // What was taken is done, without anybody's help.
    for task in &taken {
        assert_eq!(host.wait(task).await.unwrap().state, TaskState::Completed);
    }
    host.answer(&waits, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&waits).await.unwrap().state, TaskState::Completed);
    let after = host.start(new()).await.unwrap().id;
    assert_eq!(host.wait(&after).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_pauses_what_runs_and_fails_nothing() {
    let Some(small) = Small::new(12) else { return };
    let host = host(small.path()).await;
    // Writes a log that has no room, then asks.
    let line = "(call $write (call $stdout) (i32.const 131072) (i32.const 900000) (i32.const 3000))";
    let body = format!("{} {} {}", ask(None), line.repeat(2), crate::common::say("(i32.const 1)"));
    let task = begin(&host, &Guest::new(&body).with_question()).await;
    event(&host, &task, "question", 0).await;
    small.fill();
    // An answer fits in what the log of the database has left.
    let mut answered = host.answer(&task, 1, yes()).await;
    if answered.is_err() {
        small.free();
        answered = host.answer(&task, 1, yes()).await;
        small.fill();
    }
    answered.unwrap();
    let state = host.task(&task).await.unwrap().state;
    assert!(!state.is_terminal() || state == TaskState::Completed, "{state}");
    small.free();
    let done = host.wait(&task).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
    assert_eq!(crate::common::said(&host, &task).await, [1.0], "nothing is published twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_can_only_be_read_is_told() {
    let Some(small) = Small::new(8) else { return };
    small.remount("ro");
    let error = refused(small.path()).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    small.remount("rw");
    open(small.path()).await.unwrap().shutdown().await;
    small.remount("ro");
    let error = refused(small.path()).await;
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(error.to_string().ends_with("nothing was taken"), "{error}");
}

/// Writes that are refused stand in one transaction with others that are not.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_write_never_undoes_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let waits = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &waits, "question", 0).await;
    host.install(Guest::new("").build()).await.unwrap();
    let taken = host.start(NewTask::new("test", "run").idempotency_key("taken").session("first")).await.unwrap();
    // The writer is held up, so that all of these are in one group.
    let other = database(dir.path());
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let group = (0..200).map(|n| {
        let (host, waits) = (host.clone(), waits.clone());
        async move {
            match n % 4 {
                0 => host.start(NewTask::new("test", "run").session("good")).await.map(|_| ()),
                1 => host.start(NewTask::new("test", "run").idempotency_key("taken")).await.map(|_| ()),
                2 => host.answer(&waits, 7, yes()).await,
                _ => host.cancel(&waits).await.map(|_| ()),
            }
        }
    });
    let group = tokio::spawn(futures_util::future::join_all(group));
    tokio::task::yield_now().await;
    other.execute_batch("COMMIT").unwrap();
    for (n, outcome) in group.await.unwrap().into_iter().enumerate() {
        match (n % 4, outcome) {
            (0 | 3, Ok(())) => {}
            (1, Err(Error::IdempotencyMismatch { task, .. })) => assert_eq!(task, taken.id),
            (2, Err(Error::UnknownQuestion { .. })) => {}
            (_, other) => panic!("{n}: {other:?}"),
        }
    }
    let filter = longhaul::TaskFilter { session: Some("good".into()), limit: 1_000, ..Default::default() };
    assert_eq!(host.tasks(filter).await.unwrap().len(), 50);
}

/// What its row says can't be read, and never will: it must not keep the others from their turn.
#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_task_whose_row_is_damaged_takes_no_place() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let task = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    let beside = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    beside.answer(&task, 1, yes()).await.unwrap();
    beside.shutdown().await;
    database(dir.path()).execute("UPDATE task SET grants = '{'", []).unwrap();
    let one = QueueLimits { running: 1, ..QueueLimits::default() };
    let host = Host::builder().data_dir(dir.path()).clock(clock).namespace_queue(one).open().await.unwrap();
    // It is this host's from when it has looked around; all of a namespace stand in one line.
    eventually(async || (!host.task(&task).await.unwrap().stalled).then_some(())).await;
    let next = begin(&host, &Guest::new("")).await;
    assert_eq!(host.wait(&next).await.unwrap().state, TaskState::Completed);
    let left = host.task(&task).await.unwrap();
    assert_eq!(left.state, TaskState::Queued);
    host.shutdown().await;
}

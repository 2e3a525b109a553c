//! A backup: everything as of one moment, made while tasks run, and a host that goes on from it.

use std::path::Path;
use std::time::Duration;

use crate::common::{
    Guest, advancing, ask, begin, clock, cold_host_at, database, event, host_at, names, pending, said, say, yes,
};
use longhaul::{Error, NewTask, TaskFilter, TaskState};

/// Puts a backup in the place of a database.
fn restore(backup: &Path) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::copy(backup, dir.path().join("longhaul.db")).unwrap();
    dir
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_made_under_load_is_whole_and_a_host_goes_on_from_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let asking = Guest::new(&format!("{} {} {}", say("(i32.const 1)"), ask(None), say("(i32.const 2)")));
    let waits = begin(&host, &asking.with_question()).await;
    event(&host, &waits, "question", 0).await;
    let endless = format!(
        "{} (loop $l (br_if $l (i32.eqz (call $is_cancelled)))) {}",
        say("(i32.const 1)"),
        say("(i32.const 2)")
    );
    let runs = begin(&host, &Guest::new(&endless)).await;
    event(&host, &runs, "progress", 0).await;
    let mut ticketed = Guest::new(&pending(2200, 3, Some(60_000))).text(2200, "one");
    ticketed.await_task = say("(i32.const 3)");
    let ticket = begin(&host, &ticketed).await;
    event(&host, &ticket, "checkpoint", 0).await;
    // Others are started and end all the while.
    let quick = host.install(Guest::new(&say("(i32.const 7)")).build()).await.unwrap().digest;
    let load = {
        let (host, quick) = (host.clone(), quick.clone());
        tokio::spawn(async move {
            loop {
                let started = host.start(NewTask::new(quick.clone(), "run")).await.unwrap();
                host.wait(&started.id).await.unwrap();
            }
        })
    };
    let some = || TaskFilter { limit: 100_000, ..Default::default() };
    let before = host.tasks(some()).await.unwrap();
    let backup = dir.path().join("backup.db");
    host.backup(&backup).await.unwrap();
    load.abort();
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&backup).unwrap());
        assert_eq!(mode & 0o777, 0o600, "it holds what nobody else may read");
    }
    let left: Vec<_> = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("unfinished")), "{left:?}");
    let restored = restore(&backup);
    let examined = longhaul::examine(restored.path()).unwrap();
    assert!(examined.is_sound(), "{:?}", examined.findings);
    let owners: i64 = database(restored.path())
        .query_row(
            "SELECT count(*) + (SELECT count(*) FROM task WHERE owner IS NOT NULL AND ended_at IS NULL) FROM owner",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(owners, 0, "nobody owns what is in it");
    let key: Vec<u8> = database(dir.path()).query_row("SELECT bytes FROM key", [], |row| row.get(0)).unwrap();
    let content = std::fs::read(&backup).unwrap();
    assert!(!content.windows(key.len()).any(|bytes| bytes == key), "the key of compiled code stays where that lies");
    // Beside the first, which still has its tasks.
    let again = host_at(restored.path(), &clock).await;
    let all = again.tasks(some()).await.unwrap();
    for task in &before {
        assert!(all.iter().any(|other| other.id == task.id), "{} is lost", task.id);
    }
    again.answer(&waits, 1, yes()).await.unwrap();
    assert_eq!(again.wait(&waits).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&again, &waits).await, [1.0, 2.0]);
    assert_eq!(names(&again, &waits).await.iter().filter(|name| *name == "question").count(), 1);
    again.cancel(&runs).await.unwrap();
    assert_eq!(again.wait(&runs).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&again, &runs).await, [1.0, 2.0]);
    let done = advancing(&clock, Duration::from_secs(10), again.wait(&ticket)).await.unwrap();
    assert_eq!(done.state, TaskState::Completed);
    let deaths: i64 =
        database(restored.path()).query_row("SELECT sum(deaths) FROM task", [], |row| row.get(0)).unwrap();
    assert_eq!(deaths, 0, "to be restored is no death of an owner");
    // The first knows nothing of it.
    assert_eq!(host.task(&waits).await.unwrap().state, TaskState::Waiting);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_never_overwrites_a_file_and_leaves_nothing_when_it_fails() {
    let dir = tempfile::tempdir().unwrap();
    let host = crate::common::host(dir.path()).await;
    let there = dir.path().join("there");
    std::fs::write(&there, "mine").unwrap();
    let error = host.backup(&there).await.unwrap_err();
    assert!(matches!(error, Error::Backup { .. }), "{error}");
    assert!(error.to_string().ends_with("there is a file of that name already; give a new name"), "{error}");
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    let nowhere = dir.path().join("no").join("where");
    assert!(host.backup(&nowhere).await.unwrap_err().to_string().contains("no backup was made at"));
    let own = host.backup(dir.path().join("longhaul.db")).await.unwrap_err();
    assert!(matches!(own, Error::Backup { .. }), "{own}");
}

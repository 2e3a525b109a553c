//! Damage of each kind is found and told, in a database that is otherwise sound, and nothing is changed.

use std::path::Path;
use std::time::Duration;

use crate::common::{
    Guest, UNAVAILABLE, advancing, ask, begin, clock, cold_host_at, database, error, event, pending, say, yes,
};
use longhaul::{Error, Examination, StoreError, examine};

/// A database with a task of each kind: one that ended after a question and a retry, and others that wait for an answer, for a
/// ticket, and for another attempt.
async fn used() -> tempfile::TempDir {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let again = format!(
        "{} (if (i32.eq (local.get $attempt) (i32.const 1)) (then {}) (else {} (drop (call $now)) {}))",
        say("(i32.const 1)"),
        error(UNAVAILABLE, None),
        ask(None),
        say("(i32.const 2)")
    );
    let ended = begin(&host, &Guest::new(&again).with_question()).await;
    advancing(&clock, Duration::from_secs(1), event(&host, &ended, "question", 0)).await;
    host.answer(&ended, 1, yes()).await.unwrap();
    host.wait(&ended).await.unwrap();
    let asks = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &asks, "question", 0).await;
    let ticket = begin(&host, &Guest::new(&pending(2200, 3, Some(86_400_000))).text(2200, "one")).await;
    event(&host, &ticket, "checkpoint", 0).await;
    let retries = begin(&host, &Guest::new(&error(UNAVAILABLE, Some(86_400_000)))).await;
    event(&host, &retries, "retry", 0).await;
    host.shutdown().await;
    // One file is all of it.
    database(dir.path()).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    dir
}

fn damage(found: &Examination) -> Vec<String> {
    let damaged = found.findings.iter().filter(|finding| finding.damage);
    damaged.map(|finding| format!("{}: {}", finding.at, finding.problem)).collect()
}

fn content(dir: &Path) -> Vec<u8> {
    std::fs::read(dir.join("longhaul.db")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_of_each_kind_is_found_and_nothing_is_changed() {
    let dir = used().await;
    let found = examine(dir.path()).unwrap();
    assert_eq!(damage(&found), Vec::<String>::new());
    assert_eq!((found.tasks, found.plugins), (4, 4));
    let kinds: &[(&str, &str)] = &[
        ("DELETE FROM entry WHERE task = 1 AND seq = 3", "entries 3 to 3 are missing"),
        ("DELETE FROM entry WHERE task = 1 AND seq = 1", "entries 1 to 1 are missing"),
        ("DELETE FROM entry WHERE task = 1 AND kind = 'ended'", "its row says state \"completed\""),
        ("UPDATE entry SET data = '{}' WHERE task = 1 AND kind = 'progress'", "what it holds is"),
        ("UPDATE entry SET data = 'no' WHERE task = 1 AND kind = 'progress'", "no JSON of ours"),
        ("UPDATE entry SET kind = 'log' WHERE task = 1 AND kind = 'progress'", "its kind is `log`"),
        ("UPDATE entry SET blob = x'ffff' WHERE task = 1 AND kind = 'records'", "no block of records"),
        ("UPDATE entry SET blob = NULL WHERE task = 1 AND kind = 'attempt'", "it has no seed"),
        ("UPDATE entry SET hash = NULL WHERE task = 1 AND kind = 'progress'", "at which call of the guest"),
        ("UPDATE task SET last_seq = last_seq + 1 WHERE n = 2", "its row says last entry"),
        ("UPDATE task SET public_seq = 1 WHERE n = 2", "its row says last public entry"),
        ("UPDATE task SET attempt = 9 WHERE n = 1", "its row says attempt 9"),
        ("UPDATE task SET attempt_seq = 1 WHERE n = 1", "the attempt began with entry 1"),
        ("UPDATE task SET segment = 4 WHERE n = 3", "its row says segment 4"),
        ("UPDATE task SET segment_seq = 1 WHERE n = 3", "the segment began with entry 1"),
        ("UPDATE task SET cancel = 1 WHERE n = 2", "asked to stop: 1, its journal 0"),
        ("UPDATE task SET state = 'completed' WHERE n = 2", "its row says state \"completed\""),
        ("UPDATE task SET state = 'failed' WHERE n = 1", "its row says state \"failed\", its journal \"completed\""),
        ("UPDATE task SET state = 'lost' WHERE n = 1", "its state is `lost`"),
        ("UPDATE task SET ended_seq = 1 WHERE n = 1", "that it ended with entry Some(1)"),
        ("UPDATE task SET ended_at = NULL WHERE n = 1", "that it ended at None"),
        ("UPDATE task SET waiting_on = NULL WHERE n = 2", "that it waits, for \"nothing\""),
        ("UPDATE task SET waiting_on = 'retry' WHERE n = 3", "that it waits for \"retry\", its journal \"checkpoint\""),
        ("UPDATE task SET ticket = NULL WHERE n = 3", "that it waits for \"ticket\""),
        ("UPDATE task SET due_at = NULL WHERE n = 2", "nothing would wake it"),
        ("UPDATE task SET waiting_on = 'human' WHERE n = 1", "that it waits for \"human\", its journal \"nothing\""),
        ("DELETE FROM question WHERE task = 2", "its row is missing: nobody can answer it"),
        ("UPDATE question SET reply = NULL WHERE task = 1", "its row says open, its journal"),
        (
            "UPDATE question SET reply = '{\"outcome\":\"closed\"}' WHERE task = 1",
            "its journal {\"outcome\":\"answered\"",
        ),
        ("UPDATE question SET body = replace(body, 'go on', 'do not go on')", "it is not what its journal asks"),
        ("UPDATE question SET question = 5 WHERE task = 2", "its journal does not ask it"),
        ("DELETE FROM task WHERE n = 1", "without their task"),
        ("UPDATE plugin SET component = x''", "its file is missing"),
        ("UPDATE plugin SET component = zeroblob(length(component))", "its file is not the one that was added"),
        ("UPDATE plugin SET size = 1", "its row says 1"),
        ("UPDATE plugin SET manifest = '{}'", "its manifest can't be read"),
        ("UPDATE plugin SET version = '9.9.9'", "its manifest is that of test 1.0.0"),
        ("DELETE FROM plugin", "1 unfinished tasks need it"),
        (
            "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 9999 WHERE name = 'entry_seq'",
            "can't be read",
        ),
    ];
    let mut missed = Vec::new();
    for (sql, told) in kinds {
        let damaged = tempfile::tempdir().unwrap();
        std::fs::copy(dir.path().join("longhaul.db"), damaged.path().join("longhaul.db")).unwrap();
        let database = database(damaged.path());
        database.execute_batch(sql).unwrap();
        drop(database);
        let before = content(damaged.path());
        let found = examine(damaged.path()).unwrap();
        let damage = damage(&found);
        if !damage.iter().any(|damage| damage.contains(told)) {
            missed.push(format!("{sql}: `{told}` is not in {damage:#?}"));
        }
        assert!(!found.is_sound() && found.damaged == damage.len());
        let advised = found.findings.iter().all(|finding| !finding.damage || finding.remedy.is_some());
        assert!(advised, "each says what to do: {:?}", found.findings);
        assert_eq!(content(damaged.path()), before, "{sql}: it only looks");
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_whose_pages_are_overwritten_is_examined_as_far_as_it_can_be_read() {
    let dir = used().await;
    let good = content(dir.path());
    assert!(good.len() > 20 * 4096, "{}", good.len());
    let mut found_sound = 0;
    for page in 0..good.len() / 4096 {
        let mut bad = good.clone();
        bad[page * 4096..][..4096].fill(0xa5);
        let broken = tempfile::tempdir().unwrap();
        std::fs::write(broken.path().join("longhaul.db"), &bad).unwrap();
        match examine(broken.path()) {
            Ok(found) => found_sound += usize::from(found.is_sound()),
            Err(error) => assert!(matches!(error, Error::Store(StoreError::Corrupt { .. })), "page {page}: {error}"),
        }
    }
    // No page of a database that was never emptied is free.
    assert_eq!(found_sound, 0, "damage was not seen");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_database_of_ours_is_told_and_not_made_one() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |dir: &Path| match examine(dir) {
        Err(Error::Store(error)) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(dir.path()), StoreError::Corrupt { .. }));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    database(dir.path()).execute_batch("CREATE TABLE task (a)").unwrap();
    assert!(refused(dir.path()).to_string().contains("no tables of ours"));
    database(dir.path()).pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(refused(dir.path()), StoreError::Newer { found: 99, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_in_use_is_examined_and_who_uses_it_is_told() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let task = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &task, "question", 0).await;
    let found = examine(dir.path()).unwrap();
    assert!(found.is_sound(), "{:?}", found.findings);
    let at_work =
        found.findings.iter().any(|finding| finding.problem == "it is at work here, and owns 1 unfinished tasks");
    assert!(at_work, "{:?}", found.findings);
}

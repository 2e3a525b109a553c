//! Databases that earlier versions wrote: the fixtures are made by their own binaries.

use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul::{EventKind, Host, Reply, SimulatedClock, TaskFilter, TaskState, Timestamp};
use longhaul_tests::audit::{audit, number};
use longhaul_tests::embedded::journal;
use serde_json::json;

/// Each earlier version of the tables. See the README beside it for how it was made.
const FIXTURES: &[&str] = &["schema-1", "schema-2"];

fn copied(name: &str) -> (tempfile::TempDir, SimulatedClock) {
    let dir = tempfile::tempdir().unwrap();
    let fixture: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name);
    std::fs::copy(fixture.join("longhaul.db"), dir.path().join("longhaul.db")).unwrap();
    // A day later: what slept is due, and nobody's time is over.
    let made = number(dir.path(), "SELECT max(updated_at) FROM task").cast_unsigned();
    let later = Timestamp::from_millis(made).after(Duration::from_secs(24 * 3_600));
    (dir, SimulatedClock::at(later))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_each_earlier_version_is_opened_and_its_live_tasks_come_to_their_ends() {
    for fixture in FIXTURES {
        let (dir, clock) = copied(fixture);
        let before = number(dir.path(), "PRAGMA user_version");
        let ended = "SELECT count(*) FROM task WHERE state = 'completed'";
        assert_eq!(number(dir.path(), ended), 1, "{fixture}");
        let left = number(dir.path(), "SELECT count(*) FROM entry");
        let hosts = (0..2).map(|_| Host::builder().data_dir(dir.path()).clock(clock.clone()).open());
        // Two at once: one of them brings the tables up to date.
        let hosts = futures_util::future::try_join_all(hosts).await.unwrap();
        assert!(number(dir.path(), "PRAGMA user_version") > before, "{fixture}");
        let host = &hosts[0];
        let tasks = host.tasks(TaskFilter::default()).await.unwrap();
        assert_eq!(tasks.len(), 5, "{fixture}");
        for task in &tasks {
            let plugin = task.plugin.as_str();
            if plugin == "asks" {
                assert_eq!(task.questions.len(), 1, "{fixture}");
                host.answer(&task.id, 1, Reply::Answered { value: json!(true), by: None }).await.unwrap();
            }
            let done = host.wait(&task.id).await.unwrap();
            assert_eq!(done.state, TaskState::Completed, "{fixture} {plugin}: {:?}", done.error);
            let said = journal(host, &task.id).await.into_iter().filter_map(|event| match event.kind {
                EventKind::Progress(progress) => progress.done,
                _ => None,
            });
            let expected: &[f64] = if plugin == "ends" { &[1.0] } else { &[1.0, 2.0] };
            assert_eq!(said.collect::<Vec<_>>(), expected, "{fixture} {plugin}");
        }
        assert!(number(dir.path(), "SELECT count(*) FROM entry") > left, "{fixture}");
        assert_eq!(number(dir.path(), "SELECT count(*) FROM entry WHERE kind = 'question'"), 1, "{fixture}");
        assert_eq!(number(dir.path(), "SELECT count(*) FROM entry WHERE kind = 'attempt'"), 5, "{fixture}");
        assert_eq!(audit(dir.path()), [""; 0], "{fixture}");
        for host in hosts {
            host.shutdown().await;
        }
    }
}

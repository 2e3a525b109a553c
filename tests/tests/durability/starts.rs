//! Several hosts that are started at the same time.

use longhaul_tests::audit::{audit, number};
use longhaul_tests::cli::{Cli, component, eventually};
use longhaul_tests::embedded::with_probe;
use longhaul_tests::worker::Worker;
use serde_json::json;

#[test]
fn promise_2_processes_that_make_the_data_at_the_same_time_share_it() {
    let cli = Cli::new();
    let probe = component("probe");
    let running: Vec<_> = (0..4).map(|n| cli.start(&["run", &probe, "noop", &format!("n={n}")])).collect();
    for run in running {
        run.end().exits(0);
    }
    assert_eq!(number(&cli.data(), "SELECT count(*) FROM task WHERE state = 'completed'"), 4);
    assert_eq!(number(&cli.data(), "SELECT count(*) FROM plugin"), 1);
    assert_eq!(number(&cli.data(), "SELECT count(*) FROM owner"), 0);
    assert_eq!(audit(&cli.data()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_2_processes_that_open_what_another_left_at_the_same_time_run_each_task_once() {
    const TASKS: i64 = 300;
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let mut first = Worker::new(dir.path());
    for n in 0..TASKS {
        first.start(&n.to_string(), "steps", &json!({ "steps": 12, "sleep_ms": 100 }));
    }
    first.kill();
    let mut others: Vec<_> = (0..3).map(|_| Worker::spawn(dir.path(), &mut |command| command)).collect();
    let done = || number(dir.path(), "SELECT count(*) FROM task WHERE state = 'completed'");
    eventually("all are done", || (done() == TASKS).then_some(()));
    assert_eq!(number(dir.path(), "SELECT count(*) FROM entry WHERE kind = 'progress'"), 12 * TASKS);
    assert_eq!(audit(dir.path()), [""; 0]);
    for other in &mut others {
        other.signal("TERM");
        assert!(other.end().success());
    }
    assert_eq!(number(dir.path(), "SELECT count(*) FROM owner"), 0, "the dead one's row is gone too");
    assert_eq!(std::fs::read_dir(dir.path().join("owners")).unwrap().count(), 0, "and the lock files");
}

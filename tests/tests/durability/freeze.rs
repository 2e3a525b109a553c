//! Promise 2 with a process that is frozen past its lease, and thawed.

use std::time::Duration;

use longhaul::{EventKind, Host, TaskState};
use longhaul_tests::audit::{audit, number};
use longhaul_tests::cli::{Cli, component, eventually};
use longhaul_tests::embedded::{answer_all, journal, with_probe};
use longhaul_tests::worker::{HEARTBEAT, Worker};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn promise_2_a_frozen_hosts_tasks_are_taken_over_and_it_writes_nothing_when_it_thaws() {
    const STEPS: usize = 60;
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let mut frozen = Worker::new(dir.path());
    let mut tasks = Vec::new();
    for n in 0..4 {
        let input = json!({ "steps": STEPS, "sleep_ms": 50, "ask_every": if n == 0 { 20 } else { 0 } });
        tasks.push(frozen.start(&format!("steps {n}"), "steps", &input));
    }
    // It computes when it is frozen, and goes on computing when it thaws.
    tasks.push(frozen.start("spin", "spin", &json!({ "rounds": 300_000_000, "progress_every": 1_000_000 })));
    eventually("all of them have begun", || {
        (number(dir.path(), "SELECT count(*) FROM task WHERE progress IS NOT NULL") == 5).then_some(())
    });
    frozen.freeze(dir.path());
    let host = Host::builder().data_dir(dir.path()).heartbeat(HEARTBEAT).open().await.unwrap();
    let owner = || number(dir.path(), "SELECT count(DISTINCT owner) FROM task WHERE ended_at IS NULL");
    let theirs = number(dir.path(), "SELECT min(id) FROM owner");
    let stolen = format!("SELECT count(*) FROM task WHERE owner = {theirs} AND ended_at IS NULL");
    eventually("they have another owner", || (number(dir.path(), &stolen) == 0).then_some(()));
    assert!(owner() <= 1);
    // It thaws in the middle of what the other does.
    frozen.signal("CONT");
    for id in &tasks {
        let id = host.find_task(id).await.unwrap();
        answer_all(&host, &id).await;
        let task = host.wait(&id).await.unwrap();
        assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
        let steps = journal(&host, &id).await.into_iter().filter_map(|event| match event.kind {
            EventKind::Progress(progress) => Some(progress.message),
            _ => None,
        });
        if task.tool == "steps" {
            let undisturbed: Vec<_> = (1..=STEPS).map(|step| format!("step {step}")).collect();
            assert_eq!(steps.collect::<Vec<_>>(), undisturbed);
        }
    }
    assert_eq!(number(dir.path(), "SELECT max(deaths) FROM task"), 0, "it did not die");
    // It is a host in good standing again.
    let id = host.find_task(&frozen.start("after", "noop", &json!({}))).await.unwrap();
    let after = tokio::time::timeout(Duration::from_secs(20), host.wait(&id)).await.expect("it is run").unwrap();
    assert_eq!(after.state, TaskState::Completed);
    assert_eq!(number(dir.path(), &format!("SELECT count(*) FROM task WHERE owner = {theirs}")), 1);
    assert_eq!(audit(dir.path()), [""; 0]);
    host.shutdown().await;
}

/// The binary, with the times that it has for everybody.
#[tokio::test(flavor = "multi_thread")]
async fn promise_2_a_run_that_is_frozen_is_taken_up_by_a_watch_after_15_s_and_follows_it_to_the_end() {
    let cli = Cli::new();
    with_probe(&cli.data()).await;
    let args = ["run", &component("probe"), "steps", "steps=100", "sleep_ms=250"];
    let mut running = cli.start(&args);
    let id = running.until("progress")["task"].as_str().unwrap().to_owned();
    running.freeze(&cli.data());
    let begun = std::time::Instant::now();
    let watching = cli.start(&["tasks", "watch", &id]);
    let owner = || number(&cli.data(), "SELECT owner FROM task");
    let first = owner();
    eventually("it has another owner", || (owner() != first).then_some(()));
    let taken = begun.elapsed();
    assert!(taken.as_secs() >= 14, "{taken:?}");
    running.signal("CONT");
    for process in [running, watching] {
        let done = process.end().exits(0);
        assert_eq!(done.task()["state"], "completed");
    }
    assert_eq!(number(&cli.data(), "SELECT count(*) FROM entry WHERE kind = 'progress'"), 100);
    assert_eq!(audit(&cli.data()), [""; 0]);
}

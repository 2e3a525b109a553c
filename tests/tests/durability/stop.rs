//! A host that is told to stop: it takes nothing new, gives up what it runs where that stands, and is gone within 10 s.

use std::time::{Duration, Instant};

use longhaul::{Host, TaskState};
use longhaul_tests::audit::{audit, number};
use longhaul_tests::cli::{Cli, component, eventually};
use longhaul_tests::embedded::{answer_all, with_probe};
use longhaul_tests::worker::Worker;
use serde_json::json;

/// A host takes ten seconds at most; what is left is for a machine that has no time for it.
const LIMIT: Duration = Duration::from_secs(20);

async fn stopped_by(signal: &str) {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let mut worker = Worker::new(dir.path());
    let mut tasks = Vec::new();
    let mut start = |tool, input| tasks.push(worker.start(&format!("{tool} {input}"), tool, &input));
    start("steps", json!({ "steps": 100, "sleep_ms": 20 }));
    start("steps", json!({ "steps": 4, "ask_every": 2 }));
    start("job", json!({ "checks": 3, "after_ms": 200 }));
    // It computes, and never calls the host.
    start("spin", json!({ "rounds": 400_000_000 }));
    start("spin", json!({ "rounds": 300_000_000, "progress_every": 1_000_000 }));
    eventually("all of them have begun", || (number(dir.path(), "SELECT min(attempt) FROM task") == 1).then_some(()));
    let begun = Instant::now();
    worker.signal(signal);
    assert!(worker.end().success());
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    let of = |query| number(dir.path(), query);
    assert_eq!(of("SELECT count(*) FROM task WHERE state NOT IN ('queued', 'waiting', 'completed')"), 0);
    assert_eq!(of("SELECT count(*) FROM task WHERE owner IS NOT NULL AND ended_at IS NULL"), 0);
    assert_eq!(of("SELECT count(*) FROM owner"), 0);
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    for id in &tasks {
        let id = host.find_task(id).await.unwrap();
        answer_all(&host, &id).await;
        let task = host.wait(&id).await.unwrap();
        assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
    }
    assert_eq!(of("SELECT max(deaths) FROM task"), 0, "nobody died");
    assert_eq!(of("SELECT count(*) FROM entry WHERE kind = 'attempt'"), tasks.len() as i64);
    assert_eq!(audit(dir.path()), [""; 0]);
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_gets_sigterm_is_gone_within_10_s_and_the_next_goes_on_with_all_it_had() {
    stopped_by("TERM").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_gets_sigint_is_gone_within_10_s_and_the_next_goes_on_with_all_it_had() {
    stopped_by("INT").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_a_tool_that_never_calls_the_host_leaves_at_sigterm_and_the_task_goes_on() {
    let cli = Cli::new();
    with_probe(&cli.data()).await;
    let mut running = cli.start(&["run", &component("probe"), "spin", "rounds=400000000"]);
    let id = running.until("attempt")["task"].as_str().unwrap().to_owned();
    let begun = Instant::now();
    running.signal("TERM");
    running.end().exits(143);
    assert!(begun.elapsed() < LIMIT, "{:?}", begun.elapsed());
    assert_eq!(cli.only_task()["state"], "queued");
    cli.run(&["tasks", "watch", &id]).exits(0);
    assert_eq!(number(&cli.data(), "SELECT deaths FROM task"), 0, "nobody died");
    assert_eq!(audit(&cli.data()), [""; 0]);
}

//! A task that its hosts die of.

use longhaul_tests::audit::{audit, number};
use longhaul_tests::cli::{Cli, Done, component};
use longhaul_tests::embedded::with_probe;

fn dies(cli: &Cli, plan: &str, args: &[&str]) {
    let done: Done = cli.command(args).env("LONGHAUL_CRASH_AT", plan).output().unwrap().into();
    assert_eq!(done.code, -1, "it was to die of a signal: {done:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_three_processes_in_a_row_died_of_fails_with_a_host_fault() {
    let cli = Cli::new();
    with_probe(&cli.data()).await;
    let probe = component("probe");
    // Seen by nobody: it died before it was on disk that it runs, so this one is not counted.
    dies(&cli, "effect:1", &["run", &probe, "hash_imports"]);
    let id = cli.only_id();
    for deaths in 1..=3 {
        dies(&cli, "effect:1", &["tasks", "watch", &id]);
        assert_eq!(number(&cli.data(), "SELECT deaths FROM task"), deaths - 1, "counted by who takes over");
    }
    cli.run(&["tasks", "watch", &id]).exits(5).says("3 hosts in a row died while they ran this task");
    let task = cli.only_task();
    assert_eq!((task["state"].as_str(), task["error"]["class"].as_str()), (Some("failed"), Some("run")));
    assert_eq!(task["error"]["code"], "host");
    assert_eq!(number(&cli.data(), "SELECT count(*) FROM entry WHERE kind = 'retry'"), 0);
    assert_eq!(audit(&cli.data()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_gets_further_each_time_outlives_any_number_of_deaths() {
    let cli = Cli::new();
    with_probe(&cli.data()).await;
    // A clock reading and a progress a step: each process gets some steps further.
    dies(&cli, "after-commit:12", &["run", &component("probe"), "steps", "steps=80", "sleep_ms=20"]);
    let id = cli.only_id();
    for _ in 0..4 {
        dies(&cli, "after-commit:12", &["tasks", "watch", &id]);
    }
    cli.run(&["tasks", "watch", &id]).exits(0);
    assert_eq!(number(&cli.data(), "SELECT count(*) FROM entry WHERE kind = 'progress'"), 80);
    assert_eq!(audit(&cli.data()), [""; 0]);
}

//! Promises 1 and 3: what was seen is on disk, and replay gives a guest what it was given before.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use longhaul::testing::{CrashPlan, CrashPoint};
use longhaul::{Event, EventKind, Host, NewTask, Task, TaskFilter, TaskId, TaskState};
use longhaul_tests::cli::{self, Cli};
use longhaul_tests::embedded::{answer_all, component, journal, probe_hash, sound, with_probe};
use serde_json::json;

/// The tool that calls every import and hashes what it gets.
fn hash_imports() -> NewTask {
    NewTask::new("probe", "hash_imports").input(json!({ "rounds": 2, "ask": true })).setting("greeting", "hello")
}

/// What the guest was given, from its result.
fn values(task: &Task) -> Vec<String> {
    let structured = task.output.as_ref().and_then(|output| output.structured.as_ref()).expect("a structured result");
    serde_json::from_value(structured["values"].clone()).expect("values")
}

/// Fails unless everything that was published binds what the result says, and a replay of the whole journal comes to the
/// same result with the same fuel.
async fn consistent(host: &Host, task: &Task, events: &[Event]) {
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
    let values = values(task);
    let prefixes: Vec<String> = (0..=values.len()).map(|upto| probe_hash(&values[..upto])).collect();
    let mut published = 0;
    for event in events {
        let EventKind::Log { text, .. } = &event.kind else { continue };
        for number in text.lines().filter_map(|line| line.split(" done: ").nth(1)) {
            assert!(prefixes.iter().any(|prefix| prefix == number), "published {number}, not of {values:?}");
            published += 1;
        }
    }
    assert_eq!(published, 2, "each round publishes its number once: {events:#?}");
    let once = |kind: &str| events.iter().filter(|event| event.kind.name() == kind).count();
    assert_eq!(once("question"), 6, "each question is asked once: {events:#?}");
    assert_eq!(once("reply"), 6, "each question is settled once: {events:#?}");
    assert_eq!(once("attempt"), 1);
    assert_eq!(once("ended"), 1);
    let replayed = host.replay(&task.id, Default::default(), |_| {}).await.expect("the journal replays");
    assert_eq!(replayed.diverged, None);
    assert_eq!(replayed.output.as_ref(), task.output.as_ref());
    assert_eq!(replayed.fuel, task.fuel_used, "the same fuel to the unit");
    assert_eq!(replayed.recorded_fuel, Some(task.fuel_used));
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_3_a_guest_dropped_at_any_effect_is_given_the_same_again() {
    let mut dropped = 0;
    for n in 1.. {
        let dir = tempfile::tempdir().unwrap();
        with_probe(dir.path()).await;
        let plan = Arc::new(CrashPlan::at_nth(CrashPoint::Drop, n));
        let builder = Host::builder().data_dir(dir.path()).warm(Duration::ZERO);
        let host = builder.crash(plan.clone()).open().await.unwrap();
        let id = host.start(hash_imports()).await.unwrap().id;
        answer_all(&host, &id).await;
        let task = host.wait(&id).await.unwrap();
        consistent(&host, &task, &journal(&host, &id).await).await;
        host.shutdown().await;
        if !plan.is_over() {
            break;
        }
        dropped += 1;
    }
    assert!(dropped > 60, "only {dropped} effects were tried");
}

/// Runs the binary until it dies as planned, and reads what it has left; then lets the task come to its end.
async fn killed(plan: String) -> bool {
    let cli = Cli::new();
    with_probe(&cli.data()).await;
    let probe = cli.file("probe.wasm", component("probe"));
    let probe = probe.to_str().unwrap();
    let mut args = vec!["run", probe, "hash_imports", "rounds=2", "ask=true", "--set", "greeting=hello", "--json"];
    for _ in 0..2 {
        args.extend(["--answer", "true", "--answer", "\"an answer\"", "--answer", "true"]);
    }
    let mut command: Command = cli.command(&args);
    let done: cli::Done = command.env("LONGHAUL_CRASH_AT", plan).output().unwrap().into();
    let crashed = done.code != 0;
    let data = cli.data();
    sound(&data);
    let host = Host::builder().data_dir(&data).take_over(false).open().await.unwrap();
    let Some(task) = host.tasks(TaskFilter::default()).await.unwrap().pop() else {
        assert!(crashed && !done.stdout.contains("\"started\""), "a start that was seen is gone: {done:?}");
        return true;
    };
    // What was printed before the end is on disk, and is what was printed.
    let left = journal(&host, &task.id).await;
    for line in done.json() {
        let seq = line["seq"].as_u64();
        let Some(seq) = seq.filter(|_| line["type"] == "event") else { continue };
        let event = left.iter().find(|event| event.seq == seq).unwrap_or_else(|| panic!("{line} is not on disk"));
        assert_eq!(line["kind"], event.kind.name());
    }
    let id: TaskId = task.id.clone();
    host.adopt(&id).await.unwrap();
    answer_all(&host, &id).await;
    let task = host.wait(&id).await.unwrap();
    let events = journal(&host, &id).await;
    assert_eq!(events[..left.len()], left, "what was on disk has changed");
    consistent(&host, &task, &events).await;
    host.shutdown().await;
    sound(&data);
    crashed
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_process_killed_before_any_commit_loses_nothing_that_was_seen() {
    crate::killed_at_every("before-commit", 15, killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_process_killed_after_any_commit_loses_nothing_that_was_seen() {
    crate::killed_at_every("after-commit", 15, killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_process_killed_at_any_effect_loses_nothing_that_was_seen() {
    crate::killed_at_every("effect", 60, killed).await;
}

//! `kill -9` at every commit of what waits outside the guest: tickets, retries, requests to stop; and at random moments.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use longhaul::{Event, EventKind, Host, Task, TaskFilter, TaskState};
use longhaul_tests::audit::{audit, number};
use longhaul_tests::cli::{Cli, component};
use longhaul_tests::embedded::{answer_all, journal, with_probe};
use longhaul_tests::soak::Soak;

/// What a test lets the process do, which is killed somewhere in it.
#[derive(Clone, Copy)]
struct Case {
    args: &'static [&'static str],
    /// What it prints when it is to be asked to stop; `None`: it comes to its end by itself.
    cancel_at: Option<&'static str>,
}

const JOB: Case = Case { args: &["job", "checks=3", "after_ms=30", "unavailable_at=2"], cancel_at: None };
const CANCEL: Case = Case { args: &["cancel_me", "manners=obey"], cancel_at: Some("progress") };
const CANCEL_TICKET: Case =
    Case { args: &["job", "checks=1", "stuck=true", "after_ms=60"], cancel_at: Some("checkpoint") };

/// Of three questions the third is one too many, whenever the process dies before it.
const QUESTIONS: Case = Case { args: &["ask_many", "n=3", "wait_for=1", "--limit", "questions=2"], cancel_at: None };

/// What readers were told, in order, without what may differ between two undisturbed runs.
fn told(events: &[Event]) -> Vec<String> {
    let told = |event: &Event| match &event.kind {
        // One that waits for its end does so for as long as it takes to be asked.
        EventKind::Sleep { .. } | EventKind::Checkpoint { .. } => None,
        EventKind::Progress(progress) => Some(format!("progress {}", progress.message)),
        EventKind::Log { text, .. } => Some(format!("log {}", text.split(" with ").next().unwrap_or_default())),
        EventKind::Retry { attempt, .. } => Some(format!("retry {attempt}")),
        EventKind::Ended { state, .. } => Some(format!("ended {state}")),
        kind => Some(kind.name().to_owned()),
    };
    events.iter().filter_map(told).collect()
}

/// Runs a case in the binary until it ends or dies as planned, and lets the task come to its end. `None`: nothing was
/// taken yet.
async fn run(case: Case, plan: Option<String>) -> (bool, Option<(Task, Vec<Event>)>) {
    let cli = Cli::new();
    with_probe(&cli.data()).await;
    let probe = component("probe");
    let mut command: Command = cli.command(&[&["run", &probe, "--json"], case.args].concat());
    if let Some(plan) = plan {
        command.env("LONGHAUL_CRASH_AT", plan);
    }
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let wanted = case.cancel_at.map(|kind| format!("\"kind\":\"{kind}\""));
    if wanted.is_some_and(|wanted| lines.any(|line| line.contains(&wanted))) {
        // It may be dead already.
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
    }
    let seen = lines.filter(|line| line.contains("\"type\":\"event\"")).count();
    let crashed = child.wait().unwrap().code().is_none();
    let host = Host::builder().data_dir(cli.data()).open().await.unwrap();
    let Some(task) = host.tasks(TaskFilter::default()).await.unwrap().pop() else {
        assert!(seen == 0, "a start that was seen is gone");
        return (crashed, None);
    };
    if case.cancel_at.is_some() {
        host.cancel(&task.id).await.unwrap();
    }
    answer_all(&host, &task.id).await;
    let task = host.wait(&task.id).await.unwrap();
    let events = journal(&host, &task.id).await;
    // What is owed after the end; a test that hangs here is ended by the runner.
    while number(&cli.data(), "SELECT count(*) FROM task WHERE ticket IS NOT NULL") > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    host.shutdown().await;
    assert_eq!(audit(&cli.data()), [""; 0]);
    (crashed, Some((task, events)))
}

async fn killed_at_every(case: Case, point: &str, at_least: usize) {
    const AT_ONCE: usize = 4;
    const MOST: usize = 16;
    let (_, undisturbed) = run(case, None).await;
    let (task, events) = undisturbed.expect("it is taken");
    let (state, expected) = (task.state, told(&events));
    for first in (1..).step_by(AT_ONCE) {
        let plans = (first..first + AT_ONCE).map(|n| tokio::spawn(run(case, Some(format!("{point}:{n}")))));
        let mut crashes = 0;
        for outcome in futures_util::future::join_all(plans).await {
            let (crashed, left) = outcome.unwrap();
            crashes += usize::from(crashed);
            let Some((task, events)) = left else { continue };
            assert_eq!(task.state, state, "{:?}", task.error);
            // One that was killed and asked to stop before it began has nothing to clean up.
            let begun = events.iter().any(|event| matches!(event.kind, EventKind::Attempt { .. }));
            let told = told(&events);
            match case.cancel_at {
                None => assert_eq!(told, expected),
                Some(_) if begun => assert_each_once(&told, &expected),
                Some(_) => assert_eq!(told, ["started", "cancel-requested", "ended cancelled"]),
            }
        }
        // Where nothing dies, as many are tried as the longest of these cases has.
        if (point == "write" && first > MOST) || (point != "write" && crashes < AT_ONCE) {
            assert!(first > at_least, "only {first} deaths at {point}");
            return;
        }
    }
}

/// When it was asked to stop decides how far it had come; but nothing may come twice, and it ends in the same way.
fn assert_each_once(told: &[String], expected: &[String]) {
    let mut counts = BTreeMap::new();
    for line in told {
        *counts.entry(line).or_insert(0) += 1;
        assert!(expected.contains(line), "{line} is not in {expected:?}");
    }
    assert!(counts.values().all(|count| *count == 1), "{told:?}");
    assert_eq!(told.last(), expected.last());
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_process_killed_before_any_commit_of_a_job_with_tickets_and_a_retry_loses_nothing() {
    killed_at_every(JOB, "before-commit", 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_process_killed_after_any_commit_of_a_job_with_tickets_and_a_retry_loses_nothing() {
    killed_at_every(JOB, "after-commit", 8).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_process_killed_at_any_commit_of_a_cancellation_ends_cancelled_all_the_same() {
    killed_at_every(CANCEL, "before-commit", 4).await;
    killed_at_every(CANCEL, "after-commit", 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_process_killed_at_any_commit_of_a_cancellation_with_a_ticket_cancels_that_too() {
    killed_at_every(CANCEL_TICKET, "before-commit", 4).await;
    killed_at_every(CANCEL_TICKET, "after-commit", 4).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_process_killed_at_any_commit_refills_no_limit() {
    let (_, undisturbed) = run(QUESTIONS, None).await;
    let (task, events) = undisturbed.expect("it is taken");
    assert!(task.error.unwrap().message.contains("limit `questions` = 2;"));
    assert_eq!(told(&events).iter().filter(|told| *told == "limit-near").count(), 1);
    // When the answers come is for those who give them.
    let sorted = |events: &[Event]| {
        let mut told = told(events);
        told.sort();
        told
    };
    let expected = sorted(&events);
    for point in ["before-commit", "after-commit"] {
        for n in 1.. {
            let (crashed, left) = run(QUESTIONS, Some(format!("{point}:{n}"))).await;
            assert!(left.is_none_or(|(_, events)| sorted(&events) == expected), "{point}:{n}");
            if !crashed {
                assert!(n > 3, "only {n} deaths at {point}");
                break;
            }
        }
    }
}

/// The disk refuses one write, whichever: the task pauses, and goes on.
#[tokio::test(flavor = "multi_thread")]
async fn promise_1_an_io_error_at_any_commit_of_a_job_fails_nothing_that_was_taken() {
    killed_at_every(JOB, "write", 0).await;
}

/// The disk fails to sync: nobody knows what is on it, so the process ends, and the next one reads.
#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_failed_fsync_at_any_commit_ends_the_process_and_loses_nothing() {
    killed_at_every(JOB, "sync", 8).await;
    let cli = Cli::new();
    let mut command = cli.command(&["tasks", "ls"]);
    let done: longhaul_tests::cli::Done = command.env("LONGHAUL_CRASH_AT", "sync:1").output().unwrap().into();
    assert_eq!(done.code, -1);
    let done = done.says("the disk could not sync").says("longhaul.db").says("ending so that nothing is lost");
    assert_eq!(done.stdout, "");
}

#[test]
fn hosts_that_are_killed_frozen_and_stopped_at_random_moments_lose_nothing() {
    let report = Soak { seed: 1, time: Duration::from_secs(20) }.run();
    println!("{report}");
    assert!(report.kills > 3 && report.tasks > 50, "{report}");
    assert_eq!(report.losses, [""; 0]);
    assert_eq!(report.states.keys().copied().collect::<Vec<_>>(), [TaskState::Completed.as_str()]);
}

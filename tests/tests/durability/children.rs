//! Promises 1 and 3 for a parent with two children and a question: whenever it ends, it is the same family afterwards.

use std::sync::Arc;
use std::time::Duration;

use longhaul::testing::{CrashPlan, CrashPoint};
use longhaul::{Event, EventKind, Host, NewTask, Task, TaskFilter, TaskId, TaskState};
use longhaul_tests::cli::{self, Cli};
use longhaul_tests::embedded::{answer_all, component, journal, with_probe};
use serde_json::{Value, json};

/// One child asks a person, one is done at once, and the parent asks as well.
fn input() -> Value {
    let asks = json!({ "prompt": "Does the child go on?", "schema": { "type": "boolean" } });
    json!({ "children": [["probe/ask", asks], ["probe/noop", {}]], "ask": "And the parent?" })
}

fn family() -> NewTask {
    NewTask::new("probe", "family").input(input()).grant_tool("probe/ask").grant_tool("probe/noop")
}

/// Fails unless the family is as if nothing had happened: each child was started once, each question asked and settled once,
/// each end told once, and each journal replays to the same result with the same fuel.
async fn undisturbed(host: &Host, id: &TaskId) {
    let task = host.task(id).await.unwrap();
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
    let result = task.output.as_ref().and_then(|output| output.structured.clone()).expect("a structured result");
    assert_eq!((&result["children"][0]["value"], &result["answer"]), (&json!(true), &json!(true)), "{result}");
    let all = host.tasks(TaskFilter::default()).await.unwrap();
    assert_eq!((all.len(), task.children.len()), (3, 2), "two children, each started once");
    let events = journal(host, id).await;
    let count = |is: &dyn Fn(&EventKind) -> bool| events.iter().filter(|event| is(&event.kind)).count();
    let own = |name: &str| count(&|kind| kind.name() == name);
    let childs = |name: &str| count(&|kind| matches!(kind, EventKind::Child { event, .. } if event.name() == name));
    assert_eq!((own("child-started"), own("child-ended")), (2, 2), "{events:#?}");
    assert_eq!((own("question"), own("reply"), own("attempt"), own("ended")), (1, 1, 1, 1), "{events:#?}");
    assert_eq!((childs("question"), childs("reply")), (1, 1), "{events:#?}");
    for member in &all {
        // A list has no outputs.
        same_again(host, &host.task(&member.id).await.unwrap()).await;
    }
}

async fn same_again(host: &Host, task: &Task) {
    let replayed = host.replay(&task.id, Default::default(), |_| {}).await.expect("the journal replays");
    assert_eq!(replayed.diverged, None);
    assert_eq!(replayed.output.as_ref(), task.output.as_ref());
    assert_eq!(replayed.fuel, task.fuel_used, "the same fuel to the unit");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_3_a_family_of_which_a_guest_is_dropped_at_any_effect_is_the_same_again() {
    let mut dropped = 0;
    for n in 1.. {
        let dir = tempfile::tempdir().unwrap();
        with_probe(dir.path()).await;
        let plan = Arc::new(CrashPlan::at_nth(CrashPoint::Drop, n));
        let builder = Host::builder().data_dir(dir.path()).warm(Duration::ZERO);
        let host = builder.crash(plan.clone()).open().await.unwrap();
        let id = host.start(family()).await.unwrap().id;
        answer_all(&host, &id).await;
        host.shutdown().await;
        let over = plan.is_over();
        // Without the plan, which a replay would come upon too.
        let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
        undisturbed(&host, &id).await;
        host.shutdown().await;
        if !over {
            break;
        }
        dropped += 1;
    }
    assert!(dropped >= 10, "only {dropped} effects were tried");
}

/// Runs the binary until it dies as planned, and reads what it has left; then lets the family come to its end.
async fn killed(plan: String) -> bool {
    let cli = Cli::new();
    with_probe(&cli.data()).await;
    let probe = cli.file("probe.wasm", component("probe"));
    let input = input().to_string();
    let mut args = vec!["run", probe.to_str().unwrap(), "family", "--input", &input, "--json"];
    args.extend(["--grant", "tool:probe/ask", "--grant", "tool:probe/noop", "--answer", "true", "--answer", "true"]);
    let done: cli::Done = cli.command(&args).env("LONGHAUL_CRASH_AT", plan).output().unwrap().into();
    let crashed = done.code != 0;
    let host = Host::builder().data_dir(cli.data()).take_over(false).open().await.unwrap();
    let Some(root) = host.tasks(TaskFilter::default()).await.unwrap().into_iter().find(|task| task.parent.is_none())
    else {
        assert!(crashed && !done.stdout.contains("\"started\""), "a start that was seen is gone: {done:?}");
        return true;
    };
    // What was printed before the end is on disk, and is what was printed.
    let left: Vec<Event> = journal(&host, &root.id).await;
    for line in done.json() {
        let seq = line["seq"].as_u64();
        let Some(seq) = seq.filter(|_| line["type"] == "event") else { continue };
        let event = left.iter().find(|event| event.seq == seq).unwrap_or_else(|| panic!("{line} is not on disk"));
        assert_eq!(line["kind"], event.kind.name());
    }
    host.adopt(&root.id).await.unwrap();
    answer_all(&host, &root.id).await;
    let events = journal(&host, &root.id).await;
    assert_eq!(events[..left.len()], left, "what was on disk has changed");
    undisturbed(&host, &root.id).await;
    host.shutdown().await;
    crashed
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_family_killed_before_any_commit_is_whole_again() {
    crate::killed_at_every("before-commit", 10, killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_family_killed_after_any_commit_is_whole_again() {
    crate::killed_at_every("after-commit", 10, killed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_1_a_family_killed_at_any_effect_is_whole_again() {
    crate::killed_at_every("effect", 10, killed).await;
}

//! Tools that start tools: what a child is, what its parent gets of it, and who may start which.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{
    FAILED, Guest, INVALID_INPUT, START, UNAVAILABLE, advancing, ask, cold_host_at, error, event, find, kid, manifest,
    names, needing, open, parent, pending, result_of, said, say, structured, wait_any, yes,
};
use longhaul::testing::{CrashPlan, CrashPoint};
use longhaul::{Error, EventKind, Host, NeedKind, NewTask, Task, TaskId, TaskState, WaitingOn};
use serde_json::json;

/// Starts the parent, and waits for its end.
async fn run(host: &Host, parent: &Guest) -> (Task, Vec<f64>) {
    let task = crate::common::start_parent(host, parent).await;
    let done = host.wait(&task).await.unwrap();
    (done, said(host, &task).await)
}

/// What `start-tool` came to: 0, or 1 and which error.
fn started() -> String {
    [say("(i32.load8_u (i32.const 3000))"), say("(i32.load8_u (i32.const 3004))")].concat()
}

/// The refusals in a journal.
async fn refusals(host: &Host, task: &TaskId) -> Vec<String> {
    let events = host.journal(task, 0, usize::MAX >> 1).await.unwrap();
    let why = events.into_iter().filter_map(|event| match event.kind {
        EventKind::Refused { what, why } => Some(format!("{what}: {why}")),
        _ => None,
    });
    why.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_waits_for_children_and_questions_together() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    // Each of the children asks, so the test says which of the three is first.
    host.install(kid(&format!("{} {}", ask(None), structured(2100, 18))).build()).await.unwrap();
    let round = |on: &[u32]| format!("{} {}", wait_any(on, None), say("(i32.load (i32.const 3108))"));
    let guest = parent(&format!(
        "{START} {open} {START} {} {} {} {result} {} {}",
        round(&[1, 2, 3]),
        round(&[1, 3]),
        round(&[1]),
        say("(i32.load8_u (i32.const 3408))"),
        say("(i32.load8_u (i32.load (i32.const 3428)))"),
        open = open(None),
        result = result_of(3),
    ));
    let task = crate::common::start_parent(&host, &guest).await;
    find(&host, &task, 0, |event| matches!(&event.kind, EventKind::ChildStarted { handle: 3, .. })).await.unwrap();
    let children = host.task(&task).await.unwrap().children;
    assert_eq!(children.iter().map(|child| child.handle).collect::<Vec<_>>(), [1, 3], "handles and questions count on");
    for child in &children {
        let view = host.task(&child.task).await.unwrap();
        assert_eq!((view.parent, view.plugin.as_str(), view.tool.as_str()), (Some(task.clone()), "kid", "run"));
        event(&host, &child.task, "question", 0).await;
    }
    let waits = crate::common::eventually(async || host.task(&task).await.unwrap().waiting).await;
    assert_eq!(waits.on, WaitingOn::Human, "a question is among them");
    host.answer(&children[1].task, 1, yes()).await.unwrap();
    find(&host, &task, 0, |event| matches!(&event.kind, EventKind::Progress(_))).await.unwrap();
    // It waits for its children only, now.
    crate::common::eventually(async || {
        let waiting = host.task(&task).await.unwrap().waiting;
        waiting.filter(|waiting| waiting.on == WaitingOn::Child)
    })
    .await;
    host.answer(&children[0].task, 1, yes()).await.unwrap();
    let done = host.wait(&task).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
    assert_eq!(said(&host, &task).await, [2.0, 1.0, 0.0, 0.0, f64::from(b'{')]);
    let replayed = host.replay(&task, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, replayed.fuel), (None, done.fuel_used), "a replay reads the same results");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_childs_failure_is_the_parents_to_judge() {
    let (_dir, clock, host) = crate::common::cold_host().await;
    let guest = parent(&format!(
        "{START} {} {} {} {} {}",
        wait_any(&[1], None),
        result_of(1),
        say("(i32.load8_u (i32.const 3408))"),
        say("(i32.load8_u (i32.const 3416))"),
        say("(i32.load8_u (i32.const 3448))"),
    ));
    // The tool's own kind; a run that broke has failed, and its details have the code.
    let (invalid, failed, unavailable) = (f64::from(INVALID_INPUT), f64::from(FAILED), f64::from(UNAVAILABLE));
    for (execute, expected) in [
        (error(INVALID_INPUT, None), [1.0, invalid, 0.0]),
        (error(FAILED, None), [1.0, failed, 0.0]),
        (error(UNAVAILABLE, None), [1.0, unavailable, 0.0]),
        ("unreachable".into(), [1.0, failed, 1.0]),
        (String::new(), [0.0, 0.0, 0.0]),
    ] {
        host.install(kid(&execute).build()).await.unwrap();
        let task = crate::common::start_parent(&host, &guest).await;
        let done = advancing(&clock, Duration::from_secs(1), host.wait(&task)).await.unwrap();
        assert_eq!(done.state, TaskState::Completed, "{execute}: {:?}", done.error);
        let said = said(&host, &task).await;
        // Of a result there is no kind.
        let told = if expected[0] == 0.0 { 1 } else { 3 };
        assert_eq!(said[..told], expected[..told], "{execute}");
        let ended = event(&host, &task, "child-ended", 0).await;
        let EventKind::ChildEnded { handle: 1, state, error, .. } = ended.kind else { panic!("{ended:?}") };
        assert_eq!((state == TaskState::Failed, error.is_some()), (expected[0] == 1.0, expected[0] == 1.0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_for_a_child_may_time_out_and_the_child_goes_on() {
    let (_dir, clock, host) = crate::common::cold_host().await;
    host.install(kid(&ask(None)).build()).await.unwrap();
    let (found, place) = (say("(i32.load8_u (i32.const 3104))"), say("(i32.load (i32.const 3108))"));
    let guest = parent(&format!("{START} {} {found} {} {place}", wait_any(&[1], Some(60_000)), wait_any(&[1], None)));
    let task = crate::common::start_parent(&host, &guest).await;
    let child = event(&host, &task, "child-started", 0).await;
    let EventKind::ChildStarted { child, .. } = child.kind else { panic!() };
    event(&host, &child, "question", 0).await;
    advancing(&clock, Duration::from_secs(5), event(&host, &task, "progress", 0)).await;
    host.answer(&child, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [0.0, 0.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_runs_the_build_that_was_newest_when_it_was_started() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    let build = |n: i32| {
        kid(&format!("{} {} {}", say(&format!("(i32.const {n})")), ask(None), say(&format!("(i32.const {n})"))))
    };
    host.install(build(1).build()).await.unwrap();
    let task = crate::common::start_parent(&host, &parent(&format!("{START} {}", wait_any(&[1], None)))).await;
    let EventKind::ChildStarted { child, .. } = event(&host, &task, "child-started", 0).await.kind else { panic!() };
    event(&host, &child, "question", 0).await;
    host.install(build(2).build()).await.unwrap();
    host.answer(&child, 1, yes()).await.unwrap();
    host.wait(&task).await.unwrap();
    assert_eq!(said(&host, &child).await, [1.0, 1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_has_its_parents_namespace_session_context_limits_and_deadline() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(kid("").build()).await.unwrap();
    let plugin = host.install(parent(&format!("{START} {}", wait_any(&[1], None))).build()).await.unwrap();
    let host = host.namespace("tenant");
    let limits = longhaul::Limits { fuel: 1_000_000, ..longhaul::Limits::default() };
    let new = NewTask::new(plugin.digest, "run").grant_tool("kid/run").session("thread").context(json!({ "a": 1 }));
    let task = host.start(new.limits(limits).deadline(Duration::from_secs(600))).await.unwrap().id;
    let done = host.wait(&task).await.unwrap();
    let child = host.task(&done.children[0].task).await.unwrap();
    assert_eq!((&child.namespace, &child.session, &child.context), (&done.namespace, &done.session, &done.context));
    assert_eq!((child.deadline, child.state), (done.deadline, TaskState::Completed));
    let database = crate::common::database(_dir.path());
    let limits: i64 = database.query_row("SELECT count(DISTINCT limits) FROM task", [], |row| row.get(0)).unwrap();
    assert_eq!(limits, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_only_a_tool_that_is_declared_and_granted_is_started() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(kid("").build()).await.unwrap();
    let tries = format!("{START} {}", started());
    // Declared, not granted.
    let plugin = host.install(parent(&tries).build()).await.unwrap();
    let task = host.start(NewTask::new(&plugin.digest, "run")).await.unwrap().id;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [1.0, 2.0], "refused");
    assert_eq!(
        refusals(&host, &task).await,
        [
            "tool `kid/run`: tool `kid/run` was not granted to this task; add `tools = [\"kid/run\"]` to `[plugins.test]` in longhaul.toml"
        ]
    );
    // Not declared: it can't be granted, and is refused all the same.
    let undeclared = Guest { manifest: manifest("test", "run"), ..parent(&tries) };
    let plugin = host.install(undeclared.build()).await.unwrap();
    let refused = host.start(NewTask::new(&plugin.digest, "run").grant_tool("kid/run")).await.unwrap_err();
    assert!(
        matches!(&refused, Error::UndeclaredGrant { kind: NeedKind::Tool, name, .. } if name == "kid/run"),
        "{refused}"
    );
    let task = host.start(NewTask::new(&plugin.digest, "run")).await.unwrap().id;
    host.wait(&task).await.unwrap();
    assert_eq!(
        refusals(&host, &task).await,
        ["tool `kid/run`: `test` declares no need of tool `kid/run`; its manifest has to, under `needs`"]
    );
    // Required: without it the task is not even taken.
    let required = needing("test", &["kid/run"]).replace(r#","required":false"#, "");
    let plugin = host.install(Guest { manifest: required, ..parent(&tries) }.build()).await.unwrap();
    let refused = host.start(NewTask::new(&plugin.digest, "run")).await.unwrap_err();
    assert!(matches!(&refused, Error::MissingGrant { kind: NeedKind::Tool, .. }), "{refused}");
    let task = host.start(NewTask::new(&plugin.digest, "run").grant_tool("kid/run")).await.unwrap().id;
    host.wait(&task).await.unwrap();
    assert_eq!(said(&host, &task).await, [0.0, 1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_grants_pass_on_to_children_that_declare_them() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    let grandchild = Guest { manifest: manifest("grandkid", "run"), ..Guest::new("") };
    host.install(grandchild.build()).await.unwrap();
    let start_grandchild = START.replace("(i32.const 7)", "(i32.const 12)");
    let child = |needs: &[&str]| {
        let execute = format!("{start_grandchild} {}", started());
        Guest { manifest: needing("kid", needs), ..Guest::new(&execute) }.text(2200, "grandkid/run").text(2220, "{}")
    };
    let plugin = host.install(parent(&format!("{START} {}", wait_any(&[1], None))).build()).await.unwrap();
    let new = || NewTask::new(&plugin.digest, "run").grant_tool("kid/run");
    for (needs, grants, outcome) in [
        (&["grandkid/run"][..], true, Some([0.0, 1.0])),
        (&["grandkid/run"], false, Some([1.0, 2.0])),
        // Nobody in reach declares it.
        (&[], true, None),
    ] {
        host.install(child(needs).build()).await.unwrap();
        let new = if grants { new().grant_tool("grandkid/run") } else { new() };
        let started = host.start(new).await;
        let Some(outcome) = outcome else {
            assert!(matches!(started, Err(Error::UndeclaredGrant { .. })));
            continue;
        };
        let done = host.wait(&started.unwrap().id).await.unwrap();
        assert_eq!(said(&host, &done.children[0].task).await, outcome);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_a_refusal_is_judged_once_and_not_again_by_a_replay() {
    let (dir, clock, host) = crate::common::cold_host().await;
    host.install(kid("").build()).await.unwrap();
    let guest = parent(&format!("{START} {} {} {START} {}", started(), ask(None), started()));
    let plugin = host.install(guest.build()).await.unwrap();
    let task = host.start(NewTask::new(&plugin.digest, "run")).await.unwrap().id;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    // The policy has changed: what is asked from now on is granted.
    let grant = "UPDATE task SET grants = '{\"tools\":[\"kid/run\"]}'";
    crate::common::database(dir.path()).execute(grant, []).unwrap();
    let host = cold_host_at(dir.path(), &clock).await;
    host.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [1.0, 2.0, 0.0, 2.0], "refused, and then its second handle");
    assert_eq!(refusals(&host, &task).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_tool_can_be_started_with_is_malformed_or_refused() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    let picky = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#;
    let picky = manifest("kid", "run").replace(r#"{"type":"object"}"#, picky);
    host.install(Guest { manifest: picky, ..Guest::new("") }.build()).await.unwrap();
    let (malformed, refused) = (vec![1.0, 1.0], vec![1.0, 2.0]);
    for (tool, input, outcome) in [
        ("kid/run", r#"{"n":1}"#, vec![0.0, 1.0]),
        ("kid/run", r#"{"n":"one"}"#, malformed.clone()),
        ("kid/run", "{}", malformed.clone()),
        ("kid/run", "{", malformed.clone()),
        ("kid/run", "", malformed.clone()),
        ("kid", r#"{"n":1}"#, malformed.clone()),
        ("kid/other", r#"{"n":1}"#, refused.clone()),
        ("none/run", r#"{"n":1}"#, refused.clone()),
    ] {
        let call = format!(
            "(call $start_tool (i32.const 2200) (i32.const {}) (i32.const 2300) (i32.const {}) (i32.const 3000)) {}",
            tool.len(),
            input.len(),
            started()
        );
        let guest = Guest { manifest: needing("test", &["kid/run", "kid/other", "none/run"]), ..Guest::new(&call) };
        let plugin = host.install(guest.text(2200, tool).text(2300, input).build()).await.unwrap();
        let new = NewTask::new(plugin.digest, "run");
        let task = host.start(new.grant_tool("kid/run").grant_tool("kid/other").grant_tool("none/run")).await;
        let task = task.unwrap().id;
        assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed, "{tool} {input}");
        assert_eq!(said(&host, &task).await, outcome, "{tool} {input}");
        assert_eq!(refusals(&host, &task).await.len(), usize::from(outcome == refused), "{tool} {input}");
    }
    // Four mebibytes and a byte.
    let long = format!(
        "(drop (memory.grow (i32.const 64))) (memory.fill (i32.const 100000) (i32.const 32) (i32.const 4194305))
         (i32.store16 (i32.const 100000) (i32.const 32123))
         (call $start_tool (i32.const 2200) (i32.const 7) (i32.const 100000) (i32.const 4194305) (i32.const 3000)) {}",
        started()
    );
    assert_eq!(run(&host, &parent(&long)).await.1, malformed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handle_of_somebody_else_is_unknown() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    // A child that waits for the handle of its own parent's child, which is 1 there.
    let curious = format!(
        "{} {} {} {} (call $withdraw (i32.const 1))",
        wait_any(&[1], None),
        say("(i32.load8_u (i32.const 3104))"),
        result_of(1),
        say("(i32.load8_u (i32.const 3400))"),
    );
    host.install(kid(&curious).build()).await.unwrap();
    let done = run(&host, &parent(&format!("{START} {}", wait_any(&[1], None)))).await.0;
    assert_eq!(done.children[0].state, TaskState::Completed);
    assert_eq!(said(&host, &done.children[0].task).await, [1.0, 0.0], "malformed, and no result");
    // A child of an earlier segment: its handle went with it.
    let again = format!("{} {}", wait_any(&[1], None), say("(i32.load8_u (i32.const 3104))"));
    host.install(kid("").build()).await.unwrap();
    let guest = parent(&format!("{START} {} {}", wait_any(&[1], None), pending(2048, 3, Some(0))));
    let done = run(&host, &Guest { await_task: format!("{again} {START} {}", started()), ..guest }).await;
    assert_eq!(done.1, [1.0, 0.0, 2.0], "malformed, and then the next number");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_3_a_parent_dropped_at_any_effect_starts_no_child_twice() {
    let mut dropped = 0;
    for n in 1.. {
        let dir = tempfile::tempdir().unwrap();
        let plan = Arc::new(CrashPlan::at_nth(CrashPoint::Drop, n));
        let builder = Host::builder().data_dir(dir.path()).warm(Duration::ZERO);
        let host = builder.crash(plan.clone()).open().await.unwrap();
        host.install(kid(&format!("{} {}", say("(i32.const 1)"), structured(2220, 2))).text(2220, "{}").build())
            .await
            .unwrap();
        let guest = parent(&format!(
            "{START} {open} {START} {} {} {} {} {} {}",
            wait_any(&[1], None),
            wait_any(&[3], None),
            result_of(1),
            result_of(3),
            result_of(3),
            say("(i32.load8_u (i32.const 3408))"),
            open = open(None),
        ));
        let (done, said) = run(&host, &guest).await;
        assert_eq!((done.state, said.as_slice()), (TaskState::Completed, &[0.0][..]), "{n}: {:?}", done.error);
        assert_eq!(done.children.len(), 2, "{n}");
        let names = names(&host, &done.id).await;
        for (name, times) in [("child-started", 2), ("child-ended", 2), ("question", 1), ("reply", 1), ("child", 2)] {
            assert_eq!(names.iter().filter(|it| *it == name).count(), times, "{n}: {names:?}");
        }
        let replayed = host.replay(&done.id, Default::default(), |_| {}).await.unwrap();
        assert_eq!((replayed.diverged, replayed.fuel), (None, done.fuel_used), "{n}");
        host.shutdown().await;
        let examined = longhaul::examine(dir.path()).unwrap();
        assert!(examined.is_sound(), "{n}: {:?}", examined.findings);
        if !plan.is_over() {
            break;
        }
        dropped += 1;
    }
    assert!(dropped >= 10, "only {dropped} effects were tried");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_task_starts_a_hundred_children() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(kid("").build()).await.unwrap();
    let guest = parent(&format!(
        "(local.set $n (i64.const 101))
         (loop $l {START}
           (local.set $n (i64.sub (local.get $n) (i64.const 1))) (br_if $l (i64.gt_s (local.get $n) (i64.const 0)))) {}",
        started()
    ));
    let (done, said) = run(&host, &guest).await;
    assert_eq!((done.children.len(), said.as_slice()), (100, &[1.0, 2.0][..]), "the last is refused");
    let refusals = refusals(&host, &done.id).await;
    assert!(refusals.len() == 1 && refusals[0].contains("(limit `children` = 100;"), "{refusals:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_tree_has_a_hundred_tasks_below_its_root() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    // Each child starts ten more, one after the other: of the tenth, the last is one too many.
    let many = |n: usize| format!("{START} {}", say("(i32.load8_u (i32.const 3000))")).repeat(n);
    let leaf = START.replace("(i32.const 7)", "(i32.const 8)");
    let ten = many(10).replace(START, &leaf);
    let child = Guest { manifest: needing("kid", &["leaf/run"]), ..Guest::new(&ten) };
    host.install(child.text(2200, "leaf/run").text(2220, "{}").build()).await.unwrap();
    host.install(Guest { manifest: manifest("leaf", "run"), ..Guest::new("") }.build()).await.unwrap();
    let one_by_one: String = (1..=10).map(|handle| format!("{START} {}", wait_any(&[handle], None))).collect();
    let plugin = host.install(parent(&one_by_one).build()).await.unwrap();
    let new = NewTask::new(plugin.digest, "run").grant_tool("kid/run").grant_tool("leaf/run");
    let done = host.wait(&host.start(new).await.unwrap().id).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
    let mut refused = Vec::new();
    let mut below = done.children.len();
    for child in &done.children {
        let child = host.task(&child.task).await.unwrap();
        below += child.children.len();
        refused.extend(refusals(&host, &child.id).await);
    }
    // Nine children with ten each are 99; the tenth child is the hundredth, and may start none.
    assert_eq!((below, refused.len()), (100, 10));
    assert!(refused.iter().all(|why| why.contains("(limit `tree_tasks` = 100;")), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_children_stand_eight_below_their_root() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    // It starts itself, and waits for that if it can.
    let guest = format!(
        "{START} {} (if (i32.eqz (i32.load8_u (i32.const 3000))) (then {}))",
        say("(i32.load8_u (i32.const 3000))"),
        wait_any(&[1], None)
    );
    let itself = Guest { manifest: needing("kid", &["kid/run"]), ..parent(&guest) };
    let plugin = host.install(itself.build()).await.unwrap();
    let root = host.start(NewTask::new(plugin.digest, "run").grant_tool("kid/run")).await.unwrap().id;
    let mut task = host.wait(&root).await.unwrap();
    let mut depth = 0;
    while let [child] = task.children.as_slice() {
        assert_eq!(said(&host, &task.id).await, [0.0]);
        task = host.task(&child.task).await.unwrap();
        assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
        depth += 1;
    }
    assert_eq!((depth, said(&host, &task.id).await), (8, vec![1.0]));
    assert!(refusals(&host, &task.id).await[0].contains("(limit `child_depth` = 8;"));
    let told = find(
        &host,
        &root,
        0,
        |event| matches!(&event.kind, EventKind::Child { event, .. } if matches!(**event, EventKind::Refused { .. })),
    );
    assert!(told.await.is_some(), "the root's journal shows it");
}

//! Parents and children: what the one shows of the other, and how they stop together.

use std::time::Duration;

use crate::common::{
    CANCELLED, Guest, START, UNAVAILABLE, advancing, ask, clock, cold_host_at, error, event, find, kid, names, needing,
    parent, pending, result_of, said, say, wait_any, yes,
};
use longhaul::{Error, EventKind, Host, NewTask, QueueLimits, TaskId, TaskState};

/// The first child of a task, once it asks.
async fn asking_child(host: &Host, task: &TaskId) -> TaskId {
    let EventKind::ChildStarted { child, .. } = event(host, task, "child-started", 0).await.kind else { panic!() };
    event(host, &child, "question", 0).await;
    child
}

/// A child that asks, and stops when it is told to.
fn obedient() -> Guest {
    kid(&format!("{} {}", ask(None), error(CANCELLED, None)))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_childs_progress_and_questions_appear_under_every_task_above_it() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    // Root, child and grandchild: the last one reports and asks.
    let grandchild =
        Guest { manifest: needing("leaf", &[]), ..Guest::new(&format!("{} {}", say("(i32.const 7)"), ask(None))) };
    host.install(grandchild.with_question().build()).await.unwrap();
    let start_leaf = START.replace("(i32.const 7)", "(i32.const 8)");
    let middle = Guest {
        manifest: needing("kid", &["leaf/run"]),
        ..Guest::new(&format!("{start_leaf} {}", wait_any(&[1], None)))
    };
    host.install(middle.text(2200, "leaf/run").text(2220, "{}").build()).await.unwrap();
    let plugin = host.install(parent(&format!("{START} {}", wait_any(&[1], None))).build()).await.unwrap();
    let new = NewTask::new(plugin.digest, "run").grant_tool("kid/run").grant_tool("leaf/run");
    let root = host.start(new).await.unwrap().id;
    let asked = find(
        &host,
        &root,
        0,
        |event| matches!(&event.kind, EventKind::Child { event, .. } if matches!(**event, EventKind::Question(_))),
    );
    let EventKind::Child { child: leaf, .. } = asked.await.unwrap().kind else { panic!() };
    let middle = host.task(&root).await.unwrap().children[0].task.clone();
    assert_eq!(host.task(&leaf).await.unwrap().parent.as_ref(), Some(&middle));
    for above in [&root, &middle] {
        let task = host.task(above).await.unwrap();
        assert_eq!(task.questions.len(), 1);
        assert_eq!((task.questions[0].task.as_ref(), task.questions[0].question), (Some(&leaf), 1));
    }
    let own = host.task(&leaf).await.unwrap().questions;
    assert_eq!((own.len(), own[0].task.as_ref()), (1, None), "its own is answered to itself");
    host.answer(&leaf, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&root).await.unwrap().state, TaskState::Completed);
    // In the order in which it happened, each once.
    let shown = |id: &TaskId| {
        let (host, id, leaf, middle) = (host.clone(), id.clone(), leaf.clone(), middle.clone());
        async move {
            let who = |id: &TaskId| {
                if *id == leaf {
                    "leaf"
                } else if *id == middle {
                    "middle"
                } else {
                    "?"
                }
            };
            let events = host.journal(&id, 0, usize::MAX >> 1).await.unwrap();
            let told = events.iter().filter_map(|event| match &event.kind {
                EventKind::ChildStarted { child, .. } => Some(format!("{} started", who(child))),
                EventKind::ChildEnded { child, state, .. } => Some(format!("{} {state}", who(child))),
                EventKind::Child { child, event } => Some(format!("{}: {}", who(child), event.name())),
                _ => None,
            });
            told.collect::<Vec<_>>()
        }
    };
    assert_eq!(
        shown(&middle).await,
        ["leaf started", "leaf: progress", "leaf: question", "leaf: reply", "leaf completed"]
    );
    assert_eq!(
        shown(&root).await,
        [
            "middle started",
            "middle: child-started",
            "leaf: progress",
            "leaf: question",
            "leaf: reply",
            "middle: child-ended",
            "middle completed"
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_cancelling_a_parent_asks_the_whole_tree_to_stop_in_one_transaction() {
    let (dir, _clock, host) = crate::common::cold_host().await;
    let leaf = obedient();
    host.install(Guest { manifest: needing("leaf", &[]), ..leaf }.build()).await.unwrap();
    let start_leaf = START.replace("(i32.const 7)", "(i32.const 8)");
    let execute = format!("{start_leaf} {} {}", wait_any(&[1], None), error(CANCELLED, None));
    let middle = Guest { manifest: needing("kid", &["leaf/run"]), ..Guest::new(&execute) };
    host.install(middle.text(2200, "leaf/run").text(2220, "{}").build()).await.unwrap();
    let execute = format!("{START} {} {}", wait_any(&[1], None), error(CANCELLED, None));
    let plugin = host.install(parent(&execute).build()).await.unwrap();
    let new = NewTask::new(plugin.digest, "run").grant_tool("kid/run").grant_tool("leaf/run");
    let root = host.start(new).await.unwrap().id;
    let EventKind::ChildStarted { child: middle, .. } = event(&host, &root, "child-started", 0).await.kind else {
        panic!()
    };
    let leaf = asking_child(&host, &middle).await;
    host.shutdown().await;
    // Nobody runs any of them, so what there is now is what the request wrote.
    let clock = clock();
    let idle = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    idle.cancel(&root).await.unwrap();
    for task in [&root, &middle, &leaf] {
        assert!(idle.task(task).await.unwrap().cancel_requested);
        assert_eq!(names(&idle, task).await.iter().filter(|name| *name == "cancel-requested").count(), 1);
    }
    idle.shutdown().await;
    let host = cold_host_at(dir.path(), &clock).await;
    for task in [&root, &middle, &leaf] {
        assert_eq!(host.wait(task).await.unwrap().state, TaskState::Cancelled);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_child_alone_may_be_cancelled_and_its_parent_sees_it() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(obedient().build()).await.unwrap();
    let guest = parent(&format!(
        "{START} {} {} {} {}",
        wait_any(&[1], None),
        result_of(1),
        say("(i32.load8_u (i32.const 3408))"),
        say("(i32.load8_u (i32.const 3416))"),
    ));
    let task = crate::common::start_parent(&host, &guest).await;
    let child = asking_child(&host, &task).await;
    host.cancel(&child).await.unwrap();
    let done = host.wait(&task).await.unwrap();
    assert_eq!((done.state, done.cancel_requested), (TaskState::Completed, false));
    assert_eq!(done.children[0].state, TaskState::Cancelled);
    assert_eq!(said(&host, &task).await, [1.0, f64::from(CANCELLED)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn withdraw_asks_a_child_to_stop_once() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(obedient().build()).await.unwrap();
    // The parent asks too, so that the child is waiting when it is withdrawn.
    let guest = parent(&format!(
        "{START} {} (call $withdraw (i32.const 1)) (call $withdraw (i32.const 1)) {} (call $withdraw (i32.const 1))",
        ask(None),
        wait_any(&[1], None)
    ));
    let task = crate::common::start_parent(&host, &guest).await;
    let child = asking_child(&host, &task).await;
    event(&host, &task, "question", 0).await;
    host.answer(&task, 2, yes()).await.unwrap();
    let done = host.wait(&task).await.unwrap();
    assert_eq!((done.state, done.children[0].state), (TaskState::Completed, TaskState::Cancelled));
    assert_eq!(names(&host, &child).await.iter().filter(|name| *name == "cancel-requested").count(), 1);
}

/// However a segment ends, the children that it started are asked to stop, and nothing is written after an end.
#[tokio::test(flavor = "multi_thread")]
async fn a_child_ends_with_the_segment_that_started_it() {
    for (how, state) in [
        (String::new(), TaskState::Completed),
        (error(crate::common::FAILED, None), TaskState::Failed),
        ("unreachable".into(), TaskState::Failed),
        (pending(2048, 3, Some(60_000)), TaskState::Waiting),
        (error(UNAVAILABLE, Some(60_000)), TaskState::Waiting),
    ] {
        let (dir, _clock, host) = crate::common::cold_host().await;
        host.install(obedient().build()).await.unwrap();
        let task = crate::common::start_parent(&host, &parent(&format!("{START} {} {how}", ask(None)))).await;
        let child = asking_child(&host, &task).await;
        event(&host, &task, "question", 0).await;
        host.answer(&task, 2, yes()).await.unwrap();
        assert_eq!(host.wait(&child).await.unwrap().state, TaskState::Cancelled, "{how}");
        let parent = host.task(&task).await.unwrap();
        assert_eq!(parent.state, state, "{how}: a late end of a child wakes nobody");
        let told = names(&host, &task).await.contains(&"child-ended".to_owned());
        assert_eq!(told, state == TaskState::Waiting, "{how}");
        host.shutdown().await;
        let after = crate::common::after_the_end(dir.path());
        assert_eq!(after, 0, "{how}: a journal ends with the task's end");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_cancelled_parent_starts_no_child() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(kid("").build()).await.unwrap();
    let guest = parent(&format!("{} {START} {}", ask(None), say("(i32.load8_u (i32.const 3004))")));
    let task = crate::common::start_parent(&host, &guest).await;
    event(&host, &task, "question", 0).await;
    host.cancel(&task).await.unwrap();
    let done = host.wait(&task).await.unwrap();
    assert_eq!((done.state, done.children.len()), (TaskState::Completed, 0));
    assert_eq!(said(&host, &task).await, [0.0], "`cancelled`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_childs_deadline_is_its_parents() {
    let (_dir, clock, host) = crate::common::cold_host().await;
    host.install(kid(&ask(None)).build()).await.unwrap();
    let plugin = host.install(parent(&format!("{START} {}", wait_any(&[1], None))).build()).await.unwrap();
    let new = NewTask::new(plugin.digest, "run").grant_tool("kid/run").deadline(Duration::from_secs(60));
    let task = host.start(new).await.unwrap().id;
    let child = asking_child(&host, &task).await;
    advancing(&clock, Duration::from_secs(10), host.wait(&task)).await.unwrap();
    let child = advancing(&clock, Duration::from_secs(1), host.wait(&child)).await.unwrap();
    assert!(matches!(child.state, TaskState::Failed | TaskState::Cancelled), "{child:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_goes_when_its_root_is_removed_and_not_before() {
    let (dir, _clock, host) = crate::common::cold_host().await;
    host.install(kid(&ask(None)).build()).await.unwrap();
    let task = crate::common::start_parent(&host, &parent(&format!("{START} {}", wait_any(&[1], None)))).await;
    let child = asking_child(&host, &task).await;
    let early = host.remove(&task).await.unwrap_err();
    assert!(matches!(early, Error::NotEnded { .. }), "{early}");
    host.answer(&child, 1, yes()).await.unwrap();
    host.wait(&task).await.unwrap();
    let alone = host.remove(&child).await.unwrap_err();
    assert!(matches!(&alone, Error::ChildOf { root, .. } if *root == task), "{alone}");
    host.remove(&task).await.unwrap();
    assert!(matches!(host.task(&child).await, Err(Error::UnknownTask(_))));
    let left: i64 = crate::common::database(dir.path())
        .query_row("SELECT (SELECT count(*) FROM entry) + (SELECT count(*) FROM question)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_hears_of_its_child_from_another_process() {
    let (dir, clock, host) = crate::common::cold_host().await;
    host.install(kid(&ask(None)).build()).await.unwrap();
    let task = crate::common::start_parent(&host, &parent(&format!("{START} {}", wait_any(&[1], None)))).await;
    let child = asking_child(&host, &task).await;
    host.shutdown().await;
    let open = || Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open();
    let (one, other) = (open().await.unwrap(), open().await.unwrap());
    assert!(one.adopt(&child).await.unwrap(), "the child runs here");
    assert!(other.adopt(&task).await.unwrap(), "and its parent there");
    one.answer(&child, 1, yes()).await.unwrap();
    assert_eq!(other.wait(&task).await.unwrap().state, TaskState::Completed);
    // And the other way round: a request to stop reaches a child that runs elsewhere.
    let task = crate::common::start_parent(&other, &parent(&format!("{START} {}", wait_any(&[1], None)))).await;
    let child = asking_child(&other, &task).await;
    other.shutdown().await;
    let third = open().await.unwrap();
    assert!(third.adopt(&child).await.unwrap() && one.adopt(&task).await.unwrap());
    one.cancel(&task).await.unwrap();
    third.wait(&child).await.unwrap();
    assert!(one.wait(&task).await.unwrap().state.is_terminal());
}

#[tokio::test(flavor = "multi_thread")]
async fn adopting_a_parent_adopts_the_tree() {
    let (dir, clock, host) = crate::common::cold_host().await;
    host.install(kid(&ask(None)).build()).await.unwrap();
    let task = crate::common::start_parent(&host, &parent(&format!("{START} {}", wait_any(&[1], None)))).await;
    let child = asking_child(&host, &task).await;
    host.shutdown().await;
    let host = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    assert!(host.adopt(&task).await.unwrap());
    host.answer(&child, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
}

/// More parents than there are places, each with a warm instance in hand, and each in need of a place for its child.
#[tokio::test(flavor = "multi_thread")]
async fn parents_that_wait_leave_their_places_to_their_children() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let builder = Host::builder().data_dir(dir.path()).clock(clock).warm(Duration::from_secs(3_600));
    let host = builder.open().await.unwrap();
    host.install(kid("").build()).await.unwrap();
    let plugin = host.install(parent(&format!("{START} {}", wait_any(&[1], None))).build()).await.unwrap();
    let mut tasks = Vec::new();
    for _ in 0..300 {
        tasks.push(host.start(NewTask::new(&plugin.digest, "run").grant_tool("kid/run")).await.unwrap().id);
    }
    for task in tasks {
        assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    }
}

/// A namespace that may run one task at a time, and a plugin too: the parent's place is what its child needs.
#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_waits_does_not_use_up_what_its_namespace_may_run() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let one = QueueLimits { running: 1, ..QueueLimits::default() };
    let builder = Host::builder().data_dir(dir.path()).clock(clock).warm(Duration::from_secs(3_600));
    let host = builder.namespace_queue(one).plugin_queue(one).open().await.unwrap();
    // It starts itself, eight deep.
    let execute = format!("{START} (if (i32.eqz (i32.load8_u (i32.const 3000))) (then {}))", wait_any(&[1], None));
    let itself = Guest { manifest: needing("kid", &["kid/run"]), ..parent(&execute) };
    let plugin = host.install(itself.build()).await.unwrap();
    let root = host.start(NewTask::new(plugin.digest, "run").grant_tool("kid/run")).await.unwrap().id;
    assert_eq!(host.wait(&root).await.unwrap().state, TaskState::Completed);
    assert_eq!(host.tasks(longhaul::TaskFilter::default()).await.unwrap().len(), 9);
}

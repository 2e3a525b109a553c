//! The line: what is taken, who is next, and that a full machine makes tasks wait and not fail.

use std::time::Duration;

use crate::common::{FOR_EVER, Guest, ask, clock, event, eventually, manifest, say, spin, with_another_memory, yes};
use longhaul::{Error, Host, HostBuilder, NewTask, QueueLimits, SimulatedClock, TaskId, TaskState};

async fn open(with: impl FnOnce(HostBuilder) -> HostBuilder) -> (tempfile::TempDir, SimulatedClock, Host) {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let builder = Host::builder().data_dir(dir.path()).clock(clock.clone());
    let host = with(builder).open().await.unwrap();
    (dir, clock, host)
}

fn new() -> NewTask {
    NewTask::new("test", "run")
}

async fn start(host: &Host) -> TaskId {
    host.start(new()).await.unwrap().id
}

async fn running(host: &Host, task: &TaskId) {
    eventually(async || (host.task(task).await.unwrap().state == TaskState::Running).then_some(())).await;
}

/// The limit that refused a start, and whose it was. Nothing was taken.
async fn refused(host: &Host, task: NewTask) -> (String, &'static str, Duration) {
    let before = host.tasks(Default::default()).await.unwrap().len();
    let error = host.start(task).await.expect_err("it is refused");
    assert_eq!(host.tasks(Default::default()).await.unwrap().len(), before);
    match error {
        Error::QueueFull { whose, limit, retry_after, .. } => (whose, limit, retry_after),
        other => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_full_line_refuses_one_namespaces_starts_and_no_others() {
    let limits = QueueLimits { running: 1, queued: 2, ..QueueLimits::default() };
    let (_dir, clock, host) = open(|builder| builder.namespace_queue(limits)).await;
    host.install(Guest::new(FOR_EVER).build()).await.unwrap();
    let a = host.namespace("a");
    let first = start(&a).await;
    running(&a, &first).await;
    let second = a.start(new().idempotency_key("second")).await.unwrap().id;
    let third = start(&a).await;
    let (whose, limit, retry_after) = refused(&a, new()).await;
    assert_eq!((whose.as_str(), limit), ("namespace `a`", "queued"));
    assert!(!retry_after.is_zero());
    // A start that was taken before takes no room.
    let again = a.start(new().idempotency_key("second")).await.unwrap();
    assert_eq!((again.id, again.existing), (second.clone(), true));

    // Nor does the namespace's cap hold another one back.
    let other = start(&host.namespace("b")).await;
    running(&host.namespace("b"), &other).await;
    for queued in [&second, &third] {
        assert_eq!(a.task(queued).await.unwrap().state, TaskState::Queued);
    }

    // What was stopped in line leaves room, and the one that ran makes place for the next.
    assert_eq!(a.cancel(&second).await.unwrap(), TaskState::Queued);
    assert_eq!(a.task(&second).await.unwrap().state, TaskState::Cancelled);
    eventually(async || a.start(new()).await.ok()).await;

    a.cancel(&first).await.unwrap();
    crate::common::advancing(&clock, Duration::from_secs(1), running(&a, &third)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_starts_beyond_so_many_a_second_are_told_when_to_come_again() {
    let limits = QueueLimits { starts_per_second: 2, ..QueueLimits::default() };
    let (_dir, clock, host) = open(|builder| builder.plugin_queue(limits)).await;
    host.install(Guest::new("").build()).await.unwrap();
    host.install(Guest { manifest: manifest("other", "run"), ..Guest::default() }.build()).await.unwrap();
    start(&host).await;
    start(&host).await;
    let (whose, limit, retry_after) = refused(&host, new()).await;
    assert_eq!((whose.as_str(), limit), ("plugin `test`", "starts_per_second"));
    host.start(NewTask::new("other", "run")).await.unwrap();
    clock.advance(retry_after - Duration::from_millis(1));
    refused(&host, new()).await;
    clock.advance(Duration::from_millis(1));
    start(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_of_the_line_that_let_nothing_through_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    for limits in [
        QueueLimits { running: 0, ..QueueLimits::default() },
        QueueLimits { queued: 0, ..QueueLimits::default() },
        QueueLimits { starts_per_second: 0, ..QueueLimits::default() },
    ] {
        let opened = Host::builder().data_dir(dir.path()).namespace_queue(limits).open().await;
        assert!(matches!(opened, Err(Error::OutOfRange { what: "`namespace_queue`", .. })));
    }
    assert!(!dir.path().join("longhaul.db").exists());
}

/// One that waits with its instance in hand gives it up when a cap holds another back.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_waits_does_not_keep_its_place_from_others() {
    let limits = QueueLimits { running: 1, ..QueueLimits::default() };
    let (_dir, _clock, host) = open(|builder| builder.warm(Duration::from_secs(3_600)).namespace_queue(limits)).await;
    host.install(Guest::new(&ask(None)).with_question().build()).await.unwrap();
    let tasks = [start(&host).await, start(&host).await, start(&host).await];
    for task in &tasks {
        event(&host, task, "question", 0).await;
    }
    for task in &tasks {
        host.answer(task, 1, yes()).await.unwrap();
        assert_eq!(host.wait(task).await.unwrap().state, TaskState::Completed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_of_one_namespace_does_not_delay_another() {
    let limits = QueueLimits { running: 1, ..QueueLimits::default() };
    let (_dir, _clock, host) = open(|builder| builder.plugin_queue(limits)).await;
    host.install(Guest::new(&spin(20_000)).build()).await.unwrap();
    let (many, one) = (host.namespace("many"), host.namespace("one"));
    let starts = (0..300).map(|_| many.start(new()));
    let started = futures_util::future::try_join_all(starts).await.unwrap();
    let task = start(&one).await;
    assert_eq!(one.wait(&task).await.unwrap().state, TaskState::Completed);
    let last = many.task(&started[299].id).await.unwrap();
    assert_eq!(last.state, TaskState::Queued, "it came before, and is not done");
    for task in started {
        assert_eq!(many.wait(&task.id).await.unwrap().state, TaskState::Completed);
    }
}

/// A cap that holds one back is of no use to it where another's instance waits.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_waits_is_given_up_only_where_that_helps() {
    let one = QueueLimits { running: 1, ..QueueLimits::default() };
    let asks = Guest::new(&ask(None)).with_question();
    let by_namespace = async |host: &Host| {
        let (a, b) = (host.namespace("a"), host.namespace("b"));
        [(b, "test"), (a.clone(), "test"), (a, "test")]
    };
    let by_plugin = async |host: &Host| {
        let other = Guest { manifest: manifest("other", "run"), ..asks.clone() };
        host.install(other.build()).await.unwrap();
        [(host.clone(), "other"), (host.clone(), "test"), (host.clone(), "test")]
    };
    for plugins in [false, true] {
        let (_dir, _clock, host) = open(|builder| {
            let builder = builder.warm(Duration::from_secs(3_600));
            if plugins { builder.plugin_queue(one) } else { builder.namespace_queue(one) }
        })
        .await;
        host.install(asks.build()).await.unwrap();
        let starts = if plugins { by_plugin(&host).await } else { by_namespace(&host).await };
        for (host, plugin) in starts {
            let task = host.start(NewTask::new(plugin, "run")).await.unwrap().id;
            event(&host, &task, "question", 0).await;
        }
        // The second was dropped for the third; the first keeps its 4 MiB.
        eventually(async || (longhaul::testing::warm_bytes(&host) == 2 * (4 << 20)).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_deadline_passes_while_a_cap_holds_the_task_back() {
    let limits = QueueLimits { running: 1, queued: 1, ..QueueLimits::default() };
    let (_dir, clock, host) = open(|builder| builder.namespace_queue(limits)).await;
    host.install(Guest::new(FOR_EVER).build()).await.unwrap();
    let first = start(&host).await;
    running(&host, &first).await;
    let second = host.start(new().deadline(Duration::from_secs(60))).await.unwrap().id;
    clock.advance(Duration::from_secs(59));
    assert_eq!(host.task(&second).await.unwrap().state, TaskState::Queued);
    clock.advance(Duration::from_secs(1));
    let done = host.wait(&second).await.unwrap();
    assert_eq!(done.error.unwrap().code, "deadline");
    assert_eq!(host.task(&first).await.unwrap().state, TaskState::Running);
    // It stands in line no more.
    eventually(async || host.start(new()).await.ok()).await;
}

/// Not even one place is needed for that: a task that computes for ever has it.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_thousand_deadlines_that_passed_while_no_host_was_open_are_judged_when_one_is() {
    let (dir, clock, host) = open(|builder| builder.warm(Duration::ZERO)).await;
    host.install(Guest::new(&ask(None)).with_question().build()).await.unwrap();
    host.install(Guest { manifest: manifest("other", "run"), ..Guest::new(FOR_EVER) }.build()).await.unwrap();
    let computes = host.start(NewTask::new("other", "run")).await.unwrap().id;
    running(&host, &computes).await;
    let starts = (0..1_000).map(|_| host.start(new().deadline(Duration::from_secs(60))));
    let started = futures_util::future::try_join_all(starts).await.unwrap();
    for task in &started {
        event(&host, &task.id, "question", 0).await;
    }
    host.shutdown().await;
    clock.advance(Duration::from_secs(3_600));
    let limits = QueueLimits { running: 1, ..QueueLimits::default() };
    let host = Host::builder().data_dir(dir.path()).clock(clock).namespace_queue(limits).open().await.unwrap();
    for task in &started {
        let done = host.wait(&task.id).await.unwrap();
        assert_eq!((done.state, done.error.unwrap().code.as_str()), (TaskState::Failed, "deadline"));
        assert!(done.questions.is_empty());
    }
    running(&host, &computes).await;
}

/// There are 1,024 memories for all instances, and each of these has 41.
#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_pool_of_instances_makes_tasks_wait_and_fails_none() {
    let (_dir, _clock, host) = open(|builder| builder).await;
    let mut component = Guest::new(&format!("{} {}", say("(i32.const 1)"), spin(300_000))).build();
    for _ in 0..40 {
        component = with_another_memory(component, 1);
    }
    host.install(component).await.unwrap();
    let started = futures_util::future::try_join_all((0..60).map(|_| host.start(new()))).await.unwrap();
    for task in started {
        let done = host.wait(&task.id).await.unwrap();
        assert_eq!((done.state, done.attempt), (TaskState::Completed, 1), "{:?}", done.error);
    }
}

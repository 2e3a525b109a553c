//! What an embedder holds: typed starts and results, subscriptions to the feed, and hosts beside each other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use longhaul::testing::{CrashPlan, CrashPoint, Person};
use longhaul::{Error, FeedItem, Host, NewTask, Policy, TaskState};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::common::{
    FAILED, Guest, advancing, ask, begin, clock, database, error, event, eventually, host_at, manifest, structured, yes,
};

/// A guest that returns what it was told about its call.
fn echo() -> Guest {
    let give = "(i32.store8 (i32.const 1048) (i32.const 1)) (i32.store (i32.const 1052) (local.get $context))
                (i32.store (i32.const 1056) (local.get $context_len))";
    Guest::new(give)
}

/// A guest that returns a structured output.
fn returning(json: &str) -> Guest {
    Guest::new(&structured(2300, u32::try_from(json.len()).unwrap())).text(2300, json)
}

#[derive(Debug, Deserialize, PartialEq)]
struct Report {
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Row {
    name: String,
    size: u32,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_is_read_as_a_type_and_what_does_not_fit_is_named_with_its_place() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let run = async |guest: Guest| {
        let plugin = host.install(guest.build()).await.unwrap();
        host.run::<Report>(NewTask::new(plugin.digest, "run")).await
    };
    let report = run(returning(r#"{"rows":[{"name":"a","size":1}],"more":true}"#)).await.unwrap();
    assert_eq!(report, Report { rows: vec![Row { name: "a".into(), size: 1 }] });
    let wrong = run(returning(r#"{"rows":[{"name":"a","size":1},{"name":"b","size":"big"}]}"#)).await.unwrap_err();
    let told = "the output of the task is not what was expected: at `rows[1].size`: invalid type: string \"big\", expected u32";
    assert_eq!(wrong.to_string(), told);
    let missing = run(returning("{}")).await.unwrap_err();
    assert_eq!(missing.to_string(), "the output of the task is not what was expected: missing field `rows`");
    let parts = run(Guest::new("")).await.unwrap_err();
    assert!(parts.to_string().ends_with("it has parts to read, and no structured output"), "{parts}");
    let failed = run(Guest::new(&error(FAILED, None))).await.unwrap_err();
    assert!(matches!(failed, Error::NoResult { state: TaskState::Failed, error: Some(_), .. }), "{failed}");
    let waits = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    let unfinished = host.task(&waits).await.unwrap().output_as::<Report>().unwrap_err();
    assert!(matches!(unfinished, Error::NoResult { error: None, .. }), "{unfinished}");
}

#[derive(Serialize)]
struct Input {
    name: &'static str,
    count: u32,
}

#[tokio::test(flavor = "multi_thread")]
async fn an_input_is_given_as_a_type_and_one_that_is_no_json_refuses_the_start() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    host.install(Guest::new("").build()).await.unwrap();
    let new = NewTask::new("test", "run").input(Input { name: "a", count: 2 });
    let task = host.start(new).await.unwrap().id;
    assert_eq!(host.input(&task).await.unwrap(), serde_json::json!({ "name": "a", "count": 2 }));
    let no_json = std::collections::BTreeMap::from([((1, 2), 3)]);
    let refused = host.start(NewTask::new("test", "run").input(no_json)).await.unwrap_err();
    let told = "the input of `run` is not accepted: it can't be written as JSON: key must be a string";
    assert_eq!(refused.to_string(), told);
    let not_accepted = host.start(NewTask::new("test", "run").input(7)).await.unwrap_err();
    assert!(matches!(not_accepted, Error::Input { .. }), "{not_accepted}");
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    session: Option<String>,
    locale: Option<String>,
    time_zone: Option<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_sees_the_locale_and_the_time_zone_of_its_caller() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    host.install(echo().build()).await.unwrap();
    let new = || NewTask::new("test", "run").session("s");
    let here = new().locale("de-CH").time_zone("Europe/Zurich");
    let seen: Context = host.run(here.clone().idempotency_key("k")).await.unwrap();
    assert_eq!(seen.session.as_deref(), Some("s"));
    assert_eq!((seen.locale.as_deref(), seen.time_zone.as_deref()), (Some("de-CH"), Some("Europe/Zurich")));
    let seen: Context = host.run(new()).await.unwrap();
    assert_eq!((seen.locale, seen.time_zone), (None, None));
    // They are part of the request.
    assert!(host.start(here.idempotency_key("k")).await.unwrap().existing);
    let elsewhere = host.start(new().locale("fr").idempotency_key("k")).await.unwrap_err();
    assert!(matches!(elsewhere, Error::IdempotencyMismatch { .. }), "{elsewhere}");
    for (wrong, told) in [
        (new().locale("de_CH.UTF-8"), "locale is `de_CH.UTF-8`; it must be a language tag such as `de-CH`"),
        (new().time_zone("+01:00"), "time zone is `+01:00`; it must be an IANA name such as `Europe/Zurich`"),
    ] {
        assert_eq!(host.start(wrong).await.unwrap_err().to_string(), told);
    }
}

/// Delivers in the background, and gives what is delivered. What is told of before it is `taken` fails.
fn deliver(
    host: &Host,
    name: &str,
    takes: Arc<AtomicBool>,
) -> (mpsc::UnboundedReceiver<FeedItem>, tokio::task::JoinHandle<Result<(), Error>>) {
    let (send, told) = mpsc::unbounded_channel();
    let subscription = host.subscription(name);
    let delivering = tokio::spawn(async move {
        subscription
            .deliver(async |item| {
                let _ = send.send(item);
                if takes.load(Ordering::Relaxed) { Ok(()) } else { Err("not now") }
            })
            .await
    });
    (told, delivering)
}

fn willing() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(true))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_is_told_of_questions_replies_and_ends_in_order_and_goes_on_after_a_restart() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let (mut told, delivering) = deliver(&host, "agent", willing());
    let task = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    let item = told.recv().await.unwrap();
    assert_eq!((item.event.kind.name(), &item.task), ("question", &task));
    host.shutdown().await;
    delivering.await.unwrap().unwrap();

    let host = host_at(dir.path(), &clock).await;
    // It ends while nobody is told.
    host.answer(&task, 1, yes()).await.unwrap();
    host.wait(&task).await.unwrap();
    let (mut told, delivering) = deliver(&host, "agent", willing());
    let heard = [told.recv().await.unwrap(), told.recv().await.unwrap()];
    assert_eq!(heard.each_ref().map(|item| item.event.kind.name()), ["reply", "ended"]);
    // Another name is another reader: it hears all of it.
    let (mut other, _delivering) = deliver(&host, "audit", willing());
    for kind in ["question", "reply", "ended"] {
        assert_eq!(other.recv().await.unwrap().event.kind.name(), kind);
    }
    let end = host.feed_end().await.unwrap();
    let agent = host.subscription("agent");
    eventually(async || (agent.cursor().await.unwrap() == Some(end)).then_some(())).await;
    // Nobody in another namespace hears of it.
    assert_eq!(host.namespace("theirs").subscription("agent").cursor().await.unwrap(), None);
    host.shutdown().await;
    delivering.await.unwrap().unwrap();
    assert!(told.recv().await.is_none(), "and nothing twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_subscriber_does_not_take_is_brought_again_ever_more_rarely_and_nothing_before_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let takes = Arc::new(AtomicBool::new(false));
    let (mut told, _delivering) = deliver(&host, "agent", takes.clone());
    let first = begin(&host, &Guest::new("")).await;
    host.wait(&first).await.unwrap();
    let second = host.start(NewTask::new("test", "run")).await.unwrap().id;
    host.wait(&second).await.unwrap();
    assert_eq!(told.recv().await.unwrap().task, first);
    for _ in 0..3 {
        assert_eq!(advancing(&clock, Duration::from_secs(1), told.recv()).await.unwrap().task, first);
    }
    takes.store(true, Ordering::Relaxed);
    // How often it was brought before that word came is the scheduler's to say; nothing else came with it.
    let next = loop {
        let item = advancing(&clock, Duration::from_secs(1), told.recv()).await.unwrap();
        if item.task != first {
            break item;
        }
    };
    assert_eq!(next.task, second);
}

/// The host dies at one of its first commits, whichever that is: the claim, a heartbeat, the word that an item is taken.
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_reaches_its_subscriber_whichever_commit_its_hosts_die_at() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let task = begin(&host, &Guest::new("")).await;
    host.wait(&task).await.unwrap();
    host.shutdown().await;
    let tellings = AtomicU32::new(0);
    let mut taken = false;
    for n in 2..20 {
        let plan = CrashPlan::at_nth(CrashPoint::BeforeCommit, n).host_only();
        // The heart beats on when nothing else is left to commit.
        let builder = Host::builder().data_dir(dir.path()).clock(clock.clone()).heartbeat(Duration::from_millis(10));
        let dies = builder.crash(plan).open().await.unwrap();
        let before = tellings.load(Ordering::Relaxed);
        let telling = async |item: FeedItem| {
            assert_eq!(item.task, task);
            tellings.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Error>(())
        };
        dies.subscription("agent").deliver(telling).await.unwrap();
        let told = tellings.load(Ordering::Relaxed) > before;
        assert!(!(taken && told), "what was taken is not told of again");
        taken = dies.subscription("agent").cursor().await.unwrap() == Some(1);
        assert!(!taken || tellings.load(Ordering::Relaxed) > 0, "what nobody was told of is not taken");
    }
    assert!(taken, "one of them got so far");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_may_begin_elsewhere_and_not_where_there_never_was_anything() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let old = begin(&host, &Guest::new("")).await;
    host.wait(&old).await.unwrap();
    let agent = host.subscription("agent");
    agent.seek(Some(host.feed_end().await.unwrap())).await.unwrap();
    let (mut told, _delivering) = deliver(&host, "agent", willing());
    let new = host.start(NewTask::new("test", "run")).await.unwrap().id;
    assert_eq!(told.recv().await.unwrap().task, new, "the old one is not told of");
    eventually(async || (agent.cursor().await.unwrap() == Some(2)).then_some(())).await;
    // Back to the beginning, while it is delivering.
    agent.seek(None).await.unwrap();
    assert_eq!(told.recv().await.unwrap().task, old);
    assert_eq!(told.recv().await.unwrap().task, new);
    let never = agent.seek(Some(99)).await.unwrap_err();
    assert!(matches!(never, Error::OutOfRange { .. }), "{never}");
    let long = host.subscription("x".repeat(257)).deliver(async |_| Ok::<_, Error>(())).await.unwrap_err();
    assert_eq!(long.to_string(), "the subscription's name is 257 bytes long; it may have 256");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_delivers_to_a_name_once_and_another_goes_on_when_it_stops() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let a = host_at(dir.path(), &clock).await;
    let b = host_at(dir.path(), &clock).await;
    let (mut by_a, delivering) = deliver(&a, "agent", willing());
    let task = begin(&a, &Guest::new("")).await;
    assert_eq!(by_a.recv().await.unwrap().task, task);
    let twice = a.subscription("agent").deliver(async |_| Ok::<_, Error>(())).await.unwrap_err();
    assert!(matches!(&twice, Error::AlreadyDelivering(name) if name == "agent"), "{twice}");
    let (mut by_b, _delivering) = deliver(&b, "agent", willing());
    let task = b.start(NewTask::new("test", "run")).await.unwrap().id;
    assert_eq!(by_a.recv().await.unwrap().task, task, "whoever runs it");
    a.shutdown().await;
    delivering.await.unwrap().unwrap();
    let task = b.start(NewTask::new("test", "run")).await.unwrap().id;
    assert_eq!(by_b.recv().await.unwrap().task, task);
    assert!(by_b.try_recv().is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn news_that_were_taken_before_they_were_delivered_are_an_error_and_not_skipped() {
    const DAY: Duration = Duration::from_secs(24 * 3_600);
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = Host::builder().data_dir(dir.path()).clock(clock.clone()).retention(10 * DAY).open().await.unwrap();
    let agent = host.subscription("agent");
    agent.seek(Some(0)).await.unwrap();
    let task = begin(&host, &Guest::new("")).await;
    host.wait(&task).await.unwrap();
    advancing(&clock, DAY, eventually(async || host.task(&task).await.is_err().then_some(()))).await;
    let missed = agent.deliver(async |_| Ok::<_, Error>(())).await.unwrap_err();
    assert!(matches!(missed, Error::FeedExpired { cursor: 0, oldest: 1 }), "{missed}");
    agent.seek(None).await.unwrap();
    let (mut told, _delivering) = deliver(&host, "agent", willing());
    let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
    assert_eq!(told.recv().await.unwrap().task, task);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hosts_in_one_process_know_nothing_of_each_other() {
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    // Their clocks and policies are their own.
    let (slow, fast) = (clock(), clock());
    let policy = Policy::parse("[plugins.test]\nalias = \"renamed\"").unwrap();
    let a = Host::builder().data_dir(one.path()).clock(slow).policy(policy).open().await.unwrap();
    let b = host_at(other.path(), &fast).await;
    let sleeps = |name: &str| Guest {
        manifest: manifest(name, "run"),
        ..Guest::new("(call $sleep (i64.const 60000) (i32.const 3000))")
    };
    a.install(sleeps("test").build()).await.unwrap();
    b.install(sleeps("other").build()).await.unwrap();
    assert!(matches!(b.start(NewTask::new("renamed", "run")).await, Err(Error::UnknownPlugin(_))));
    let of_a = a.start(NewTask::new("renamed", "run")).await.unwrap().id;
    let of_b = b.start(NewTask::new("other", "run")).await.unwrap().id;
    assert!(matches!(b.task(&of_a).await, Err(Error::UnknownTask(_))));
    event(&a, &of_a, "sleep", 0).await;
    assert_eq!(advancing(&fast, Duration::from_secs(10), b.wait(&of_b)).await.unwrap().state, TaskState::Completed);
    assert_eq!(a.task(&of_a).await.unwrap().state, TaskState::Waiting, "its clock stands still");
    b.shutdown().await;
    assert_eq!(a.cancel(&of_a).await.unwrap(), TaskState::Waiting, "it goes on when the other one has stopped");
    assert!(a.wait(&of_a).await.unwrap().state.is_terminal());
}

#[tokio::test(flavor = "current_thread")]
async fn a_host_works_in_a_runtime_of_one_thread() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let (mut told, delivering) = deliver(&host, "agent", willing());
    let task = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    // Another one computes all the while, and yields to the rest.
    let busy = Guest { manifest: manifest("busy", "run"), ..Guest::new(crate::common::FOR_EVER) };
    let busy = begin(&host, &busy).await;
    let mut ann = Person::new("ann").answers("go on?", true);
    assert_eq!(ann.attend(&host, &task).await.unwrap().state, TaskState::Completed);
    for kind in ["question", "reply", "ended"] {
        assert_eq!(told.recv().await.unwrap().event.kind.name(), kind);
    }
    host.cancel(&busy).await.unwrap();
    advancing(&clock, Duration::from_secs(1), host.wait(&busy)).await.unwrap();
    host.shutdown().await;
    delivering.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clone_of_a_host_is_the_same_host_and_the_last_one_stops_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let clones: Vec<Host> = (0..1_000).map(|_| host.clone()).collect();
    let owners =
        || -> i64 { database(dir.path()).query_row("SELECT count(*) FROM owner", [], |row| row.get(0)).unwrap() };
    assert_eq!(owners(), 1);
    drop(host);
    let task = begin(&clones[0], &Guest::new("")).await;
    assert_eq!(clones[999].wait(&task).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_failed_is_what_a_script_ends_with_and_not_what_was_never_asked() {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let fails = begin(&host, &Guest::new(&error(FAILED, None))).await;
    let ended = Person::new("ann").answers("go on", true).attend(&host, &fails).await.unwrap();
    assert_eq!((ended.state, ended.error.unwrap().code.as_str()), (TaskState::Failed, "failed"));
    let silent = begin(&host, &Guest::new("")).await;
    let unsaid = Person::new("ann").answers("go on", true).attend(&host, &silent).await.unwrap_err().to_string();
    assert_eq!(unsaid, "the task has completed, and ann was never asked about: [\"go on\"]");
}

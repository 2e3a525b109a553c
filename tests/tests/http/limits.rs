//! The limits of HTTP: obeyed, and named where they are reached.

use std::time::Duration;

use longhaul::{EventKind, Host, Limits, NewTask, Task, TaskId, TaskState};
use longhaul_tests::embedded::{answer_all, journal, until, with_probe};
use longhaul_tests::peer::Peer;
use longhaul_tests::worker::Worker;
use serde_json::{Value, json};

use crate::{host_and_peer, values};

/// What becomes of a task of the probe that may use so much, and why its requests failed.
async fn run(tool: &str, input: impl Fn(&Peer) -> Value, limits: Limits) -> (Task, Vec<String>, usize) {
    let (_dir, host, peer) = host_and_peer().await;
    let task = NewTask::new("probe", tool).input(input(&peer)).grant_http(peer.rule()).limits(limits);
    let id = host.start(task).await.unwrap().id;
    let task = host.wait(&id).await.unwrap();
    let failed = failures(&host, &id).await;
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, &replayed.output), (None, &task.output));
    host.shutdown().await;
    (task, failed, peer.seen().len())
}

/// Why its requests failed.
async fn failures(host: &Host, id: &TaskId) -> Vec<String> {
    let failed = journal(host, id).await.into_iter().filter_map(|event| match event.kind {
        EventKind::Http { error, .. } => error,
        _ => None,
    });
    failed.collect()
}

/// How a limit is named where it was reached.
fn said(limit: &str, value: &str) -> String {
    format!("limit `{limit}` = {value}; `--limit {limit}=…` raises it, up to `limits.{limit}` in longhaul.toml")
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_bodies_of_requests_and_responses_are_bounded() {
    let limits = Limits { http_body: 1_000, ..Limits::default() };
    let post = |fill: usize| move |peer: &Peer| json!({ "url": peer.url("/a"), "method": "POST", "fill": fill });
    let (task, failed, seen) = run("fetch", post(1_000), limits).await;
    assert_eq!((values(&task)[0], failed.len(), seen), ("status=200", 0, 1));
    let (task, _, seen) = run("fetch", post(1_001), limits).await;
    assert!(values(&task)[0].contains(&said("http_body", "1000")), "{:?}", values(&task));
    assert_eq!(seen, 0);
    let get = |bytes: usize| move |peer: &Peer| json!({ "url": peer.url(&format!("/bytes/{bytes}")) });
    let (task, failed, _) = run("fetch", get(1_000), limits).await;
    assert_eq!((values(&task)[0], failed.len()), ("status=200", 0));
    let (task, failed, _) = run("fetch", get(1_001), limits).await;
    assert!(values(&task).contains(&"kind=TooLarge"), "{:?}", values(&task));
    assert!(failed[0].contains(&said("http_body", "1000")), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_requests_and_their_bytes_are_counted_over_all_attempts() {
    let twice = |peer: &Peer| json!({ "url": peer.url("/bytes/10"), "times": 2, "end": "unavailable" });
    let exchanges = |http_exchanges| run("fetch", twice, Limits { http_exchanges, ..Limits::default() });
    let (task, failed, seen) = exchanges(4).await;
    assert_eq!((task.attempt, failed.len(), seen), (2, 0, 4));
    let (task, failed, seen) = exchanges(3).await;
    assert_eq!((task.attempt, failed.len(), seen), (2, 1, 3));
    assert!(failed[0].contains(&said("http_exchanges", "3")), "{failed:?}");
    let bytes = |http_bytes| run("fetch", twice, Limits { http_bytes, ..Limits::default() });
    let (_, failed, seen) = bytes(40).await;
    assert_eq!((failed.len(), seen), (0, 4));
    let (_, failed, seen) = bytes(39).await;
    assert_eq!((failed.len(), seen), (1, 4));
    assert!(failed[0].contains(&said("http_bytes", "39")), "{failed:?}");
}

/// A task that has sent ten bytes and received as many, and does so once more under another host: the first was killed.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_what_was_sent_and_received_counts_after_a_kill_and_a_restart() {
    let cases = [
        ("http_exchanges = 2\nhttp_bytes = 40", None),
        ("http_exchanges = 1", Some(said("http_exchanges", "1"))),
        ("http_bytes = 39", Some(said("http_bytes", "39"))),
    ];
    for (limits, named) in cases {
        let dir = tempfile::tempdir().unwrap();
        with_probe(dir.path()).await;
        let peer = Peer::start().await;
        let policy = format!("[plugins.probe]\nhttp = ['{}']\n[limits]\n{limits}\n", peer.rule());
        std::fs::write(dir.path().join("longhaul.toml"), policy).unwrap();
        let input = json!({ "url": peer.url("/bytes/10"), "method": "POST", "fill": 10, "times": 2, "ask": "Go on?" });
        let mut worker = Worker::new(dir.path());
        let id = worker.start("once", "fetch", &input);
        let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
        let id = host.find_task(&id).await.unwrap();
        until(&host, &id, |task| !task.questions.is_empty()).await;
        worker.kill();
        answer_all(&host, &id).await;
        let task = host.wait(&id).await.unwrap();
        assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
        let failed = failures(&host, &id).await;
        match &named {
            None => assert_eq!((failed.len(), peer.seen().len()), (0, 2), "{failed:?}"),
            Some(named) => assert!(failed.len() == 1 && failed[0].contains(named), "{failed:?}"),
        }
        host.shutdown().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_only_so_many_requests_are_under_way_at_once() {
    let (_dir, host, peer) = host_and_peer().await;
    let urls = |held: usize| (0..held).map(|n| peer.url(&format!("/held/{n}"))).collect::<Vec<_>>();
    let limits = Limits { http_in_flight: 2, ..Limits::default() };
    let start = |urls: Vec<String>| {
        let task = NewTask::new("probe", "fetch_several").input(json!({ "urls": urls })).grant_http(peer.rule());
        host.start(task.limits(limits))
    };
    let two = start(urls(2)).await.unwrap().id;
    peer.has_seen(2).await;
    let id = start(urls(3)).await.unwrap().id;
    peer.has_seen(4).await;
    peer.release();
    let all = host.wait(&two).await.unwrap();
    assert_eq!(values(&all).iter().filter(|value| **value == "status=200").count(), 2, "{all:?}");
    let task = host.wait(&id).await.unwrap();
    let values = values(&task);
    assert_eq!(values.iter().filter(|value| **value == "status=200").count(), 2, "{values:?}");
    assert!(values.iter().any(|value| value.contains(&said("http_in_flight", "2"))), "{values:?}");
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_response_that_does_not_come_in_time_is_not_waited_for() {
    let (short, long) = (Duration::from_millis(200), Duration::from_secs(30));
    let held = |limits| run("fetch", |peer| json!({ "url": peer.url("/held/a") }), limits);
    for (first_byte, time, named) in [(short, long, "http_first_byte"), (long, short, "http_time")] {
        let limits = Limits { http_first_byte: first_byte, http_time: time, ..Limits::default() };
        let (task, failed, _) = held(limits).await;
        assert!(values(&task).contains(&"kind=Timeout"), "{:?}", values(&task));
        assert!(failed[0].contains(&said(named, "200ms")), "{failed:?}");
    }
    // What is as quick as its limits say is waited for.
    let limits = Limits { http_first_byte: long, http_time: long, ..Limits::default() };
    let (task, ..) = run("fetch", |peer| json!({ "url": peer.url("/a") }), limits).await;
    assert_eq!(values(&task)[0], "status=200");
}

/// Names and values, and 32 bytes for each header. The probe's request has the one that it is told to have.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_headers_may_have_as_many_bytes_as_their_limit_and_not_one_more() {
    let input = |peer: &Peer| json!({ "url": peer.url("/a"), "headers": { "x-long": "v".repeat(1_000) } });
    let bytes = "x-long".len() as u64 + 1_000 + 32;
    let (task, failed, seen) = run("fetch", input, Limits { http_headers: bytes, ..Limits::default() }).await;
    assert_eq!((values(&task)[0], failed.len(), seen), ("status=200", 0, 1));
    let (task, _, seen) = run("fetch", input, Limits { http_headers: bytes - 1, ..Limits::default() }).await;
    let error = task.error.unwrap();
    assert!(error.message.contains(&said("http_headers", "1037")) && seen == 0, "{}", error.message);
}

//! The limits of HTTP: obeyed, and named where they are reached.

use longhaul::{EventKind, Limits, NewTask, Task};
use longhaul_tests::embedded::journal;
use longhaul_tests::peer::Peer;
use serde_json::{Value, json};

use crate::{host_and_peer, values};

/// What becomes of a task of the probe that may use so much, and why its requests failed.
async fn run(tool: &str, input: impl Fn(&Peer) -> Value, limits: Limits) -> (Task, Vec<String>, usize) {
    let (_dir, host, peer) = host_and_peer().await;
    let task = NewTask::new("probe", tool).input(input(&peer)).grant_http(peer.rule()).limits(limits);
    let id = host.start(task).await.unwrap().id;
    let task = host.wait(&id).await.unwrap();
    let failed = journal(&host, &id).await.into_iter().filter_map(|event| match event.kind {
        EventKind::Http { error, .. } => error,
        _ => None,
    });
    let failed = failed.collect();
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, &replayed.output), (None, &task.output));
    host.shutdown().await;
    (task, failed, peer.seen().len())
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_bodies_of_requests_and_responses_are_bounded() {
    let limits = Limits { http_body: 1_000, ..Limits::default() };
    let post = |fill: usize| move |peer: &Peer| json!({ "url": peer.url("/a"), "method": "POST", "fill": fill });
    let (task, failed, seen) = run("fetch", post(1_000), limits).await;
    assert_eq!((values(&task)[0], failed.len(), seen), ("status=200", 0, 1));
    let (task, _, seen) = run("fetch", post(1_001), limits).await;
    assert!(values(&task)[0].contains("limit `http_body`"), "{:?}", values(&task));
    assert_eq!(seen, 0);
    let get = |bytes: usize| move |peer: &Peer| json!({ "url": peer.url(&format!("/bytes/{bytes}")) });
    let (task, failed, _) = run("fetch", get(1_000), limits).await;
    assert_eq!((values(&task)[0], failed.len()), ("status=200", 0));
    let (task, failed, _) = run("fetch", get(1_001), limits).await;
    assert!(values(&task).contains(&"kind=TooLarge"), "{:?}", values(&task));
    assert!(failed[0].contains("http_body"), "{failed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_requests_and_their_bytes_are_counted_over_all_attempts() {
    let twice = |peer: &Peer| json!({ "url": peer.url("/bytes/10"), "times": 2, "end": "unavailable" });
    let limits = Limits { http_exchanges: 3, ..Limits::default() };
    let (task, failed, seen) = run("fetch", twice, limits).await;
    assert_eq!((task.attempt, failed.len(), seen), (2, 1, 3));
    assert!(failed[0].contains("limit `http_exchanges`"), "{failed:?}");
    let limits = Limits { http_bytes: 35, ..Limits::default() };
    let (_, failed, seen) = run("fetch", twice, limits).await;
    assert_eq!((failed.len(), seen), (1, 4));
    assert!(failed[0].contains("http_bytes"), "{failed:?}");
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
    let id = start(urls(3)).await.unwrap().id;
    peer.has_seen(2).await;
    peer.release();
    let task = host.wait(&id).await.unwrap();
    let values = values(&task);
    assert_eq!(values.iter().filter(|value| **value == "status=200").count(), 2, "{values:?}");
    assert!(values.iter().any(|value| value.contains("limit `http_in_flight`")), "{values:?}");
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_response_that_does_not_come_in_time_is_not_waited_for() {
    let limits = Limits { http_first_byte: std::time::Duration::from_millis(200), ..Limits::default() };
    let (task, failed, _) = run("fetch", |peer| json!({ "url": peer.url("/held/a") }), limits).await;
    assert!(values(&task).contains(&"kind=Timeout"), "{:?}", values(&task));
    assert!(failed[0].contains("http_first_byte"), "{failed:?}");
}

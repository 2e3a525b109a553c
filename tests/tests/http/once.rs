//! Promise 4: what leaves the host happens at least once, and once for a peer that honours the key.

use std::path::Path;

use longhaul::{Host, NewTask, TaskState};
use longhaul_tests::audit::{audit, number};
use longhaul_tests::embedded::{journal, with_probe};
use longhaul_tests::peer::Peer;
use longhaul_tests::worker::Worker;
use serde_json::json;

use crate::{host_and_peer, start, values};

/// Grants the probe what a rule allows.
fn grant(data: &Path, rule: &str) {
    std::fs::write(data.join("longhaul.toml"), format!("[plugins.probe]\nhttp = [\"{rule}\"]\n")).unwrap();
}

/// Starts a tool in a process that is killed while the peer holds what it was sent; and the host that goes on.
async fn killed_under_way(peer: &Peer, rule: &str, method: &str) -> (tempfile::TempDir, Host, longhaul::TaskId) {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    grant(dir.path(), rule);
    let mut worker = Worker::new(dir.path());
    let input = json!({ "url": peer.url("/held/order"), "method": method, "body": "one order" });
    let id = worker.start("order", "fetch", &input);
    peer.has_seen(1).await;
    worker.kill();
    peer.release();
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let id = host.find_task(&id).await.unwrap();
    (dir, host, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_4_a_request_under_way_when_its_host_is_killed_is_sent_again_with_the_same_key() {
    let peer = Peer::start().await;
    let (dir, host, id) = killed_under_way(&peer, &peer.rule(), "POST").await;
    let task = host.wait(&id).await.unwrap();
    assert_eq!(values(&task)[0], "status=200");
    let seen = peer.seen();
    assert_eq!(seen.len(), 2, "{seen:?}");
    assert_eq!(peer.keys().len(), 1, "a peer that honours the key does it once: {seen:?}");
    assert!(seen.iter().all(|seen| seen.key.is_some() && seen.body == "one order"));
    assert_eq!(task.attempt, 1);
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, &replayed.output), (None, &task.output));
    host.shutdown().await;
    assert_eq!(audit(dir.path()), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_4_a_request_that_only_reads_is_sent_again_without_a_key() {
    let peer = Peer::start().await;
    let (_dir, host, id) = killed_under_way(&peer, &peer.rule(), "GET").await;
    assert_eq!(values(&host.wait(&id).await.unwrap())[0], "status=200");
    assert_eq!((peer.seen().len(), peer.keys().len()), (2, 0));
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_4_a_request_in_doubt_is_not_sent_again_where_its_rule_says_so() {
    let peer = Peer::start().await;
    let rule = format!("{} in-doubt=fail", peer.rule());
    let (_dir, host, id) = killed_under_way(&peer, &rule, "POST").await;
    let task = host.wait(&id).await.unwrap();
    assert!(values(&task)[0].contains("is not sent again"), "{:?}", values(&task));
    assert_eq!(peer.seen().len(), 1);
    host.shutdown().await;
}

/// Killed at each of its own steps, from when it is started: what arrives is told apart by nothing but its key.
#[tokio::test(flavor = "multi_thread")]
async fn promise_4_a_process_killed_at_any_commit_of_a_task_that_sends_repeats_no_key_that_was_answered() {
    const REQUESTS: usize = 2;
    for point in ["before-commit", "after-commit", "effect"] {
        let mut deaths = 0;
        loop {
            let peer = Peer::start().await;
            let dir = tempfile::tempdir().unwrap();
            with_probe(dir.path()).await;
            grant(dir.path(), &peer.rule());
            let plan = format!("{point}:{}", deaths + 1);
            let mut worker = Worker::spawn(dir.path(), &mut |command| command.env("LONGHAUL_CRASH_AT", &plan));
            let input = json!({ "url": peer.url("/a"), "method": "POST", "times": REQUESTS });
            worker.ask("pay", "fetch", &input);
            // It dies, or has come to the end.
            let ended = "SELECT count(*) FROM task WHERE ended_at IS NOT NULL";
            let crashed = loop {
                if worker.has_ended() {
                    break true;
                }
                if dir.path().join("longhaul.db").exists() && number(dir.path(), ended) == 1 {
                    break false;
                }
                tokio::task::yield_now().await;
            };
            drop(worker);
            let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
            let again = NewTask::new("probe", "fetch").input(input).idempotency_key("pay");
            let id = host.start(again).await.unwrap().id;
            let task = host.wait(&id).await.unwrap();
            assert_eq!(task.state, TaskState::Completed, "{plan}: {:?}", task.error);
            assert_eq!(peer.keys().len(), REQUESTS, "{plan}: {:?}", peer.seen());
            assert!(peer.seen().len() <= REQUESTS + 1, "{plan}: {:?}", peer.seen());
            let told = journal(&host, &id).await.iter().filter(|event| event.kind.name() == "http").count();
            assert_eq!(told, REQUESTS, "{plan}");
            host.shutdown().await;
            assert_eq!(audit(dir.path()), [""; 0], "{plan}");
            if !crashed {
                break;
            }
            deaths += 1;
        }
        assert!(deaths >= 4, "only {deaths} deaths at {point}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_4_an_attempt_that_begins_anew_repeats_no_key_that_was_answered() {
    let (_dir, host, peer) = host_and_peer().await;
    let input = json!({ "url": peer.url("/a"), "method": "POST", "end": "unavailable" });
    let id = start(&host, &peer, "fetch", input).await;
    let task = host.wait(&id).await.unwrap();
    assert_eq!((task.attempt, peer.seen().len(), peer.keys().len()), (2, 2, 2));
    // A key of the tool's own stays.
    let headers = json!({ "Idempotency-Key": "mine" });
    let input = json!({ "url": peer.url("/b"), "method": "POST", "end": "unavailable", "headers": headers });
    let id = start(&host, &peer, "fetch", input).await;
    host.wait(&id).await.unwrap();
    assert_eq!(peer.seen().iter().filter(|seen| seen.key.as_deref() == Some("mine")).count(), 2);
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_4_an_attempt_that_begins_anew_sends_a_request_with_a_placeholder_under_the_same_key() {
    let (dir, host, peer) = host_and_peer().await;
    let (secret, rule) = (dir.path().join("token"), peer.rule());
    std::fs::write(&secret, "one secret of enough length").unwrap();
    let usage = format!("{{ to = [{rule:?}], as = {{ placeholder = \"body\" }} }}");
    let policy = format!("[secrets]\ntoken = {{ file = {secret:?} }}\n[plugins.probe]\nsecrets.token = {usage}\n");
    std::fs::write(dir.path().join("longhaul.toml"), policy).unwrap();
    // The first is given up without a response; and so the second is the same request.
    let input = json!({
        "url": peer.url("/held/a"), "method": "POST", "secret": "token", "body": "pay with {secret}", "timeout_ms": 3000,
        "end": "unavailable",
    });
    let id = start(&host, &peer, "fetch", input).await;
    let task = host.wait(&id).await.unwrap();
    assert_eq!((task.attempt, peer.seen().len(), peer.keys().len()), (2, 2, 1), "{:?}", peer.seen());
    assert!(peer.seen().iter().all(|seen| seen.body == "pay with one secret of enough length"), "{:?}", peer.seen());
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_task_that_waits_for_a_response_hears_that_it_is_to_stop_and_can_still_clean_up() {
    let (_dir, host, peer) = host_and_peer().await;
    let input = json!({ "url": peer.url("/held/a"), "times": 1 });
    let id = start(&host, &peer, "fetch", input).await;
    peer.has_seen(1).await;
    host.cancel(&id).await.unwrap();
    let task = host.wait(&id).await.unwrap();
    // It was told, and came to its end by itself.
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
    assert!(values(&task)[0].contains("asked to stop"), "{:?}", values(&task));
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_stops_leaves_a_request_under_way_to_the_next() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let peer = Peer::start().await;
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let input = json!({ "url": peer.url("/held/a"), "method": "POST" });
    let id = start(&host, &peer, "fetch", input).await;
    peer.has_seen(1).await;
    host.shutdown().await;
    peer.release();
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let task = host.wait(&id).await.unwrap();
    assert_eq!((task.state, values(&task)[0]), (TaskState::Completed, "status=200"));
    assert_eq!((peer.seen().len(), peer.keys().len()), (2, 1));
    host.shutdown().await;
}

//! Requests and responses, live and replayed.

use longhaul::{EventKind, Host, NewTask, TaskState};
use longhaul_tests::embedded::{component, journal};
use longhaul_tests::peer::Peer;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::{host_and_peer, start, values};

#[tokio::test(flavor = "multi_thread")]
async fn promise_3_a_replay_is_given_the_same_responses_and_sends_nothing() {
    let (dir, host, peer) = host_and_peer().await;
    let input = json!({
        "url": peer.url("/echo"), "method": "PUT", "body": "hello ", "fill": 200_000, "times": 2,
        "headers": { "x-client": "probe" },
    });
    let id = start(&host, &peer, "fetch", input).await;
    let task = host.wait(&id).await.unwrap();
    let once = ["status=200", "type=Some(\"text/plain\")", "bytes=200006"];
    assert_eq!(values(&task), [once, once].concat());
    let sent = peer.seen();
    assert_eq!(sent.len(), 2);
    assert!(sent.iter().all(|seen| seen.method == "PUT" && seen.body.len() == 200_006));
    let entries: Vec<_> = journal(&host, &id).await.into_iter().map(|event| event.kind).collect();
    let told =
        |kind: &EventKind| matches!(kind, EventKind::Http { status: Some(200), sent: 200_006, received: 200_006, .. });
    assert_eq!(entries.iter().filter(|kind| told(kind)).count(), 2, "{entries:?}");
    let url = peer.url("/echo");
    assert!(
        entries.iter().any(|kind| matches!(kind, EventKind::Http { url: told, .. } if *told == url)),
        "{entries:?}"
    );
    // Nobody is there any more, and nobody is asked.
    peer.stop().await;
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, &replayed.output), (None, &task.output));
    assert_eq!(replayed.recorded_fuel, Some(replayed.fuel));
    host.shutdown().await;
    longhaul_tests::embedded::sound(dir.path());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_was_dropped_in_a_wait_goes_on_after_its_responses() {
    let dir = tempfile::tempdir().unwrap();
    longhaul_tests::embedded::with_probe(dir.path()).await;
    let host = Host::builder().data_dir(dir.path()).warm(std::time::Duration::ZERO).open().await.unwrap();
    let peer = Peer::start().await;
    let input = json!({ "url": peer.url("/a"), "method": "POST", "times": 3, "ask": "Go on?" });
    let id = start(&host, &peer, "fetch", input).await;
    longhaul_tests::embedded::answer_all(&host, &id).await;
    let task = host.wait(&id).await.unwrap();
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
    assert_eq!(peer.seen().len(), 3, "each was sent once");
    assert_eq!(peer.keys().len(), 3, "what was answered is not the same request again");
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_are_under_way_at_once_and_are_seen_as_they_come() {
    let (_dir, host, peer) = host_and_peer().await;
    let urls: Vec<_> = ["/held/1", "/held/2", "/free"].map(|path| peer.url(path)).into();
    let id = start(&host, &peer, "fetch_several", json!({ "urls": urls })).await;
    peer.has_seen(3).await;
    // The one that is not held is seen while the others are under way.
    let mut events = std::pin::pin!(host.events(&id, 0));
    while let Some(event) = futures_util::TryStreamExt::try_next(&mut events).await.unwrap() {
        if matches!(event.kind, EventKind::Http { .. }) {
            break;
        }
    }
    peer.release();
    let task = host.wait(&id).await.unwrap();
    let values = values(&task);
    assert_eq!((values[0], values.len()), ("place=2", 12), "{values:?}");
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, &replayed.output), (None, &task.output));
    host.shutdown().await;
}

/// A server that answers once, in pieces with a trailer after them.
async fn answers_with_trailers() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(stream.read_u8().await.unwrap());
        }
        let response = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\ntrailer: x-sum\r\n\r\n\
                        4\r\none \r\n4\r\ntwo \r\n5\r\nthree\r\n0\r\nx-sum: 6\r\n\r\n";
        stream.write_all(response.as_bytes()).await.unwrap();
    });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn trailers_come_with_their_response_and_are_replayed() {
    let (_dir, host, _peer) = host_and_peer().await;
    let url = answers_with_trailers().await;
    let task = NewTask::new("probe", "fetch").input(json!({ "url": url })).grant_http(url);
    let id = host.start(task).await.unwrap().id;
    let task = host.wait(&id).await.unwrap();
    let expected = ["status=200", "type=Some(\"text/plain\")", "body=\"one two three\"", "trailer=\"6\""];
    assert_eq!(values(&task), expected);
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, &replayed.output), (None, &task.output));
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_of_other_http_libraries_work_as_they_are() {
    let (_dir, host, peer) = host_and_peer().await;
    for guest in ["with-wstd", "with-waki"] {
        host.install(component(guest)).await.unwrap();
        let input = json!({ "url": peer.url("/echo"), "body": "x".repeat(100_000) });
        let task = NewTask::new(guest, "send").input(input).grant_http(peer.rule());
        let id = host.start(task).await.unwrap().id;
        let task = host.wait(&id).await.unwrap();
        let output = task.output.unwrap_or_else(|| panic!("{guest}: {:?}", task.error)).structured.unwrap();
        assert_eq!(output["status"], 200, "{guest}");
        assert_eq!(output["body"].as_str().map(str::len), Some(100_000), "{guest}");
        let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
        assert_eq!(replayed.diverged, None, "{guest}");
    }
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_what_was_not_granted_is_refused_and_the_journal_says_what_would_allow_it() {
    let (_dir, host, peer) = host_and_peer().await;
    let input = json!({ "url": peer.url("/secret?of=nobody") });
    let id = host.start(NewTask::new("probe", "fetch").input(input)).await.unwrap().id;
    let task = host.wait(&id).await.unwrap();
    assert!(values(&task).contains(&"kind=Refused"), "{:?}", values(&task));
    assert_eq!(peer.seen().len(), 0);
    let entries = journal(&host, &id).await;
    let refused = entries.iter().filter_map(|event| match &event.kind {
        EventKind::Refused { what, .. } => Some(what.as_str()),
        _ => None,
    });
    let refused: Vec<_> = refused.collect();
    assert!(matches!(refused[..], [what] if what.contains(&peer.authority())), "{refused:?}");
    // It would be allowed by now; a replay asks nobody.
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, replayed.output), (None, task.output));
    assert_eq!(journal(&host, &id).await.len(), entries.len());
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_3_a_replayed_guest_that_sends_another_request_is_stopped_and_both_are_named() {
    let (dir, host, peer) = host_and_peer().await;
    let id = start(&host, &peer, "fetch", json!({ "url": peer.url("/one") })).await;
    host.wait(&id).await.unwrap();
    let other: Value = json!({ "url": peer.url("/other") });
    longhaul_tests::audit::database(dir.path()).execute("UPDATE task SET input = ?1", [other.to_string()]).unwrap();
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    let diverged = replayed.diverged.expect("it does something else");
    assert!(diverged.arguments.contains(&peer.url("/other")), "{diverged}");
    assert_eq!(diverged.did, "an HTTP request");
    assert_eq!(peer.seen().len(), 1);
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_is_damaged_in_the_journal_is_found_and_named() {
    let (dir, host, peer) = host_and_peer().await;
    let id = start(&host, &peer, "fetch", json!({ "url": peer.url("/one") })).await;
    host.wait(&id).await.unwrap();
    host.shutdown().await;
    longhaul_tests::embedded::sound(dir.path());
    // One file is all of it.
    let database = |path: &std::path::Path| longhaul_tests::audit::database(path);
    database(dir.path()).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    for (damage, told) in [
        ("blob = NULL", "what came back is not there"),
        ("blob = substr(blob, 1, 20)", "what came back is not there"),
        ("blob = substr(blob, 1, length(blob) - 1)", "what came back is not what it tells of"),
        ("data = replace(data, '\"status\":200', '\"status\":500')", "what came back is not what it tells of"),
    ] {
        let damaged = tempfile::tempdir().unwrap();
        std::fs::copy(dir.path().join("longhaul.db"), damaged.path().join("longhaul.db")).unwrap();
        let changed = format!("UPDATE entry SET {damage} WHERE kind = 'http'");
        assert_eq!(database(damaged.path()).execute(&changed, []).unwrap(), 1);
        let found = longhaul::examine(damaged.path()).unwrap();
        let named = found.findings.iter().find(|finding| finding.problem.contains(told));
        let named = named.unwrap_or_else(|| panic!("{damage}: {:?}", found.findings));
        assert!(named.damage && named.at.starts_with(&format!("task {id}, entry ")), "{named:?}");
    }
}

//! Clients that ask for too much, or never say what they want.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use longhaul_tests::cli::Cli;
use longhaul_tests::server::{Agent, until};
use serde_json::json;

fn configured(cli: &Cli, text: &str) {
    std::fs::create_dir_all(cli.data()).expect("a folder");
    std::fs::write(cli.data().join("longhaul.toml"), text).expect("a file");
}

fn connect(url: &str) -> TcpStream {
    let stream = TcpStream::connect(url.trim_start_matches("http://")).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    stream
}

#[tokio::test]
async fn a_client_that_never_finishes_its_headers_is_dropped_and_one_that_does_is_answered() {
    let cli = Cli::new();
    configured(&cli, "[server]\nheader_seconds = 1\n");
    let server = cli.serve(&[]);
    let begun = Instant::now();
    let (mut silent, mut slow) = (connect(server.url()), connect(server.url()));
    slow.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ").expect("it is sent");
    let mut finished = connect(server.url());
    finished.write_all(b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n").expect("it is sent");
    let mut answer = String::new();
    finished.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    for stream in [&mut silent, &mut slow] {
        let mut rest = Vec::new();
        // Closed, perhaps with a word about why; an error would be the timeout of this test.
        let ended = stream.read_to_end(&mut rest);
        assert!(ended.is_ok() && !rest.starts_with(b"HTTP/1.1 200"), "{ended:?} {rest:?}");
    }
    assert!(begun.elapsed() >= Duration::from_secs(1), "they had their time");
    // A request that takes long once it is known is no slow client.
    let agent = server.agent();
    let id = agent.start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    let last = agent.settled(&id).await["last_seq"].clone();
    agent.get(format!("/v1/tasks/{id}?wait=3s&after={last}")).await.is(200);
}

/// The whole of an answer, to the end of its connection.
fn rest(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an answer, not the timeout of this test");
    String::from_utf8_lossy(&answer).into_owned()
}

fn head(agent: &Agent, path: &str, bytes: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\ncontent-length: {bytes}\r\n\r\n",
        agent.token()
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_never_comes_or_trickles_gets_408_and_a_slow_one_that_comes_is_taken() {
    let cli = Cli::new();
    configured(&cli, "[server]\nbody_seconds = 1\n");
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = agent.start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    let last = agent.settled(&id).await["last_seq"].clone();
    // Whoever waits for an answer, or reads a stream, has sent all that they were to send.
    let mut events = agent.stream(&format!("/v1/tasks/{id}/events?after={last}"), None).await;
    let poll = tokio::spawn({
        let (agent, path) = (agent.clone(), format!("/v1/tasks/{id}?wait=4s&after={last}"));
        async move { agent.get(path).await }
    });

    let paths = ["/v1/tasks", "/v1/plugins", "/mcp", "/v1/session"];
    let stuck = paths.map(|path| {
        let mut stream = connect(server.url());
        stream.write_all(head(&agent, path, 100).as_bytes()).expect("it is sent");
        stream
    });
    let mut trickle = connect(server.url());
    trickle.write_all(head(&agent, "/v1/tasks", 1_000_000).as_bytes()).expect("it is sent");
    let trickling = std::thread::spawn(move || {
        let mut sent = 0;
        // It ends when the server has closed its end.
        while sent < 1_000 && trickle.write_all(b" ").is_ok() {
            sent += 1;
            std::thread::sleep(Duration::from_millis(100));
        }
        sent
    });
    let body = json!({ "plugin": "probe", "tool": "noop", "context": "x".repeat(60_000) }).to_string();
    let mut steady = connect(server.url());
    steady.write_all(head(&agent, "/v1/tasks", body.len()).as_bytes()).expect("it is sent");
    for chunk in body.as_bytes().chunks(2_000) {
        steady.write_all(chunk).expect("it is taken");
        std::thread::sleep(Duration::from_millis(100));
    }
    let mut answer = [0; 12];
    steady.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"HTTP/1.1 202", "three times its patience, in small pieces");
    for (mut stream, path) in stuck.into_iter().zip(paths) {
        let answer = rest(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("urn:longhaul:too-slow"), "{path}: {answer}");
        assert!(answer.contains("`body_seconds`"), "{answer}");
    }
    assert!(trickling.join().expect("it ends") < 1_000);
    poll.await.expect("it ends").is(200);
    agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({ "value": true })).await.is(200);
    events.until("ended").await;
}

#[tokio::test]
async fn whoever_opens_many_connections_and_says_nothing_keeps_nobody_out() {
    let cli = Cli::new();
    configured(&cli, "[server]\nconnections = 8\nheader_seconds = 600\n");
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = agent.start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    agent.settled(&id).await;
    let mut events = agent.stream(&format!("/v1/tasks/{id}/events"), None).await;
    events.until("question").await;
    let flood: Vec<_> = (0..40)
        .map(|n| {
            let mut stream = connect(server.url());
            // Some begin, and some are answered and stay.
            let said: &[u8] = match n % 3 {
                0 => b"",
                1 => b"GET /healthz HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ",
                _ => b"POST /v1/session HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n",
            };
            stream.write_all(said).expect("it is sent");
            stream
        })
        .collect();
    for _ in 0..20 {
        let mut own = connect(server.url());
        let get = format!(
            "GET /v1/tools HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
            agent.token()
        );
        own.write_all(get.as_bytes()).expect("it is sent");
        let answer = rest(&mut own);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    let dropped = flood.into_iter().filter(|stream| {
        stream.set_nonblocking(true).expect("a socket");
        !matches!(stream.peek(&mut [0]), Err(error) if error.kind() == std::io::ErrorKind::WouldBlock)
    });
    assert!(dropped.count() >= 32, "there are 8 at once");
    // The stream was there before, and is.
    agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({ "value": true })).await.is(200);
    events.until("ended").await;
}

#[tokio::test]
async fn where_all_connections_are_at_work_another_is_told_so_and_to_come_again() {
    let cli = Cli::new();
    configured(&cli, "[server]\nconnections = 3\n");
    let server = cli.serve(&[]);
    let agent = server.agent();
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(server.agent_with(agent.token()).stream("/v1/feed", None).await);
    }
    let refused = server.agent_with(agent.token()).get("/v1/tools").await;
    assert_eq!(refused.header("retry-after"), "5");
    let problem = refused.problem(503, "too-many-connections");
    assert!(problem["detail"].as_str().is_some_and(|said| said.contains("3 connections")), "{problem}");
    drop(streams.pop());
    until(async || server.agent_with(agent.token()).get("/v1/tools").await.status == 200).await;
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_answers_is_dropped() {
    let cli = Cli::new();
    configured(&cli, "[server]\nbody_seconds = 1\n");
    let server = cli.serve(&[]);
    let mut stream = connect(server.url());
    stream.set_write_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    // Each asks for a page of some ten kilobytes; nothing is read.
    let error = loop {
        if let Err(error) = stream.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n") {
            break error;
        }
    };
    let kind = error.kind();
    assert!(matches!(kind, std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::BrokenPipe), "{error}");
}

#[tokio::test]
async fn a_hundred_readers_that_vanish_leave_their_places_to_others() {
    let cli = Cli::new();
    configured(&cli, "[server]\nstreams = 100\n");
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = agent.start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    let path = format!("/v1/tasks/{id}/events");
    for _ in 0..2 {
        let mut readers = Vec::new();
        for _ in 0..100 {
            readers.push(agent.stream(&path, None).await);
        }
        agent.get(&path).await.problem(429, "rate-limited");
        drop(readers);
        until(async || agent.get("/v1/feed?wait=1ms").await.status == 200).await;
        // All of them, not one alone: the next round says so.
        until(async || {
            let mut polls = tokio::task::JoinSet::new();
            for _ in 0..100 {
                let agent = agent.clone();
                polls.spawn(async move { agent.get("/v1/feed?after=latest&wait=200ms").await.status });
            }
            polls.join_all().await.into_iter().all(|status| status == 200)
        })
        .await;
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let token = cli.token(&["gone"]);
    let (gone, stays) = (server.agent_with(&token), server.agent());
    let mut streams = [gone.stream("/v1/feed", None).await, gone.stream("/v1/tasks", None).await];
    let mut other = stays.stream("/v1/feed", None).await;
    let id = cli.run(&["token", "ls", "--json"]).json().into_iter().find(|token| token["name"] == "gone").unwrap();
    cli.run(&["token", "revoke", id["id"].as_str().unwrap()]).exits(0);
    streams[1].next().await.expect("the page");
    for stream in &mut streams {
        stream.ends().await;
    }
    gone.get("/v1/feed").await.problem(401, "unauthorized");
    let noop = stays.start("noop", json!({})).await;
    assert_eq!(other.next().await.expect("it goes on").data["task"], json!(noop));
}

#[tokio::test]
async fn a_full_queue_answers_429_and_says_when_to_come_again() {
    let cli = Cli::new();
    configured(&cli, "[host.namespace_queue]\nrunning = 1\nqueued = 1\n");
    let server = cli.serve(&[]);
    let agent = server.agent();
    let busy = json!({ "plugin": "probe", "tool": "spin" });
    let mut refused = None;
    for _ in 0..20 {
        let answer = agent.post("/v1/tasks", busy.clone()).await;
        if answer.status == 429 {
            refused = Some(answer);
            break;
        }
        answer.is(202);
    }
    let refused = refused.expect("one is refused");
    let seconds: u64 = refused.header("retry-after").parse().expect("whole seconds");
    assert!(seconds >= 1, "{seconds}");
    let problem = refused.problem(429, "queue-full");
    assert!(problem["detail"].as_str().expect("a text").contains("limit `"), "{problem}");
    // Nothing was taken of it: another tenant, who has room, is served.
    let other = server.agent_with(&cli.token(&["other", "--namespace", "other"]));
    other.post("/v1/tasks", json!({ "plugin": "probe", "tool": "noop" })).await.is(202);
}

//! Clients that ask for too much, or never say what they want.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use longhaul_tests::cli::Cli;
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
    agent.settled(&id).await;
    agent.get(format!("/v1/tasks/{id}?wait=3s&after=1000")).await.is(200);
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

//! Requests that no client of ours sends.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use longhaul::{Host, NewToken, Scope, SimulatedClock, Timestamp};
use longhaul_server::{Config, Server};
use longhaul_tests::cli::{Cli, component};
use longhaul_tests::embedded::with_probe;
use longhaul_tests::server::{Agent, client, json, send};
use reqwest::Method;
use serde_json::{Value, json as value};
use tokio::net::TcpListener;

/// Sends these bytes with the token and a host, and reads what comes back: the status, the head, and the body.
fn raw(url: &str, agent: &Agent, request: &str, headers: &str, body: &[u8]) -> (u16, String, Value) {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
    let host = if headers.contains("host:") { "" } else { "host: 127.0.0.1\r\n" };
    let token = if headers.contains("authorization:") {
        String::new()
    } else {
        format!("authorization: Bearer {}\r\n", agent.token())
    };
    let head = format!("{request}\r\n{host}{token}{headers}connection: close\r\n\r\n");
    stream.write_all(&[head.as_bytes(), body].concat()).expect("it is sent");
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        // A server that closes before it has read all takes back what it said, perhaps.
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{request}");
    }
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    (status, head.to_ascii_lowercase(), serde_json::from_str(body).unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_makes_no_sense_gets_one_problem_that_says_what_is_wrong() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = agent.start("ask", value!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    agent.settled(&id).await;
    let long = "x".repeat(20_000);
    for (path, status, name) in [
        (format!("/v1/tasks/{id}?wait=1e9"), 400, "invalid-request"),
        (format!("/v1/tasks/{id}?wait=-1s"), 400, "invalid-request"),
        (format!("/v1/tasks/{id}?wait=1s&wait=2s"), 400, "invalid-request"),
        (format!("/v1/tasks/{id}?after=-1"), 400, "invalid-request"),
        (format!("/v1/tasks/{id}?after=18446744073709551616"), 400, "invalid-request"),
        (format!("/v1/tasks/{id}?after=18446744073709551615"), 422, "out-of-range"),
        (format!("/v1/tasks/{id}?after=9223372036854775807&wait=60s"), 422, "out-of-range"),
        (format!("/v1/tasks/{id}/events?after=18446744073709551615"), 422, "out-of-range"),
        (format!("/v1/tasks/{id}/questions/4294967296"), 404, "not-found"),
        (format!("/v1/tasks/{id}/questions/-1"), 404, "not-found"),
        (format!("/v1/tasks/{id}/questions/0"), 404, "unknown-question"),
        (format!("/v1/tasks/{long}"), 404, "unknown-task"),
        ("/v1/tasks/a%2Fb".into(), 404, "unknown-task"),
        (format!("/v1/tasks/{id}%2Fevents"), 404, "unknown-task"),
        (format!("/v1/tasks/..%2F{id}"), 404, "unknown-task"),
        (format!("/v1/tasks/{}", id.to_uppercase()), 404, "unknown-task"),
        ("/v1/tasks/%ff".into(), 404, "not-found"),
        ("/v1/tasks/%00".into(), 404, "unknown-task"),
        ("/v1/tasks/%F0%9F%90%99".into(), 404, "unknown-task"),
        ("/v1/plugins/%C3%BCber%2Fall".into(), 404, "unknown-plugin"),
        ("/v1/plugins/%ff".into(), 404, "not-found"),
        (format!("/v1/plugins/{long}/needs"), 404, "unknown-plugin"),
        ("/v1/tasks?limit=-1".into(), 400, "invalid-request"),
        ("/v1/tasks?limit=99999999999999999999".into(), 400, "invalid-request"),
        ("/v1/deliveries?cursor=-5".into(), 400, "invalid-request"),
        ("/v1/tasks/".into(), 404, "not-found"),
        ("//v1/tasks".into(), 404, "not-found"),
        ("/v1/../v1/nothing".into(), 404, "not-found"),
        ("/assets/%ff".into(), 404, "not-found"),
    ] {
        let (found, head, problem) = raw(server.url(), &agent, &format!("GET {path} HTTP/1.1"), "", b"");
        let shown = path.chars().take(100).collect::<String>();
        assert_eq!((found, &problem["type"]), (status, &value!(format!("urn:longhaul:{name}"))), "{shown}: {problem}");
        assert!(head.contains("content-type: application/problem+json"), "{shown}: {head}");
        assert!(problem["detail"].as_str().is_some_and(|text| !text.is_empty() && text.len() < 30_000), "{shown}");
    }
    let is_json = "content-type: application/json\r\n";
    for (headers, body, status, name) in [
        (is_json, &b""[..], 400, "invalid-request"),
        (is_json, b"{", 400, "invalid-request"),
        (is_json, b"[]", 400, "invalid-request"),
        (is_json, b"null", 400, "invalid-request"),
        (is_json, b"\xef\xbb\xbf{}", 400, "invalid-request"),
        (is_json, b"{\"plugin\": \"\xff\", \"tool\": \"noop\"}", 400, "invalid-request"),
        (is_json, b"{\"plugin\": \"\\ud800\", \"tool\": \"noop\"}", 400, "invalid-request"),
        (is_json, b"{\"plugin\": \"probe\", \"plugin\": \"probe\", \"tool\": \"noop\"}", 400, "invalid-request"),
        (is_json, b"{\"plugin\": \"probe\", \"tool\": \"noop\", \"deadline_seconds\": 1e999}", 400, "invalid-request"),
        (is_json, b"{\"plugin\": \"probe\", \"tool\": \"noop\", \"deadline_seconds\": -1}", 400, "invalid-request"),
        (
            is_json,
            b"{\"plugin\": \"probe\", \"tool\": \"noop\", \"deadline_seconds\": 18446744073709551615}",
            422,
            "out-of-range",
        ),
        (is_json, b"{\"plugin\": \"\\u0000\", \"tool\": \"noop\"}", 422, "unknown-plugin"),
        ("", b"{}", 415, "unsupported-media-type"),
        ("content-type: text/plain\r\n", b"{}", 415, "unsupported-media-type"),
        ("content-type: application/x-www-form-urlencoded\r\n", b"a=b", 415, "unsupported-media-type"),
        ("content-type: application/json\r\ncontent-encoding: gzip\r\n", b"\x1f\x8b\x08", 400, "invalid-request"),
        (
            "content-type: application/json\r\nidempotency-key: a\r\nidempotency-key: b\r\n",
            b"{\"plugin\": \"probe\", \"tool\": \"noop\"}",
            400,
            "invalid-request",
        ),
        (
            "content-type: application/json\r\nidempotency-key: ü\r\n",
            b"{\"plugin\": \"probe\", \"tool\": \"noop\"}",
            400,
            "invalid-request",
        ),
    ] {
        let headers = format!("{headers}content-length: {}\r\n", body.len());
        let (found, _, problem) = raw(server.url(), &agent, "POST /v1/tasks HTTP/1.1", &headers, body);
        let shown = String::from_utf8_lossy(body);
        assert_eq!(
            (found, &problem["type"]),
            (status, &value!(format!("urn:longhaul:{name}"))),
            "{headers}{shown}: {problem}"
        );
    }
    let nested = [b"{\"plugin\": \"probe\", \"tool\": \"noop\", \"input\": ".to_vec(), vec![b'['; 100_000]].concat();
    let headers = format!("{is_json}content-length: {}\r\n", nested.len());
    let (found, _, problem) = raw(server.url(), &agent, "POST /v1/tasks HTTP/1.1", &headers, &nested);
    assert_eq!((found, &problem["type"]), (400, &value!("urn:longhaul:invalid-request")));
    let twice = format!("authorization: Bearer {0}\r\nauthorization: Bearer {0}\r\n", agent.token());
    for (request, headers, status, name) in [
        ("GET /v1/tools HTTP/1.1", twice.as_str(), 401, "unauthorized"),
        ("GET /v1/tools HTTP/1.1", "authorization: Basic eDp5\r\n", 401, "unauthorized"),
        ("GET /v1/tools HTTP/1.1", "host: 127.0.0.1\r\nhost: evil.example\r\n", 400, "invalid-request"),
        (
            "GET /v1/tools HTTP/1.1",
            "origin: http://localhost\r\norigin: https://evil.example\r\n",
            400,
            "invalid-request",
        ),
        ("GET http://evil.example/v1/tools HTTP/1.1", "", 421, "unknown-host"),
        ("GET /v1/tools HTTP/1.0", "host: \r\n", 400, "invalid-request"),
        ("PATCH /v1/tasks HTTP/1.1", "", 405, "unknown-method"),
        ("OPTIONS /v1/tasks HTTP/1.1", "", 405, "unknown-method"),
        ("TRACE /v1/tasks HTTP/1.1", "", 405, "unknown-method"),
        ("BREW /v1/tasks HTTP/1.1", "", 405, "unknown-method"),
        ("GET /v1/wait HTTP/1.1", "", 405, "unknown-method"),
    ] {
        let (found, head, problem) = raw(server.url(), &agent, request, headers, b"");
        assert_eq!(
            (found, &problem["type"]),
            (status, &value!(format!("urn:longhaul:{name}"))),
            "{request} {headers}{head}"
        );
        assert!(status != 405 || head.contains("allow: "), "{request}: {head}");
    }
    // Whoever they are, they may send so much before they have said who they are.
    let (found, ..) =
        raw(server.url(), &agent, "GET /v1/tools HTTP/1.1", &format!("x: {}\r\n", "x".repeat(300_000)), b"");
    assert!(matches!(found, 431 | 0), "{found}");
    // A body that nobody asked for, and that never comes, holds nobody.
    let (found, ..) = raw(server.url(), &agent, "GET /v1/tools HTTP/1.1", "content-length: 100\r\n", b"");
    assert_eq!(found, 200);
    let (found, ..) =
        raw(server.url(), &agent, &format!("POST /v1/tasks/{id}/cancel HTTP/1.1"), "content-length: 9\r\n", b"");
    assert_eq!(found, 200);
    assert_eq!(agent.get("/v1/tasks").await.json()["tasks"].as_array().map(Vec::len), Some(1), "nothing was started");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_http_allows_is_answered_as_it_has_it() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let (found, head, tools) = raw(server.url(), &agent, "GET /v1/tools HTTP/1.0", "", b"");
    assert!(found == 200 && tools["tools"].is_array() && !head.contains("chunked"), "{head}");
    let (found, head, nothing) = raw(server.url(), &agent, "HEAD /v1/tools HTTP/1.1", "", b"");
    assert!(found == 200 && nothing.is_null() && head.contains("content-length: "), "{head}");
    let (found, _, nothing) = raw(server.url(), &agent, "HEAD /v1/feed HTTP/1.1", "accept: text/event-stream\r\n", b"");
    assert!(found == 200 && nothing.is_null());
    let (found, ..) = raw(server.url(), &agent, "GET /v1/tools HTTP/1.1", "if-none-match: *\r\n", b"");
    assert_eq!(found, 200, "there are no entity tags here");
    let (found, ..) = raw(server.url(), &agent, "GET /v1/tools HTTP/1.1", "expect: 100-continue\r\n", b"");
    assert_eq!(found, 200);
    let chunked = b"1d\r\n{\"plugin\": \"probe\", \"tool\": \"\r\n6\r\nnoop\"}\r\n0\r\n\r\n";
    let headers = "content-type: Application/JSON; charset=utf-8\r\ntransfer-encoding: chunked\r\n";
    let (found, _, task) = raw(server.url(), &agent, "POST /v1/tasks HTTP/1.1", headers, chunked);
    assert_eq!(found, 202, "{task}");
    // Whatever it is called, it comes back as it was.
    let odd = "Übergröße \u{1f419}\u{202e}\u{0}\n\"'%2F";
    let new = value!({ "plugin": "probe", "tool": "noop", "session": odd, "context": { odd: odd } });
    let id = agent.post("/v1/tasks", new).await.is(202).json()["id"].as_str().unwrap().to_owned();
    let done = agent.settled(&id).await;
    assert_eq!((&done["session"], &done["context"]), (&value!(odd), &value!({ odd: odd })));
    let session: String = odd.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let found = agent.get(format!("/v1/tasks?session={session}")).await.is(200).json();
    assert_eq!(found["tasks"][0]["id"], value!(id));
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_starts_at_once_with_one_key_and_different_bodies_one_is_taken() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let mut starts = tokio::task::JoinSet::new();
    for n in 0..40 {
        let body = value!({ "plugin": "probe", "tool": "noop", "context": n % 8 });
        let start = json(agent.request(Method::POST, "/v1/tasks").header("idempotency-key", "one"), &body);
        starts.spawn(async move { (body["context"].clone(), send(start).await) });
    }
    let answers = starts.join_all().await;
    let task = agent.get("/v1/tasks").await.is(200).json()["tasks"].clone();
    assert_eq!(task.as_array().map(Vec::len), Some(1), "{task}");
    for (context, answer) in answers {
        if context == task[0]["context"] {
            assert_eq!(answer.is(202).json()["id"], task[0]["id"]);
        } else {
            assert_eq!(answer.problem(422, "idempotency-mismatch")["task"], task[0]["id"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_with_the_last_event_of_another_task_is_told_so() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let long = agent.start("steps", value!({ "steps": 20, "sleep_ms": 0 })).await;
    agent.settled(&long).await;
    let id = agent.start("ask", value!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    let last = agent.settled(&id).await["last_seq"].as_u64().expect("a number");
    let events = |last: String| {
        send(agent.request(Method::GET, &format!("/v1/tasks/{id}/events")).header("last-event-id", last))
    };
    let problem = events((last + 1).to_string()).await.problem(422, "out-of-range");
    assert!(problem["detail"].as_str().is_some_and(|said| said.contains(&format!("this task is {last}"))), "{problem}");
    for wrong in ["", "abc", "-1", "1.5", "0x1", "18446744073709551616"] {
        events(wrong.to_owned()).await.problem(400, "invalid-request");
    }
    agent.get(format!("/v1/tasks/{id}?wait=60s&after={}", last + 1)).await.problem(422, "out-of-range");
    let mut right = agent.stream(&format!("/v1/tasks/{id}/events"), Some(&last.to_string())).await;
    agent.post(format!("/v1/tasks/{id}/questions/1/answer"), value!({ "value": true })).await.is(200);
    assert_eq!(right.next().await.expect("the reply").event, "reply");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_may_call_may_read_its_answer_and_ask_first_and_no_other_page() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), "[server]\nallowed_origins = ['https://desk.example']\n").unwrap();
    let server = cli.serve(&[]);
    let asks = |origin: &str| {
        let asks = client().request(Method::OPTIONS, format!("{}/v1/tasks", server.url())).header("origin", origin);
        let asks = asks.header("access-control-request-method", "POST");
        send(asks.header("access-control-request-headers", "authorization,content-type,idempotency-key"))
    };
    let allowed = asks("https://desk.example").await.is(204);
    assert_eq!(allowed.header("access-control-allow-origin"), "https://desk.example");
    assert!(allowed.header("access-control-allow-methods").contains("POST"), "{allowed:?}");
    assert!(allowed.header("access-control-allow-headers").contains("idempotency-key"), "{allowed:?}");
    let refused = asks("https://evil.example").await;
    assert_eq!(refused.headers.get("access-control-allow-origin"), None);
    refused.problem(403, "unknown-origin");
    let agent = server.agent();
    for path in ["/v1/tools", "/v1/nothing", "/mcp"] {
        let answer = send(agent.request(Method::GET, path).header("origin", "https://desk.example")).await;
        assert_eq!(answer.header("access-control-allow-origin"), "https://desk.example", "{path}");
    }
    assert_eq!(agent.get("/v1/tools").await.headers.get("access-control-allow-origin"), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_with_an_alias_is_known_by_it_wherever_it_is_named() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), "[namespaces.default.plugins.csv-profile]\nalias = 'tables'\n")
        .unwrap();
    let server = cli.serve(&["--plugin", &component("csv-profile")]);
    let agent = server.agent();
    let other = server.agent_with(&cli.token(&["other", "--namespace", "other"]));
    let plugin = agent.get("/v1/plugins/tables").await.is(200).json();
    assert_eq!(plugin, agent.get("/v1/plugins/csv-profile").await.is(200).json());
    assert_eq!(agent.get("/v1/plugins/tables/needs").await.is(200).json()["digest"], plugin["digest"]);
    let start = |agent: &Agent| {
        let (agent, input) = (agent.clone(), value!({ "csv": "a,b\n1,2\n" }));
        async move { agent.post("/v1/tasks", value!({ "plugin": "tables", "tool": "profile_csv", "input": input })).await }
    };
    let id = start(&agent).await.is(202).json()["id"].clone();
    agent.settled(id.as_str().unwrap()).await;
    assert_eq!(agent.get("/v1/tasks?plugin=tables&counts=true").await.json()["counts"], value!({ "completed": 1 }));
    assert_eq!(agent.get("/v1/tasks?plugin=tables").await.json()["tasks"][0]["id"], id);
    let inspected = cli.run(&["plugin", "inspect", "tables", "--json"]).exits(0).json();
    assert_eq!(inspected[0]["digest"], plugin["digest"]);
    // It is the operator's word for that namespace.
    other.get("/v1/plugins/tables").await.problem(404, "unknown-plugin");
    start(&other).await.problem(422, "unknown-plugin");
    agent.delete("/v1/plugins/tables").await.is(204);
    agent.get("/v1/plugins/csv-profile").await.problem(404, "unknown-plugin");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_steps_ends_what_is_past_its_time_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let clock = SimulatedClock::at(Timestamp::from_millis(1_800_000_000_000));
    let host = Host::builder().data_dir(dir.path()).clock(clock.clone()).open().await.unwrap();
    let hour = Duration::from_secs(3_600);
    let token = async |new: NewToken| host.create_token(new.scopes(Scope::ALL)).await.unwrap().secret;
    let (short, lasting) =
        (token(NewToken::new("short").expires_in(hour)).await, token(NewToken::new("lasting")).await);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = Config::default();
    config.listen = listener.local_addr().unwrap();
    let url = format!("http://{}", config.listen);
    let serving = tokio::spawn(Server::new(host.clone(), config).serve(listener, std::future::pending()));
    let (short, lasting) = (Agent::new(&url, &short), Agent::new(&url, &lasting));
    let id = short.start("ask", value!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    short.settled(&id).await;
    let path = format!("/v1/tasks/{id}/events");
    let (mut of_short, mut of_lasting) = (short.stream(&path, None).await, lasting.stream(&path, None).await);
    of_short.until("question").await;
    clock.advance(2 * hour);
    short.get("/v1/tools").await.problem(401, "unauthorized");
    of_short.ends().await;
    lasting.get(format!("/v1/tasks/{id}?wait=10ms&after=0")).await.is(200);
    lasting.post(format!("/v1/tasks/{id}/questions/1/answer"), value!({ "value": true })).await.is(200);
    of_lasting.until("ended").await;
    clock.set(Timestamp::from_millis(1_700_000_000_000));
    let noop = lasting.start("noop", value!({})).await;
    assert_eq!(lasting.settled(&noop).await["state"], "completed");
    serving.abort();
    host.shutdown().await;
}

//! The same over HTTP, with tokens.

use longhaul_tests::cli::{Cli, component};
use longhaul_tests::peer::Peer;
use longhaul_tests::server::{Agent, Answer, client, json as with_body, send};
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};

use crate::client::everything;

/// A request of 2026-07-28, with what has to stand in its headers; `name` too where it is given.
fn request(agent: &Agent, method: &str, mut params: Value, name: Option<&str>) -> RequestBuilder {
    let meta = &mut params["_meta"];
    meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
    meta["io.modelcontextprotocol/clientCapabilities"] = everything();
    meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "modern", "version": "1"});
    let request = agent
        .request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", method);
    let request = name.into_iter().fold(request, |request, name| request.header("mcp-name", name));
    with_body(request, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

/// All messages of an answer.
fn messages(answer: &Answer) -> Vec<Value> {
    if !answer.header("content-type").starts_with("text/event-stream") {
        return vec![answer.json()];
    }
    let data = answer.text.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

async fn said(agent: &Agent, method: &str, params: Value, name: Option<&str>) -> Value {
    let answer = send(request(agent, method, params, name)).await;
    messages(&answer).pop().unwrap_or_else(|| panic!("{answer:?}"))
}

async fn task(agent: &Agent, tool: &str, arguments: Value) -> String {
    let created = said(agent, "tools/call", json!({"name": tool, "arguments": arguments}), Some(tool)).await;
    created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}")).to_owned()
}

/// Grants the probe requests to the peer.
fn allow(cli: &Cli, peer: &Peer) {
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), format!("[plugins.probe]\nhttp = [\"{}\"]\n", peer.rule()))
        .unwrap();
}

const TRACE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// The same trace, under a parent of its own.
fn goes_on(peer: &Peer) {
    let seen = peer.seen().pop().expect("a request").traceparent.expect("a trace");
    assert_eq!((&seen[..36], &seen[52..]), (&TRACE[..36], &TRACE[52..]), "{seen}");
    assert_ne!(seen, TRACE);
}

#[tokio::test]
async fn a_request_of_a_task_carries_the_trace_that_its_call_was_given() {
    let peer = Peer::start().await;
    let cli = Cli::new();
    allow(&cli, &peer);
    let server = cli.serve(&[]);
    let agent = server.agent();
    let input = json!({ "url": peer.url("/a"), "method": "GET" });

    let mut call = json!({"name": "fetch", "arguments": input, "_meta": {"traceparent": TRACE}});
    let created = said(&agent, "tools/call", call.clone(), Some("fetch")).await;
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
    assert_eq!(agent.settled(id).await["state"], "completed");
    goes_on(&peer);

    // What is none is no reason to refuse a call, and goes nowhere.
    call["_meta"]["traceparent"] = "nonsense".into();
    let created = said(&agent, "tools/call", call, Some("fetch")).await;
    let id = created["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{created}"));
    assert_eq!(agent.settled(id).await["state"], "completed");
    assert_eq!((peer.seen().len(), &peer.seen()[1].traceparent), (2, &None));

    let body = json!({ "plugin": "probe", "tool": "fetch", "input": input });
    let start = agent.request(Method::POST, "/v1/tasks").header("traceparent", TRACE);
    let id = send(with_body(start, &body)).await.is(202).json()["id"].as_str().unwrap().to_owned();
    assert_eq!(agent.settled(&id).await["state"], "completed");
    goes_on(&peer);
}

#[tokio::test]
async fn a_client_that_goes_before_it_is_answered_is_no_error_in_the_log() {
    let cli = Cli::new();
    let server = cli.serve(&["--log-format", "json"]);
    let agent = server.agent();
    // It asks, and goes when it has seen that it is listened to.
    let id = task(&agent, "ask", question()).await;
    let listen = request(&agent, "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}), None);
    let mut listening = listen.send().await.unwrap();
    assert!(listening.chunk().await.unwrap().is_some());
    drop(listening);
    // And another is refused.
    let refused = said(&agent, "tools/call", json!({"name": "nothing", "arguments": {}}), Some("nothing")).await;
    assert_eq!(refused["error"]["code"], -32602);
    agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({"value": true})).await.is(200);
    agent.settled(&id).await;
    server.signal("TERM");
    let done = tokio::task::spawn_blocking(move || server.end()).await.unwrap();
    let lines = done.stderr.lines().filter(|line| line.starts_with('{'));
    assert_eq!(lines.collect::<Vec<_>>(), [""; 0]);
}

#[tokio::test]
async fn a_plugin_with_an_alias_is_listed_and_called_by_it() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), "[namespaces.default.plugins.probe]\nalias = 'trial'\n").unwrap();
    let server = cli.serve(&[]);
    let names = async |agent: &Agent| {
        let list = said(agent, "tools/list", json!({}), None).await;
        let names = list["result"]["tools"].as_array().unwrap_or_else(|| panic!("{list}")).iter();
        names.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let agent = server.agent();
    assert!(names(&agent).await.iter().all(|name| name.starts_with("trial_")));
    let called = said(&agent, "tools/call", json!({"name": "trial_noop", "arguments": {}}), Some("trial_noop")).await;
    assert_eq!(called["result"]["isError"], false, "{called}");
    let refused = said(&agent, "tools/call", json!({"name": "noop", "arguments": {}}), Some("noop")).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    // An alias of one namespace is none of another.
    let other = server.agent_with(&cli.token(&["other", "--namespace", "other"]));
    assert!(names(&other).await.contains(&"noop".to_owned()));
}

#[tokio::test]
async fn an_argument_that_stands_in_a_header_too_is_the_same_there_or_the_call_is_refused() {
    let cli = Cli::new();
    let server = cli.serve(&["--plugin", &component("conformance")]);
    let agent = server.agent();
    let call = || {
        let call = json!({"name": "test_custom_headers", "arguments": {"region": "eu"}});
        request(&agent, "tools/call", call, Some("test_custom_headers"))
    };
    let done = send(call().header("mcp-param-region", "eu")).await;
    assert_eq!(messages(&done).pop().unwrap()["result"]["content"][0]["text"], "eu", "{done:?}");
    for request in [call(), call().header("mcp-param-region", "us"), call().header("mcp-param-region", "=?base64?.?=")]
    {
        assert_eq!(send(request).await.is(400).json()["error"]["code"], -32020);
    }
}

fn question() -> Value {
    json!({"prompt": "Go on?", "schema": {"type": "boolean"}})
}

#[tokio::test]
async fn promise_1_a_task_that_was_answered_with_is_there_after_kill_9_of_the_server() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = task(&agent, "ask", question()).await;
    server.kill();

    let server = cli.serve(&[]);
    let agent = server.agent_with(agent.token());
    // Without the name of the task in a header, as some clients send it; another name is refused.
    let got = said(&agent, "tasks/get", json!({"taskId": id}), None).await;
    assert_eq!(got["result"]["taskId"], id.as_str(), "{got}");
    let refused = send(request(&agent, "tasks/get", json!({"taskId": id}), Some("01k"))).await.is(400);
    assert_eq!(refused.json()["error"]["code"], -32020);
}

#[tokio::test]
async fn whoever_listens_is_told_until_the_task_has_ended() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = task(&agent, "ask", question()).await;
    let listen = request(&agent, "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}), None);
    let answer = async {
        agent.settled(&id).await;
        agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({"value": true})).await.is(200);
    };
    let (told, ()) = tokio::join!(send(listen), answer);
    let told = messages(&told);
    assert_eq!(told[0]["method"], "notifications/subscriptions/acknowledged", "{told:?}");
    let [.., last, end] = &told[..] else { panic!("{told:?}") };
    assert_eq!((&last["method"], &last["params"]["status"]), (&json!("notifications/tasks"), &json!("completed")));
    assert_eq!(end["result"]["resultType"], "complete");
}

#[tokio::test]
async fn only_who_shows_a_token_is_let_in_and_is_told_how() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let url = format!("{}/mcp", server.url());
    let refused = send(with_body(client().post(&url), &json!({}))).await.is(401);
    let place = refused.header("www-authenticate").split("resource_metadata=\"").nth(1).unwrap_or_default().to_owned();
    let document = send(client().get(place.trim_end_matches('"'))).await.is(200).json();
    assert_eq!(document["resource"], url);
    assert_eq!(document["bearer_methods_supported"], json!(["header"]));

    let page =
        request(&server.agent(), "server/discover", json!({}), None).header("origin", "https://evil.example.com");
    send(page).await.is(403);
}

#[tokio::test]
async fn promise_8_a_task_of_another_namespace_does_not_exist_for_a_token() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let id = task(&server.agent(), "ask", question()).await;
    let other = server.agent_with(&cli.token(&["other", "--namespace", "other"]));
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = said(&other, method, json!({"taskId": id, "inputResponses": {}}), Some(&id)).await;
        assert_eq!(refused["error"]["code"], -32602, "{method}: {refused}");
    }
    let listen = said(&other, "subscriptions/listen", json!({"notifications": {"taskIds": [id]}}), None).await;
    assert_eq!(listen["result"]["resultType"], "complete", "there is nothing to listen to: {listen}");
}

#[tokio::test]
async fn a_token_does_what_its_scopes_allow() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let id = task(&server.agent(), "ask", question()).await;
    server.agent().settled(&id).await;
    let starter = server.agent_with(&cli.token(&["starter", "--scope", "tasks"]));
    let answerer = server.agent_with(&cli.token(&["answerer", "--scope", "answer"]));
    let update = json!({"taskId": id, "inputResponses": {"q1": {"action": "accept", "content": {"answer": true}}}});

    let call = json!({"name": "noop", "arguments": {}});
    let refused = said(&answerer, "tools/call", call.clone(), Some("noop")).await;
    assert!(refused["error"]["message"].as_str().unwrap_or_default().contains("scope tasks"), "{refused}");
    for (method, params) in [
        ("tools/list", json!({})),
        ("tasks/get", json!({"taskId": id})),
        ("subscriptions/listen", json!({"notifications": {"taskIds": [id]}})),
        ("tools/call", json!({"name": "task_list", "arguments": {}})),
        ("tools/call", json!({"name": "task_wait", "arguments": {"task_id": id}})),
    ] {
        let name = params["name"].as_str().unwrap_or(&id).to_owned();
        let refused = said(&answerer, method, params, (method != "tools/list").then_some(&name)).await;
        assert!(
            refused["error"]["message"].as_str().unwrap_or_default().contains("scope tasks"),
            "{method}: {refused}"
        );
    }
    let refused = said(&answerer, "tasks/cancel", json!({"taskId": id}), Some(&id)).await;
    assert!(refused["error"]["message"].as_str().unwrap_or_default().contains("scope tasks"), "{refused}");
    let refused = said(&starter, "tasks/update", update.clone(), Some(&id)).await;
    assert!(refused["error"]["message"].as_str().unwrap_or_default().contains("scope answer"), "{refused}");

    assert_eq!(said(&starter, "tools/call", call, Some("noop")).await["result"]["isError"], false);
    assert_eq!(said(&answerer, "tasks/update", update, Some(&id)).await["result"]["resultType"], "complete");
    let done = server.agent().settled(&id).await;
    assert_eq!(done["output"]["structured"]["by"], "answerer", "{done}");
}

/// A session of an older revision: its id, or what refused it.
async fn begin(agent: &Agent) -> Result<String, Answer> {
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "older", "version": "1"}});
    let answer = send(older(agent, "initialize", hello, None)).await;
    match answer.status {
        200 => Ok(answer.header("mcp-session-id").to_owned()),
        _ => Err(answer),
    }
}

fn older(agent: &Agent, method: &str, params: Value, session: Option<&str>) -> RequestBuilder {
    let request = agent.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let request = session.into_iter().fold(request, |request, id| request.header("mcp-session-id", id));
    with_body(request, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
}

#[tokio::test]
async fn a_session_is_the_tokens_that_began_it_and_a_token_has_so_many() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), "[server]\nstreams = 2\n").unwrap();
    let server = cli.serve(&[]);
    let [owner, other] = ["owner", "other"].map(|name| server.agent_with(&cli.token(&[name])));
    let session = begin(&owner).await.unwrap();
    let is =
        async |agent: &Agent, session: &str| send(older(agent, "tools/list", json!({}), Some(session))).await.status;
    assert_eq!([is(&owner, &session).await, is(&other, &session).await], [200, 404]);
    let foreign = other.request(Method::DELETE, "/mcp").header("mcp-session-id", &session);
    send(foreign).await.problem(404, "not-found");
    begin(&owner).await.unwrap();
    let third = begin(&owner).await.unwrap_err().problem(429, "rate-limited");
    assert!(third["detail"].as_str().unwrap().contains("2 sessions"), "{third:?}");
    begin(&other).await.expect("each token has its own");
    assert_eq!(send(owner.request(Method::DELETE, "/mcp").header("mcp-session-id", &session)).await.status, 204);
    begin(&owner).await.expect("one has ended");
}

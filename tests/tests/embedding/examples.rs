//! Each example of the crate does what it says.

use std::path::PathBuf;

use longhaul_tests::audit::number;
use longhaul_tests::cli::component;
use longhaul_tests::example::Example;
use longhaul_tests::peer::Peer;
use longhaul_tests::server::{Agent, client, json as json_of, send};
use serde_json::{Value, json};
use tempfile::TempDir;

fn data(dir: &TempDir) -> String {
    let data: PathBuf = dir.path().join("data");
    data.to_str().expect("UTF-8").to_owned()
}

#[test]
fn the_agent_server_delivers_the_completion_to_its_session_after_a_kill_in_the_middle() {
    let dir = tempfile::tempdir().unwrap();
    let args = [data(&dir), component("csv-profile")];
    let mut first = Example::start("embed", &args);
    let asked = first.until("asked: ");
    first.kill();
    let mut second = Example::start("embed", &args);
    assert_eq!(second.until("asked: "), asked, "the same question is open");
    second.tell("\";\"");
    second.until("asked: ");
    second.tell("\"comma\"");
    second.until("it is completed");
    let heard: Value = serde_json::from_str(&second.until("thread-7 hears: ")).unwrap();
    assert_eq!((&heard["rows"], &heard["delimiter"]), (&json!(2), &json!(";")));
    second.end();
    let dealt_with = "SELECT cursor = (SELECT news FROM namespace) FROM subscription";
    assert_eq!(number(args[0].as_ref(), dealt_with), 1, "it stopped in order: nothing is told of again");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_approval_sends_after_a_yes_and_not_after_a_no() {
    let peer = Peer::start().await;
    for (word, sent) in [("no", 0), ("yes", 1)] {
        let dir = tempfile::tempdir().unwrap();
        let args = [data(&dir), component("gated-request"), peer.rule()];
        let said = tokio::task::spawn_blocking(move || {
            let mut approve = Example::start("approve", &args);
            approve.until("gated-request/send_request asks: Send this POST request to ");
            approve.tell(word);
            approve.end()
        });
        let said = said.await.unwrap().join("\n");
        assert_eq!(peer.seen().len(), sent, "{said}");
        let told = ["not sent: ann said no", "sent: status 200, approved by ann"][sent];
        assert!(said.contains(told), "{said}");
        assert!(said.contains("\"item\": 7"), "the person is shown what would be sent: {said}");
    }
}

#[test]
fn the_children_are_shown_in_the_stream_of_their_parent() {
    let dir = tempfile::tempdir().unwrap();
    let args = [data(&dir), component("csv-report"), component("csv-profile")];
    let said = Example::start("children", args).end();
    let count = |what: &str| said.iter().filter(|line| line.contains(what)).count();
    assert_eq!(count("started csv-profile/profile_csv"), 2, "{said:?}");
    assert_eq!(count("a child is completed"), 2, "{said:?}");
    assert_eq!(count("was csv-profile/profile_csv: completed"), 2, "{said:?}");
    assert_eq!(said[said.len() - 2..], ["january: Some(2) rows", "february: Some(1) rows"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_web_server_starts_streams_answers_and_stops() {
    let dir = tempfile::tempdir().unwrap();
    let mut server = Example::start("axum", [data(&dir), component("checklist")]);
    let url = server.until("listening on ");
    let http = client();
    let post = |path: &str, body: &Value| send(json_of(http.post(format!("{url}{path}")), body));
    let start = |tool: &str| {
        let input = json!({ "title": "Restart", "steps": [{ "title": "Close the valve" }] });
        json!({ "plugin": "checklist", "tool": tool, "input": input })
    };
    post("/tasks", &start("no_such_tool")).await.is(422);
    let task = post("/tasks", &start("run_checklist")).await.is(202).json();
    let task = format!("/tasks/{}", task["id"].as_str().unwrap());

    let mut events = http.get(format!("{url}{task}/events")).send().await.unwrap();
    let mut seen = String::new();
    while !seen.contains("event: question") {
        let chunk = events.chunk().await.unwrap().unwrap_or_else(|| panic!("the stream ended: {seen}"));
        seen.push_str(&String::from_utf8_lossy(&chunk));
    }
    let answer = format!("{task}/answers/1");
    post(&answer, &json!("what?")).await.is(422);
    post(&answer, &json!({ "outcome": "done" })).await.is(204);
    post(&answer, &json!({ "outcome": "skip" })).await.is(409);
    // Each event has its `seq` as the id, and the data begins with it.
    let asked = seen.split("event: question").nth(1).unwrap();
    let seq = asked.split("\"seq\":").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let rest = http.get(format!("{url}{task}/events")).header("last-event-id", seq);
    let rest = send(rest).await.is(200).text;
    assert!(rest.contains("event: ended") && !rest.contains("event: question"), "{rest}");
    let done = send(http.get(format!("{url}{task}"))).await.is(200).json();
    assert_eq!((&done["state"], &done["output"]["structured"]["status"]), (&json!("completed"), &json!("completed")));
    server.interrupt();
    assert_eq!(server.end().last().map(String::as_str), Some("stopped"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_application_has_its_own_routes_and_the_whole_server_beside_them_and_stops_with_streams_open() {
    let dir = tempfile::tempdir().unwrap();
    let mut app = Example::start("own_app", [data(&dir), component("probe")]);
    let url = app.until("listening on ");
    let agent = Agent::new(&url, &app.until("token "));
    assert_eq!(agent.get("/hello").await.is(200).text, "hello from the application");
    send(client().get(format!("{url}/healthz"))).await.is(200);
    send(client().get(format!("{url}/v1/tools"))).await.problem(401, "unauthorized");
    agent.get("/nowhere").await.problem(404, "not-found");
    let id = agent.start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    agent.settled(&id).await;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "any", "version": "1" } } });
    let mcp = agent.request(reqwest::Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    assert!(send(json_of(mcp, &hello)).await.is(200).text.contains("longhaul"));
    let mut events = agent.stream(&format!("/v1/tasks/{id}/events"), None).await;
    events.until("question").await;
    app.interrupt();
    assert_eq!(events.next().await, None);
    assert_eq!(app.end().last().map(String::as_str), Some("stopped"));
}

#[test]
fn what_the_guide_shows_of_the_application_is_what_the_example_does() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let lines = |text: &str| text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    let guide = read("docs/embedding.md");
    let (_, block) = guide.split_once("```rust,ignore\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    let example = lines(&read("host/server/examples/own_app.rs"));
    assert!(block.lines().count() > 10 && example.contains(&lines(block)), "{block}");
}

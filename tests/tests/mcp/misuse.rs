//! Messages that are none, on stdio and over HTTP.

use longhaul_tests::cli::Cli;
use longhaul_tests::server::{Agent, Answer, send};
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{Client, data, everything};

/// What is no message, its error, and the id that the error is for.
fn wrong() -> Vec<(&'static [u8], i64, Value)> {
    vec![
        (b"{", -32700, json!(null)),
        (b"hello", -32700, json!(null)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"\xff\"}", -32700, json!(null)),
        (b"5", -32600, json!(null)),
        (b"[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]", -32600, json!(null)),
        (b"{\"id\": 7, \"method\": \"ping\"}", -32600, json!(7)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": \"x\"}", -32600, json!("x")),
        (b"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}", -32600, json!(null)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 99999999999999999999, \"method\": \"ping\"}", -32600, json!(null)),
        (b"{\"jsonrpc\": \"2.0\", \"id\": 8, \"method\": \"tools/list\", \"params\": 5}", -32602, json!(8)),
    ]
}

fn check(said: &Value, code: i64, id: &Value, about: &[u8]) {
    let about = String::from_utf8_lossy(about);
    assert_eq!(
        (&said["error"]["code"], &said["id"], &said["jsonrpc"]),
        (&json!(code), id, &json!("2.0")),
        "{about}: {said}"
    );
    assert!(said.as_object().unwrap().contains_key("id"), "{said}");
    assert!(said["error"]["message"].as_str().is_some_and(|text| text.len() > 10), "{said}");
}

#[test]
fn a_line_that_is_no_message_is_answered_with_what_is_wrong_and_the_next_one_is_read() {
    let cli = data();
    for mut client in
        [Client::start(&cli, &[]), Client::older(&cli, json!({}), &[]), Client::modern(&cli, everything(), &[])]
    {
        for (line, code, id) in wrong() {
            client.write(&[line, b"\n"].concat());
            check(&client.next(), code, &id, line);
        }
        // Empty ones, answers to nothing, and notifications that nobody knows are passed over.
        client.write(b"\n\r\n  \n{\"jsonrpc\": \"2.0\", \"error\": {\"code\": 1, \"message\": \"?\"}, \"id\": null}\n");
        client.write(b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/what\", \"params\": {\"a\": 1}}\n");
        client.write(
            b"{\"jsonrpc\": \"2.0\", \"method\": \"notifications/cancelled\", \"params\": {\"requestId\": 55}}\n",
        );
        client.write(b"\xef\xbb\xbf{\"jsonrpc\": \"2.0\", \"id\": \"still there\", \"method\": \"ping\"}\r\n");
        let said = client.next();
        assert_eq!(said["id"], "still there", "{said}");
        assert_eq!(client.leave(), 0);
    }
}

#[test]
fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &[]);
    let chunk = vec![b'x'; 1 << 20];
    for _ in 0..40 {
        client.write(&chunk);
    }
    client.write(b"\n");
    let said = client.next();
    check(&said, -32600, &json!(null), b"40 MiB");
    assert!(said["error"]["message"].as_str().unwrap().contains("16777216 bytes"), "{said}");
    // What just fits is read.
    let text = "y".repeat(15 << 20);
    client.send(json!({"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"_meta": {"text": text}}}));
    let said = client.next();
    assert_eq!((&said["id"], said.get("error")), (&json!(5), None), "{said}");
}

#[test]
fn a_request_before_the_session_says_how_to_begin_and_the_session_can_begin_then() {
    let cli = data();
    let mut client = Client::start(&cli, &[]);
    for method in ["tools/list", "tools/call", "resources/list", "nothing/known"] {
        let error = client.error(method, json!({"name": "noop"}));
        assert_eq!(error["code"], -32602, "{error}");
        let message = error["message"].as_str().unwrap();
        for what in [method, "`initialize` first", "io.modelcontextprotocol/protocolVersion"] {
            assert!(message.contains(what), "{message}");
        }
    }
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let error = client.error("initialize", json!({"capabilities": {}}));
    assert!(error["message"].as_str().unwrap().contains("missing field `protocolVersion`"), "{error}");
    let hello =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "late", "version": "1"}});
    assert_eq!(client.result("initialize", hello)["protocolVersion"], "2025-11-25");
    assert!(client.result("tools/list", json!({}))["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    // Known methods say what is wrong with their parameters, others that they are not known.
    let error = client.error("tools/call", json!({"arguments": {}}));
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("missing field `name`"), "{error}");
    let error = client.error("nothing/known", json!({}));
    assert_eq!((&error["code"], &error["message"]), (&json!(-32601), &json!("there is no method `nothing/known`")));
}

async fn post(agent: &Agent, kind: &str, body: &[u8]) -> Answer {
    let request = agent.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    send(request.header("content-type", kind).body(body.to_vec())).await
}

#[tokio::test]
async fn over_http_the_same_is_answered_with_the_same_and_what_is_no_message_with_a_problem() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    for (body, code, id) in wrong() {
        let answer = post(&agent, "application/json", body).await.is(400);
        assert!(answer.header("content-type").starts_with("application/json"), "{answer:?}");
        check(&answer.json(), code, &id, body);
    }
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"}).to_string();
    let said = post(&agent, "application/json; charset=utf-8", list.as_bytes()).await.is(400).json();
    check(&said, -32600, &json!(3), b"no session");
    assert!(said["error"]["message"].as_str().unwrap().contains("`initialize` first"), "{said}");
    let begin = json!({"jsonrpc": "2.0", "id": 9, "method": "initialize", "params": {"capabilities": {}}}).to_string();
    let said = post(&agent, "application/json", begin.as_bytes()).await.is(400).json();
    check(&said, -32602, &json!(9), b"no version");
    assert!(said["error"]["message"].as_str().unwrap().contains("missing field `protocolVersion`"), "{said}");
    let nested = [
        b"{\"jsonrpc\": \"2.0\", \"id\": 4, \"method\": \"tools/list\", \"params\": {\"a\": ".to_vec(),
        vec![b'['; 500],
        vec![b']'; 500],
        b"}}".to_vec(),
    ]
    .concat();
    check(&post(&agent, "application/json", &nested).await.is(400).json(), -32600, &json!(4), b"nested");

    post(&agent, "text/plain", list.as_bytes()).await.problem(415, "unsupported-media-type");
    let picky = agent.request(Method::POST, "/mcp").header("content-type", "application/json").body(list.clone());
    send(picky.header("accept", "text/html")).await.problem(406, "not-acceptable");
    let lost = agent.request(Method::POST, "/mcp").header("accept", "application/json, text/event-stream");
    let lost = lost.header("content-type", "application/json").header("mcp-session-id", "nothing").body(list);
    send(lost).await.problem(404, "not-found");
    send(agent.request(Method::PUT, "/mcp")).await.problem(405, "unknown-method");
    let old =
        agent.request(Method::GET, "/mcp").header("accept", "text/event-stream").header("mcp-session-id", "nothing");
    send(old).await.problem(404, "not-found");
}

//! Clients of 2026-07-28 that know nothing of tasks.

use serde_json::{Value, json};

use crate::client::{Client, data};

fn forms() -> Value {
    json!({"elicitation": {}})
}

fn arguments() -> Value {
    json!({"prompt": "How many?", "schema": {"type": "integer", "minimum": 1}})
}

#[test]
fn a_question_is_an_answer_that_asks_for_input_and_the_repeated_call_goes_on() {
    let cli = data();
    let mut client = Client::modern(&cli, forms(), &[]);
    let asks = client.call("ask", arguments());
    assert_eq!(asks["resultType"], "input_required");
    assert_eq!(asks["inputRequests"]["q1"]["params"]["message"], "How many?");

    let state = &asks["requestState"];
    let again = |responses: Value, state: &Value| json!({"name": "ask", "arguments": arguments(), "requestState": state, "inputResponses": responses});
    // Without its answer, or with a wrong one, it is asked again.
    let asks_again = client.result("tools/call", again(json!({}), state));
    assert_eq!(asks_again["inputRequests"], asks["inputRequests"]);
    let said = |value: Value| json!({"q1": {"action": "accept", "content": {"answer": value}}});
    let asks_again = client.result("tools/call", again(said(json!(0)), state));
    let message = asks_again["inputRequests"]["q1"]["params"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("The last answer was not accepted") && message.contains("How many?"), "{message}");

    let done = client.result("tools/call", again(said(json!(3)), state));
    assert_eq!(done["structuredContent"]["value"], 3);
    assert_eq!(cli.only_task()["state"], "completed");
}

#[test]
fn a_state_that_was_tampered_with_or_is_of_another_call_is_refused() {
    let cli = data();
    let mut client = Client::modern(&cli, forms(), &[]);
    let state = client.call("ask", arguments())["requestState"].as_str().unwrap().to_owned();
    let mut refused = |arguments: Value, state: &str| {
        let said = json!({"q1": {"action": "accept", "content": {"answer": 1}}});
        let params = json!({"name": "ask", "arguments": arguments, "requestState": state, "inputResponses": said});
        assert_eq!(client.error("tools/call", params)["code"], -32602);
    };
    let other = json!({"prompt": "How many more?", "schema": {"type": "integer", "minimum": 1}});
    refused(other, &state);
    let (last, rest) = state.split_at(state.len() - 1);
    refused(arguments(), &format!("{last}{}", if rest == "A" { "B" } else { "A" }));
    refused(arguments(), "nonsense");
    assert_eq!(cli.only_task()["state"], "waiting");

    let mut other = Client::modern(&cli, forms(), &["--namespace", "other"]);
    let said = json!({"q1": {"action": "accept", "content": {"answer": 1}}});
    let params = json!({"name": "ask", "arguments": arguments(), "requestState": state, "inputResponses": said});
    assert_eq!(other.error("tools/call", params)["code"], -32602);
}

#[test]
fn a_dismissed_form_leaves_the_question_open_and_the_call_says_how_to_go_on() {
    let cli = data();
    let mut client = Client::modern(&cli, forms(), &["--wait", "30s"]);
    let asks = client.call("ask", arguments());
    let params = json!({"name": "ask", "arguments": arguments(), "requestState": asks["requestState"],
        "inputResponses": {"q1": {"action": "cancel"}}});
    let handle = client.result("tools/call", params);
    assert_eq!(handle["resultType"], "complete");
    let about = &handle["structuredContent"];
    assert_eq!((&about["status"], &about["next"]), (&json!("input_required"), &json!("task_answer")));
    let text = handle["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("How many?") && text.contains("task_answer"), "{text}");
}

#[test]
fn what_is_confidential_is_not_asked_through_the_client() {
    let cli = data();
    let mut client = Client::modern(&cli, forms(), &["--wait", "30s"]);
    let handle = client
        .call("ask", json!({"prompt": "Password?", "schema": {"type": "string"}, "options": {"sensitive": true}}));
    assert_eq!(handle["structuredContent"]["status"], "input_required", "{handle}");
    assert_eq!(handle["structuredContent"]["next"], "task_wait");
    let task = &handle["structuredContent"]["task_id"];
    let refused = client.call("task_answer", json!({"task_id": task, "answer": "hunter2"}));
    assert_eq!(refused["isError"], true);
    assert_eq!(cli.only_task()["state"], "waiting");
}

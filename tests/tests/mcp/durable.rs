//! What outlives the process.

use serde_json::json;

use crate::client::{Client, data, everything};

#[test]
fn promise_1_a_task_that_was_answered_with_is_there_after_kill_9() {
    let cli = data();
    let mut client = Client::modern(&cli, everything(), &[]);
    let task = client.task("ask", json!({"prompt": "Go on?", "schema": {"type": "boolean"}}));
    client.kill();

    let mut client = Client::modern(&cli, everything(), &[]);
    client.get_until(&task, "input_required");
    let said = json!({"q1": {"action": "accept", "content": {"answer": true}}});
    client.result("tasks/update", json!({"taskId": task, "inputResponses": said}));
    client.kill();

    let mut client = Client::modern(&cli, everything(), &[]);
    let done = client.get_until(&task, "completed");
    assert_eq!(done["result"]["structuredContent"]["value"], true);
}

#[test]
fn two_clients_share_the_data_and_what_one_leaves_the_other_goes_on_with() {
    let cli = data();
    let mut one = Client::modern(&cli, everything(), &[]);
    let mut other = Client::modern(&cli, everything(), &[]);
    let task = one.task("ask_many", json!({"n": 1, "wait_for": 1}));
    one.get_until(&task, "input_required");
    assert_eq!(one.leave(), 0);
    other.get_until(&task, "input_required");
    let said = json!({"q1": {"action": "accept", "content": {"answer": "now"}}});
    other.result("tasks/update", json!({"taskId": task, "inputResponses": said}));
    other.get_until(&task, "completed");
}

#[test]
fn a_call_that_asked_is_repeated_with_its_answer_after_kill_9() {
    let cli = data();
    let arguments = json!({"prompt": "Go on?", "schema": {"type": "boolean"}});
    let mut client = Client::modern(&cli, json!({"elicitation": {}}), &[]);
    let asks = client.call("ask", arguments.clone());
    client.kill();

    let mut client = Client::modern(&cli, json!({"elicitation": {}}), &[]);
    let said = json!({"q1": {"action": "accept", "content": {"answer": true}}});
    let result = client.result(
        "tools/call",
        json!({"name": "ask", "arguments": arguments, "requestState": asks["requestState"], "inputResponses": said}),
    );
    assert_eq!(result["structuredContent"]["value"], true);
    assert_eq!(cli.only_task()["state"], "completed");
}

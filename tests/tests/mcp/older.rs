//! Clients of 2025-11-25 and before.

use serde_json::{Value, json};

use crate::client::{Client, data, everything};

#[test]
fn progress_is_told_within_the_call_and_grows() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &[]);
    let params = json!({"name": "hash_imports", "arguments": {"rounds": 3}, "_meta": {"progressToken": "p"}});
    let call = client.request("tools/call", params);
    let result = client.answer(call)["result"].clone();
    assert_eq!(result["isError"], false, "{result}");
    let told = client.heard("notifications/progress");
    assert!(!told.is_empty());
    assert!(told.iter().all(|told| told["params"]["progressToken"] == "p"));
    assert!(told.iter().any(|told| told["params"]["total"] == 3.0), "{told:?}");
    let numbers: Vec<_> = told.iter().map(|told| told["params"]["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn a_question_is_asked_within_the_call_until_the_answer_fits() {
    let cli = data();
    let mut client = Client::older(&cli, json!({"elicitation": {}}), &[]);
    let params =
        json!({"name": "ask", "arguments": {"prompt": "How many?", "schema": {"type": "integer", "maximum": 5}}});
    let call = client.request("tools/call", params);
    for (value, message) in [(9, "How many?"), (5, "The last answer was not accepted")] {
        let asked = client.until("elicitation/create");
        assert!(asked["params"]["message"].as_str().unwrap().starts_with(message), "{asked}");
        let said = json!({"action": "accept", "content": {"answer": value}});
        client.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": said}));
    }
    let result = client.answer(call)["result"].clone();
    assert_eq!(result["structuredContent"], json!({"reply": "answered", "value": 5, "by": "older", "reason": null}));
}

#[test]
fn an_answer_from_elsewhere_ends_the_wait_for_the_form() {
    let cli = data();
    let mut client = Client::older(&cli, json!({"elicitation": {}}), &[]);
    let params = json!({"name": "ask", "arguments": {"prompt": "Go on?", "schema": {"type": "boolean"}}});
    let call = client.request("tools/call", params);
    client.until("elicitation/create");
    cli.run(&["tasks", "answer", &cli.only_id(), "true", "--by", "ops"]).exits(0);
    assert_eq!(client.answer(call)["result"]["structuredContent"]["by"], "ops");
}

#[test]
fn a_client_that_names_the_extension_too_early_is_given_no_task() {
    let cli = data();
    let mut client = Client::older(&cli, everything(), &["--wait", "0s"]);
    let result = client.call("cancel_me", json!({"manners": "obey"}));
    assert_eq!(result.get("taskId"), None, "{result}");
    let task = result["structuredContent"]["task_id"].clone();
    assert!(client.error("tasks/get", json!({"taskId": task}))["code"].as_i64() < Some(-32000));
}

#[test]
fn whoever_gives_up_a_call_stops_its_task() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &[]);
    let params = json!({"name": "cancel_me", "arguments": {"manners": "obey"}, "_meta": {"progressToken": 1}});
    let call = client.request("tools/call", params);
    client.until("notifications/progress");
    client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
    longhaul_tests::cli::eventually("it is cancelled", || (cli.only_task()["state"] == "cancelled").then_some(()));
}

/// Whether the task was known by then or not.
#[test]
fn whoever_gives_up_a_call_at_once_stops_its_task_too() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &[]);
    for _ in 0..5 {
        let call = client.request("tools/call", json!({"name": "cancel_me", "arguments": {"manners": "obey"}}));
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": call}}));
    }
    longhaul_tests::cli::eventually("all are cancelled", || {
        let tasks = cli.run(&["tasks", "ls", "--json"]).exits(0).json();
        (tasks.len() == 5 && tasks.iter().all(|task| task["state"] == "cancelled")).then_some(())
    });
}

#[test]
fn the_task_of_a_client_that_goes_goes_on() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &[]);
    let params = json!({"name": "cancel_me", "arguments": {"manners": "obey"}, "_meta": {"progressToken": 1}});
    client.request("tools/call", params);
    client.until("notifications/progress");
    assert_eq!(client.leave(), 0);
    let task = cli.only_task();
    assert_eq!(task["cancel_requested"], Value::Bool(false), "{task}");
    assert!(["running", "waiting", "queued"].contains(&task["state"].as_str().unwrap()), "{task}");
}

//! The tools by which a model looks after tasks.

use serde_json::json;

use crate::client::{Client, data, everything};

fn names(client: &mut Client) -> Vec<String> {
    let list = client.result("tools/list", json!({}));
    list["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn they_are_offered_to_whoever_needs_them_in_an_order_that_stays() {
    let cli = data();
    let mut client = Client::modern(&cli, json!({}), &[]);
    let all = names(&mut client);
    assert_eq!(all, names(&mut client));
    assert_eq!(all[all.len() - 4..], ["task_wait", "task_answer", "task_cancel", "task_list"]);
    assert!(all[..all.len() - 4].is_sorted());
    let mut with_tasks = Client::modern(&cli, everything(), &[]);
    assert_eq!(names(&mut with_tasks), all[..all.len() - 4]);
}

#[test]
fn a_call_that_takes_long_is_waited_for_answered_and_done() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &["--wait", "200ms"]);
    let handle = client.call("ask", json!({"prompt": "Which?", "schema": {"type": "string", "enum": ["a", "b"]}}));
    assert_eq!(handle["isError"], false);
    let task = handle["structuredContent"]["task_id"].clone();
    let waiting = client.call("task_wait", json!({"task_id": task, "timeout_s": 20}));
    let question = &waiting["structuredContent"]["questions"][0];
    assert_eq!(
        question,
        &json!({"task_id": task, "question": 1, "prompt": "Which?", "answer_schema": {"type": "string", "enum": ["a", "b"]}})
    );

    let refused = client.call("task_answer", json!({"task_id": task, "question": 1, "answer": "c"}));
    assert_eq!(refused["isError"], true);
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("is not one of"), "{refused}");
    let taken = client.call("task_answer", json!({"task_id": task, "answer": "b"}));
    assert_eq!(taken["isError"], false, "{taken}");
    let again = client.call("task_answer", json!({"task_id": task, "question": 1, "answer": "a"}));
    assert!(again["content"][0]["text"].as_str().unwrap().contains("settled already"), "{again}");

    let done = client.call("task_wait", json!({"task_id": task, "timeout_s": 20}));
    assert_eq!(done["structuredContent"]["value"], "b", "{done}");
}

#[test]
fn tasks_are_listed_and_stopped() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &["--wait", "0s"]);
    assert_eq!(client.call("task_list", json!({}))["structuredContent"], json!({"tasks": []}));
    let task = client.call("cancel_me", json!({"manners": "obey"}))["structuredContent"]["task_id"].clone();
    let listed = client.call("task_list", json!({"limit": 5}))["structuredContent"]["tasks"].clone();
    assert_eq!((&listed[0]["task_id"], &listed[0]["tool"]), (&task, &json!("probe/cancel_me")));
    assert_eq!(client.call("task_cancel", json!({"task_id": task}))["isError"], false);
    let ended = client.call("task_wait", json!({"task_id": task, "timeout_s": 20}));
    assert_eq!(ended["isError"], true);
    assert_eq!(ended["_meta"]["io.github.longhaul/error"]["code"], "cancelled", "{ended}");
    let found = client.call("task_cancel", json!({"task_id": task}))["structuredContent"]["found"].clone();
    assert_eq!(found, "cancelled");
    assert_eq!(client.call("task_list", json!({"state": "running"}))["structuredContent"], json!({"tasks": []}));
}

#[test]
fn what_a_model_gets_wrong_it_is_told() {
    let cli = data();
    let mut client = Client::older(&cli, json!({}), &[]);
    for (tool, arguments, said) in [
        ("task_wait", json!({}), "missing field `task_id`"),
        ("task_wait", json!({"task_id": "01k"}), "there is no task \"01k\""),
        ("task_answer", json!({"task_id": "01k"}), "give either `answer`"),
        ("task_list", json!({"limt": 3}), "unknown field `limt`"),
    ] {
        let result = client.call(tool, arguments);
        assert_eq!(result["isError"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(said), "{text}");
    }
    let error = client.error("tools/call", json!({"name": "nope", "arguments": {}}));
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("there is no tool `nope`; there are: ask,"), "{error}");
}

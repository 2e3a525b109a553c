//! Clients of 2026-07-28 with the tasks extension.

use serde_json::json;

use crate::client::{Client, data, everything};

const TASKS: &str = "io.modelcontextprotocol/tasks";

#[test]
fn a_call_answers_with_a_task_and_the_task_asks_and_ends_with_the_result() {
    let cli = data();
    let mut client = Client::modern(&cli, everything(), &[]);
    let task =
        client.task("ask", json!({"prompt": "Delete it?", "detail": "All of it.", "schema": {"type": "boolean"}}));

    let asks = client.get_until(&task, "input_required");
    assert_eq!(asks["resultType"], "complete");
    assert_eq!(asks["statusMessage"], "it waits for an answer: Delete it?");
    assert!(asks["ttlMs"].as_u64() >= Some(30 * 24 * 3_600_000) && asks["pollIntervalMs"].is_u64(), "{asks}");
    assert_eq!(
        asks["inputRequests"],
        json!({"q1": {"method": "elicitation/create", "params": {"mode": "form", "message": "Delete it?\n\nAll of it.",
            "requestedSchema": {"type": "object", "properties": {"answer": {"type": "boolean"}}, "required": ["answer"]}}}})
    );

    // What is no answer leaves it open, and what is unknown is not looked at.
    let said =
        |content| json!({"taskId": task, "inputResponses": {"q1": {"action": "accept", "content": content}, "q9": 1}});
    let error = client.error("tasks/update", said(json!({"answer": "yes"})));
    assert_eq!(error["code"], -32602);
    assert!(error["message"].as_str().unwrap().contains("`q1`"), "{error}");
    assert_eq!(client.result("tasks/update", said(json!({"answer": true}))), json!({"resultType": "complete"}));

    let done = client.get_until(&task, "completed");
    let result = &done["result"];
    assert_eq!(
        result["structuredContent"],
        json!({"reply": "answered", "value": true, "by": "modern", "reason": null})
    );
    assert_eq!(result["isError"], false);
    // A late answer changes nothing, and says so to nobody.
    client.result("tasks/update", said(json!({"answer": false})));
    assert_eq!(client.get(&task), done);
    assert_eq!(client.leave(), 0);
}

#[test]
fn several_questions_are_open_together_and_a_dismissed_one_is_declined() {
    let cli = data();
    let mut client = Client::modern(&cli, everything(), &[]);
    let task = client.task("ask_many", json!({"n": 3, "wait_for": 3}));
    let keys = |task: &serde_json::Value| {
        let open = task["inputRequests"].as_object().map(|open| open.keys().cloned().collect::<Vec<_>>());
        open.unwrap_or_default()
    };
    longhaul_tests::cli::eventually("all are open", || (keys(&client.get(&task)) == ["q1", "q2", "q3"]).then_some(()));
    let said = json!({"q2": {"action": "accept", "content": {"answer": "b"}}, "q3": {"action": "cancel"}});
    client.result("tasks/update", json!({"taskId": task, "inputResponses": said}));
    longhaul_tests::cli::eventually("one is left", || (keys(&client.get(&task)) == ["q1"]).then_some(()));
    client.result("tasks/update", json!({"taskId": task, "inputResponses": {"q1": {"action": "decline"}}}));
    let mut replies = client.get_until(&task, "completed")["result"]["structuredContent"].as_array().unwrap().clone();
    replies.sort_by_key(|reply| reply[0].as_u64());
    let words: Vec<_> = replies.iter().map(|reply| (&reply[1]["reply"], &reply[1]["reason"])).collect();
    assert_eq!(json!(words), json!([["declined", null], ["answered", null], ["declined", "dismissed"]]));
}

#[test]
fn a_quick_tool_answers_in_the_call() {
    let cli = data();
    let mut client = Client::modern(&cli, everything(), &[]);
    let result = client.call("noop", json!({"a": 1}));
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["structuredContent"], json!({"a": 1}));
    assert!(result["content"][0]["text"].as_str().unwrap().contains("\"a\": 1"), "{result}");
}

#[test]
fn the_tools_own_failure_completes_the_task_and_a_run_that_broke_fails_it() {
    let cli = data();
    let mut client = Client::modern(&cli, everything(), &[]);
    let task = client.task("fail", json!({"kind": "failed", "message": "no such row", "details": {"row": 7}}));
    let failed = client.get_until(&task, "completed");
    assert_eq!(failed["result"]["isError"], true);
    assert_eq!(failed["result"]["content"], json!([{"type": "text", "text": "no such row"}]));
    assert_eq!(
        failed["result"]["_meta"]["io.github.longhaul/error"],
        json!({"class": "tool", "code": "failed", "details": {"row": 7}})
    );
    assert_eq!(failed["statusMessage"], "no such row");

    let task = client.task("panics", json!({}));
    let broke = client.get_until(&task, "failed");
    assert_eq!(broke["error"]["code"], -32603);
    assert_eq!(broke["error"]["data"], json!({"class": "run", "code": "trap"}));
    assert!(broke.get("result").is_none());
}

#[test]
fn a_task_is_cancelled_once_and_for_all() {
    let cli = data();
    let mut client = Client::modern(&cli, everything(), &[]);
    let task = client.task("cancel_me", json!({"manners": "obey"}));
    for _ in 0..2 {
        assert_eq!(client.result("tasks/cancel", json!({"taskId": task})), json!({"resultType": "complete"}));
    }
    client.get_until(&task, "cancelled");
    assert_eq!(client.result("tasks/cancel", json!({"taskId": task})), json!({"resultType": "complete"}));
}

#[test]
fn whoever_listens_is_told_of_each_step_and_of_no_other_task() {
    let cli = data();
    let mut other = Client::modern(&cli, everything(), &["--namespace", "other"]);
    let theirs = other.task("cancel_me", json!({"manners": "obey"}));
    let mut client = Client::modern(&cli, everything(), &[]);
    let task = client.task("ask", json!({"prompt": "Go on?", "schema": {"type": "boolean"}}));

    let listen = client.request("subscriptions/listen", json!({"notifications": {"taskIds": [task, theirs, "01k"]}}));
    let accepted = client.until("notifications/subscriptions/acknowledged")["params"].clone();
    let tag = json!({"io.modelcontextprotocol/subscriptionId": listen});
    assert_eq!(accepted, json!({"notifications": {"taskIds": [task]}, "_meta": tag}));
    let mut told = |status: &str| {
        let told = longhaul_tests::cli::eventually(status, || {
            let told = client.until("notifications/tasks")["params"].clone();
            (told["status"] == status).then_some(told)
        });
        assert_eq!(told["taskId"], task.as_str());
        assert_eq!(told["_meta"]["io.modelcontextprotocol/subscriptionId"], listen);
        told
    };
    assert!(told("input_required")["inputRequests"]["q1"].is_object());
    cli.run(&["tasks", "answer", &task, "true"]).exits(0);
    let done = told("completed");
    assert_eq!(done["result"]["structuredContent"]["value"], true);
    assert_eq!(client.answer(listen)["result"], json!({"resultType": "complete", "_meta": tag}));
}

#[test]
fn a_task_of_another_namespace_does_not_exist() {
    let cli = data();
    let mut other = Client::modern(&cli, everything(), &["--namespace", "other"]);
    let task = other.task("cancel_me", json!({"manners": "obey"}));
    let mut client = Client::modern(&cli, everything(), &[]);
    let expected = json!({"code": -32602, "message": format!("no task `{task}`")});
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        assert_eq!(client.error(method, json!({"taskId": task, "inputResponses": {}})), expected, "{method}");
    }
    let said = client.call("task_cancel", json!({"task_id": task}));
    assert_eq!(said["isError"], true, "{said}");
    assert_eq!(other.get(&task)["status"], "working");
}

#[test]
fn the_same_idempotency_key_finds_the_task() {
    let cli = data();
    let mut client = Client::modern(&cli, everything(), &[]);
    let mut call = |manners: &str| {
        let id = client.request(
            "tools/call",
            json!({"name": "cancel_me", "arguments": {"manners": manners},
                "_meta": {"io.github.longhaul/idempotency-key": "k", "io.github.longhaul/session": "s"}}),
        );
        client.answer(id)
    };
    let first = call("obey");
    assert!(first["result"]["taskId"].is_string(), "{first}");
    assert_eq!(call("obey")["result"]["taskId"], first["result"]["taskId"]);
    assert_eq!(call("look")["error"]["code"], -32602);
    assert_eq!(cli.only_task()["session"], "s");
}

#[test]
fn the_locale_and_the_time_zone_of_a_call_reach_the_tool() {
    let cli = data();
    let mut client = Client::modern(&cli, json!({}), &[]);
    let meta = json!({"io.github.longhaul/locale": "de-CH", "io.github.longhaul/time-zone": "Europe/Zurich"});
    let id = client.request("tools/call", json!({"name": "who_am_i", "arguments": {}, "_meta": meta}));
    let answer = client.answer(id);
    let told = &answer["result"]["structuredContent"];
    assert_eq!((&told["locale"], &told["timeZone"]), (&json!("de-CH"), &json!("Europe/Zurich")), "{answer}");
}

#[test]
fn who_does_not_follow_tasks_is_told_what_to_declare() {
    let cli = data();
    let mut client = Client::modern(&cli, json!({}), &["--require-tasks", "probe/noop"]);
    let needed = json!({"requiredCapabilities": {"extensions": {TASKS: {}}}});
    for (method, params) in [
        ("tasks/get", json!({"taskId": "01k"})),
        ("subscriptions/listen", json!({"notifications": {"taskIds": ["01k"]}})),
        ("tools/call", json!({"name": "noop", "arguments": {}})),
    ] {
        let error = client.error(method, params);
        assert_eq!((&error["code"], &error["data"]), (&json!(-32021), &needed), "{method}");
    }
}

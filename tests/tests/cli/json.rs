//! `--json`: one object a line, and nothing else on standard output.

use longhaul_tests::cli::{Cli, component};

#[test]
fn a_run_is_every_event_and_then_the_task() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "chatty", "lines=2", "--json"]).exits(0);
    let lines = done.json();
    let (task, events) = lines.split_last().unwrap();
    assert_eq!(task["type"], "task");
    assert_eq!(task["state"], "completed");
    for event in events {
        assert_eq!(event["type"], "event");
        assert_eq!(event["task"], task["id"]);
        assert!(event["seq"].is_u64() && event["at"].is_string() && event["kind"].is_string(), "{event}");
    }
    let kinds: Vec<_> = events.iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds.first(), Some(&"started"));
    assert_eq!(kinds.last(), Some(&"ended"));
    assert!(kinds.contains(&"log"), "{kinds:?}");
    assert!(events.windows(2).all(|pair| pair[0]["seq"].as_u64() < pair[1]["seq"].as_u64()));

    // Seen again, it is the same.
    let watched = cli.run(&["tasks", "watch", task["id"].as_str().unwrap(), "--json"]).exits(0);
    assert_eq!(watched.stdout, done.stdout);
    let shown = cli.run(&["tasks", "show", task["id"].as_str().unwrap(), "--json"]).exits(0).json();
    assert_eq!(shown, std::slice::from_ref(task));
    // A list is as long as it is: it has everything but the outputs, which may be large.
    let mut listed = task.clone();
    assert!(listed.as_object_mut().unwrap().remove("output").is_some(), "{task}");
    assert_eq!(cli.run(&["tasks", "ls", "--json"]).exits(0).json(), [listed]);
}

#[test]
fn the_exit_codes_are_the_same_and_the_task_says_why() {
    let cli = Cli::new();
    let probe = component("probe");
    let failed = cli.run(&["run", &probe, "fail", "kind=failed", "message=no", "--json"]).exits(1).task();
    assert_eq!((failed["state"].as_str(), failed["error"]["class"].as_str()), (Some("failed"), Some("tool")));
    let broke = cli.run(&["run", &probe, "panics", "--json"]).exits(5).task();
    assert_eq!((broke["state"].as_str(), broke["error"]["class"].as_str()), (Some("failed"), Some("run")));
    let waiting = cli.run(&["run", &probe, "ask", "prompt=Well?", r#"schema={"type":"boolean"}"#, "--json"]).exits(4);
    assert!(waiting.json().iter().any(|line| line["kind"] == "question"));
    waiting.says("tasks answer");
}

#[test]
fn an_error_leaves_standard_output_empty() {
    let cli = Cli::new();
    for args in [
        vec!["run", "nothing", "--json"],
        vec!["tasks", "show", "0", "--json"],
        vec!["tasks", "rm", "0", "--json"],
        vec!["plugin", "rm", "nothing", "--json"],
    ] {
        let done = cli.run(&args).exits(2);
        assert_eq!(done.stdout, "");
        done.says("error: ");
    }
}

#[test]
fn commands_on_tasks_print_what_they_did() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "ask", "prompt=Well?", r#"schema={"type":"boolean"}"#]).exits(4);
    let id = cli.only_id();
    let answered = cli.run(&["tasks", "answer", &id, "true", "--json"]).exits(0).task();
    assert_eq!(answered["questions"], serde_json::json!([]));
    let cancelled = cli.run(&["tasks", "cancel", &id, "--json"]).exits(0);
    assert_eq!(cancelled.json()[0]["type"], "cancel");
    assert!(cancelled.json()[0]["found"].is_string());
    assert!(cancelled.task()["ended_at"].is_string(), "{cancelled:?}");
    let removed = cli.run(&["tasks", "rm", &id, "--json"]).exits(0).json();
    assert_eq!(removed, [serde_json::json!({"type": "removed", "task": id})]);
}

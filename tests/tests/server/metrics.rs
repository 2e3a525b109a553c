//! Numbers, and what is logged.

use longhaul_tests::cli::Cli;
use longhaul_tests::server::{json, send, until};
use reqwest::Method;
use serde_json::{Value, json};

#[tokio::test]
async fn the_numbers_say_what_became_of_tasks_by_tool() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let noop = agent.start("noop", json!({})).await;
    let fail = agent.start("fail", json!({ "kind": "failed", "message": "no luck" })).await;
    let ask = agent.start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    for id in [&noop, &fail, &ask] {
        agent.settled(id).await;
    }
    // They are counted after the commit that readers are told of.
    until(async || {
        let found = agent.get("/metrics").await.text;
        [("noop", "completed"), ("fail", "failed")].iter().all(|(tool, state)| {
            found.contains(&format!(
                "longhaul_ended_tasks_total{{plugin=\"probe\",tool=\"{tool}\",state=\"{state}\"}} 1"
            ))
        })
    })
    .await;
    let answer = agent.get("/metrics").await.is(200);
    assert!(answer.header("content-type").starts_with("text/plain; version=0.0.4"));
    for line in [
        "longhaul_ended_tasks_total{plugin=\"probe\",tool=\"noop\",state=\"completed\"} 1",
        "longhaul_ended_tasks_total{plugin=\"probe\",tool=\"fail\",state=\"failed\"} 1",
        "longhaul_unfinished_tasks{state=\"waiting\"} 1",
        "longhaul_queue_seconds_count 3",
        "longhaul_task_seconds_count{plugin=\"probe\",tool=\"noop\"} 1",
        "# TYPE longhaul_commits_total counter",
    ] {
        assert!(answer.text.lines().any(|found| found == line), "`{line}` is not in {}", answer.text);
    }
    for name in ["longhaul_memory_high_water_bytes", "longhaul_fuel_total", "longhaul_run_seconds_total"] {
        let start = format!("{name}{{plugin=\"probe\",tool=\"noop\"}} ");
        let value = answer.text.lines().find_map(|line| line.strip_prefix(&start)?.parse::<f64>().ok());
        assert!(value.is_some_and(|value| value > 0.0 || name.contains("seconds")), "{name} in {}", answer.text);
    }
}

#[tokio::test]
async fn logs_are_json_with_the_task_and_its_trace_and_never_a_token() {
    let cli = Cli::new();
    let server = cli.serve(&["--log-format", "json", "--verbose"]);
    let agent = server.agent();
    let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let body = json!({ "plugin": "probe", "tool": "noop" });
    let start = agent.request(Method::POST, "/v1/tasks").header("traceparent", trace);
    let id = send(json(start, &body)).await.is(202).json()["id"].as_str().unwrap().to_owned();
    agent.settled(&id).await;
    let odd = agent.request(Method::POST, "/v1/tasks").header("traceparent", "nonsense");
    send(json(odd, &body)).await.is(202);
    server.signal("TERM");
    let done = tokio::task::spawn_blocking(move || server.end()).await.unwrap();
    assert_eq!(done.code, 0, "{done:?}");
    let token = cli.token(&["other"]);
    let lines: Vec<Value> = done.stderr.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let answered = |line: &&Value| line["message"] == "answered" && line["spans"][0]["path"] == "/v1/tasks";
    let line = lines.iter().find(answered).unwrap_or_else(|| panic!("{}", done.stderr));
    assert_eq!((&line["status"], &line["spans"][0]["method"]), (&json!(202), &json!("POST")));
    assert!(!done.stderr.contains("Bearer") && !done.stderr.contains(&token[..4]), "no token is logged");
    let of_task = |line: &&Value| line["spans"][0]["id"] == id.as_str() && line["spans"][0]["trace"] == trace;
    assert!(lines.iter().any(|line| of_task(&line)), "{}", done.stderr);
}

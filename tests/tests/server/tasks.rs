//! Tasks over HTTP: started, followed, answered, stopped, found again.

use longhaul_tests::cli::Cli;
use longhaul_tests::server::{json, send};
use reqwest::Method;
use serde_json::{Value, json};

fn ask() -> Value {
    json!({ "prompt": "Shall we?", "schema": { "type": "boolean" } })
}

#[tokio::test]
async fn a_plugin_with_an_alias_is_listed_with_it_and_started_by_it_or_by_its_name() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), "[plugins.probe]\nalias = 'trial'\n").unwrap();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let tools = agent.get("/v1/tools").await.is(200).json();
    let tools = tools["tools"].as_array().unwrap();
    assert!(tools.iter().all(|tool| tool["alias"] == "trial" && tool["plugin"] == "probe"), "{tools:?}");
    for called in ["trial", "probe"] {
        let task = agent.post("/v1/tasks", json!({ "plugin": called, "tool": "noop" })).await.is(202).json();
        assert_eq!(task["plugin"], "probe");
    }
    std::fs::write(cli.data().join("longhaul.toml"), "").unwrap();
    agent.post("/v1/tasks", json!({ "plugin": "trial", "tool": "noop" })).await.problem(422, "unknown-plugin");
    assert_eq!(agent.get("/v1/tools").await.json()["tools"][0].get("alias"), None);
}

#[tokio::test]
async fn a_task_is_started_asks_is_answered_and_completes() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let body = json!({
        "plugin": "probe", "tool": "ask", "input": ask(), "session": "thread-7", "context": { "reply_to": 12 },
        "deadline_seconds": 600,
    });
    let started = agent.post("/v1/tasks", body).await.is(202);
    let task = started.json();
    let id = task["id"].as_str().unwrap();
    assert_eq!(started.header("location"), format!("/v1/tasks/{id}"));
    assert_eq!((&task["session"], &task["context"]["reply_to"]), (&json!("thread-7"), &json!(12)));

    let asks = agent.settled(id).await;
    assert_eq!((&asks["state"], &asks["questions"][0]["prompt"]), (&json!("waiting"), &json!("Shall we?")));
    let path = format!("/v1/tasks/{id}/questions/1/answer");
    agent.post(&path, json!({ "value": "perhaps" })).await.problem(422, "invalid-answer");
    agent.post(&path, json!({})).await.problem(400, "invalid-request");
    agent.post(&path.replace("/1/", "/7/"), json!({ "value": true })).await.problem(404, "unknown-question");
    let first = agent.post(&path, json!({ "value": true, "by": "ada" })).await.is(200).json();
    assert_eq!(first["reply"], json!({ "outcome": "answered", "value": true, "by": "ada (first)" }));
    let second = agent.post(&path, json!({ "value": false })).await.problem(409, "already-settled");
    assert_eq!(second["reply"], first["reply"], "the first counts");
    assert!(second["at"].as_str().unwrap().ends_with('Z'), "{second}");

    let done = agent.get(&format!("/v1/tasks/{id}?wait=60s")).await.is(200).json();
    assert_eq!(done["state"], "completed", "{done}");
    assert_eq!(agent.delete(&format!("/v1/tasks/{id}")).await.status, 204);
    agent.get(&format!("/v1/tasks/{id}")).await.problem(404, "unknown-task");
}

#[tokio::test]
async fn promise_1_a_task_that_was_acknowledged_outlives_a_kill_at_once() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let token = cli.token(&["agent"]);
    let agent = server.agent_with(&token);
    let id = agent.start("ask", ask()).await;
    server.kill();
    let server = cli.try_serve(&[]).expect("it serves again");
    let agent = server.agent_with(&token);
    assert_eq!(agent.settled(&id).await["questions"][0]["question"], 1);
    let path = format!("/v1/tasks/{id}/questions/1/answer");
    agent.post(&path, json!({ "value": true })).await.is(200);
    server.kill();
    let server = cli.try_serve(&[]).expect("it serves again");
    let agent = server.agent_with(&token);
    agent.post(&path, json!({ "value": false })).await.problem(409, "already-settled");
    assert_eq!(agent.settled(&id).await["state"], "completed");
}

#[tokio::test]
async fn the_same_key_and_body_give_the_same_task_and_another_body_is_refused() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let start = |key: &'static str, body: Value| {
        send(json(agent.request(Method::POST, "/v1/tasks").header("idempotency-key", key), &body))
    };
    let body = || json!({ "plugin": "probe", "tool": "ask", "input": ask() });
    let first = start("\"request-1\"", body()).await.is(202).json();
    let again = start("request-1", body()).await.is(202);
    assert_eq!(again.json()["id"], first["id"]);
    assert_eq!(again.header("location"), format!("/v1/tasks/{}", first["id"].as_str().unwrap()));
    let other = start("request-1", json!({ "plugin": "probe", "tool": "noop" })).await;
    assert_eq!(other.problem(422, "idempotency-mismatch")["task"], first["id"]);
    start("\"torn", body()).await.problem(400, "invalid-request");
    assert_eq!(agent.get("/v1/tasks").await.json()["tasks"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn the_locale_and_the_time_zone_of_a_start_reach_the_tool() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let start = |locale: &str, zone: &str| {
        let body = json!({ "plugin": "probe", "tool": "who_am_i", "locale": locale, "time_zone": zone });
        agent.post("/v1/tasks", body)
    };
    let task = start("de-CH", "Europe/Zurich").await.is(202).json();
    let done = agent.get(&format!("/v1/tasks/{}?wait=60s", task["id"].as_str().unwrap())).await.is(200).json();
    let told = &done["output"]["structured"];
    assert_eq!((&told["locale"], &told["timeZone"]), (&json!("de-CH"), &json!("Europe/Zurich")), "{done}");
    start("de_CH", "Europe/Zurich").await.problem(422, "out-of-range");
    start("de-CH", "here").await.is(202);
    start("de-CH", "+01:00").await.problem(422, "out-of-range");
}

#[tokio::test]
async fn what_can_not_be_started_says_why() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let start = |body: Value| agent.post("/v1/tasks", body);
    start(json!({ "plugin": "nobody", "tool": "noop" })).await.problem(422, "unknown-plugin");
    start(json!({ "plugin": "probe", "tool": "nothing" })).await.problem(422, "unknown-tool");
    let input = start(json!({ "plugin": "probe", "tool": "ask", "input": { "prompt": 7 } })).await;
    assert!(input.problem(422, "invalid-input")["detail"].as_str().unwrap().contains("/prompt"));
    start(json!({ "plugin": "probe", "tool": "noop", "deadline_seconds": 9_000_000 }))
        .await
        .problem(422, "out-of-range");
    let unknown = start(json!({ "plugin": "probe", "tool": "noop", "sesion": "x" })).await;
    assert!(unknown.problem(400, "invalid-request")["detail"].as_str().unwrap().contains("sesion"));
    let torn = send(json(agent.request(Method::POST, "/v1/tasks"), &Value::Null).body("{\"plugin\"")).await;
    torn.problem(400, "invalid-request");
    agent.get("/v1/nowhere").await.problem(404, "not-found");
    send(agent.request(Method::PUT, "/v1/tasks")).await.problem(405, "unknown-method");
    agent.get("/v1/tasks?stat=queued").await.problem(400, "invalid-request");
    agent.get("/v1/tasks?state=lost").await.problem(400, "invalid-request");
    agent.get("/v1/tasks/01k?wait=90s").await.problem(400, "invalid-request");
    agent.get("/v1/tasks/01k").await.problem(404, "unknown-task");
}

#[tokio::test]
async fn a_long_poll_answers_when_something_happened_and_at_the_latest_when_its_time_is_up() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = agent.start("ask", ask()).await;
    let seen = agent.settled(&id).await["last_seq"].as_u64().unwrap();
    let path = |after: u64, wait: &str| format!("/v1/tasks/{id}?after={after}&wait={wait}");
    let all = agent.get(&format!("/v1/tasks/{id}?after=0")).await.is(200).json();
    let kinds: Vec<_> = all["events"].as_array().unwrap().iter().map(|event| event["kind"].as_str().unwrap()).collect();
    assert_eq!((kinds[0], *kinds.last().unwrap()), ("started", "question"), "{kinds:?}");
    let nothing = agent.get(&path(seen, "50ms")).await.is(200).json();
    assert_eq!((&nothing["events"], &nothing["state"]), (&json!([]), &json!("waiting")));
    let (news, _) = tokio::join!(agent.get(path(seen, "60s")), agent.post(format!("/v1/tasks/{id}/cancel"), json!({})));
    assert!(!news.is(200).json()["events"].as_array().unwrap().is_empty());
}

#[tokio::test]
async fn promise_9_cancelling_says_what_it_found_and_may_be_repeated() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = agent.start("ask", ask()).await;
    agent.settled(&id).await;
    agent.delete(&format!("/v1/tasks/{id}")).await.problem(409, "not-ended");
    let cancel = || agent.post(format!("/v1/tasks/{id}/cancel"), json!({}));
    assert_eq!(cancel().await.is(200).json(), json!({ "task": id, "found": "waiting" }));
    let done = agent.post("/v1/wait", json!({ "tasks": [id], "for": "all", "wait": "60s" })).await.is(200).json();
    assert_eq!((&done["done"], &done["tasks"][0]["state"]), (&json!(true), &json!("cancelled")));
    assert_eq!(cancel().await.is(200).json(), json!({ "task": id, "found": "cancelled" }));
}

#[tokio::test]
async fn one_of_several_tasks_or_all_of_them_are_waited_for() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let slow = agent.start("sleepy", json!({ "ms": 600_000 })).await;
    let quick = agent.start("noop", json!({})).await;
    let wait =
        |which: &str, wait: &str| agent.post("/v1/wait", json!({ "tasks": [slow, quick], "for": which, "wait": wait }));
    let any = wait("any", "60s").await.is(200).json();
    assert_eq!((&any["done"], &any["tasks"][1]["state"]), (&json!(true), &json!("completed")));
    let look = wait("any", "0s").await.is(200).json();
    assert_eq!(look["done"], json!(true), "it has ended, and nobody waits");
    let all = wait("all", "50ms").await.is(200).json();
    assert_eq!(all["done"], json!(false));
    agent.post(&format!("/v1/tasks/{slow}/cancel"), json!({})).await.is(200);
    assert_eq!(wait("all", "60s").await.is(200).json()["done"], json!(true));
    agent.post("/v1/wait", json!({ "tasks": [] })).await.problem(400, "invalid-request");
}

#[tokio::test]
async fn a_stream_goes_on_where_it_was_left_even_by_a_server_that_was_killed() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let token = cli.token(&["agent"]);
    let agent = server.agent_with(&token);
    let id = agent.start("ask", ask()).await;
    let path = format!("/v1/tasks/{id}/events");
    let mut events = agent.stream(&path, None).await;
    let first = events.next().await.unwrap();
    assert_eq!((first.event.as_str(), first.id.as_str()), ("started", "1"));
    let question = events.until("question").await;
    assert_eq!(question.data["prompt"], "Shall we?");
    assert_eq!(question.data["seq"].to_string(), question.id);
    server.kill();
    assert_eq!(events.next().await, None);

    let server = cli.try_serve(&[]).expect("it serves again");
    let agent = server.agent_with(&token);
    let mut events = agent.stream(&path, Some(&question.id)).await;
    agent.post(&format!("/v1/tasks/{id}/questions/1/answer"), json!({ "value": true })).await.is(200);
    assert_eq!(events.next().await.unwrap().event, "reply", "nothing twice, nothing missed");
    let end = events.until("ended").await;
    assert_eq!(events.next().await, None, "it closes after the end");
    let over = agent.request(Method::GET, &path).header("last-event-id", &end.id);
    assert_eq!(send(over).await.status, 204, "a browser asks no more");
    let odd = agent.request(Method::GET, &path).header("last-event-id", "seven");
    send(odd).await.problem(400, "invalid-request");
}

#[tokio::test]
async fn lists_are_filtered_and_paged() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let mut ids = Vec::new();
    for n in 0..5 {
        let session = if n % 2 == 0 { "even" } else { "odd" };
        let body = json!({ "plugin": "probe", "tool": "noop", "session": session });
        ids.push(agent.post("/v1/tasks", body).await.is(202).json()["id"].clone());
    }
    agent.post("/v1/wait", json!({ "tasks": ids, "for": "all", "wait": "60s" })).await.is(200);
    let list = async |query: &str| agent.get(&format!("/v1/tasks?{query}")).await.is(200).json();
    let (mut seen, mut query) = (Vec::new(), "limit=2".to_owned());
    loop {
        let page = list(&query).await;
        seen.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["id"].clone()));
        match page["next"].as_str() {
            Some(next) => query = format!("limit=2&cursor={next}"),
            None => break,
        }
    }
    ids.sort_by_key(|id| std::cmp::Reverse(id.to_string()));
    assert_eq!(seen, ids);
    let count = async |query: &str| list(query).await["tasks"].as_array().unwrap().len();
    assert_eq!(count("session=odd").await, 2);
    assert_eq!(count("state=completed&plugin=probe&tool=noop").await, 5);
    assert_eq!(count("state=failed").await, 0);
    assert_eq!(count("plugin=other").await, 0);
    assert_eq!(count("tool=ask").await, 0);
    agent.get("/v1/tasks?limit=0").await.problem(400, "invalid-request");
    agent.get("/v1/tasks?limit=1001").await.problem(400, "invalid-request");
}

#[tokio::test]
async fn a_server_that_is_told_to_stop_lets_its_readers_go_and_loses_nothing() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let id = agent.start("ask", ask()).await;
    let last = agent.settled(&id).await["last_seq"].clone();
    let mut events = agent.stream(&format!("/v1/tasks/{id}/events"), None).await;
    events.until("question").await;
    let waiting = tokio::spawn({
        let (agent, id) = (agent.clone(), id.clone());
        async move { agent.get(&format!("/v1/tasks/{id}?wait=60s&after={last}")).await }
    });
    // It is under way when the server counts it: the stream and the poll.
    server.signal("TERM");
    assert_eq!(events.next().await, None);
    let _ = waiting.await;
    let done = tokio::task::spawn_blocking(move || server.end()).await.unwrap();
    done.exits(0);
    let server = cli.try_serve(&[]).expect("it serves again");
    let agent = server.agent_with(&cli.token(&["agent"]));
    assert_eq!(agent.settled(&id).await["questions"][0]["question"], 1);
}

#[tokio::test]
async fn plugins_are_installed_looked_at_and_removed() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let component = longhaul_tests::embedded::component("csv-profile");
    let install = |bytes: Vec<u8>| send(agent.request(Method::POST, "/v1/plugins").body(bytes));
    let plugin = install(component).await.is(201).json();
    assert_eq!(plugin["name"], "csv-profile");
    install(b"not wasm".to_vec()).await.problem(422, "invalid-plugin");
    let tools = agent.get("/v1/tools").await.is(200).json();
    let tool = tools["tools"].as_array().unwrap().iter().find(|tool| tool["plugin"] == "csv-profile").unwrap();
    assert_eq!(tool["name"], "profile_csv");
    assert_eq!(tool["inputSchema"]["type"], "object");
    let digest = plugin["digest"].as_str().unwrap();
    assert_eq!(agent.get(&format!("/v1/plugins/{digest}")).await.is(200).json()["name"], "csv-profile");
    assert_eq!(agent.delete("/v1/plugins/csv-profile").await.status, 204);
    agent.get("/v1/plugins/csv-profile").await.problem(404, "unknown-plugin");
}

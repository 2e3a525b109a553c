//! Who is let in, and to what.

use std::collections::BTreeSet;

use longhaul_tests::cli::Cli;
use longhaul_tests::server::{client, json, send};
use reqwest::Method;
use serde_json::json;

/// Every route, with a task of another namespace where it names one. A route that is missing here fails the test.
const ROUTES: &[(&str, &str)] = &[
    ("GET", "/v1/tools"),
    ("GET", "/v1/plugins"),
    ("POST", "/v1/plugins"),
    ("GET", "/v1/plugins/{plugin}"),
    ("DELETE", "/v1/plugins/{plugin}"),
    ("GET", "/v1/tasks"),
    ("POST", "/v1/tasks"),
    ("GET", "/v1/tasks/{id}"),
    ("DELETE", "/v1/tasks/{id}"),
    ("GET", "/v1/tasks/{id}/events"),
    ("POST", "/v1/tasks/{id}/cancel"),
    ("GET", "/v1/tasks/{id}/questions/{question}"),
    ("POST", "/v1/tasks/{id}/questions/{question}/answer"),
    ("POST", "/v1/wait"),
    ("GET", "/v1/feed"),
    ("GET", "/v1/webhooks"),
    ("POST", "/v1/webhooks"),
    ("DELETE", "/v1/webhooks/{webhook}"),
    ("POST", "/v1/webhooks/{webhook}/enable"),
    ("GET", "/v1/callback-secret"),
    ("GET", "/v1/deliveries"),
    ("POST", "/v1/deliveries/{delivery}/redeliver"),
    ("GET", "/metrics"),
    ("GET", "/v1/questions"),
    ("GET", "/v1/tasks/{id}/input"),
    ("GET", "/v1/plugins/{plugin}/needs"),
    ("GET", "/v1/session"),
];

fn body_for(path: &str, id: &str) -> serde_json::Value {
    match path {
        "/v1/wait" => json!({ "tasks": [id] }),
        "/v1/tasks" => json!({ "plugin": "probe", "tool": "noop" }),
        _ if path.ends_with("/answer") => json!({ "value": true }),
        _ => json!({}),
    }
}

#[tokio::test]
async fn promise_8_a_task_of_another_namespace_does_not_exist_on_any_route() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let owner = server.agent();
    let input = json!({ "prompt": "Shall we?", "schema": { "type": "boolean" } });
    let id = owner.start("ask", input).await;
    assert_eq!(owner.settled(&id).await["state"], "waiting");

    let documented = owner.get("/openapi.json").await.is(200).json();
    let mut names = BTreeSet::new();
    for (path, operations) in documented["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            assert!(names.insert(operation["operationId"].to_string()), "{method} {path} has the name of another");
            let method = method.to_uppercase();
            // Whoever signs in has no token yet.
            let known =
                ROUTES.contains(&(method.as_str(), path.as_str())) || (method == "POST" && path == "/v1/session");
            assert!(known, "{method} {path} is not in the table");
        }
    }

    let all = ["--scope", "tasks", "--scope", "answer", "--scope", "admin"];
    let other = server.agent_with(&cli.token(&[&["other", "--namespace", "other"], &all[..]].concat()));
    for (method, path) in ROUTES {
        let names_a_task = path.contains("{id}") || *path == "/v1/wait";
        if !names_a_task {
            continue;
        }
        let full = path.replace("{id}", &id).replace("{question}", "1");
        let mut request = other.request(method.parse().unwrap(), &full);
        if *method == "POST" {
            request = json(request, &body_for(path, &id));
        }
        send(request).await.problem(404, "unknown-task");
    }
    assert_eq!(other.get("/v1/tasks").await.is(200).json()["tasks"], json!([]));
    assert_eq!(other.get("/v1/feed").await.is(200).json()["items"], json!([]));
    let hook = json!({ "url": "https://desk.example.com/hook" });
    let hook = owner.post("/v1/webhooks", hook).await.is(201).json()["id"].as_str().unwrap().to_owned();
    assert_eq!(other.get("/v1/webhooks").await.is(200).json()["webhooks"], json!([]));
    other.delete(&format!("/v1/webhooks/{hook}")).await.problem(404, "not-found");
    other.post(format!("/v1/webhooks/{hook}/enable"), json!({})).await.problem(404, "not-found");
    let secret = async |agent: &longhaul_tests::server::Agent| agent.get("/v1/callback-secret").await.is(200).json();
    assert_ne!(secret(&other).await, secret(&owner).await);
    assert_eq!(owner.get("/v1/tasks").await.is(200).json()["tasks"].as_array().unwrap().len(), 1);
    assert_eq!(owner.get(&format!("/v1/tasks/{id}")).await.json()["state"], "waiting", "nobody has touched it");
}

#[tokio::test]
async fn no_route_answers_without_a_token_that_is_good() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let revoked = cli.token(&["gone"]);
    let id = cli.run(&["token", "ls", "--json"]).json().into_iter().find(|token| token["name"] == "gone").unwrap();
    cli.run(&["token", "revoke", id["id"].as_str().unwrap()]).exits(0).says("revoked");
    let expired = cli.token(&["short", "--expires", "1ms"]);
    let first = cli.token(&["first"]);
    let other_secret = format!("{}x", &first[..first.len() - 1]);
    for token in ["", "nonsense", "lh_0123_x", &revoked, &expired, &other_secret] {
        for (method, path) in ROUTES {
            let path = path
                .replace("{id}", "01k")
                .replace("{question}", "1")
                .replace("{plugin}", "probe")
                .replace("{webhook}", "wh_1")
                .replace("{delivery}", "msg_1");
            let mut request = client().request(method.parse().unwrap(), format!("{}{path}", server.url()));
            if !token.is_empty() {
                request = request.bearer_auth(token);
            }
            let answer = send(request).await;
            assert!(answer.header("www-authenticate").starts_with("Bearer "), "{answer:?}");
            answer.problem(401, "unauthorized");
        }
    }
    server.agent_with(&first).get("/v1/tools").await.is(200);
    for open in ["/healthz", "/readyz", "/openapi.json", "/docs"] {
        send(client().get(format!("{}{open}", server.url()))).await.is(200);
    }
}

#[tokio::test]
async fn a_token_does_what_its_scopes_say_and_no_more() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let id = server.agent().start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    server.agent().settled(&id).await;
    let may = |scope: &'static str| server.agent_with(&cli.token(&[scope, "--scope", scope]));
    let (tasks, answer, admin) = (may("tasks"), may("answer"), may("admin"));
    let question = format!("/v1/tasks/{id}/questions/1/answer");
    for look in ["/v1/tasks", "/v1/tools", &format!("/v1/tasks/{id}")] {
        tasks.get(look).await.is(200);
        answer.get(look).await.problem(403, "missing-scope");
        admin.get(look).await.problem(403, "missing-scope");
    }
    tasks.post(&question, json!({ "value": true })).await.problem(403, "missing-scope");
    let start = json!({ "plugin": "probe", "tool": "noop" });
    answer.post("/v1/tasks", start).await.problem(403, "missing-scope");
    answer.post(&format!("/v1/tasks/{id}/cancel"), json!({})).await.problem(403, "missing-scope");
    for agent in [&tasks, &answer] {
        agent.delete("/v1/plugins/probe").await.problem(403, "missing-scope");
        send(agent.request(Method::POST, "/v1/plugins").body("x")).await.problem(403, "missing-scope");
    }
    for keep in ["/metrics", "/v1/webhooks", "/v1/deliveries"] {
        admin.get(keep).await.is(200);
        tasks.get(keep).await.problem(403, "missing-scope");
    }
    admin.delete("/v1/plugins/probe").await.problem(409, "plugin-in-use");
    let answered = answer.post(&question, json!({ "value": true })).await.is(200).json();
    assert_eq!(answered["reply"]["by"], "answer", "the journal says which token");
}

#[tokio::test]
async fn whoever_may_only_answer_sees_questions_and_who_asks_and_nothing_else_of_a_task() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let owner = server.agent();
    let ask = json!({
        "plugin": "probe", "tool": "ask", "context": { "for": "the agent alone" },
        "input": { "prompt": "Shall we?", "schema": { "type": "boolean" } },
    });
    let id = owner.post("/v1/tasks", ask).await.is(202).json()["id"].as_str().unwrap().to_owned();
    owner.settled(&id).await;
    let desk = server.agent_with(&cli.token(&["desk", "--scope", "answer"]));

    for hidden in [
        "/v1/tasks".to_owned(),
        format!("/v1/tasks/{id}"),
        format!("/v1/tasks/{id}?after=0"),
        format!("/v1/tasks/{id}/events"),
        format!("/v1/tasks/{id}/input"),
        "/v1/tools".to_owned(),
        "/v1/plugins".to_owned(),
        "/v1/plugins/probe".to_owned(),
    ] {
        desk.get(&hidden).await.problem(403, "missing-scope");
    }
    desk.post("/v1/wait", json!({ "tasks": [id] })).await.problem(403, "missing-scope");

    let listed = desk.get("/v1/questions").await.is(200).json();
    assert_eq!(listed["questions"][0]["prompt"], "Shall we?");
    desk.get("/v1/plugins/probe/needs").await.is(200);
    let question = format!("/v1/tasks/{id}/questions/1");
    let asked = desk.get(&question).await.is(200).json();
    assert_eq!((&asked["prompt"], &asked["reply"]), (&json!("Shall we?"), &json!(null)));
    desk.get(format!("/v1/tasks/{id}/questions/2")).await.problem(404, "unknown-question");

    let mut live = desk.stream("/v1/feed", None).await;
    desk.post(format!("{question}/answer"), json!({ "value": true })).await.is(200);
    owner.settled(&id).await;
    owner.start("ask", json!({ "prompt": "Again?", "schema": { "type": "boolean" } })).await;
    for (kind, context) in [("question", json!(null)), ("reply", json!(null)), ("question", json!(null))] {
        let item = live.next().await.expect("more comes");
        assert_eq!(
            (item.event.as_str(), &item.data["context"]),
            (kind, &context),
            "no end with its result is among it"
        );
    }
    let pages = [desk.get("/v1/feed").await.is(200).json(), owner.get("/v1/feed").await.is(200).json()];
    let kinds = pages.each_ref().map(|page| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["event"]["kind"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    });
    assert_eq!(kinds, [vec!["question", "reply", "question"], vec!["question", "reply", "ended", "question"]]);
    assert_eq!(pages[1]["items"][0]["context"]["for"], "the agent alone");
    assert_eq!(desk.get(&question).await.is(200).json()["reply"]["by"], "desk");
}

#[test]
fn an_address_that_others_reach_needs_tokens_first() {
    let cli = Cli::new();
    let refused = cli.try_serve(&["--listen", "0.0.0.0:0"]).err().expect("it is refused");
    refused.exits(2).says("there is no token").says("longhaul token create");
    cli.token(&["ops"]);
    let served = cli.try_serve(&["--listen", "0.0.0.0:0"]).expect("now it serves");
    served.kill();
}

#[tokio::test]
async fn a_web_page_of_elsewhere_reaches_nothing() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let tools = || agent.request(Method::GET, "/v1/tools");
    send(tools().header("origin", "https://evil.example")).await.problem(403, "unknown-origin");
    send(tools().header("host", "evil.example")).await.problem(421, "unknown-host");
    send(tools().header("origin", "http://localhost:3000")).await.is(200);
    // A form of a page sends this without asking.
    let form = agent.request(Method::POST, "/v1/tasks").header("content-type", "text/plain").body("{}");
    send(form).await.problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn a_body_too_large_and_requests_too_many_are_refused_by_the_limits_of_the_file() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(
        cli.data().join("longhaul.toml"),
        "[server]\nbody_bytes = 1000\nrequests_per_second = 10\nstreams = 1\n",
    )
    .unwrap();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let start = |padding: usize| json!({ "plugin": "probe", "tool": "noop", "context": "x".repeat(padding) });
    agent.post("/v1/tasks", start(900)).await.is(202);
    agent.post("/v1/tasks", start(1000)).await.problem(413, "too-large");
    let id = agent.start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } })).await;
    let _open = agent.stream(&format!("/v1/tasks/{id}/events"), None).await;
    let second = agent.get(&format!("/v1/tasks/{id}/events")).await;
    assert!(second.problem(429, "rate-limited")["detail"].as_str().unwrap().contains("`streams`"));
    let answers = futures_util::future::join_all((0..60).map(|_| agent.get("/v1/tools"))).await;
    let refused = answers.into_iter().find(|answer| answer.status == 429).expect("one is refused");
    assert_eq!(refused.header("retry-after"), "1");
    assert!(refused.problem(429, "rate-limited")["detail"].as_str().unwrap().contains("`requests_per_second`"));
}

#[test]
fn a_section_that_makes_no_sense_keeps_the_server_from_starting() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), "[server]\nlisten_on = 5\n").unwrap();
    let refused = cli.try_serve(&[]).err().expect("it is refused");
    refused.exits(2).says("longhaul.toml").says("listen_on");
}

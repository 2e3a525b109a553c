//! Webhooks: signed, sent until they are received, under one id.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use longhaul_tests::cli::Cli;
use longhaul_tests::server::{Agent, Serving};
use serde_json::{Value, json};
use standardwebhooks::Webhook;
use tokio::sync::mpsc;

/// What a receiver got.
#[derive(Debug)]
struct Got {
    id: String,
    timestamp: i64,
    signature: String,
    body: String,
}

/// A receiver: what it answers, in order, and 204 after that. A status of 0 never comes.
struct Receiver {
    url: String,
    got: mpsc::UnboundedReceiver<Got>,
}

#[derive(Clone)]
struct Shared {
    answers: Arc<Mutex<VecDeque<u16>>>,
    got: mpsc::UnboundedSender<Got>,
}

async fn receive(State(shared): State<Shared>, headers: HeaderMap, body: String) -> StatusCode {
    let text = |name: &str| headers[name].to_str().unwrap().to_owned();
    assert_eq!(text("content-type"), "application/json");
    let got = Got {
        id: text("webhook-id"),
        timestamp: text("webhook-timestamp").parse().unwrap(),
        signature: text("webhook-signature"),
        body,
    };
    let _ = shared.got.send(got);
    let answer = shared.answers.lock().unwrap().pop_front().unwrap_or(204);
    if answer == 0 {
        std::future::pending::<()>().await;
    }
    StatusCode::from_u16(answer).unwrap()
}

impl Receiver {
    async fn new(answers: &[u16]) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let (send, got) = mpsc::unbounded_channel();
        let shared = Shared { answers: Arc::new(Mutex::new(answers.iter().copied().collect())), got: send };
        let app = axum::Router::new().route("/hook", axum::routing::post(receive)).with_state(shared);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, got }
    }

    async fn next(&mut self) -> Got {
        self.got.recv().await.expect("the receiver runs")
    }
}

fn verified(got: &Got, secret: &str) -> Value {
    let signed = Webhook::new(secret).unwrap().sign(&got.id, got.timestamp, got.body.as_bytes()).unwrap();
    assert_eq!(got.signature, signed);
    serde_json::from_str(&got.body).unwrap()
}

/// A server that sends to this machine.
fn serve(cli: &Cli) -> Serving {
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), "[server]\nwebhooks_to_private = true\n").unwrap();
    cli.serve(&[])
}

async fn ask(agent: &Agent, more: Value) -> String {
    let mut body = json!({
        "plugin": "probe", "tool": "ask", "session": "s", "context": { "n": 7 },
        "input": { "prompt": "Shall we?", "schema": { "type": "boolean" } },
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let id = agent.post("/v1/tasks", body).await.is(202).json()["id"].as_str().unwrap().to_owned();
    agent.settled(&id).await;
    id
}

#[tokio::test]
async fn a_webhook_is_sent_what_it_asked_for_signed_with_its_secret() {
    let cli = Cli::new();
    let server = serve(&cli);
    let agent = server.agent();
    let mut receiver = Receiver::new(&[]).await;
    let wanted = json!({ "url": receiver.url, "events": ["question.asked", "task.completed"] });
    let hook = agent.post("/v1/webhooks", wanted).await.is(201).json();
    let secret = hook["secret"].as_str().unwrap();
    let id = ask(&agent, json!({})).await;
    let asked = receiver.next().await;
    let body = verified(&asked, secret);
    assert_eq!(body["type"], "question.asked");
    let data = &body["data"];
    assert_eq!((&data["task"], &data["session"], &data["context"]["n"]), (&json!(id), &json!("s"), &json!(7)));
    assert_eq!((&data["question"]["prompt"], &data["tool"]), (&json!("Shall we?"), &json!("ask")));
    agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({ "value": true })).await.is(200);
    let done = receiver.next().await;
    assert_ne!(done.id, asked.id);
    let body = verified(&done, secret);
    assert_eq!(
        (&body["type"], &body["data"]["state"]),
        (&json!("task.completed"), &json!("completed")),
        "no reply between"
    );
    assert!(agent.get("/v1/webhooks").await.json()["webhooks"][0]["secret"].is_null(), "it is shown once");
    // The log is written when the answer has come.
    longhaul_tests::server::until(async || {
        let log = agent.get("/v1/deliveries").await.is(200).json();
        let all = log["deliveries"].as_array().unwrap().clone();
        all.len() == 2 && all.iter().all(|one| one["state"] == "delivered" && one["status"] == 204)
    })
    .await;
    agent.post(format!("/v1/deliveries/{}/redeliver", asked.id), json!({})).await.is(202);
    assert_eq!(receiver.next().await.id, asked.id, "once more, under the same id");
    agent.post("/v1/deliveries/msg_none/redeliver", json!({})).await.problem(404, "not-found");
    agent.delete(format!("/v1/webhooks/{}", hook["id"].as_str().unwrap())).await.is(204);
}

#[tokio::test]
async fn a_callback_is_tried_again_after_a_failure_under_the_same_id() {
    let cli = Cli::new();
    let server = serve(&cli);
    let agent = server.agent();
    let mut receiver = Receiver::new(&[500]).await;
    let id = ask(&agent, json!({ "callback_url": receiver.url })).await;
    let secret = agent.get("/v1/callback-secret").await.is(200).json()["secret"].as_str().unwrap().to_owned();
    let first = receiver.next().await;
    let again = receiver.next().await;
    assert_eq!(again.id, first.id);
    assert!(again.timestamp > first.timestamp, "each try is signed afresh");
    assert_eq!(verified(&again, &secret)["data"]["task"], json!(id));
}

#[tokio::test]
async fn what_was_on_its_way_when_the_server_was_killed_is_sent_again_under_the_same_id() {
    let cli = Cli::new();
    let server = serve(&cli);
    let agent = server.agent();
    // The first try is never answered.
    let mut receiver = Receiver::new(&[0]).await;
    let own = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    ask(&agent, json!({ "callback_url": receiver.url, "callback_secret": own })).await;
    let first = receiver.next().await;
    server.kill();
    let _server = cli.try_serve(&[]).expect("it serves again");
    let again = receiver.next().await;
    assert_eq!((again.id, again.body), (first.id, first.body));
    verified(
        &Got {
            id: "x".into(),
            signature: Webhook::new(own).unwrap().sign("x", 1, b"{}").unwrap(),
            timestamp: 1,
            body: "{}".into(),
        },
        own,
    );
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_sent_nothing_more_until_it_is_enabled() {
    let cli = Cli::new();
    let server = serve(&cli);
    let agent = server.agent();
    let mut receiver = Receiver::new(&[410]).await;
    let hook = agent.post("/v1/webhooks", json!({ "url": receiver.url })).await.is(201).json();
    let noop = agent.start("noop", json!({})).await;
    agent.settled(&noop).await;
    receiver.next().await;
    longhaul_tests::server::until(async || {
        agent.get("/v1/webhooks").await.json()["webhooks"][0]["disabled"]
            .as_str()
            .is_some_and(|why| why.contains("410"))
    })
    .await;
    let silent = agent.start("noop", json!({})).await;
    agent.settled(&silent).await;
    agent.post(format!("/v1/webhooks/{}/enable", hook["id"].as_str().unwrap()), json!({})).await.is(204);
    let heard = agent.start("noop", json!({})).await;
    agent.settled(&heard).await;
    let body: Value = serde_json::from_str(&receiver.next().await.body).unwrap();
    assert_eq!(body["data"]["task"], json!(heard));
}

#[tokio::test]
async fn nothing_is_sent_to_private_addresses_unless_the_operator_allows_it() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    for url in [
        "http://desk.example.com/hook",
        "https://127.0.0.1/hook",
        "https://[::1]/hook",
        "https://169.254.169.254/latest",
        "https://10.0.0.7/hook",
        "https://user:pass@desk.example.com/",
        "ftp://desk.example.com/",
        "nowhere",
    ] {
        agent.post("/v1/webhooks", json!({ "url": url })).await.problem(422, "out-of-range");
        let start = json!({ "plugin": "probe", "tool": "noop", "callback_url": url });
        agent.post("/v1/tasks", start).await.problem(422, "out-of-range");
    }
    agent
        .post("/v1/webhooks", json!({ "url": "https://desk.example.com/hook", "secret": "short" }))
        .await
        .problem(422, "out-of-range");
    agent
        .post("/v1/webhooks", json!({ "url": "https://desk.example.com/hook", "events": [] }))
        .await
        .problem(422, "out-of-range");
    // A name that leads here is found out when something is sent.
    let start = json!({ "plugin": "probe", "tool": "noop", "callback_url": "https://localhost:9/hook" });
    let id = agent.post("/v1/tasks", start).await.is(202).json()["id"].as_str().unwrap().to_owned();
    agent.settled(&id).await;
    longhaul_tests::server::until(async || {
        let log = agent.get("/v1/deliveries").await.is(200).json();
        log["deliveries"][0]["tries"] == 1 && log["deliveries"][0]["problem"].is_string()
    })
    .await;
}

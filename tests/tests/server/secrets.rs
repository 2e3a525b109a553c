//! Promise 7: a secret goes where its use says, and is nowhere else: not in what guests get, not in what is kept, not in
//! what anybody is told or logs.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use longhaul_tests::canary::{SECRET, Search, forms};
use longhaul_tests::cli::{Cli, component};
use longhaul_tests::echo::Echo;
use longhaul_tests::server::{Agent, Serving, until};
use serde_json::{Value, json};

/// Percent-encoded, as the host writes it.
const IN_A_PATH: &str = "c4n4ryT0kenQz81w%2F%2B%3D%26%2541%22x%20y";
const IN_A_QUERY: &str = "c4n4ryT0kenQz81w%2F%2B%3D%26%2541%22x+y";

/// The secret of the probe, placed so, that may go to one peer; and whoever may be spoken to.
fn policy(cli: &Cli, source: &str, place: &str, to: &Echo, peers: &[&Echo]) {
    std::fs::create_dir_all(cli.data()).unwrap();
    let rules: Vec<_> = peers.iter().map(|peer| peer.url("")).collect();
    let policy = format!(
        "[server]\nwebhooks_to_private = true\n[secrets]\nfarm = {source}\n[plugins.probe]\nhttp = {rules:?}\n\
         secrets.token = {{ secret = \"farm\", to = [{:?}], as = {place} }}\n",
        to.url("")
    );
    // As an editor does: a process that runs reads all of it or nothing.
    let path = cli.file("longhaul.toml", policy);
    std::fs::rename(path, cli.data().join("longhaul.toml")).unwrap();
}

/// A server that logs all there is into a file.
fn serve(cli: &Cli, format: &str, log: &Path) -> Serving {
    let probe = component("probe");
    let args = ["serve", "--json", "--listen", "127.0.0.1:0", "--plugin", &probe, "--log-format", format, "--verbose"];
    let mut command = cli.command(&args);
    command.env("RUST_LOG", "trace").env("CANARY", SECRET).stderr(File::create(log).unwrap());
    Serving::start(&mut command).unwrap_or_else(|done| panic!("{done:?}"))
}

/// Where webhooks go, and what came there.
async fn receiver() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let got: Arc<Mutex<Vec<String>>> = Arc::default();
    let receive = async |State(got): State<Arc<Mutex<Vec<String>>>>, body: String| got.lock().unwrap().push(body);
    let app = axum::Router::new().route("/hook", axum::routing::post(receive)).with_state(got.clone());
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, got)
}

/// Lets the probe send a request and tell everybody what came of it, and gives all that was heard of the task.
async fn retold(agent: &Agent, input: &Value) -> (Value, Vec<String>) {
    let id = agent.start("retell", input.clone()).await;
    let asked = agent.settled(&id).await;
    assert_eq!(asked["state"], "waiting", "{asked}");
    agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({ "value": true })).await.is(200);
    let task = agent.settled(&id).await;
    let mut events = agent.stream(&format!("/v1/tasks/{id}/events"), None).await;
    let mut heard = vec![asked.to_string(), task.to_string()];
    while let Some(event) = events.next().await {
        heard.push(event.data.to_string());
        if event.event == "ended" {
            break;
        }
    }
    (task, heard)
}

/// What the probe was given.
fn told(task: &Value) -> String {
    match task["error"]["details"].as_str() {
        Some(details) => details.to_owned(),
        None => task["output"]["structured"]["values"][0].as_str().unwrap_or_else(|| panic!("{task}")).to_owned(),
    }
}

/// How a secret is placed, what the guest asks for, and what of it the peer is sent.
struct Case {
    place: &'static str,
    input: Value,
    sent: String,
}

fn cases(peer: &Echo) -> Vec<Case> {
    let case = |place, input, sent: &str| Case { place, input, sent: sent.to_owned() };
    let all = peer.url("/all");
    vec![
        case("'bearer'", json!({ "url": all }), &format!("\r\nauthorization: Bearer {SECRET}\r\n")),
        case("{ header = 'x-api-key' }", json!({ "url": all }), &format!("\r\nx-api-key: {SECRET}\r\n")),
        case(
            "{ basic = 'user' }",
            json!({ "url": all, "end": "failed" }),
            &format!("\r\nauthorization: Basic {}\r\n", STANDARD.encode(format!("user:{SECRET}"))),
        ),
        case("{ query = 'key' }", json!({ "url": all }), &format!("GET /all?key={IN_A_QUERY} HTTP")),
        case(
            "'placeholder'",
            json!({ "url": all, "secret": "token", "headers": { "x-signed": "key={secret};" }, "end": "failed" }),
            &format!("\r\nx-signed: key={SECRET};\r\n"),
        ),
        case(
            "{ placeholder = 'body' }",
            json!({ "url": all, "secret": "token", "method": "POST", "body": "pay with {secret}" }),
            &format!("\r\n\r\npay with {SECRET}"),
        ),
        case(
            "{ placeholder = 'url' }",
            json!({ "url": peer.url("/all/{secret}?key={secret}"), "secret": "token" }),
            &format!("GET /all/{IN_A_PATH}?key={IN_A_PATH} HTTP"),
        ),
        case("'bearer'", json!({ "url": peer.url("/broken") }), SECRET),
        case("'bearer'", json!({ "url": peer.url("/cut"), "end": "failed" }), SECRET),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_7_a_secret_that_comes_back_in_every_form_is_found_nowhere() {
    let (cli, peer, search) = (Cli::new(), Echo::start().await, Search::default());
    let (hook, posted) = receiver().await;
    let file = cli.file("secret", format!("{SECRET}\n"));
    let nowhere = |what: &str, text: &str| assert_eq!(search.found(text.as_bytes()), None, "in {what}");
    let mut ids = Vec::new();
    let mut token = String::new();
    for (round, format) in ["text", "json"].into_iter().enumerate() {
        let source = if round == 0 { "{ env = \"CANARY\" }".to_owned() } else { format!("{{ file = {file:?} }}") };
        policy(&cli, &source, "'bearer'", &peer, &[&peer]);
        let log = cli.file(&format!("log-{format}"), "");
        let server = serve(&cli, format, &log);
        if round == 0 {
            token = server.agent().token().to_owned();
            let wanted = json!({ "url": hook, "events": ["question.asked", "task.completed", "task.failed"] });
            server.agent().post("/v1/webhooks", wanted).await.is(201);
        }
        let agent = server.agent_with(&token);
        for case in cases(&peer).into_iter().skip(round).step_by(2) {
            policy(&cli, &source, case.place, &peer, &[&peer]);
            let before = peer.seen().len();
            let (task, heard) = retold(&agent, &case.input).await;
            let seen = peer.seen().split_off(before);
            assert!(matches!(&seen[..], [one] if one.contains(&case.sent)), "{}: {seen:?}", case.place);
            // It came back, and something stands where it was.
            let told = told(&task);
            if case.sent != SECRET {
                for (number, (form, _)) in forms().into_iter().enumerate() {
                    let line =
                        told.split(&format!("form {number} is ")).nth(1).and_then(|rest| rest.split(" there").next());
                    assert!(line.is_some_and(|line| line.contains("[secret:token]")), "{form}: {line:?}");
                }
                assert!(told.contains("x-sum: [secret:token]"), "{told}");
            }
            heard.iter().for_each(|heard| nowhere("what is heard of the task", heard));
            ids.push(task["id"].as_str().unwrap().to_owned());
        }
        until(async || {
            posted.lock().unwrap().iter().filter(|body| body.contains("\"type\":\"task.")).count() == ids.len()
        })
        .await;
        for path in ["/metrics", "/v1/tasks", "/v1/deliveries", "/v1/feed", "/v1/questions", "/v1/tools"] {
            nowhere(path, &agent.get(path).await.is(200).text);
        }
        // While it runs there is the database's log too.
        assert!(cli.data().join("longhaul.db-wal").exists());
        search.in_files(&cli.data());
        server.signal("TERM");
        assert_eq!(tokio::task::spawn_blocking(move || server.end()).await.unwrap().code, 0);
        let log = std::fs::read_to_string(&log).unwrap();
        assert!(log.contains("TRACE") && log.contains("a request was answered"), "it logs all there is");
        nowhere("the log", &log);
    }
    posted.lock().unwrap().iter().for_each(|body| nowhere("a webhook's message", body));
    for id in &ids {
        for command in
            [["tasks", "show", id, "--json"], ["tasks", "show", id, "--verbose"], ["tasks", "watch", id, "--json"]]
        {
            let done = cli.run(&command);
            assert!([0, 1].contains(&done.code), "{command:?}: {done:?}");
            nowhere(&command.join(" "), &format!("{}{}", done.stdout, done.stderr));
        }
        let done = cli.run(&["tasks", "replay", id]).exits(0);
        nowhere("tasks replay", &format!("{}{}", done.stdout, done.stderr));
    }
    let backup = cli.file("backup.db", "");
    std::fs::remove_file(&backup).unwrap();
    cli.run(&["backup", backup.to_str().unwrap()]).exits(0);
    assert_eq!(search.found(&std::fs::read(&backup).unwrap()), None, "in a backup");
    assert!(search.in_database(&backup) > 100 && search.in_database(&cli.data().join("longhaul.db")) > 100);
    search.in_files(&cli.data());
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_7_a_secret_goes_to_no_other_host_nor_where_it_is_redirected_to() {
    let (cli, peer, other) = (Cli::new(), Echo::start().await, Echo::start().await);
    let source = format!("{{ file = {:?} }}", cli.file("secret", SECRET));
    policy(&cli, &source, "'bearer'", &peer, &[&peer, &other]);
    let server = cli.serve(&[]);
    let agent = server.agent();
    let redirected = peer.url(&format!("/to/{}", other.authority()));
    for place in
        ["'bearer'", "{ query = 'key' }", "'placeholder'", "{ placeholder = 'body' }", "{ placeholder = 'url' }"]
    {
        policy(&cli, &source, place, &peer, &[&peer, &other]);
        for url in [other.url("/all"), redirected.clone()] {
            let before = (peer.seen().len(), other.seen().len());
            let input = json!({
                "url": url, "secret": "token", "method": "POST", "body": "with {secret}", "headers": { "x-key": "{secret}" },
            });
            let (task, _) = retold(&agent, &input).await;
            let (at_first, at_other) = (peer.seen().split_off(before.0), other.seen().split_off(before.1));
            assert_eq!(at_first.len(), usize::from(url == redirected), "{task}");
            // Where it may go it went. A placeholder that went elsewhere is worth nothing there.
            let carried = |seen: &str| Search::default().found(seen.as_bytes()).is_some();
            assert!(at_first.iter().all(|seen| carried(seen)), "{place}: {at_first:?}");
            assert!(matches!(&at_other[..], [one] if !carried(one)), "{place}: {at_other:?}");
            assert!(!place.contains("placeholder") || at_other[0].contains("lh-secret-"), "{at_other:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_7_a_secret_that_could_be_guessed_is_not_sent_and_its_request_says_why() {
    let (cli, peer) = (Cli::new(), Echo::start().await);
    let file = cli.file("secret", "fifteen bytes!!\n");
    policy(&cli, &format!("{{ file = {file:?} }}"), "'bearer'", &peer, &[&peer]);
    let server = cli.serve(&[]);
    let (task, heard) = retold(&server.agent(), &json!({ "url": peer.url("/all") })).await;
    let said = format!("the secret `token` is too short: the file `{}` has fewer than 16 bytes", file.display());
    // The guest hears that it is the operator's to mend, and its journal what.
    assert!(told(&task).contains("configuration error"), "{task}");
    assert!(heard.iter().any(|heard| heard.contains(&said)), "{heard:?}");
    assert!(!heard.iter().any(|heard| heard.contains("fifteen bytes")), "{heard:?}");
    assert_eq!(peer.seen().len(), 0);
}

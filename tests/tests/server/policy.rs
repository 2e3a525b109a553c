//! `longhaul.toml` against a server that runs: what is written counts for the next start, or request, and no restart is needed.

use longhaul_tests::cli::Cli;
use longhaul_tests::peer::Peer;
use longhaul_tests::server::Agent;
use serde_json::{Value, json};

/// What a task may use of a limit.
fn allowed(task: &Value, limit: &str) -> u64 {
    let usage = task["usage"].as_array().expect("what it uses");
    let used = usage.iter().find(|usage| usage["limit"] == limit).unwrap_or_else(|| panic!("no `{limit}`: {task}"));
    used["allowed"].as_u64().expect("an amount")
}

async fn ended(agent: &Agent, tool: &str, input: Value) -> Value {
    let id = agent.start(tool, input).await;
    agent.settled(&id).await
}

/// What the probe has noted.
fn values(task: &Value) -> String {
    task["output"]["structured"]["values"].to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_and_6_what_is_written_while_a_server_runs_counts_for_what_comes_next() {
    let cli = Cli::new();
    let peer = Peer::start().await;
    let serving = cli.serve(&[]);
    let agent = serving.agent();
    let write = |policy: &str| {
        // As an editor does it.
        let new = cli.data().join("new.toml");
        std::fs::write(&new, policy).unwrap();
        std::fs::rename(new, cli.data().join("longhaul.toml")).unwrap();
    };
    let names = json!({ "settings": ["greeting"] });
    let greeting = |task: &Value| task["output"]["structured"]["settings"][0].clone();
    let fetch = json!({ "url": peer.url("/echo"), "method": "POST", "body": "hello" });

    // Nothing is granted, and the limits are the defaults.
    let asking = agent.start("ask", json!({ "prompt": "Shall we?", "schema": { "type": "boolean" } })).await;
    assert_eq!(allowed(&agent.settled(&asking).await, "questions"), 100);
    assert_eq!(greeting(&ended(&agent, "who_am_i", names.clone()).await), Value::Null);
    assert!(values(&ended(&agent, "fetch", fetch.clone()).await).contains("kind=Refused"));

    let secret = cli.file("token", "a-secret-of-the-operators");
    let (rule, secret) = (peer.rule(), secret.display().to_string());
    let good = format!(
        "[limits]\nquestions = 7\nfuel = {{ default = '1G', most = '2G' }}\n[secrets]\nfarm = {{ file = '{secret}' }}\n\
         [plugins.probe]\nhttp = ['{rule}']\nsettings = {{ greeting = 'good day' }}\n\
         secrets = {{ token = {{ secret = 'farm', to = ['{rule}'], as = {{ header = 'x-client' }} }} }}\n"
    );
    write(&good);
    let task = ended(&agent, "who_am_i", names.clone()).await;
    assert_eq!(
        (allowed(&task, "questions"), allowed(&task, "fuel"), greeting(&task)),
        (7, 1_000_000_000, json!("good day"))
    );
    // The peer, which says what it was given, was given the secret; the task sees that something was there.
    let told = values(&ended(&agent, "fetch", fetch.clone()).await);
    assert!(told.contains("status=200") && !told.contains("a-secret"), "{told}");
    assert_eq!(peer.seen().last().unwrap().client.as_deref(), Some("a-secret-of-the-operators"));
    // One that was started before has what it had.
    assert_eq!(allowed(&agent.settled(&asking).await, "questions"), 100);

    // What is no policy changes nothing, and the log says so.
    write("[limits]\nquestions = 'many'\n");
    let task = ended(&agent, "who_am_i", names.clone()).await;
    assert_eq!((allowed(&task, "questions"), greeting(&task)), (7, json!("good day")));
    assert!(values(&ended(&agent, "fetch", fetch.clone()).await).contains("status=200"));

    // And what is taken away is gone, for the next request of a task that runs too.
    std::fs::remove_file(cli.data().join("longhaul.toml")).unwrap();
    let task = ended(&agent, "who_am_i", names).await;
    assert_eq!((allowed(&task, "questions"), greeting(&task)), (100, Value::Null));
    assert!(values(&ended(&agent, "fetch", fetch).await).contains("kind=Refused"));
    serving.signal("TERM");
    let log = serving.end().stderr;
    let warned = "limit `questions` is `many`; it must be a whole number";
    assert!(log.contains(warned) && log.contains("what it said before stays in force"), "{log}");
}

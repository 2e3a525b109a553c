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

#[tokio::test(flavor = "multi_thread")]
async fn more_memory_than_a_server_was_started_with_is_told_and_counts_when_it_is_started_again() {
    let cli = Cli::new();
    let serving = cli.serve(&[]);
    let agent = serving.agent();
    let doctor = || {
        let findings = cli.run(&["doctor", "--json"]).exits(0).json();
        findings.into_iter().find_map(|finding| {
            let problem = finding["problem"].as_str()?.to_owned();
            problem.starts_with("limit `memory`").then_some(problem)
        })
    };
    assert_eq!(allowed(&ended(&agent, "noop", json!({})).await, "memory"), 256 << 20);
    assert_eq!(doctor(), None);
    let raised = "[limits]\nmemory = '512MiB'\n[plugins.probe]\nlimits = { memory = '384MiB' }\n";
    std::fs::write(cli.data().join("longhaul.toml"), raised).unwrap();
    // It is taken, also where the plugin's own limit was raised.
    assert_eq!(allowed(&ended(&agent, "noop", json!({})).await, "memory"), 256 << 20);
    let told = "limit `memory`: 512MiB is allowed by now, and the process was started with room for 256MiB";
    let found = doctor().expect("the doctor says so");
    assert!(found.starts_with(told) && found.contains("until it is started again"), "{found}");
    serving.signal("TERM");
    let log = serving.end().stderr;
    assert_eq!(log.matches(told).count(), 1, "{log}");

    let serving = cli.serve(&[]);
    let agent = serving.agent_with(agent.token());
    assert_eq!(allowed(&ended(&agent, "noop", json!({})).await, "memory"), 384 << 20);
    assert_eq!(doctor(), None);
    std::fs::write(cli.data().join("longhaul.toml"), "[limits]\nmemory = '128MiB'\n").unwrap();
    assert_eq!(allowed(&ended(&agent, "noop", json!({})).await, "memory"), 128 << 20);
    assert_eq!(doctor(), None, "less needs no start");
}

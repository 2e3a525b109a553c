//! The list of tasks: searched, counted, and live.

use std::collections::BTreeMap;

use longhaul_tests::cli::Cli;
use longhaul_tests::server::{Agent, ServerEvent};
use serde_json::{Value, json};

async fn found(agent: &Agent, query: &str) -> Vec<String> {
    let page = agent.get(format!("/v1/tasks?{query}")).await.is(200).json();
    page["tasks"].as_array().unwrap().iter().map(|task| task["id"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn tasks_are_found_by_what_they_are_and_said_and_counted_by_their_states() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let start = async |tool: &str, input: Value, session: &str| {
        let body = json!({ "plugin": "probe", "tool": tool, "input": input, "session": session });
        let id = agent.post("/v1/tasks", body).await.is(202).json()["id"].as_str().unwrap().to_owned();
        agent.settled(&id).await;
        id
    };
    let fails = start("fail", json!({ "kind": "failed", "message": "the Needle" }), "red").await;
    let done = start("parts", json!({}), "blue%_'").await;
    let asks = start("ask", json!({ "prompt": "?", "schema": { "type": "boolean" } }), "blue").await;
    let id_of = |task: &String| vec![task.clone()];

    assert_eq!(found(&agent, "").await, [asks.clone(), done.clone(), fails.clone()], "the newest first");
    assert_eq!(found(&agent, "text=nEEDLE").await, id_of(&fails), "in the error");
    assert_eq!(found(&agent, "text=blue").await, [asks.clone(), done.clone()], "in the session");
    assert_eq!(found(&agent, "text=%25_%27").await, id_of(&done), "nothing in it has a meaning");
    assert_eq!(found(&agent, "text=probe/ask").await, id_of(&asks), "plugin and tool");
    assert_eq!(found(&agent, &format!("text={}", &done[4..])).await, id_of(&done), "in the id");
    assert_eq!(found(&agent, "text=nowhere").await, [""; 0]);
    let digest = agent.get("/v1/plugins/probe").await.json()["digest"].as_str().unwrap().to_owned();
    assert_eq!(found(&agent, &format!("plugin={digest}&state=waiting")).await, id_of(&asks));
    assert_eq!(found(&agent, &format!("plugin={}", "0".repeat(64))).await, [""; 0]);

    let counts =
        async |query: &str| agent.get(format!("/v1/tasks?limit=1&counts=true&{query}")).await.json()["counts"].clone();
    assert_eq!(counts("").await, json!({ "completed": 1, "failed": 1, "waiting": 1 }));
    assert_eq!(counts("text=blue").await, json!({ "completed": 1, "waiting": 1 }));
    assert_eq!(agent.get("/v1/tasks").await.json()["counts"], json!(null));

    let listed = agent.get("/v1/tasks?text=parts").await.json()["tasks"][0].clone();
    assert_eq!(listed["output"], json!(null), "it may be large");
    assert!(agent.get(format!("/v1/tasks/{done}")).await.json()["output"].is_object());
    let failed = agent.get("/v1/tasks?state=failed").await.json()["tasks"][0].clone();
    assert!(failed["error"]["message"].as_str().unwrap().contains("Needle"), "{failed}");
}

/// A page as somebody has it who reads the stream.
#[derive(Default)]
struct Page {
    ids: Vec<String>,
    tasks: BTreeMap<String, Value>,
}

impl Page {
    fn hear(&mut self, message: &ServerEvent) {
        assert_eq!(message.event, "tasks");
        for task in message.data["tasks"].as_array().unwrap() {
            self.tasks.insert(task["id"].as_str().unwrap().to_owned(), task.clone());
        }
        self.ids = serde_json::from_value(message.data["ids"].clone()).unwrap();
    }
}

#[tokio::test]
async fn a_stream_of_the_list_tells_what_changes_and_nothing_of_other_namespaces() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let old = agent.start("noop", json!({})).await;
    agent.settled(&old).await;
    let mut live = agent.stream("/v1/tasks?limit=2", None).await;
    let mut page = Page::default();
    page.hear(&live.next().await.expect("the page"));
    assert_eq!(page.ids, [old.as_str()]);
    let first = page.tasks[&old].clone();

    let other = server.agent_with(&cli.token(&["other", "--namespace", "other"]));
    let theirs = other.start("noop", json!({})).await;
    other.settled(&theirs).await;
    let steps = agent.start("steps", json!({ "steps": 100_000, "sleep_ms": 20 })).await;
    let mut seen = Vec::new();
    while seen.len() < 3 {
        let message = live.next().await.expect("more comes");
        assert!(!message.data.to_string().contains(&theirs), "{message:?}");
        let told = message.data["tasks"].as_array().unwrap();
        assert!(
            told.iter().all(|task| task["id"] == json!(steps)),
            "what stays the same is not told again: {message:?}"
        );
        page.hear(&message);
        if let Some(done) = page.tasks.get(&steps).and_then(|task| task["progress"]["done"].as_f64()) {
            assert!(seen.last().is_none_or(|last| *last <= done), "{seen:?} {done}");
            seen.push(done);
        }
    }
    assert_eq!((page.ids.as_slice(), &page.tasks[&old]), ([steps.clone(), old.clone()].as_slice(), &first));

    // A third one pushes the oldest out of a page of two.
    let third = agent.start("noop", json!({})).await;
    while page.ids.first() != Some(&third) {
        page.hear(&live.next().await.expect("more comes"));
    }
    assert_eq!(page.ids, [third, steps.clone()]);
    agent.post(format!("/v1/tasks/{steps}/cancel"), json!({})).await.is(200);
    while page.tasks[&steps]["state"] != "cancelled" {
        page.hear(&live.next().await.expect("more comes"));
    }
    let mut waiting = agent.stream("/v1/tasks?state=waiting", None).await;
    assert_eq!(waiting.next().await.expect("the page").data["ids"], json!([]));
}

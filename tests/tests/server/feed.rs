//! The feed: what the sessions of a namespace should hear of, once, in order, whoever drops off.

use longhaul_tests::cli::Cli;
use longhaul_tests::server::Agent;
use serde_json::{Value, json};

async fn ask(agent: &Agent, session: &str) -> String {
    let body = json!({
        "plugin": "probe", "tool": "ask", "session": session, "context": { "for": session },
        "input": { "prompt": "Shall we?", "schema": { "type": "boolean" } },
    });
    let id = agent.post("/v1/tasks", body).await.is(202).json()["id"].as_str().unwrap().to_owned();
    agent.settled(&id).await;
    id
}

fn kinds(items: &Value) -> Vec<&str> {
    items.as_array().unwrap().iter().map(|item| item["event"]["kind"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn questions_and_ends_come_as_new_input_for_their_sessions() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let nothing = agent.get("/v1/feed?wait=20ms").await.is(200).json();
    assert_eq!((&nothing["items"], &nothing["next"]), (&json!([]), &json!("0")));
    let one = ask(&agent, "one").await;
    let page = agent.get("/v1/feed").await.is(200).json();
    assert_eq!(kinds(&page["items"]), ["question"]);
    let item = &page["items"][0];
    assert_eq!(
        (&item["task"], &item["session"], &item["context"]),
        (&json!(one), &json!("one"), &json!({ "for": "one" }))
    );
    let next = page["next"].as_str().unwrap().to_owned();

    // Somebody waits when it happens.
    let waiting = agent.get(format!("/v1/feed?after={next}&wait=60s"));
    let answer = agent.post(format!("/v1/tasks/{one}/questions/1/answer"), json!({ "value": true }));
    let (page, answered) = tokio::join!(waiting, answer);
    answered.is(200);
    assert_eq!(kinds(&page.is(200).json()["items"])[0], "reply");
    agent.settled(&one).await;
    let two = ask(&agent, "two").await;
    let all = agent.get(format!("/v1/feed?after={next}")).await.is(200).json();
    assert_eq!(kinds(&all["items"]), ["reply", "ended", "question"], "in the order in which it happened");
    assert_eq!(all["items"][2]["task"], json!(two));
    let first = agent.get(format!("/v1/feed?after={next}&limit=1")).await.is(200).json();
    assert_eq!(kinds(&first["items"]), ["reply"]);
    let rest = agent.get(format!("/v1/feed?after={}", first["next"].as_str().unwrap())).await.is(200).json();
    assert_eq!(kinds(&rest["items"]), ["ended", "question"]);
    assert_eq!(agent.get("/v1/feed?after=latest").await.is(200).json()["items"], json!([]));

    // What a consumer has dealt with it may remove: its cursor stays good.
    agent.delete(format!("/v1/tasks/{one}")).await.is(204);
    let left = agent.get(format!("/v1/feed?after={next}")).await.is(200).json();
    assert_eq!(kinds(&left["items"]), ["question"]);
    for wrong in ["yesterday", "-1", "1.5", "99999999999999999999"] {
        agent.get(format!("/v1/feed?after={wrong}")).await.problem(400, "invalid-request");
    }
    agent.get("/v1/feed?after=1000").await.problem(422, "out-of-range");
}

#[tokio::test]
async fn a_stream_of_the_feed_goes_on_by_its_last_id_at_a_server_that_was_killed() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let token = cli.token(&["agent"]);
    let agent = server.agent_with(&token);
    let mut feed = agent.stream("/v1/feed", None).await;
    let id = ask(&agent, "one").await;
    let question = feed.until("question").await;
    assert_eq!((&question.data["task"], &question.data["session"]), (&json!(id), &json!("one")));
    server.kill();
    assert_eq!(feed.next().await, None);

    let server = cli.try_serve(&[]).expect("it serves again");
    let agent = server.agent_with(&token);
    let mut feed = agent.stream("/v1/feed", Some(&question.id)).await;
    agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({ "value": true })).await.is(200);
    let kinds = [feed.next().await.unwrap().event, feed.next().await.unwrap().event];
    assert_eq!(kinds, ["reply", "ended"], "nothing twice, nothing missed");
}

#[tokio::test]
async fn a_task_that_asks_nothing_is_heard_of_once() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let noop = agent.start("noop", json!({})).await;
    agent.settled(&noop).await;
    let page = agent.get("/v1/feed").await.is(200).json();
    assert_eq!(kinds(&page["items"]), ["ended"]);
    assert_eq!(page["items"][0]["event"]["state"], "completed");
}

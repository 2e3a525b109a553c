//! What the web inbox asks of the server: open questions, inputs, needs, who signs in.

use longhaul_tests::cli::Cli;
use longhaul_tests::server::{client, json, send};
use reqwest::Method;
use serde_json::{Value, json};

fn prompts(questions: &Value) -> Vec<&str> {
    let questions = questions["questions"].as_array().expect("a list");
    questions.iter().filter_map(|question| question["prompt"].as_str()).collect()
}

#[tokio::test]
async fn open_questions_are_listed_the_nearest_deadline_first_and_leave_the_list_when_they_are_settled() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let mut ids = Vec::new();
    for (prompt, timeout) in [("whenever", None), ("later", Some(7_200_000)), ("soon", Some(3_600_000)), ("last", None)]
    {
        let input = json!({ "prompt": prompt, "schema": { "type": "boolean" }, "timeout_ms": timeout });
        let id = agent.start("ask", input).await;
        agent.settled(&id).await;
        ids.push(id);
    }
    let listed = agent.get("/v1/questions").await.is(200).json();
    assert_eq!(prompts(&listed), ["soon", "later", "whenever", "last"]);
    let soon = &listed["questions"][0];
    assert_eq!((&soon["task"], &soon["question"]), (&json!(ids[2]), &json!(1)));
    assert_eq!((&soon["plugin"], &soon["tool"]), (&json!("probe"), &json!("ask")));
    assert!(soon["digest"].as_str().is_some_and(|digest| digest.len() == 64), "{soon}");
    assert_eq!(listed["more"], false);

    let two = agent.get("/v1/questions?limit=2").await.is(200).json();
    assert_eq!((prompts(&two), &two["more"]), (vec!["soon", "later"], &json!(true)));
    for wrong in ["/v1/questions?limit=0", "/v1/questions?limit=501"] {
        agent.get(wrong).await.problem(400, "invalid-request");
    }

    agent.post(format!("/v1/tasks/{}/questions/1/answer", ids[2]), json!({ "value": true })).await.is(200);
    let last = agent.settled(&ids[3]).await["last_seq"].clone();
    agent.post(format!("/v1/tasks/{}/cancel", ids[3]), json!({})).await.is(200);
    agent.get(format!("/v1/tasks/{}?wait=60s&after={last}", ids[3])).await.is(200);
    let left = agent.get("/v1/questions").await.is(200).json();
    assert!(!prompts(&left).contains(&"soon"), "{left}");

    let other = server.agent_with(&cli.token(&["other", "--namespace", "other"]));
    assert_eq!(prompts(&other.get("/v1/questions").await.is(200).json()), [""; 0]);
}

#[tokio::test]
async fn a_child_s_question_is_listed_with_the_task_to_answer_and_its_root() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).expect("a folder");
    std::fs::write(cli.data().join("longhaul.toml"), "[plugins.probe]\ntools = [\"probe/ask\"]\n").expect("a file");
    let server = cli.serve(&[]);
    let agent = server.agent();
    let input = json!({ "prompt": "a child asks", "schema": { "type": "boolean" } });
    let root = agent.start("children", json!({ "tool": "probe/ask", "inputs": [input] })).await;
    let asks = agent.settled(&root).await;
    let Some(child) = asks["questions"][0]["task"].as_str() else { panic!("{asks}") };
    let listed = agent.get("/v1/questions").await.is(200).json();
    assert_eq!((&listed["questions"][0]["task"], &listed["questions"][0]["root"]), (&json!(child), &json!(root)));
}

#[tokio::test]
async fn a_task_s_input_is_given_back_as_it_was() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let input = json!({ "a": [1, null, "\u{202e}"], "b": { "c": 1.5 } });
    let id = agent.start("noop", input.clone()).await;
    assert_eq!(agent.get(format!("/v1/tasks/{id}/input")).await.is(200).json(), input);
}

#[tokio::test]
async fn what_a_plugin_needs_is_told_with_what_becomes_of_it() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let agent = server.agent();
    let told = agent.get("/v1/plugins/probe/needs").await.is(200).json();
    let needs = told["needs"].as_array().expect("a list");
    assert!(!needs.is_empty());
    for need in needs {
        assert_eq!(need["verdict"], "not-granted", "{need}");
        assert!(need["why"].as_str().is_some_and(|why| !why.is_empty()), "{need}");
    }
    agent.get("/v1/plugins/nobody/needs").await.problem(404, "unknown-plugin");
}

#[tokio::test]
async fn a_link_signs_in_once_with_a_token_that_may_answer_and_run_tasks() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    let code = server.inbox().split_once("/#code=").expect("a code").1.to_owned();
    let sign_in = |code: &str| {
        let request = client().request(Method::POST, format!("{}/v1/session", server.url()));
        send(json(request, &json!({ "code": code })))
    };
    sign_in("guessed").await.problem(401, "unknown-code");
    let session = sign_in(&code).await.is(201).json();
    sign_in(&code).await.problem(401, "unknown-code");
    let agent = server.agent_with(session["token"].as_str().expect("a token"));
    let caller = agent.get("/v1/session").await.is(200).json();
    assert_eq!((&caller["name"], &caller["scopes"]), (&json!("inbox"), &json!(["tasks", "answer"])));
    assert!(caller["expires_at"].is_string(), "{caller}");
    agent.get("/v1/questions").await.is(200);
    agent.delete("/v1/plugins/probe").await.problem(403, "missing-scope");
}

#[tokio::test]
async fn the_page_comes_with_a_policy_that_allows_nothing_from_elsewhere_whether_the_inbox_was_built_or_not() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    for path in ["/", "/q/01k/1", "/tasks", "/tasks/01k", "/plugins", "/plugins/probe"] {
        let page = send(client().get(format!("{}{path}", server.url()))).await.is(200);
        assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
        let policy = page.header("content-security-policy");
        for rule in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "trusted-types 'none'"] {
            assert!(policy.contains(rule), "{policy}");
        }
        assert!(page.text.contains("cargo xtask web") || page.text.contains("/assets/"), "{}", page.text);
    }
    send(client().get(format!("{}/assets/nothing.js", server.url()))).await.problem(404, "not-found");
}

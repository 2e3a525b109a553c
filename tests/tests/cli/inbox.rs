//! `longhaul inbox`: what tasks ask, answered at a terminal, whichever process runs them.

use longhaul_tests::cli::{Cli, component};
use serde_json::json;

/// Leaves a task that asks this, which nobody runs. Its id.
fn asked(cli: &Cli, prompt: &str, schema: &str, more: &[&str]) -> String {
    let (prompt, schema) = (format!("prompt={prompt}"), format!("schema={schema}"));
    let words = ["run", &component("probe"), "ask", &prompt, &schema, "--json"];
    let events = cli.run(&[&words[..], more].concat()).exits(4).json();
    events[0]["task"].as_str().expect("an id").to_owned()
}

const SURE: &str = r#"{"type":"boolean"}"#;

#[test]
fn without_a_terminal_it_lists_what_is_open_the_nearest_deadline_first_and_how_to_answer() {
    let cli = Cli::new();
    cli.run(&["inbox"]).exits(0).says("no open questions");
    let first = asked(&cli, "Whenever?", SURE, &["--session", "thread-7"]);
    let second = asked(&cli, "Soon?", SURE, &["timeout_ms=3600000", r#"options={"audience":"ops"}"#]);
    let lines = cli.run(&["inbox", "--json"]).exits(0).json();
    let listed: Vec<_> = lines.iter().map(|line| (&line["type"], &line["task"], &line["prompt"])).collect();
    let question = json!("question");
    assert_eq!(listed, [(&question, &json!(second), &json!("Soon?")), (&question, &json!(first), &json!("Whenever?"))]);
    let list = cli.run(&["inbox"]).exits(0).stdout;
    for part in ["? Soon?", "time is up in ", "asks ops", "probe/ask 0.1.0", "session thread-7"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    let how = format!("tasks answer {first} --question 1 yes");
    assert!(list.contains(&how), "{list}");
    cli.run(&["tasks", "answer", &first, "--question", "1", "true"]).exits(0);
    assert_eq!(cli.run(&["inbox", "--json"]).exits(0).json().len(), 1);
}

#[cfg(unix)]
mod at_a_terminal {
    use longhaul_tests::server::Agent;
    use longhaul_tests::terminal::AtTerminal;
    use serde_json::Value;

    use super::*;

    const HINT: &str = "↑↓ or its first letter, Enter to open it, Esc to leave";
    const NONE: [&str; 2] = ["no open questions", "waits for one · Esc to leave"];

    async fn ask(agent: &Agent, prompt: &str, schema: Value) -> String {
        let id = agent.start("ask", json!({ "prompt": prompt, "schema": schema })).await;
        agent.settled(&id).await;
        id
    }

    fn open(at: &mut AtTerminal) {
        at.sees(HINT);
        at.types("\r");
        at.sees("Enter to answer");
    }

    /// What the task made of its reply.
    async fn reply(agent: &Agent, id: &str) -> Value {
        let task = agent.settled(id).await;
        assert_eq!(task["state"], "completed", "{task}");
        task["output"]["structured"].clone()
    }

    #[tokio::test]
    async fn each_kind_of_question_of_a_server_s_tasks_is_answered() {
        let cli = Cli::new();
        let server = cli.serve(&[]);
        let agent = server.agent();
        let titled = json!([{ "const": "a", "title": "first" }, { "const": "b", "title": "second" }]);
        let size = json!({ "type": "integer", "maximum": 10 });
        let form = json!({ "type": "object", "required": ["size"], "properties": { "size": size } });
        let several = json!({ "type": "array", "items": { "type": "string", "enum": ["a", "b", "c"] } });
        let questions = [
            ("Sure?", json!({ "type": "boolean" }), vec!["y"], "yes", json!(true)),
            ("Name?", json!({ "type": "string" }), vec!["größe\r"], "größe", json!("größe")),
            (
                "Which?",
                json!({ "type": "string", "oneOf": titled }),
                vec!["\x1b[B", "\x1b[B", "\r"],
                "second",
                json!("b"),
            ),
            ("Which ones?", several, vec![" ", "\x1b[B", "\x1b[B", " ", "\r"], "a, c", json!(["a", "c"])),
            ("How large?", form, vec!["11\r", "\x7f0\r"], "size: 10", json!({ "size": 10 })),
        ];
        let mut ids = Vec::new();
        for (prompt, schema, ..) in &questions {
            ids.push(ask(&agent, prompt, schema.clone()).await);
        }
        let mut at = cli.at_terminal(80, &["inbox", "--by", "ana"]);
        at.sees_screen(&[
            "5 questions open",
            "  › Sure?  probe/ask",
            "    Name?  probe/ask",
            "    Which?  probe/ask",
            "    Which ones?  probe/ask",
            "    How large?  probe/ask",
            HINT,
        ]);
        for ((prompt, _, keys, told, value), id) in questions.iter().zip(&ids) {
            open(&mut at);
            at.sees(&format!("? {prompt}"));
            for keys in keys {
                at.types(keys);
                if keys.starts_with("11") {
                    at.sees("11 is more than 10");
                }
            }
            at.sees(&format!("✓ {told} by ana"));
            let reply = reply(&agent, id).await;
            assert_eq!((&reply["value"], &reply["by"]), (value, &json!("ana")));
        }
        at.sees(NONE[1]);
        at.types("\x1b");
        assert_eq!(at.end().0, 0);
    }

    #[tokio::test]
    async fn a_question_is_opened_with_what_its_task_has_done_and_declined_or_left_for_later() {
        let cli = Cli::new();
        let server = cli.serve(&[]);
        let agent = server.agent();
        let steps = agent.start("steps", json!({ "steps": 9, "ask_every": 3 })).await;
        agent.settled(&steps).await;
        let other = ask(&agent, "Another?", json!({ "type": "boolean" })).await;
        let mut at = cli.at_terminal(80, &["inbox"]);
        open(&mut at);
        at.sees("probe/steps 0.1.0 · task ID");
        at.sees("33% 3/9 step 3");
        at.sees("? Go on after step 3?");
        at.types("\x1b");
        at.sees("decline to answer");
        // Left open, it stays in the list, and the pointer goes on.
        at.types("l\r");
        at.sees("  › Another?  probe/ask");
        open(&mut at);
        at.types("\x1b");
        at.sees("decline to answer");
        at.types("d\r");
        at.sees("why?");
        at.types("not mine\r");
        at.sees("✗ declined: not mine");
        at.sees("1 question open");
        let declined = reply(&agent, &other).await;
        assert_eq!((&declined["reply"], &declined["reason"]), (&json!("declined"), &json!("not mine")));
        assert_eq!(agent.get(format!("/v1/tasks/{steps}")).await.json()["state"], "waiting");
    }

    #[tokio::test]
    async fn what_is_asked_anew_comes_and_what_others_settle_goes_whoever_looks_at_it() {
        let cli = Cli::new();
        let server = cli.serve(&[]);
        let agent = server.agent();
        let mut at = cli.at_terminal(80, &["inbox"]);
        at.sees_screen(&NONE);
        let first = ask(&agent, "First?", json!({ "type": "boolean" })).await;
        at.sees_screen(&["1 question open", "  › First?  probe/ask", HINT]);
        let second = ask(&agent, "Second?", json!({ "type": "boolean" })).await;
        at.sees("    Second?  probe/ask");
        let answer = |id: &str| {
            let body = json!({ "value": true, "by": "bob" });
            agent.post(format!("/v1/tasks/{id}/questions/1/answer"), body)
        };
        answer(&first).await.is(200);
        at.sees_screen(&["1 question open", "  › Second?  probe/ask", HINT]);
        open(&mut at);
        at.types("\x1b[B");
        answer(&second).await.is(200);
        at.sees("✓ yes by bob (first) (elsewhere)");
        at.sees(NONE[1]);
        assert_eq!(reply(&agent, &second).await["value"], true);
        // The task that asked is stopped, and its question with it.
        let third = ask(&agent, "Third?", json!({ "type": "boolean" })).await;
        at.sees("Third?");
        open(&mut at);
        agent.post(format!("/v1/tasks/{third}/cancel"), json!({})).await.is(200);
        at.sees("no longer needed");
        at.sees(NONE[1]);
        at.types("\x04");
        assert_eq!(at.end().0, 0);
    }

    #[tokio::test]
    async fn of_two_who_answer_at_once_the_second_is_told_what_counts() {
        let cli = Cli::new();
        let server = cli.serve(&[]);
        let agent = server.agent();
        let id = ask(&agent, "Shall we?", json!({ "type": "boolean" })).await;
        let mut at = cli.at_terminal(80, &["inbox", "--by", "ana"]);
        open(&mut at);
        at.types("\x1b[B\x1b[B");
        at.sees("  › no");
        // It sees nothing of the answer before it sends its own.
        at.freeze();
        agent.post(format!("/v1/tasks/{id}/questions/1/answer"), json!({ "value": true, "by": "bob" })).await.is(200);
        at.types("\r");
        at.signal("CONT");
        at.sees("✓ yes by bob (first) (elsewhere, before this answer: 20");
        at.sees(NONE[1]);
        let counts = reply(&agent, &id).await;
        assert_eq!((&counts["value"], &counts["by"]), (&json!(true), &json!("bob (first)")));
    }

    #[test]
    fn a_question_whose_time_is_up_leaves_the_prompt_though_nobody_runs_its_task() {
        let cli = Cli::new();
        let schema = format!("schema={SURE}");
        let mut running = cli.start(&["run", &component("probe"), "ask", "prompt=Quick?", &schema, "timeout_ms=15000"]);
        running.until("question");
        let mut at = cli.at_terminal(80, &["inbox"]);
        open(&mut at);
        at.sees("time is up in");
        running.signal("KILL");
        at.sees("nobody answered in time");
        at.sees(NONE[1]);
    }

    #[test]
    fn an_answer_to_a_task_that_nobody_runs_says_how_it_goes_on() {
        let cli = Cli::new();
        let id = asked(&cli, "Shall we?", SURE, &[]);
        let mut at = cli.at_terminal(200, &["inbox"]);
        open(&mut at);
        at.types("y");
        at.sees("✓ yes");
        at.sees("no process runs this task; go on with: longhaul ");
        at.types("\x1b");
        assert_eq!(at.end().0, 0);
        cli.run(&["tasks", "watch", &id]).exits(0);
    }

    #[test]
    fn ctrl_c_at_a_question_leaves_it_open_and_the_terminal_as_it_was() {
        let cli = Cli::new();
        asked(&cli, "Shall we?", SURE, &[]);
        let mut at = cli.at_terminal(80, &["inbox"]);
        open(&mut at);
        at.types("\x1b[B");
        at.sees("  › yes");
        at.signal("INT");
        let (code, at) = at.ended();
        assert_eq!(code, 130, "{}", at.output());
        at.sees_no("Enter to answer");
        assert_eq!(cli.run(&["inbox", "--json"]).exits(0).json().len(), 1);
    }

    #[tokio::test]
    async fn a_namespace_sees_its_own_questions_and_answers_them() {
        let cli = Cli::new();
        let server = cli.serve(&[]);
        let acme = server.agent_with(&cli.token(&["acme", "--namespace", "acme"]));
        let id = ask(&acme, "Of acme?", json!({ "type": "boolean" })).await;
        assert_eq!(cli.run(&["inbox", "--json"]).exits(0).stdout, "");
        let list = cli.run(&["inbox", "--namespace", "acme"]).exits(0).stdout;
        assert!(list.contains(&format!("tasks answer {id} --namespace acme --question 1")), "{list}");
        cli.run(&["tasks", "answer", &id, "true"]).exits(2);
        let mut at = cli.at_terminal(80, &["inbox", "--namespace", "acme"]);
        open(&mut at);
        at.types("y");
        at.sees("✓ yes");
        assert_eq!(reply(&acme, &id).await["value"], true);
        cli.run(&["tasks", "show", &id, "--namespace", "acme"]).exits(0);
    }
}

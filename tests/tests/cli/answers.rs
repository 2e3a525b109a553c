//! Questions without a terminal: answered by the command line, or left for later.

use longhaul_tests::cli::{Cli, component, eventually};
use serde_json::json;

fn ask(cli: &Cli, schema: &str, more: &[&str]) -> longhaul_tests::cli::Done {
    let (probe, schema) = (component("probe"), format!("schema={schema}"));
    cli.run(&[&["run", &probe, "ask", "prompt=Shall we?", &schema], more].concat())
}

#[test]
fn a_question_without_a_terminal_leaves_the_task_waiting_and_says_how_to_answer() {
    let cli = Cli::new();
    let done = ask(&cli, r#"{"type":"boolean"}"#, &[]).exits(4);
    let id = cli.only_id();
    let done = done.says("? Shall we?").says(&format!("tasks answer {id} --question 1 yes"));
    assert_eq!(done.stdout, "");
    let task = cli.only_task();
    assert_eq!(task["state"], "waiting");
    // Nobody has to run it while there is nothing to do.
    assert_eq!(task["stalled"], false);
    assert_eq!(task["questions"][0]["prompt"], "Shall we?");

    // And so it is done.
    cli.run(&["tasks", "answer", &id, "true"]).exits(0).says(&format!("tasks watch {id}"));
    assert_eq!(cli.only_task()["stalled"], true);
    let watched = cli.run(&["tasks", "watch", &id]).exits(0);
    assert!(watched.stdout.contains("answered"), "{watched:?}");
}

#[test]
fn answers_are_given_in_order() {
    let cli = Cli::new();
    let args = ["run", &component("probe"), "ask_many", "n=2", "wait_for=2"];
    let task =
        cli.run(&[&args[..], &["--answer", "\"one\"", "--answer", "\"two\"", "--json"]].concat()).exits(0).task();
    let output = &task["output"]["structured"];
    assert_eq!((&output[0][1]["value"], &output[1][1]["value"]), (&json!("one"), &json!("two")));
}

#[test]
fn an_answer_that_was_not_asked_for_is_told() {
    let cli = Cli::new();
    ask(&cli, r#"{"type":"boolean"}"#, &["--answer", "true", "--answer", "false"])
        .exits(0)
        .says("1 answer not asked for");
}

#[test]
fn an_answer_that_does_not_fit_exits_2_and_leaves_the_task_waiting() {
    let cli = Cli::new();
    let done = ask(&cli, r#"{"type":"integer","maximum":3}"#, &["--answer", "7"]).exits(2);
    done.says("error: ").says("7 is more than 3").says("tasks answer");
    assert_eq!(cli.only_task()["state"], "waiting");
    let id = cli.only_id();
    cli.run(&["tasks", "answer", &id, "7"])
        .exits(2)
        .says("is not accepted")
        .says(&format!("tasks answer {id} --question 1 3`"));
    cli.run(&["tasks", "watch", &id, "--answer", "3"]).exits(0);
}

#[test]
fn an_answer_to_no_question_or_to_a_settled_one_is_refused_with_what_counts() {
    let cli = Cli::new();
    ask(&cli, r#"{"type":"string"}"#, &[]).exits(4);
    let id = cli.only_id();
    cli.run(&["tasks", "answer", &id, "\"x\"", "--question", "7"]).exits(2).says("no question 7").says("open: 1");
    cli.run(&["tasks", "answer", &id, "\"first\"", "--by", "ana"]).exits(0);
    let second = cli.run(&["tasks", "answer", &id, "\"second\"", "--question", "1"]).exits(2);
    second.says("settled already").says("✓ first by ana").says(" ago (20");
    // Who does not say which question means the one that there was.
    let second = cli.run(&["tasks", "answer", &id, "second"]).exits(2);
    second.says("question 1 of task").says("? Shall we?").says("✓ first by ana, ").says(" ago (20");
    let task = cli.run(&["tasks", "watch", &id, "--json"]).exits(0).task();
    assert_eq!(task["output"]["structured"]["value"], "first");
    assert_eq!(task["output"]["structured"]["by"], "ana");
}

#[test]
fn a_sensitive_answer_is_not_told_to_who_comes_second() {
    let cli = Cli::new();
    ask(&cli, r#"{"type":"string"}"#, &[r#"options={"sensitive":true}"#]).exits(4);
    let id = cli.only_id();
    cli.run(&["tasks", "answer", &id, "hunter2", "--by", "ana"]).exits(0);
    for more in [&[][..], &["--question", "1"]] {
        let second = cli.run(&[&["tasks", "answer", &id, "second"], more].concat()).exits(2).says("✓ ••• by ana");
        assert!(!second.stderr.contains("hunter2"), "{second:?}");
    }
}

#[test]
fn each_kind_of_question_takes_a_plain_word_and_says_what_it_takes_with_an_example_that_is_taken() {
    let one = r#"{"type":"string","oneOf":[{"const":"a","title":"first"},{"const":"b","title":"second"}]}"#;
    let several = r#"{"type":"array","items":{"type":"string","enum":["a","b"]}}"#;
    let form = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer","minimum":2}}}"#;
    let kinds = [
        (r#"{"type":"boolean"}"#, "nope", "yes or no (or true, false), not `nope`", "no", json!(false)),
        (r#"{"type":"integer","maximum":9}"#, "nope", "a whole number, at most 9, not `nope`", "7", json!(7)),
        (one, "nope", "one of: a (first), b (second), not `nope`", "second", json!("b")),
        (several, "a,nope", "with commas between them: a, b, not `a,nope`", "b,a", json!(["b", "a"])),
        (form, "nope", "it takes JSON", r#"{"n":3}"#, json!({"n": 3})),
    ];
    for (schema, wrong, takes, right, value) in kinds {
        let cli = Cli::new();
        ask(&cli, schema, &[]).exits(4);
        let id = cli.only_id();
        let done = cli.run(&["tasks", "answer", &id, wrong]).exits(2).says(takes).says("such as `longhaul ");
        // What it tells to run is a command that is taken.
        let (_, command) = done.stderr.split_once("such as `longhaul ").expect("a command");
        let command = command.split('`').next().expect("its end").replace('\'', "");
        let (rest, example) = command.split_once("tasks answer").expect("a command");
        assert!(rest.contains("--data"), "{command}");
        let words: Vec<_> = ["tasks", "answer"].into_iter().chain(example.split_whitespace()).collect();
        if right != "second" {
            cli.run(&words).exits(0);
        } else {
            cli.run(&["tasks", "answer", &id, right]).exits(0);
        }
        let other = Cli::new();
        ask(&other, schema, &["--answer", wrong]).exits(2).says(takes).says("the task waits");
        let task = other.run(&["tasks", "watch", &other.only_id(), "--answer", right, "--json"]).exits(0).task();
        assert_eq!(task["output"]["structured"]["value"], value);
    }
}

#[test]
fn who_declines_may_say_why() {
    let cli = Cli::new();
    ask(&cli, r#"{"type":"string"}"#, &[]).exits(4);
    let id = cli.only_id();
    cli.run(&["tasks", "answer", &id, "--decline", "not mine"]).exits(0);
    let task = cli.run(&["tasks", "watch", &id, "--json"]).exits(0).task();
    assert_eq!(task["output"]["structured"]["reply"], "declined");
    assert_eq!(task["output"]["structured"]["reason"], "not mine");
}

#[test]
fn of_several_open_questions_one_has_to_be_named() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "ask_many", "n=2", "wait_for=1"]).exits(4);
    done.says("--question 1").says("--question 2");
    let id = cli.only_id();
    cli.run(&["tasks", "answer", &id, "\"x\""]).exits(2).says("--question N").says("2: Question 1?");
    cli.run(&["tasks", "answer", &id, "\"x\"", "--question", "2"]).exits(0);
    let task = cli.run(&["tasks", "watch", &id, "--json"]).exits(0).task();
    assert_eq!(task["output"]["structured"][0][0], 1);
}

#[test]
fn without_json_and_without_a_terminal_there_is_nobody_to_ask() {
    let cli = Cli::new();
    ask(&cli, r#"{"type":"string","enum":["a","b"]}"#, &[]).exits(4);
    cli.run(&["tasks", "answer", &cli.only_id()]).exits(2).says("no terminal").says("--question 1 a`");
}

#[test]
fn a_wait_that_ends_by_itself_does_not_end_the_run() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "sleepy", "ms=1500"]).exits(0);
    // The questions stay open for ever, but the tool waits for them 1 s only.
    cli.run(&["run", &component("probe"), "ask_many", "n=1", "wait_for=1", "timeout_ms=1000"]).exits(0);
}

#[test]
fn an_answer_given_elsewhere_lets_a_running_task_go_on() {
    let cli = Cli::new();
    cli.run(&["plugin", "add", &component("probe")]).exits(0);
    // `watch` would leave as well; a tool that also waits for time is run on.
    let mut running = cli.start(&["run", "probe", "ask_many", "n=1", "wait_for=1", "timeout_ms=60000"]);
    let id = running.until("question")["task"].as_str().unwrap().to_owned();
    cli.run(&["tasks", "answer", &id, "\"from elsewhere\""]).exits(0);
    let done = running.end().exits(0);
    assert_eq!(done.task()["output"]["structured"][0][1]["value"], "from elsewhere");
    let _ = eventually("it is listed", || Some(cli.only_task()));
}

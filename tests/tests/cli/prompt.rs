//! Questions at a terminal, answered by keys.

#![cfg(unix)]

use longhaul_tests::cli::{Cli, component};
use longhaul_tests::terminal::AtTerminal;

const ENTER: &str = "\r";
const DOWN: &str = "\x1b[B";

fn ask(cli: &Cli, schema: &str, more: &[&str]) -> AtTerminal {
    let (probe, schema) = (component("probe"), format!("schema={schema}"));
    cli.at_terminal(80, &[&["run", &probe, "ask", "prompt=Shall we?", &schema], more].concat())
}

fn answered(mut at: AtTerminal, keys: &[&str]) -> serde_json::Value {
    at.shows("Enter to answer");
    keys.iter().for_each(|keys| at.types(keys));
    let (code, output) = at.end();
    assert_eq!(code, 0, "{output}");
    let result = &output[output.rfind("{\r\n  \"reply\"").expect("a result")..];
    serde_json::from_str::<serde_json::Value>(result).expect("JSON")["value"].take()
}

#[test]
fn each_kind_of_question_is_answered_at_the_prompt() {
    let cli = Cli::new();
    assert_eq!(answered(ask(&cli, r#"{"type":"boolean"}"#, &[]), &["y"]), true);
    assert_eq!(answered(ask(&cli, r#"{"type":"string"}"#, &[]), &["größe", ENTER]), "größe");
    assert_eq!(answered(ask(&cli, r#"{"type":"integer"}"#, &[]), &["42", ENTER]), 42);
    let one = r#"{"type":"string","oneOf":[{"const":"a","title":"first"},{"const":"b","title":"second"}]}"#;
    assert_eq!(answered(ask(&cli, one, &[]), &[ENTER, DOWN, DOWN, ENTER]), "b");
    let several = r#"{"type":"array","items":{"type":"string","enum":["a","b","c"]}}"#;
    assert_eq!(answered(ask(&cli, several, &[]), &[" ", DOWN, DOWN, " ", ENTER]), serde_json::json!(["a", "c"]));
    let form =
        r#"{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"sure":{"type":"boolean"}}}"#;
    let keys = ["Ana", ENTER, "n"];
    assert_eq!(answered(ask(&cli, form, &[]), &keys), serde_json::json!({"name": "Ana", "sure": false}));
}

#[test]
fn an_entry_that_does_not_fit_is_asked_for_again_with_the_reason() {
    let cli = Cli::new();
    let mut at = ask(&cli, r#"{"type":"integer","maximum":10}"#, &[]);
    at.shows("a whole number, at most 10");
    at.types("11\r");
    at.shows("11 is more than 10");
    at.types("\x7f0\r");
    let (code, output) = at.end();
    assert_eq!(code, 0, "{output}");
}

#[test]
fn an_answer_given_elsewhere_closes_the_prompt() {
    let cli = Cli::new();
    let at = ask(&cli, r#"{"type":"string"}"#, &[]);
    at.shows("Enter to answer");
    assert!(!at.is_restored(), "keys are read one by one");
    cli.run(&["tasks", "answer", &cli.only_id(), "\"from elsewhere\"", "--by", "ana"]).exits(0);
    at.shows("(elsewhere)");
    let (code, output) = at.end();
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("by ana"), "{output}");
}

#[test]
fn a_question_whose_time_is_up_closes_the_prompt() {
    let cli = Cli::new();
    let at = ask(&cli, r#"{"type":"string"}"#, &["timeout_ms=4000"]);
    at.shows("time is up in");
    at.shows("nobody answered in time");
    assert_eq!(at.end().0, 0);
}

#[test]
fn a_question_can_be_declined_or_left_open() {
    let cli = Cli::new();
    let mut at = ask(&cli, r#"{"type":"string"}"#, &[]);
    at.shows("Enter to answer");
    at.types("\x1b");
    at.shows("decline to answer");
    at.types("d\r");
    at.shows("why?");
    at.types("not mine\r");
    at.shows("declined: not mine");
    assert_eq!(at.end().0, 0);

    let mut at = ask(&cli, r#"{"type":"string"}"#, &[]);
    at.shows("Enter to answer");
    at.types("\x04");
    at.shows("tasks answer");
    assert_eq!(at.end().0, 4);
}

#[test]
fn ctrl_c_at_the_prompt_stops_the_task() {
    let cli = Cli::new();
    let at = ask(&cli, r#"{"type":"string"}"#, &[]);
    at.shows("Enter to answer");
    at.signal("INT");
    let (code, output) = at.end();
    assert_eq!(code, 3, "{output}");
}

#[test]
fn leaving_at_the_prompt_leaves_the_terminal_as_it_was() {
    let cli = Cli::new();
    let at = ask(&cli, r#"{"type":"string"}"#, &[]);
    at.shows("Enter to answer");
    at.signal("TERM");
    assert_eq!(at.end().0, 143);
}

#[test]
fn no_input_asks_nothing_at_a_terminal() {
    let cli = Cli::new();
    let at = ask(&cli, r#"{"type":"string"}"#, &["--no-input"]);
    assert_eq!(at.end().0, 4);
}

#[test]
fn what_a_guest_asks_cannot_write_to_the_terminal() {
    let cli = Cli::new();
    let schema = "schema={\"type\":\"string\",\"enum\":[\"\\u001b[2Jchoice\",\"b\"]}";
    let prompt = "prompt=\u{1b}]0;title\u{7}\u{202e}evil";
    let probe = component("probe");
    let mut at = cli.at_terminal(80, &["run", &probe, "ask", prompt, schema, "detail=\u{1b}[31mred"]);
    at.shows("␛]0;title␇\\u{202e}evil");
    at.shows("␛[2Jchoice");
    at.types(DOWN);
    at.types(ENTER);
    let (code, output) = at.end();
    assert_eq!(code, 0, "{output}");
    for bad in ["\x1b]0", "\x1b[2J", "\u{202e}", "\x1b[31mred"] {
        assert!(!output.contains(bad), "{output:?}");
    }
}

#[test]
fn a_narrow_terminal_is_enough() {
    let cli = Cli::new();
    let probe = component("probe");
    let args = ["run", &probe, "ask", "prompt=Shall we go on with all of it?", r#"schema={"type":"boolean"}"#];
    let mut at = cli.at_terminal(20, &args);
    at.shows("yes");
    at.types("y");
    assert_eq!(at.end().0, 0);
}

#[test]
fn who_is_at_the_prompt_when_another_one_answers_is_told_who_was_first_and_when() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let id = cli.only_id();
    let mut at = cli.at_terminal(80, &["tasks", "answer", &id]);
    at.shows("Enter to answer");
    // It sees nothing of the answer before it sends its own.
    at.freeze();
    cli.run(&["tasks", "answer", &id, "no", "--by", "ana"]).exits(0);
    at.types("y");
    at.signal("CONT");
    let (code, output) = at.end();
    assert_eq!(code, 2, "{output}");
    assert!(output.contains("✗") || output.contains("✓ no by ana, "), "{output}");
    assert!(output.contains(" ago (20"), "{output}");
}

#[test]
fn a_default_is_chosen_from_the_beginning() {
    let cli = Cli::new();
    assert_eq!(answered(ask(&cli, r#"{"type":"boolean","default":false}"#, &[]), &[ENTER]), false);
}

#[test]
fn tasks_answer_asks_at_the_prompt() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let id = cli.only_id();
    let mut at = cli.at_terminal(80, &["tasks", "answer", &id, "--by", "ana"]);
    // Who asks stands above what is asked.
    at.sees_screen(&[
        "probe/ask 0.1.0 · task ID",
        "? Shall we?",
        "    yes",
        "    no",
        "  y or n, or ↑↓ and Enter to answer, Esc for more",
    ]);
    at.types("y");
    at.sees("✓ yes by ana");
    assert_eq!(at.end().0, 0);
    let task = cli.run(&["tasks", "watch", &id, "--json"]).exits(0).task();
    assert_eq!(task["output"]["structured"]["value"], true);
    assert_eq!(task["output"]["structured"]["by"], "ana");
}

//! What a person sees while a task runs: the screen, row by row.

#![cfg(unix)]

use longhaul_tests::cli::{Cli, component, eventually};
use longhaul_tests::terminal::AtTerminal;
use serde_json::json;

/// A parent, a child that has begun and goes on until it is stopped, and one that asks.
fn family() -> Vec<String> {
    let goes_on = json!({ "manners": "obey" });
    let asks = json!({ "prompt": "Shall we?", "schema": { "type": "boolean" } });
    let input = json!({ "children": [["probe/cancel_me", goes_on], ["probe/ask", asks]] }).to_string();
    let grants = ["--grant", "tool:probe/cancel_me", "--grant", "tool:probe/ask"].map(str::to_owned);
    [["run".to_owned(), component("probe"), "family".into(), "--input".into(), input].as_slice(), &grants].concat()
}

fn run(cli: &Cli, columns: u16, environment: &[(&str, &str)], more: &[&str]) -> AtTerminal {
    let family = family();
    let words: Vec<_> = family.iter().map(String::as_str).chain(more.iter().copied()).collect();
    cli.at_terminal_with(columns, &[&[("TERM", "xterm")], environment].concat(), &words)
}

/// The id of the child that asks.
fn asking(cli: &Cli) -> String {
    eventually("a child asks", || {
        let tasks = cli.run(&["tasks", "ls", "--json"]).exits(0).json();
        let child = tasks.iter().find(|task| task["tool"] == "ask" && task["state"] == "waiting")?;
        Some(child["id"].as_str().expect("an id").to_owned())
    })
}

const STARTED: [&str; 3] =
    ["probe/family 0.1.0 ID", "  cancel_me #1 started probe/cancel_me", "  ask #2 started probe/ask"];

fn screen<'a>(rows: &[&'a str]) -> Vec<&'a str> {
    [STARTED.as_slice(), rows].concat()
}

#[test]
fn a_run_has_bars_for_itself_and_its_children_below_the_lines_that_stay() {
    let cli = Cli::new();
    let at = run(&cli, 80, &[], &["--no-input"]);
    at.sees_screen(&screen(&[
        "  ask #2 ? Shall we?",
        "* Ns",
        "  * cancel_me #1 waiting to be cancelled",
        "  * ask #2       ? waits for an answer",
    ]));
    cli.run(&["tasks", "answer", &asking(&cli), "true", "--by", "ana"]).exits(0);
    let answered = ["  ask #2 ? Shall we?", "  ask #2 ✓ yes by ana", "  ask #2 completed"];
    at.sees_screen(&screen(&[&answered[..], &["* Ns 1 left", "  * cancel_me #1 waiting to be cancelled"]].concat()));
    at.signal("INT");
    let (code, at) = at.ended();
    assert_eq!(code, 3, "{}", at.output());
    let left = at.screen().join("\n");
    assert!(left.contains("asking the tool to stop") && !left.contains('*'), "the bars are gone: {left}");
}

#[test]
fn a_question_has_the_place_of_the_bars_until_it_is_answered() {
    let cli = Cli::new();
    let mut at = run(&cli, 80, &[], &[]);
    at.sees("Enter to answer");
    at.sees_screen(&screen(&[
        "  ask #2 asks",
        "? Shall we?",
        "    yes",
        "    no",
        "  y or n, or ↑↓ and Enter to answer, Esc for more",
    ]));
    at.types("\x1b[B");
    at.sees("  › yes");
    at.types("\r");
    at.sees_screen(&screen(&[
        "  ask #2 asks",
        "  ask #2 ? Shall we?",
        "      ✓ yes",
        "  ask #2 completed",
        "* Ns 1 left",
        "  * cancel_me #1 waiting to be cancelled",
    ]));
}

#[test]
fn bars_that_a_new_width_has_broken_are_drawn_anew_and_nothing_of_them_is_left() {
    let cli = Cli::new();
    let at = run(&cli, 80, &[], &["--no-input"]);
    at.sees("? waits for an answer");
    at.sees("waiting to be cancelled");
    // Rows are broken, the one with the task's id among them; what is looked at begins below that.
    at.resize(30);
    at.sees_screen(&[
        "  cancel_me #1 started probe/c",
        "ancel_me",
        "  ask #2 started probe/ask",
        "  ask #2 ? Shall we?",
        "*",
        "  * cancel_me #1 waiting to …",
        "  * ask #2       ? waits for…",
    ]);
    at.resize(20);
    at.sees_screen(&[
        "  cancel_me #1 start",
        "ed probe/cancel_me",
        "  ask #2 started pro",
        "be/ask",
        "  ask #2 ? Shall we?",
        "*",
        "  * cancel_me #1 w…",
        "  * ask #2       ?…",
    ]);
    at.resize(80);
    at.sees_screen(&screen(&[
        "  ask #2 ? Shall we?",
        "* Ns",
        "  * cancel_me #1 waiting to be cancelled",
        "  * ask #2       ? waits for an answer",
    ]));
}

#[test]
fn where_there_is_a_total_rate_and_rest_are_told() {
    let cli = Cli::new();
    let at = cli.at_terminal(100, &["run", &component("probe"), "steps", "steps=1000", "sleep_ms=300"]);
    let row = eventually("what is left", || at.screen().last().filter(|row| row.contains(" left ")).cloned());
    for part in ["░", "0% ", "/1000 · ", "/s · ", "m", " left step "] {
        assert!(row.contains(part), "{row}");
    }
}

#[test]
fn a_task_that_another_process_runs_is_watched_with_the_same_bars() {
    let cli = Cli::new();
    let family = family();
    let mut running = cli.start(&family.iter().map(String::as_str).collect::<Vec<_>>());
    let id = running.until("started")["task"].as_str().expect("an id").to_owned();
    asking(&cli);
    let at = cli.at_terminal(80, &["tasks", "watch", &id, "--no-input"]);
    at.sees_screen(&screen(&[
        "  ask #2 ? Shall we?",
        "* Ns",
        "  * cancel_me #1 waiting to be cancelled",
        "  * ask #2       ? waits for an answer",
    ]));
    at.signal("INT");
    let (code, at) = at.ended();
    assert_eq!(code, 130, "{}", at.output());
    at.sees("no longer watching; the task goes on");
    at.sees_no("waiting to be cancelled");
}

/// Whether there is a sequence that colours, or makes bold or dim.
fn is_coloured(output: &str) -> bool {
    output
        .split("\x1b[")
        .skip(1)
        .any(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';').starts_with('m'))
}

#[test]
fn no_color_leaves_out_the_colours_and_nothing_else() {
    let cli = Cli::new();
    let shown = |environment: &[(&str, &str)]| {
        let at = run(&cli, 80, environment, &["--no-input"]);
        at.sees("? waits for an answer");
        at.sees("waiting to be cancelled");
        at.freeze();
        (at.screen(), at.output())
    };
    let (coloured, output) = shown(&[]);
    assert!(is_coloured(&output), "{output:?}");
    let (plain, output) = shown(&[("NO_COLOR", "1")]);
    assert!(!is_coloured(&output), "{output:?}");
    assert_eq!(coloured, plain);
}

#[test]
fn a_dumb_terminal_gets_lines_and_nothing_that_moves() {
    let cli = Cli::new();
    let at = cli.at_terminal_with(80, &[("TERM", "dumb")], &["run", &component("probe"), "steps", "steps=2"]);
    let (code, output) = at.end();
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("50% 1/2 step 1\r\n"), "{output:?}");
    // The terminal itself puts a carriage return before each line break.
    let moves = output.replace("\r\n", "\n").chars().any(|c| c.is_control() && c != '\n');
    assert!(!moves, "{output:?}");
}

#[test]
fn a_pipe_gets_lines_and_nothing_that_moves() {
    let cli = Cli::new();
    let words = family();
    let words: Vec<_> = words.iter().map(String::as_str).chain(["--deadline", "8s"]).collect();
    let done = cli.run(&words).says("  cancel_me #1 waiting to be cancelled\n").says("  ask #2 ? Shall we?\n");
    assert!(!done.stderr.chars().any(|c| c.is_control() && c != '\n'), "{done:?}");
}

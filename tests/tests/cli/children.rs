//! Tools that start tools, as a person and a script see them.

use longhaul_tests::cli::{Cli, component};
use serde_json::json;

/// A parent with a child that asks, and one that is done at once.
fn input() -> String {
    let asks = json!({ "prompt": "Go on, child?", "schema": { "type": "boolean" } });
    json!({ "children": [["probe/ask", asks], ["probe/noop", { "a": 1 }]] }).to_string()
}

const GRANTS: [&str; 4] = ["--grant", "tool:probe/ask", "--grant", "tool:probe/noop"];

fn run(cli: &Cli, more: &[&str]) -> longhaul_tests::cli::Done {
    let (probe, input) = (component("probe"), input());
    cli.run(&[&["run", &probe, "family", "--input", &input], &GRANTS[..], more].concat())
}

#[test]
fn a_childs_question_is_answered_and_its_doings_are_shown_under_its_name() {
    let cli = Cli::new();
    let done = run(&cli, &["--answer", "true"]).exits(0);
    let done = done.says("ask #1").says("Go on, child?").says("noop #2").says("completed");
    assert!(done.stdout.contains("\"value\": true"), "{}", done.stdout);
    let page = cli.run(&["tasks", "show", &root(&cli)]).exits(0).stdout;
    assert!(page.contains("children") && page.contains("#1") && page.contains("probe/noop"), "{page}");
    let list = cli.run(&["tasks", "ls"]).exits(0).stdout;
    assert_eq!(list.matches("↳ probe/").count(), 2, "{list}");
}

#[test]
fn a_family_that_waits_for_a_person_is_left_and_answered_by_its_root() {
    let cli = Cli::new();
    let done = run(&cli, &["--no-input"]).exits(4).says("tasks answer");
    let root = root(&cli);
    assert!(!done.stderr.contains(&format!("tasks answer {root}")), "the child is answered: {}", done.stderr);
    // It asks only through its child, so there is no doubt what is meant.
    cli.run(&["tasks", "answer", &root, "true"]).exits(0);
    cli.run(&["tasks", "watch", &root]).exits(0).says("ask #1");
}

#[test]
fn what_was_not_granted_is_refused_and_said() {
    let cli = Cli::new();
    let (probe, input) = (component("probe"), input());
    cli.run(&["run", &probe, "family", "--input", &input, "--grant", "tool:probe/noop"])
        .exits(1)
        .says("refused tool `probe/ask`")
        .says("was not granted to this task");
    cli.run(&["run", &probe, "family", "--input", &input, "--grant", "tool:other/tool"])
        .exits(2)
        .says("declares no need of tool `other/tool`");
    cli.run(&["run", &probe, "family", "--grant", "probe/noop"]).exits(2).says("tool:PLUGIN/TOOL");
}

#[test]
fn a_family_that_is_cancelled_has_ended_when_the_command_does() {
    let cli = Cli::new();
    run(&cli, &["--no-input"]).exits(4);
    cli.run(&["tasks", "cancel", &root(&cli)]).exits(0);
    for task in cli.run(&["tasks", "ls", "--json"]).exits(0).json() {
        assert!(!task["endedAt"].is_null() || !task["ended_at"].is_null(), "{task}");
    }
}

#[test]
fn children_that_a_parent_leaves_behind_have_ended_when_the_command_does() {
    let cli = Cli::new();
    let probe = component("probe");
    // The parent fails since its second child is refused; its first one would go on for ever.
    let input = json!({ "children": [["probe/cancel_me", { "manners": "obey" }], ["probe/noop", {}]] }).to_string();
    cli.run(&["run", &probe, "family", "--input", &input, "--grant", "tool:probe/cancel_me"]).exits(1);
    let states: Vec<_> =
        cli.run(&["tasks", "ls", "--json"]).exits(0).json().iter().map(|task| task["state"].clone()).collect();
    assert_eq!(states, ["cancelled", "failed"]);
}

#[test]
fn csv_report_profiles_each_file_by_a_child_and_reports_what_could_be_read() {
    let cli = Cli::new();
    cli.run(&["plugin", "add", &component("csv-profile")]).exits(0);
    let files = json!([
        { "name": "january", "csv": "day,total\n2026-01-01,20\n" },
        { "name": "february", "csv": "day,total,who\n2026-02-01,x,y\n" },
        { "name": "march", "csv": "" },
    ]);
    let (report, input) = (component("csv-report"), json!({ "files": files }).to_string());
    let args = ["run", &report, "--input", &input, "--grant", "tool:csv-profile/profile_csv"];
    let done = cli.run(&args).exits(0).says("march can't be profiled");
    assert!(done.stdout.contains("total  | january: integer, february: text"), "{}", done.stdout);
    cli.run(&args[..4]).exits(2).says("--grant tool:csv-profile/profile_csv");
}

fn root(cli: &Cli) -> String {
    let tasks = cli.run(&["tasks", "ls", "--json"]).exits(0).json();
    let root = tasks.iter().find(|task| task["parent"].is_null()).expect("a root");
    root["id"].as_str().expect("an id").to_owned()
}

#[cfg(unix)]
#[test]
fn a_childs_question_is_asked_at_the_prompt() {
    let cli = Cli::new();
    let (probe, input) = (component("probe"), input());
    let mut at = cli.at_terminal(100, &[&["run", &probe, "family", "--input", &input], &GRANTS[..]].concat());
    at.shows("ask #1");
    at.shows("Enter to answer");
    at.types("y");
    at.types("\r");
    let (code, output) = at.end();
    assert_eq!(code, 0, "{output}");
}

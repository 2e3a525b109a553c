//! `longhaul run`: how it ends, and what it says.

use longhaul_tests::cli::{Cli, component};

#[test]
fn a_completed_task_exits_0_and_prints_its_result() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "noop", "--input", r#"{"a": [1, null]}"#]).exits(0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&done.stdout).unwrap(), serde_json::json!({"a": [1, null]}));
    // The person is told on the other stream.
    done.says("probe/noop");
}

#[test]
fn text_parts_are_printed_as_they_are_and_other_parts_are_named() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "parts"]).exits(0);
    assert_eq!(
        done.stdout,
        "plain\n*marked*\n[three.bin, application/octet-stream, 3 B]\n[example, text/html: https://example.com/]\n"
    );
}

#[test]
fn a_tool_that_failed_exits_1_and_says_why() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "fail", "kind=failed", "message=no luck today"]).exits(1);
    assert_eq!(done.stdout, "");
    done.says("error: the tool failed (failed): no luck today");
    let bad = cli.run(&["run", &component("probe"), "fail", "kind=invalid-input", "message=x"]);
    bad.exits(1).says("invalid-input");
}

#[test]
fn a_tool_that_says_it_was_cancelled_without_being_asked_to_has_not_completed() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "fail", "kind=cancelled"]);
    assert_ne!(done.code, 0, "{done:?}");
}

#[test]
fn a_run_that_broke_exits_5() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "panics", "message=kaboom"]).exits(5).says("kaboom");
}

#[test]
fn an_attempt_that_may_pass_is_tried_again() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "fail", "kind=unavailable", "attempts=1", "retry_after_ms=10"]);
    assert_eq!(done.exits(0).stdout, "2\n");
}

#[test]
fn an_installed_plugin_is_run_by_its_name() {
    let cli = Cli::new();
    cli.run(&["plugin", "add", &component("probe")]).exits(0);
    cli.run(&["run", "probe", "noop"]).exits(0);
}

#[test]
fn the_tool_may_be_left_out_when_there_is_only_one() {
    let cli = Cli::new();
    let csv = cli.file("numbers.csv", "n\n1\n2\n");
    let done = cli.run(&["run", &component("csv-profile"), &format!("csv=@{}", csv.display())]).exits(0);
    assert!(done.stdout.contains("| n "), "{done:?}");
    cli.run(&["run", &component("probe"), "a=1"]).exits(2).says("several tools: ");
}

#[test]
fn an_unknown_tool_is_refused_with_those_that_there_are() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "nop"]).exits(2).says("has no tool `nop`; it has: ");
    assert_eq!(cli.run(&["tasks", "ls", "--json"]).stdout, "");
}

#[test]
fn an_unknown_plugin_is_refused() {
    let cli = Cli::new();
    cli.run(&["run", "nothing", "noop"]).exits(2).says("no plugin `nothing` is installed");
    cli.run(&["run", "./nothing.wasm", "noop"]).exits(2).says("cannot read ./nothing.wasm");
}

#[test]
fn input_comes_from_a_file_from_standard_input_and_from_pairs() {
    let cli = Cli::new();
    let file = cli.file("input.json", r#"{"a": 1, "b": 1}"#);
    let probe = component("probe");
    let from_file = cli.run(&["run", &probe, "noop", "--input", &format!("@{}", file.display()), "b=2"]).exits(0);
    assert_eq!(from_file.stdout, "{\n  \"a\": 1,\n  \"b\": 2\n}\n");
    let piped = cli.run_with(r#"{"c": 3}"#, &["run", &probe, "noop", "--input", "-"]).exits(0);
    assert_eq!(piped.stdout, "{\n  \"c\": 3\n}\n");
}

#[test]
fn settings_session_and_key_reach_the_task() {
    let cli = Cli::new();
    let probe = component("probe");
    let args = ["run", &probe, "who_am_i", r#"settings=["greeting","absent"]"#];
    let args =
        [args.as_slice(), &["--set", "greeting=hello", "--session", "thread-7", "--key", "k1", "--json"]].concat();
    let task = cli.run(&args).exits(0).task();
    assert_eq!(task["output"]["structured"]["settings"], serde_json::json!(["hello", null]));
    assert_eq!(task["session"], "thread-7");
    // The same key and input: the same task.
    let again = cli.run(&args).exits(0).task();
    assert_eq!(again["id"], task["id"]);
    cli.run(&["run", &probe, "noop", "--key", "k1"]).exits(2).says("was used for another request");
    cli.run(&["run", &probe, "noop", "--set", "grating=x"]).exits(2).says("declares no setting `grating`");
}

#[test]
fn a_deadline_ends_the_task() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "sleepy", "ms=60000", "--deadline", "300ms"]).exits(5).says("deadline");
    cli.run(&["run", &component("probe"), "noop", "--deadline", "soon"]).exits(2).says("--deadline");
}

#[test]
fn a_key_that_the_tool_would_ignore_is_told() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "sleepy", "ms=1", "mss=2"]).exits(0).says("does not name `mss`");
}

#[test]
fn control_characters_of_a_guest_are_shown_and_not_obeyed() {
    let cli = Cli::new();
    let probe = component("probe");
    let nasty = "message=\u{1b}[2J\u{9b}31m\u{202e}evil\u{7}\r";
    let failed = cli.run(&["run", &probe, "fail", "kind=failed", nasty]).exits(1);
    let shown = "␛[2J\\u{9b}31m\\u{202e}evil␇";
    assert!(failed.stderr.contains(shown), "{failed:?}");
    let progress = cli.run(&["run", &probe, "many_progress", "n=1", nasty]).exits(0);
    assert!(progress.stderr.contains(shown), "{progress:?}");
    let result = cli.run(&["run", &probe, "noop", "a=\u{9b}2J\u{202e}"]).exits(0);
    let id = cli.run(&["tasks", "ls", "--json"]).json().iter().map(|task| task["id"].to_string()).collect::<Vec<_>>();
    let pages = id.iter().map(|id| cli.run(&["tasks", "show", id.trim_matches('"')]).exits(0));
    for done in pages.chain([failed, progress, result, cli.run(&["tasks", "ls"])]) {
        let text = done.stdout.clone() + &done.stderr;
        let bad = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(bad), "{done:?}");
    }
}

#[test]
fn what_a_guest_prints_is_marked_so_that_it_cannot_pass_for_the_hosts_words() {
    let cli = Cli::new();
    let done = cli.run(&["run", &component("probe"), "chatty", "lines=3"]).exits(0);
    assert_eq!(done.stdout, "3\n");
    done.says("│ line 3");
}

#[test]
fn help_documents_the_exit_codes() {
    let cli = Cli::new();
    for args in [vec!["--help"], vec!["run", "--help"], vec!["tasks", "watch", "--help"]] {
        let done = cli.run(&args).exits(0);
        assert!(done.stdout.contains("4  the task waits for a person"), "{done:?}");
    }
    cli.run(&["frobnicate"]).exits(2);
    cli.run(&[]).exits(2);
}

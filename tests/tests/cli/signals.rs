//! Ctrl-C, and being told to go.

#![cfg(unix)]

use longhaul_tests::cli::{Cli, component};

#[test]
fn ctrl_c_asks_the_tool_to_stop() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "cancel_me", "manners=obey"]);
    running.until("progress");
    running.signal("INT");
    let done = running.end().exits(3);
    assert_eq!(done.task()["state"], "cancelled");
    let events = done.json();
    assert!(events.iter().any(|event| event["kind"] == "cancel-requested"), "{events:?}");
    assert!(events.iter().any(|event| event["message"] == "cleaning up"), "{events:?}");
}

#[test]
fn a_result_that_comes_after_ctrl_c_counts() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "cancel_me", "manners=finish"]);
    running.until("progress");
    running.signal("INT");
    running.end().exits(0);
}

#[test]
fn a_second_ctrl_c_leaves_at_once_and_the_task_can_be_taken_up_again() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "cancel_me", "manners=ignore"]);
    let id = running.until("progress")["task"].as_str().unwrap().to_owned();
    running.signal("INT");
    running.until("cancel-requested");
    running.signal("INT");
    running.end().exits(130).says(&format!("tasks watch {id}"));
    let task = cli.only_task();
    assert_eq!((task["stalled"].as_bool(), task["cancel_requested"].as_bool()), (Some(true), Some(true)));
    cli.run(&["tasks", "watch", &id]).exits(3);
}

#[test]
fn told_to_go_it_releases_the_task_and_leaves() {
    let cli = Cli::new();
    for (signal, code) in [("TERM", 143), ("HUP", 129)] {
        let mut running = cli.start(&["run", &component("probe"), "sleepy", "ms=60000"]);
        let id = running.until("sleep")["task"].as_str().unwrap().to_owned();
        running.signal(signal);
        running.end().exits(code).says(&format!("tasks watch {id}"));
        let shown = cli.run(&["tasks", "show", &id, "--json"]).exits(0).task();
        assert_eq!(shown["state"], "waiting");
        cli.run(&["tasks", "cancel", &id]).exits(0).says("it is cancelled");
    }
}

#[test]
fn ctrl_c_on_a_task_that_another_process_runs_only_ends_the_watching() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "sleepy", "ms=60000"]);
    let id = running.until("sleep")["task"].as_str().unwrap().to_owned();
    let mut watching = cli.start(&["tasks", "watch", &id]);
    watching.until("sleep");
    watching.signal("INT");
    watching.end().exits(130);
    assert_eq!(cli.only_task()["state"], "waiting");
    running.signal("TERM");
    running.end().exits(143);
}

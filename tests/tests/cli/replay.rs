//! `tasks replay` and `plugin check-upgrade`: running tasks again without effects.

use longhaul_tests::cli::{Cli, component};

/// The probe with one text in it changed, of the same length: another build that asks something else.
fn changed(cli: &Cli) -> String {
    let mut bytes = std::fs::read(component("probe")).unwrap();
    let (from, to) = (b"Go on after step ", b"Go on past a step");
    let at = bytes.windows(from.len()).position(|window| window == from).expect("the probe asks this");
    bytes[at..at + to.len()].copy_from_slice(to);
    cli.file("changed.wasm", bytes).display().to_string()
}

/// The probe with a section that says nothing: another digest, and the same behaviour.
fn rebuilt(cli: &Cli) -> String {
    let mut bytes = std::fs::read(component("probe")).unwrap();
    bytes.extend([0, 5, 4, b'n', b'o', b't', b'e']);
    cli.file("rebuilt.wasm", bytes).display().to_string()
}

#[test]
fn a_task_is_replayed_with_what_it_says_and_tells_whether_it_matched() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "steps", "steps=2", "ask_every=1"]).exits(4);
    let id = cli.only_id();
    // One that waits matches as far as it has come.
    let done = cli.run(&["tasks", "replay", &id]).exits(0).says("matched: it did the same up to entry");
    assert!(done.stdout.contains("step 1") && !done.stdout.contains("step 2"), "{done:?}");
    cli.run(&["tasks", "watch", &id, "--answer", "true", "--answer", "true"]).exits(0);
    let before = cli.only_task();
    let done = cli.run(&["tasks", "replay", &id, "--json"]).exits(0);
    let lines = done.json();
    let last = lines.last().unwrap();
    assert_eq!(last["type"], "replayed");
    assert_eq!(last["fuel"], before["fuel_used"]);
    assert_eq!(last["recorded_fuel"], before["fuel_used"]);
    assert_eq!(last["output"], before["output"]);
    let kinds: Vec<_> = lines.iter().filter(|line| line["type"] == "replay").map(|line| &line["kind"]).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "question").count(), 2, "{kinds:?}");
    assert_eq!(cli.only_task(), before, "nothing has changed");
    cli.run(&["tasks", "replay", &id, "--until", "4"]).exits(0).says("up to entry 4");
    let done = cli.run(&["tasks", "replay", &id, "--plugin", &changed(&cli)]).exits(6);
    done.says("diverged: entry").says("Go on after step 1").says("did a question with `Go on past a step");
    cli.run(&["tasks", "replay", &id, "--plugin", &rebuilt(&cli)]).exits(0);
    cli.run(&["tasks", "replay", &id, "--plugin", "nowhere.wasm"]).exits(2).says("cannot read nowhere.wasm");
    assert_eq!(cli.run(&["plugin", "ls", "--json"]).exits(0).json().len(), 1, "nothing was installed");
}

#[test]
fn a_replay_shows_no_answer_that_is_not_to_be_shown() {
    let cli = Cli::new();
    let schema = r#"schema={"type":"string"}"#;
    let options = r#"options={"sensitive":true}"#;
    let ask = ["run", &component("probe"), "ask", "prompt=Password?", schema, options, "--answer", "\"hunter2\""];
    cli.run(&ask).exits(0);
    let replayed = cli.run(&["tasks", "replay", &cli.only_id()]).exits(0);
    assert!(replayed.stdout.contains("Password?") && replayed.stdout.contains("•••"), "{replayed:?}");
    assert!(!replayed.stdout.contains("hunter2"), "{replayed:?}");
}

#[test]
fn a_task_that_another_process_runs_is_replayed_beside_it() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "sleepy", "ms=3000"]);
    let id = running.until("sleep")["task"].as_str().unwrap().to_owned();
    cli.run(&["tasks", "replay", &id]).exits(0).says("matched");
    running.end().exits(0);
}

#[test]
fn an_upgrade_is_checked_against_every_unfinished_task() {
    let cli = Cli::new();
    let probe = component("probe");
    cli.run(&["run", &probe, "steps", "steps=2", "ask_every=1"]).exits(4);
    cli.run(&["run", &probe, "noop"]).exits(0);
    let safe = cli.run(&["plugin", "check-upgrade", &rebuilt(&cli)]).exits(0);
    assert!(safe.stdout.contains("goes on"), "{safe:?}");
    safe.says("1 of 1 unfinished task would go on");
    let diverging = cli.run(&["plugin", "check-upgrade", &changed(&cli), "--json"]).exits(6).json();
    assert_eq!(diverging.len(), 1);
    assert_eq!((&diverging[0]["type"], &diverging[0]["upgrade"]), (&"upgrade".into(), &"diverges".into()));
    assert_eq!(diverging[0]["did"], "a question");
    assert!(diverging[0]["recorded"].as_str().unwrap().contains("Go on after step 1"), "{diverging:?}");
    cli.run(&["plugin", "check-upgrade", &component("csv-profile")]).exits(0).says("no unfinished task");
    assert_eq!(cli.run(&["plugin", "ls", "--json"]).exits(0).json().len(), 1, "nothing was installed");
    // The task goes on with the build that it was started with.
    cli.run(&["tasks", "watch", &waiting(&cli), "--answer", "true", "--answer", "true"]).exits(0);
}

fn waiting(cli: &Cli) -> String {
    let tasks = cli.run(&["tasks", "ls", "--state", "waiting", "--json"]).exits(0).json();
    tasks[0]["id"].as_str().unwrap().to_owned()
}

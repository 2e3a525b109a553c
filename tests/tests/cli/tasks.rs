//! `longhaul tasks`: looking at tasks, stopping and removing them, taking them up again.

use longhaul_tests::cli::{Cli, component, eventually};

#[test]
fn tasks_are_listed_newest_first_and_can_be_narrowed_down() {
    let cli = Cli::new();
    let probe = component("probe");
    cli.run(&["tasks", "ls"]).exits(0).says("no tasks");
    cli.run(&["run", &probe, "noop", "--session", "one"]).exits(0);
    cli.run(&["run", &probe, "fail", "kind=failed", "message=no luck"]).exits(1);
    let table = cli.run(&["tasks", "ls"]).exits(0).stdout;
    let rows: Vec<_> = table.lines().collect();
    assert!(rows[0].starts_with("ID") && rows[0].contains("STATE"), "{table}");
    assert!(rows[1].contains("failed") && rows[1].contains("probe/fail") && rows[1].contains("no luck"), "{table}");
    assert!(rows[2].contains("completed"), "{table}");
    let narrowed = |args: &[&str]| cli.run(&[&["tasks", "ls", "--json"], args].concat()).exits(0).json();
    assert_eq!(narrowed(&["--state", "failed"])[0]["tool"], "fail");
    assert_eq!(narrowed(&["--session", "one"])[0]["tool"], "noop");
    assert_eq!(narrowed(&["--limit", "1"]).len(), 1);
    cli.run(&["tasks", "ls", "--limit", "1"]).exits(0).says("there may be more than these 1; `--limit N`");
    cli.run(&["tasks", "ls", "--state", "lost"]).exits(2).says("no task state");
}

#[test]
fn a_task_is_shown_with_its_questions_its_end_and_its_journal() {
    let cli = Cli::new();
    let probe = component("probe");
    cli.run(&["run", &probe, "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let id = cli.only_id();
    let page = cli.run(&["tasks", "show", &id]).exits(0).stdout;
    for part in ["probe/ask", "waiting:human", "? Shall we?", "tasks answer", "--question 1 yes", "journal"] {
        assert!(page.contains(part), "`{part}` is not in {page}");
    }
    cli.run(&["tasks", "watch", &id, "--answer", "true"]).exits(0);
    let page = cli.run(&["tasks", "show", &id]).exits(0).stdout;
    for part in ["completed", "result", "answered", "✓ yes (question 1)"] {
        assert!(page.contains(part), "`{part}` is not in {page}");
    }
}

#[test]
fn a_task_is_named_by_its_ending_too_and_one_that_is_not_clear_is_told_with_those_that_it_could_be() {
    let cli = Cli::new();
    let probe = component("probe");
    cli.run(&["run", &probe, "noop"]).exits(0);
    let id = cli.only_id();
    cli.run(&["run", &probe, "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let shown = |given: &str| cli.run(&["tasks", "show", given, "--json"]).exits(0).task()["id"].clone();
    for given in [&id, &id[..25], &id[22..], &id[20..].to_uppercase()] {
        assert_eq!(shown(given), id, "{given}");
    }
    assert_ne!(shown("@last"), id);
    let several = cli.run(&["tasks", "show", &id[..1]]).exits(2).says("`0` could be several tasks");
    several.says(&format!("{id}  probe/noop  completed")).says("probe/ask  waiting:human");
    cli.run(&["tasks", "show", "zzz"]).exits(2).says("no task `zzz`").says("@last").says("tasks ls");
    // Every command takes it.
    let ending = &id[20..];
    cli.run(&["tasks", "watch", ending]).exits(0);
    cli.run(&["tasks", "replay", ending]).exits(0);
    cli.run(&["tasks", "cancel", ending]).exits(0).says("was completed already");
    cli.run(&["tasks", "answer", ending, "yes"]).exits(2).says("asks nothing");
    cli.run(&["tasks", "rm", ending]).exits(0);
    cli.run(&["tasks", "answer", "@last", "yes"]).exits(0);
}

#[test]
fn the_last_task_is_the_one_that_was_started_and_not_a_child_of_it() {
    let cli = Cli::new();
    let input = r#"{"children": [["probe/noop", {}]]}"#;
    let family = ["run", &component("probe"), "family", "--input", input, "--grant", "tool:probe/noop"];
    cli.run(&family).exits(0);
    assert_eq!(cli.run(&["tasks", "show", "@last", "--json"]).exits(0).task()["tool"], "family");
}

#[cfg(unix)]
#[test]
fn a_list_at_a_terminal_names_tasks_by_the_ends_of_their_ids_and_into_a_pipe_by_all_of_them() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "noop"]).exits(0);
    let id = cli.only_id();
    let (code, output) = cli.at_terminal_with(80, &[("TERM", "xterm"), ("NO_COLOR", "1")], &["tasks", "ls"]).end();
    assert_eq!(code, 0);
    let ending = output.lines().nth(1).and_then(|row| row.split(' ').next()).expect("a name");
    assert!(ending.len() == 6 && id.ends_with(ending) && !output.contains(&id), "{output:?}");
    cli.run(&["tasks", "show", ending]).exits(0);
    assert!(cli.run(&["tasks", "ls"]).exits(0).stdout.contains(&id));
}

#[test]
fn what_a_task_does_not_do_now_is_not_told_as_if_it_did() {
    let cli = Cli::new();
    let probe = component("probe");
    // It asks when it has come half-way, and nobody runs it.
    cli.run(&["run", &probe, "steps", "steps=2", "ask_every=1"]).exits(4);
    let id = cli.only_id();
    let page = || cli.run(&["tasks", "show", &id]).exits(0).stdout;
    let list = || cli.run(&["tasks", "ls"]).exits(0).stdout;
    assert!(page().contains("progress  50% 1/2 step 1"), "{}", page());
    cli.run(&["tasks", "answer", &id, "yes"]).exits(0);
    assert!(page().contains("progress  was at 50% 1/2 step 1"), "{}", page());
    assert!(list().contains("was at 50% 1/2 step 1"), "{}", list());
    cli.run(&["tasks", "watch", &id, "--answer", "yes"]).exits(0);
    assert!(!page().contains("progress"), "{}", page());

    // It sleeps, and dies; when its time has come nobody wakes it.
    let mut running = cli.start(&["run", &probe, "sleepy", "ms=1500"]);
    let id = running.until("sleep")["task"].as_str().unwrap().to_owned();
    running.signal("KILL");
    drop(running);
    let page = || cli.run(&["tasks", "show", &id]).exits(0).stdout;
    eventually("it is due", || page().contains("s ago; waits for a process that runs it)").then_some(()));
    let page = page();
    assert!(page.contains("until     20") && page.contains("Z (due "), "{page}");
    assert!(page.contains(" sleeps for 2s, until 20"), "what was planned stays what it was: {page}");
}

#[test]
fn cancelling_tells_the_state_it_found_and_may_be_repeated() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let id = cli.only_id();
    // No process runs it: the command lets it end.
    cli.run(&["tasks", "cancel", &id]).exits(0).says("was waiting").says("it is cancelled");
    assert_eq!(cli.only_task()["state"], "cancelled");
    let page = cli.run(&["tasks", "show", &id]).exits(0).stdout;
    assert!(page.contains("cancelled") && !page.contains("failed"), "{page}");
    cli.run(&["tasks", "cancel", &id]).exits(0).says("was cancelled already");
    cli.run(&["tasks", "watch", &id]).exits(3);
    cli.run(&["tasks", "answer", &id, "true"]).exits(2).says("asks nothing");
}

#[test]
fn a_task_that_another_process_runs_is_cancelled_there() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "cancel_me", "manners=obey"]);
    let id = running.until("progress")["task"].as_str().unwrap().to_owned();
    cli.run(&["tasks", "cancel", &id]).exits(0);
    running.end().exits(3);
}

#[test]
fn only_an_ended_task_is_removed() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let id = cli.only_id();
    cli.run(&["tasks", "rm", &id]).exits(2).says("is waiting; cancel it first");
    cli.run(&["tasks", "cancel", &id]).exits(0);
    cli.run(&["tasks", "rm", &id]).exits(0);
    cli.run(&["tasks", "show", &id]).exits(2).says("no task");
}

#[test]
fn a_plugin_file_that_is_gone_is_not_missed_by_a_task_that_waits() {
    let cli = Cli::new();
    let copy = cli.file("copy.wasm", std::fs::read(component("probe")).unwrap());
    let copy_path = copy.display().to_string();
    cli.run(&["run", &copy_path, "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    std::fs::remove_file(copy).unwrap();
    let id = cli.only_id();
    cli.run(&["tasks", "watch", &id, "--answer", "true"]).exits(0);
    cli.run(&["run", &copy_path, "noop"]).exits(2).says("cannot read");
}

#[test]
fn watch_takes_up_a_task_whose_process_was_killed() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "sleepy", "ms=2000"]);
    let id = running.until("sleep")["task"].as_str().unwrap().to_owned();
    running.signal("KILL");
    drop(running);
    assert_eq!(cli.only_task()["state"], "waiting");
    let done = cli.run(&["tasks", "watch", &id, "--json"]).exits(0);
    let kinds: Vec<_> = done.json().iter().map(|line| line["kind"].to_string()).collect();
    assert_eq!(kinds.iter().filter(|kind| kind.contains("sleep")).count(), 1, "{kinds:?}");
}

#[test]
fn watch_follows_a_task_that_another_process_runs_and_takes_it_up_when_that_one_dies() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "sleepy", "ms=6000"]);
    let id = running.until("sleep")["task"].as_str().unwrap().to_owned();
    let mut watching = cli.start(&["tasks", "watch", &id]);
    watching.until("sleep");
    running.signal("KILL");
    drop(running);
    watching.end().exits(0);
}

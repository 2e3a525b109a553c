//! `backup` and `doctor`: what an operator does with the data directory.

use longhaul_tests::cli::{Cli, component};
use rusqlite::Connection;

/// Puts a backup into the data directory of another one.
fn restored(backup: &std::path::Path) -> Cli {
    let cli = Cli::new();
    std::fs::create_dir(cli.data()).unwrap();
    std::fs::copy(backup, cli.data().join("longhaul.db")).unwrap();
    cli
}

#[test]
fn a_backup_is_made_beside_a_running_task_and_goes_on_elsewhere() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let asked = cli.only_id();
    let mut running = cli.start(&["run", "probe", "sleepy", "ms=2000"]);
    let slept = running.until("sleep")["task"].as_str().unwrap().to_owned();
    let file = cli.file("unused", "").with_file_name("backup.db");
    let path = file.display().to_string();
    cli.run(&["backup", &path]).exits(0).says("to restore it");
    cli.run(&["backup", &path]).exits(2).says("there is a file of that name already");
    running.end().exits(0);
    let other = restored(&file);
    other.run(&["doctor"]).exits(0).says("sound: 2 tasks");
    other.run(&["tasks", "watch", &asked, "--answer", "true"]).exits(0);
    other.run(&["tasks", "watch", &slept]).exits(0);
    assert_eq!(other.run(&["plugin", "ls", "--json"]).exits(0).json().len(), 1);
    // What goes on there is not known here.
    assert_eq!(cli.run(&["tasks", "show", &asked, "--json"]).exits(0).task()["state"], "waiting");
}

#[test]
fn the_doctor_tells_damage_with_an_exit_code_of_its_own() {
    let cli = Cli::new();
    cli.run(&["doctor"]).exits(2).says("No such file");
    cli.run(&["run", &component("probe"), "noop"]).exits(0);
    let id = cli.only_id();
    let sound = cli.run(&["doctor", "--json"]).exits(0).json();
    assert_eq!(sound.last().unwrap()["type"], "doctor");
    assert_eq!(sound.last().unwrap()["damaged"], 0);
    Connection::open(cli.data().join("longhaul.db")).unwrap().execute("DELETE FROM entry WHERE seq = 2", []).unwrap();
    let done = cli.run(&["doctor"]).exits(7);
    assert!(done.stdout.contains(&format!("damaged task {id}: entries 2 to 2 are missing")), "{done:?}");
    assert!(done.stdout.contains("restore a backup"), "{done:?}");
    let lines = cli.run(&["doctor", "--json"]).exits(7).json();
    assert!(lines[0]["type"] == "finding" && lines[0]["damage"] == true, "{lines:?}");
}

#[test]
fn a_process_that_was_killed_leaves_no_damage() {
    let cli = Cli::new();
    let mut running = cli.start(&["run", &component("probe"), "sleepy", "ms=60000"]);
    running.until("sleep");
    running.signal("KILL");
    drop(running);
    let done = cli.run(&["doctor"]).exits(0).says("sound: 1 task");
    assert!(done.stdout.contains("the next host takes them over"), "{done:?}");
}

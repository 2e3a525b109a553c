//! A data directory that can't be used: what is wrong is said in one line, and nothing is taken.

use longhaul_tests::cli::{Cli, component};
use rusqlite::Connection;

fn used() -> Cli {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "noop"]).exits(0);
    cli
}

fn database(cli: &Cli) -> std::path::PathBuf {
    cli.data().join("longhaul.db")
}

#[test]
fn a_locked_database_is_told() {
    let cli = used();
    let other = Connection::open(database(&cli)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let done = cli.run(&["run", "probe", "noop"]).exits(2);
    assert_eq!(done.stdout, "");
    done.says("error: ").says("locked").says("nothing was taken");
}

#[test]
fn a_database_of_a_newer_version_is_told() {
    let cli = used();
    Connection::open(database(&cli)).unwrap().pragma_update(None, "user_version", 999).unwrap();
    cli.run(&["tasks", "ls"]).exits(2).says("schema version 999").says("use a newer longhaul");
}

#[test]
fn a_corrupt_database_is_told() {
    let cli = Cli::new();
    std::fs::create_dir(cli.data()).unwrap();
    std::fs::write(database(&cli), "this is no database, but it is long enough to be looked at closely".repeat(99))
        .unwrap();
    cli.run(&["tasks", "ls"]).exits(2).says("damaged or no longhaul database");
}

#[test]
fn a_directory_that_cannot_be_written_is_told() {
    let cli = Cli::new();
    // A file in its place: that refuses root as well.
    std::fs::write(cli.data(), "").unwrap();
    cli.run(&["tasks", "ls"]).exits(2).says("can't be written").says("--data DIR");
}

#[test]
fn a_read_only_database_is_told() {
    let cli = used();
    let database = database(&cli);
    let mut permissions = std::fs::metadata(&database).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&database, permissions).unwrap();
    if std::fs::OpenOptions::new().write(true).open(&database).is_ok() {
        // Root writes everywhere.
        return;
    }
    cli.run(&["run", "probe", "noop"]).exits(2).says("can't be written").says("nothing was taken");
}

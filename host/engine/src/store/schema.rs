//! The tables, and opening a database whatever state it is in.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::failure::{failed, opening};
use crate::StoreError;

/// One step for each `user_version`: step `n` takes a database of version `n` to `n + 1`. Steps are never changed once
/// released.
const STEPS: &[&str] = &[include_str!("schema_1.sql"), include_str!("schema_2.sql"), include_str!("schema_3.sql")];

/// The version that they lead to.
pub(crate) const SCHEMA: usize = STEPS.len();

/// How long a connection waits for another process's write to end before it says `Locked`.
const BUSY: Duration = Duration::from_secs(5);

/// The version that this build writes.
pub(super) fn known() -> i64 {
    SCHEMA as i64
}

/// Opens the connection that writes, and brings the tables up to date.
pub(super) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    let mut connection = Connection::open(path).map_err(|error| opening(path, &error))?;
    if connection.is_readonly("main").map_err(|error| opening(path, &error))? {
        return Err(StoreError::ReadOnly { path: path.to_owned(), problem: "it can only be read".into() });
    }
    prepare(&connection, path)?;
    // `immediate`: two processes that open a new database at once must not both create it.
    let transaction = connection
        .transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)
        .map_err(|error| opening(path, &error))?;
    let found: i64 =
        transaction.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(|error| opening(path, &error))?;
    let known = known();
    if found > known {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    for (step, version) in STEPS.iter().zip(1i64..).skip(usize::try_from(found).unwrap_or(0)) {
        transaction.execute_batch(step).map_err(|error| opening(path, &error))?;
        transaction.pragma_update(None, "user_version", version).map_err(|error| opening(path, &error))?;
    }
    transaction.commit().map_err(|error| opening(path, &error))?;
    if found == 0 {
        sync_place(path);
    }
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Opens a connection that only reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| opening(path, &error))?;
    connection.busy_timeout(BUSY).map_err(failed("the connection"))?;
    steady(&connection).map_err(failed("the connection"))?;
    connection.set_prepared_statement_cache_capacity(32);
    Ok(connection)
}

fn prepare(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    connection.busy_timeout(BUSY).map_err(|error| opening(path, &error))?;
    steady(connection).map_err(|error| opening(path, &error))?;
    // WAL lets readers go on while one writes <https://sqlite.org/wal.html>. Under WAL only FULL syncs at each commit:
    // with NORMAL the last commits are lost when the power fails <https://sqlite.org/pragma.html#pragma_synchronous>.
    // `fullfsync` makes macOS flush the drive's own cache too; elsewhere it does nothing.
    let begun = Instant::now();
    // Of several processes that open a new file one makes it WAL; SQLite tells the others that it is busy without waiting.
    while let Err(error) = connection.execute_batch("PRAGMA journal_mode = WAL;") {
        if error.sqlite_error_code() != Some(rusqlite::ErrorCode::DatabaseBusy) || begun.elapsed() > BUSY {
            return Err(opening(path, &error));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    connection
        .execute_batch(
            "PRAGMA synchronous = FULL;
             PRAGMA fullfsync = ON;
             PRAGMA checkpoint_fullfsync = ON;
             PRAGMA foreign_keys = OFF;
             PRAGMA trusted_schema = OFF;",
        )
        .map_err(|error| opening(path, &error))?;
    holds(connection, path, DURABLE)
}

/// What the promise rests on that nothing committed is lost when the power fails.
const DURABLE: &[(&str, &str)] =
    &[("journal_mode", "wal"), ("synchronous", "2"), ("fullfsync", "1"), ("checkpoint_fullfsync", "1")];

/// Reads pragmas back: SQLite does not say when one could not be set, as WAL on a network's file system.
fn holds(connection: &Connection, path: &Path, pragmas: &[(&str, &str)]) -> Result<(), StoreError> {
    for (name, wanted) in pragmas {
        let found = connection
            .pragma_query_value(None, name, |row| row.get::<_, rusqlite::types::Value>(0))
            .map_err(|error| opening(path, &error))?;
        let found = match found {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        };
        if found != *wanted {
            let problem = format!("its `{name}` is {found} and can't be made {wanted}; keep the data on a local disk");
            return Err(StoreError::ReadOnly { path: path.to_owned(), problem });
        }
    }
    Ok(())
}

/// Makes the new file, and the directories above it that may be as new, outlive the power: SQLite syncs what is in it.
fn sync_place(path: &Path) {
    let Ok(path) = std::path::absolute(path) else { return };
    for directory in path.ancestors().skip(1) {
        // One that can't be opened or synced was not made by us, or is on a system that has no such thing.
        let _ = std::fs::File::open(directory).and_then(|directory| directory.sync_all());
    }
}

/// Keeps the plan of a statement whatever is bound to it. Otherwise SQLite, which looks at the values while it plans,
/// prepares a statement anew for each new value: a fifth of all the work that a short task is.
fn steady(connection: &Connection) -> rusqlite::Result<bool> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)
}

/// How SQLite would go about a statement, step by step.
#[cfg(test)]
pub(super) fn plan(connection: &Connection, statement: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let steps = explain.raw_query().mapped(|row| row.get(3)).collect::<Result<_, _>>();
    steps.unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every connection that the store makes is made by one of these two.
    #[test]
    fn promise_1_every_connection_has_the_pragmas_that_power_loss_safety_rests_on() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhaul.db");
        let writer = open_writer(&path).unwrap();
        holds(&writer, &path, DURABLE).unwrap();
        let reader = open_reader(&path).unwrap();
        holds(&reader, &path, &[("journal_mode", "wal")]).unwrap();
        assert!(reader.is_readonly("main").unwrap(), "what never writes has nothing to sync");
    }

    #[test]
    fn a_database_that_cannot_be_made_durable_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhaul.db");
        let memory = Connection::open_in_memory().unwrap();
        let error = prepare(&memory, &path).unwrap_err().to_string();
        assert!(error.contains("its `journal_mode` is memory and can't be made wal"), "{error}");
    }
}

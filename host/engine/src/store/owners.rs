//! Which host process owns which task, and whether it lives: it does while it holds the lock on its file, which the
//! system drops when the process dies, however it dies.

use std::collections::HashSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use super::failure::failed;
use super::step::Lease;
use super::writer::Tx;
use crate::clock::Timestamp;
use crate::{Error, StoreError};

const WHAT: &str = "an owner";

/// The lock files, and this process's own.
pub(crate) struct Owners {
    dir: PathBuf,
    me: i64,
    /// Held for as long as this exists.
    _lock: File,
    /// Owners that were found dead: they stay so.
    dead: Mutex<HashSet<i64>>,
}

/// Gives this process its number. Numbers are never used twice.
pub(crate) fn enrol(tx: &Tx<'_>, now: Timestamp) -> Result<i64, StoreError> {
    tx.sql
        .execute(
            "INSERT INTO owner (pid, started_at) VALUES (?1, ?2)",
            params![std::process::id(), now.as_millis().cast_signed()],
        )
        .map_err(failed(WHAT))?;
    Ok(tx.sql.last_insert_rowid())
}

impl Owners {
    /// Takes the lock of the owner `me`.
    pub fn hold(dir: &Path, me: i64) -> std::io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(dir.join(me.to_string()))?;
        lock.lock()?;
        Ok(Self { dir: dir.to_owned(), me, _lock: lock, dead: Mutex::default() })
    }

    /// This process's number.
    pub fn me(&self) -> i64 {
        self.me
    }

    /// Whether the process with that number is there.
    pub fn lives(&self, owner: i64) -> bool {
        if owner == self.me {
            return true;
        }
        let mut dead = self.dead.lock().unwrap_or_else(PoisonError::into_inner);
        if dead.contains(&owner) {
            return false;
        }
        let path = self.dir.join(owner.to_string());
        let lives = match File::open(&path) {
            Ok(file) => matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)),
            Err(_) => false,
        };
        if !lives {
            dead.insert(owner);
            // Whoever is dead does not come back under the same number. If it can't be removed, nothing is lost.
            let _ = std::fs::remove_file(path);
        }
        lives
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.dir.join(self.me.to_string()));
    }
}

/// The tasks with work left whose owner is not this process: `(n, owner)`. One that ended with a ticket has some.
pub(crate) fn others(sql: &Connection, me: i64) -> Result<Vec<(i64, Option<i64>)>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT n, owner FROM task WHERE (ended_at IS NULL OR ticket IS NOT NULL) AND owner IS NOT ?1")
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![me], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// Takes a task over from `from`. `None`: it was not `from`'s any more, or has ended.
pub(crate) fn claim(tx: &Tx<'_>, task: i64, from: Option<i64>, me: i64) -> Result<Option<Lease>, Error> {
    let epoch: Option<i64> = tx
        .sql
        .prepare_cached(
            "UPDATE task SET owner = ?3, epoch = epoch + 1,
                    deaths = deaths + (owner IS NOT NULL AND state = 'running')
             WHERE n = ?1 AND owner IS ?2 AND (ended_at IS NULL OR ticket IS NOT NULL) RETURNING epoch",
        )
        .and_then(|mut update| update.query_row(params![task, from, me], |row| row.get(0)).optional())
        .map_err(failed(WHAT))?;
    Ok(epoch.map(|epoch| Lease { owner: me, epoch }))
}

/// Gives up everything that this process owns, so that the next one need not find out that it is gone.
pub(crate) fn release(tx: &Tx<'_>, me: i64) -> Result<(), StoreError> {
    tx.sql
        .execute("UPDATE task SET owner = NULL WHERE owner = ?1 AND ended_at IS NULL", params![me])
        .map_err(failed(WHAT))?;
    tx.sql.execute("DELETE FROM owner WHERE id = ?1", params![me]).map_err(failed(WHAT))?;
    Ok(())
}

//! Removing ended tasks: by hand, or when they have been kept for long enough.
//!
//! A task that is removed is hidden at once, and deleted bit by bit: a journal may be long, and whoever writes meanwhile
//! is not to wait for it.

use rusqlite::{OptionalExtension, params};

use super::failure::failed;
use super::feed;
use super::notice::Notice;
use super::writer::Tx;
use crate::StoreError;
use crate::clock::Timestamp;

const WHAT: &str = "a removal";

/// Rows deleted in one transaction: a few milliseconds.
const ROWS: usize = 1_000;

/// Trees that are looked for in one transaction.
const TREES: usize = 100;

/// Hides an ended task from everybody, its idempotency key included. It is gone when its `cancel-task` is owed no more.
pub(super) fn hide(tx: &mut Tx<'_>, n: i64) -> Result<(), StoreError> {
    tx.sql
        .prepare_cached("UPDATE task SET removed = 1, idem_key = NULL, idem_hash = NULL WHERE n = ?1")
        .and_then(|mut update| update.execute(params![n]))
        .map_err(failed(WHAT))?;
    tx.notices.push(Notice::Entries { task: n });
    Ok(())
}

/// Hides trees of tasks whose root ended before `before`, some at once. One in which anything is still to be done stays.
/// Says whether there may be more.
pub(crate) fn hide_ended(tx: &mut Tx<'_>, before: Timestamp) -> Result<bool, StoreError> {
    let trees: Vec<i64> = {
        let mut select = tx
            .sql
            .prepare_cached(
                "SELECT n FROM task AS root
                 WHERE ended_at < ?1 AND parent IS NULL AND removed = 0 AND ticket IS NULL
                   AND NOT EXISTS (SELECT 1 FROM task AS below WHERE below.root = root.n
                                   AND (below.ended_at IS NULL OR below.ticket IS NOT NULL))
                 ORDER BY ended_at LIMIT ?2",
            )
            .map_err(failed(WHAT))?;
        let rows = select
            .query_map(params![before.as_millis().cast_signed(), TREES as i64], |row| row.get(0))
            .map_err(failed(WHAT))?;
        rows.collect::<Result<_, _>>().map_err(failed(WHAT))?
    };
    for &root in &trees {
        feed::forget(tx, root)?;
        tx.sql
            .prepare_cached("UPDATE task SET removed = 1 WHERE root = ?1")
            .and_then(|mut update| update.execute(params![root]))
            .map_err(failed(WHAT))?;
        hide(tx, root)?;
    }
    Ok(trees.len() == TREES)
}

/// Deletes of what is hidden as much as one transaction may. Says whether there is more.
pub(crate) fn sweep(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    let mut left = ROWS;
    loop {
        let hidden: Option<(i64, String)> = tx
            .sql
            .prepare_cached("SELECT n, digest FROM task WHERE removed = 1 AND ticket IS NULL ORDER BY n LIMIT 1")
            .and_then(|mut select| select.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional())
            .map_err(failed(WHAT))?;
        let Some((n, digest)) = hidden else { return Ok(false) };
        let gone = tx
            .sql
            .prepare_cached("DELETE FROM entry WHERE pos IN (SELECT pos FROM entry WHERE task = ?1 LIMIT ?2)")
            .and_then(|mut delete| delete.execute(params![n, left as i64]))
            .map_err(failed(WHAT))?;
        if gone == left {
            return Ok(true);
        }
        for sql in ["DELETE FROM question WHERE task = ?1", "DELETE FROM task WHERE n = ?1"] {
            let deleted = tx.sql.prepare_cached(sql).and_then(|mut delete| delete.execute(params![n]));
            deleted.map_err(failed(WHAT))?;
        }
        // A plugin that was removed stayed for the sake of its tasks.
        tx.sql
            .prepare_cached(
                "DELETE FROM plugin WHERE digest = ?1 AND removed = 1
                 AND NOT EXISTS (SELECT 1 FROM task WHERE digest = ?1)",
            )
            .and_then(|mut delete| delete.execute(params![digest]))
            .map_err(failed(WHAT))?;
        left = left.saturating_sub(gone + 1);
        if left == 0 {
            return Ok(true);
        }
    }
}

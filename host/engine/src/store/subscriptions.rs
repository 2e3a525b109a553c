//! How far the readers of a namespace's news have come that the database remembers, and which process brings each its news.

use rusqlite::{Connection, OptionalExtension, params};

use super::failure::failed;
use super::notice::Notice;
use super::writer::Tx;
use crate::StoreError;

const WHAT: &str = "a subscription";

/// Where a reader is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Held {
    /// The last news that it has dealt with; `None`: nothing yet.
    pub cursor: Option<u64>,
    /// The process that brings it news.
    pub owner: Option<i64>,
}

/// A reader's place, as it is now.
pub(crate) fn one(sql: &Connection, namespace: &str, name: &str) -> Result<Held, StoreError> {
    let found = sql
        .prepare_cached("SELECT cursor, owner FROM subscription WHERE namespace = ?1 AND name = ?2")
        .and_then(|mut select| {
            select
                .query_row(params![namespace, name], |row| {
                    let cursor = row.get::<_, Option<i64>>(0)?.map(i64::cast_unsigned);
                    Ok(Held { cursor, owner: row.get(1)? })
                })
                .optional()
        })
        .map_err(failed(WHAT))?;
    Ok(found.unwrap_or_default())
}

/// Makes the process `me` the one that brings the news, unless it is another than `from` by now. Says whether it did.
pub(crate) fn claim(tx: &Tx<'_>, namespace: &str, name: &str, from: Option<i64>, me: i64) -> Result<bool, StoreError> {
    tx.sql
        .prepare_cached("INSERT OR IGNORE INTO subscription (namespace, name) VALUES (?1, ?2)")
        .and_then(|mut insert| insert.execute(params![namespace, name]))
        .map_err(failed(WHAT))?;
    tx.sql
        .prepare_cached("UPDATE subscription SET owner = ?4 WHERE namespace = ?1 AND name = ?2 AND owner IS ?3")
        .and_then(|mut update| update.execute(params![namespace, name, from, me]))
        .map(|changed| changed == 1)
        .map_err(failed(WHAT))
}

/// The reader has dealt with everything up to here, if `me` is still the one that brings it news. Says whether it is.
pub(crate) fn acknowledge(tx: &Tx<'_>, namespace: &str, name: &str, cursor: u64, me: i64) -> Result<bool, StoreError> {
    tx.sql
        .prepare_cached("UPDATE subscription SET cursor = ?3 WHERE namespace = ?1 AND name = ?2 AND owner = ?4")
        .and_then(|mut update| update.execute(params![namespace, name, cursor.cast_signed(), me]))
        .map(|changed| changed == 1)
        .map_err(failed(WHAT))
}

/// Puts the reader somewhere else. Whoever brings it news has to claim it again, and so finds out.
pub(crate) fn seek(tx: &mut Tx<'_>, namespace: &str, name: &str, cursor: Option<u64>) -> Result<(), StoreError> {
    tx.sql
        .prepare_cached(
            "INSERT INTO subscription (namespace, name, cursor) VALUES (?1, ?2, ?3)
             ON CONFLICT (namespace, name) DO UPDATE SET cursor = ?3, owner = NULL",
        )
        .and_then(|mut upsert| upsert.execute(params![namespace, name, cursor.map(u64::cast_signed)]))
        .map_err(failed(WHAT))?;
    tx.notices.push(Notice::News { namespace: namespace.to_owned() });
    Ok(())
}

/// The process `me` brings it no more news, so that another can at once.
pub(crate) fn let_go(tx: &Tx<'_>, namespace: &str, name: &str, me: i64) -> Result<(), StoreError> {
    tx.sql
        .prepare_cached("UPDATE subscription SET owner = NULL WHERE namespace = ?1 AND name = ?2 AND owner = ?3")
        .and_then(|mut update| update.execute(params![namespace, name, me]))
        .map_err(failed(WHAT))?;
    Ok(())
}

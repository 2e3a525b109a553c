//! The news of a namespace: what its sessions should hear of, in the order in which it was committed.

use rusqlite::{Connection, OptionalExtension, params};

use super::events::parse;
use super::failure::{damaged, failed};
use super::writer::Tx;
use crate::clock::Timestamp;
use crate::host::FeedItem;
use crate::journal::Event;
use crate::task::TaskId;
use crate::{Error, StoreError};

const WHAT: &str = "the feed";

/// Where an entry stands among the news of its namespace.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub namespace: i64,
    pub news: i64,
    /// Somebody is to be sent word of it.
    pub hooked: bool,
}

/// The next place.
pub(super) fn next(tx: &Tx<'_>, namespace: &str) -> Result<Place, StoreError> {
    tx.sql
        .prepare_cached(
            "INSERT INTO namespace (name, news) VALUES (?1, 1)
             ON CONFLICT (name) DO UPDATE SET news = news + 1 RETURNING id, news, hooks > 0",
        )
        .and_then(|mut upsert| {
            upsert.query_row(params![namespace], |row| {
                Ok(Place { namespace: row.get(0)?, news: row.get(1)?, hooked: row.get(2)? })
            })
        })
        .map_err(failed(WHAT))
}

/// The last place that was given, 0 if none was.
pub(crate) fn last(sql: &Connection, namespace: &str) -> Result<u64, StoreError> {
    Ok(bounds(sql, namespace)?.map_or(0, |(_, last, _)| last))
}

/// The row's id, the last place that was given, and the last that retention took.
fn bounds(sql: &Connection, namespace: &str) -> Result<Option<(i64, u64, u64)>, StoreError> {
    sql.prepare_cached("SELECT id, news, floor FROM namespace WHERE name = ?1")
        .and_then(|mut select| {
            select
                .query_row(params![namespace], |row| {
                    Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned(), row.get::<_, i64>(2)?.cast_unsigned()))
                })
                .optional()
        })
        .map_err(failed(WHAT))
}

/// News after `after`, at most `limit`, and the place to go on from. `None`: from the oldest that are kept.
///
/// # Errors
///
/// [`Error::FeedExpired`] if news after that place are gone; [`Error::OutOfRange`] if there has never been such a place.
pub(crate) fn page(
    sql: &Connection,
    namespace: &str,
    after: Option<u64>,
    limit: usize,
) -> Result<(Vec<FeedItem>, u64), Error> {
    let snapshot = super::snapshot(sql)?;
    let Some((id, last, floor)) = bounds(&snapshot, namespace)? else {
        return match after {
            None | Some(0) => Ok((Vec::new(), 0)),
            Some(after) => Err(never(after, 0)),
        };
    };
    let after = after.unwrap_or(floor);
    if after < floor {
        return Err(Error::FeedExpired { cursor: after, oldest: floor });
    }
    if after > last {
        return Err(never(after, last));
    }
    let mut select = snapshot
        .prepare_cached(
            "SELECT entry.news, entry.seq, entry.at, entry.data, task.id, task.session, task.context, plugin.name, task.tool
             FROM entry JOIN task ON task.n = entry.task LEFT JOIN plugin ON plugin.digest = task.digest
             WHERE entry.feed = ?1 AND entry.news > ?2 AND task.removed = 0 ORDER BY entry.news LIMIT ?3",
        )
        .map_err(failed(WHAT))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = select
        .query_map(params![id, after.cast_signed(), limit], |row| {
            let data: String = row.get(3)?;
            let context: String = row.get(6)?;
            let at = Timestamp::from_millis(row.get::<_, i64>(2)?.cast_unsigned());
            let seq = row.get::<_, i64>(1)?.cast_unsigned();
            let item = parse(&data).and_then(|kind| {
                Ok(FeedItem {
                    cursor: row.get::<_, i64>(0).map_err(failed(WHAT))?.cast_unsigned(),
                    task: TaskId(row.get(4).map_err(failed(WHAT))?),
                    session: row.get(5).map_err(failed(WHAT))?,
                    context: serde_json::from_str(&context).map_err(damaged(WHAT))?,
                    plugin: row.get::<_, Option<String>>(7).map_err(failed(WHAT))?.unwrap_or_default(),
                    tool: row.get(8).map_err(failed(WHAT))?,
                    event: Event { seq, at, kind },
                })
            });
            Ok(item)
        })
        .map_err(failed(WHAT))?;
    let items: Vec<FeedItem> = rows.map(|row| row.map_err(failed(WHAT))?).collect::<Result<_, StoreError>>()?;
    let full = i64::try_from(items.len()).unwrap_or(i64::MAX) == limit;
    // A page that is not full has seen all there is, news of removed tasks too.
    let next = items.last().filter(|_| full).map_or(last.max(after), |item| item.cursor);
    Ok((items, next))
}

fn never(cursor: u64, last: u64) -> Error {
    let allowed = format!("the feed of this namespace has come to {last}");
    Error::OutOfRange { what: "the cursor", value: cursor.to_string(), allowed }
}

/// Retention is about to take this task, a root, and its news with it: whoever has not read on from there has missed them.
pub(super) fn forget(tx: &Tx<'_>, task: i64) -> Result<(), StoreError> {
    tx.sql
        .prepare_cached(
            "UPDATE namespace SET floor = max(floor, coalesce(
                 (SELECT entry.news FROM entry JOIN task ON task.n = entry.task AND entry.seq = task.ended_seq
                  WHERE task.n = ?1), 0))
             WHERE name = (SELECT namespace FROM task WHERE n = ?1)",
        )
        .and_then(|mut update| update.execute(params![task]))
        .map_err(failed(WHAT))?;
    Ok(())
}

//! Children: tasks that another task started, and what those above them hear of them.

use rusqlite::{Connection, OptionalExtension, params};

use super::failure::{damaged, failed};
use super::notice::Notice;
use super::step::Step;
use super::tasks::limits;
use super::writer::Tx;
use super::{Inserted, Moved, NewRow, events, owners, questions};
use crate::clock::Timestamp;
use crate::journal::{Body, EventKind, NewEntry};
use crate::limits::Limit;
use crate::task::{Child, LifeEvent, OpenQuestion, Output, TaskError, TaskId, TaskState};
use crate::{Error, StoreError};

const WHAT: &str = "a child";

/// Where a child stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kin {
    /// The task that started it.
    pub parent: i64,
    /// The one that nobody started.
    pub root: i64,
    /// What its parent knows it by.
    pub handle: u32,
    /// How far below the root.
    pub depth: u32,
}

/// Takes a child, or says why not.
pub(super) fn insert(tx: &mut Tx<'_>, child: NewRow) -> Result<Option<String>, StoreError> {
    let root = child.kin.map(|kin| kin.root);
    let below: i64 = tx
        .sql
        .prepare_cached("SELECT count(*) FROM task WHERE root = ?1")
        .and_then(|mut select| select.query_row(params![root], |row| row.get(0)))
        .map_err(failed(WHAT))?;
    if below.cast_unsigned() >= child.limits.tree_tasks {
        let said = child.limits.said(Limit::tree_tasks);
        return Ok(Some(format!("there are as many tasks below its root as there may be ({said})")));
    }
    let digest = child.digest.clone();
    match child.insert(tx, &digest) {
        Ok(Inserted::New { n }) => {
            // Whoever runs its parent runs it.
            tx.notices.push(Notice::Inbox { task: n });
            Ok(None)
        }
        // It has no key, and names its plugin by the digest: but no entry may tell of a child that is not there.
        Ok(Inserted::Existing { .. } | Inserted::Outdated) => Ok(Some("the plugin is another one by now".into())),
        Err(Error::Store(error)) => Err(error),
        Err(other) => Ok(Some(other.to_string())),
    }
}

/// How many children a task has started.
pub(crate) fn started(sql: &Connection, task: i64) -> Result<u32, StoreError> {
    sql.prepare_cached("SELECT count(*) FROM task WHERE parent = ?1")
        .and_then(|mut select| select.query_row(params![task], |row| row.get(0)))
        .map_err(failed(WHAT))
}

/// The handles of the children that have ended.
pub(crate) fn ended(sql: &Connection, task: i64) -> Result<Vec<u32>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT child FROM task WHERE parent = ?1 AND ended_at IS NOT NULL")
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![task], |row| row.get(0)).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// What became of a child that has ended.
pub(crate) fn outcome(
    sql: &Connection,
    task: i64,
    handle: u32,
) -> Result<Option<Result<Output, TaskError>>, StoreError> {
    let found: Option<(i64, i64)> = sql
        .prepare_cached("SELECT n, ended_seq FROM task WHERE parent = ?1 AND child = ?2 AND ended_seq IS NOT NULL")
        .and_then(|mut select| select.query_row(params![task, handle], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(failed(WHAT))?;
    let Some((n, seq)) = found else { return Ok(None) };
    match events::one(sql, n, seq)? {
        EventKind::Ended { error: Some(error), .. } => Ok(Some(Err(error))),
        EventKind::Ended { output, error: None, .. } => Ok(Some(Ok(output.unwrap_or_default()))),
        _ => Err(damaged(WHAT)(format!("entry {seq} is not its end"))),
    }
}

/// The children of a task, as the outside sees them.
pub(super) fn list(sql: &Connection, task: i64) -> Result<Vec<Child>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT child, id, plugin.name, tool, state FROM task LEFT JOIN plugin ON plugin.digest = task.digest
             WHERE parent = ?1 ORDER BY child",
        )
        .map_err(failed(WHAT))?;
    let rows = select
        .query_map(params![task], |row| {
            let state: String = row.get(4)?;
            let child = Child {
                handle: row.get(0)?,
                task: TaskId(row.get(1)?),
                plugin: row.get::<_, Option<String>>(2)?.unwrap_or_default(),
                tool: row.get(3)?,
                state: TaskState::Queued,
            };
            Ok((child, state))
        })
        .map_err(failed(WHAT))?;
    rows.map(|row| {
        let (child, state) = row.map_err(failed(WHAT))?;
        let state = state.parse().map_err(|problem: String| damaged(WHAT)(problem))?;
        Ok(Child { state, ..child })
    })
    .collect()
}

/// The children of a task that have not ended: `(n, id)`.
fn unfinished(sql: &Connection, task: i64) -> Result<Vec<(i64, TaskId)>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT n, id FROM task WHERE parent = ?1 AND ended_at IS NULL ORDER BY child")
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![task], |row| Ok((row.get(0)?, TaskId(row.get(1)?)))).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// Everything below a task that has not ended, each with its owner.
pub(crate) fn unfinished_below(sql: &Connection, task: i64) -> Result<Vec<(Moved, Option<i64>)>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "WITH RECURSIVE below (n) AS (
                 SELECT n FROM task WHERE parent = ?1
                 UNION ALL SELECT task.n FROM task JOIN below ON task.parent = below.n)
             SELECT task.n, task.namespace, task.digest, task.deadline, task.owner
             FROM below JOIN task ON task.n = below.n WHERE task.ended_at IS NULL",
        )
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![task], |row| Ok((owners::moved(row)?, row.get(4)?))).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// The open questions of everything below a task, each with the task to answer to.
pub(super) fn open_questions(sql: &Connection, task: i64) -> Result<Vec<OpenQuestion>, StoreError> {
    let mut open = Vec::new();
    for (n, id) in unfinished(sql, task)? {
        for question in questions::still_open(sql, n)? {
            open.push(OpenQuestion { task: Some(id.clone()), ..question });
        }
        open.append(&mut open_questions(sql, n)?);
    }
    Ok(open)
}

/// Asks every child that has not ended to stop, and so theirs.
pub(super) fn cancel(tx: &mut Tx<'_>, task: i64, now: Timestamp) -> Result<(), StoreError> {
    for (child, _) in unfinished(tx.sql, task)? {
        cancel_one(tx, child, now)?;
    }
    Ok(())
}

/// Asks the child of that handle to stop, if it has not ended.
pub(super) fn withdraw(tx: &mut Tx<'_>, task: i64, handle: u32, now: Timestamp) -> Result<(), StoreError> {
    let child: Option<i64> = tx
        .sql
        .prepare_cached("SELECT n FROM task WHERE parent = ?1 AND child = ?2 AND ended_at IS NULL")
        .and_then(|mut select| select.query_row(params![task, handle], |row| row.get(0)).optional())
        .map_err(failed(WHAT))?;
    child.map_or(Ok(()), |child| cancel_one(tx, child, now))
}

fn cancel_one(tx: &mut Tx<'_>, child: i64, now: Timestamp) -> Result<(), StoreError> {
    let step = Step { event: Some(LifeEvent::CancelRequested), ..Step::default() };
    fits(step.take(tx, child, now)?)
}

/// Shows what a child did to those above it that have not ended. One whose journal is half full is shown no more of it:
/// the other half is for what it does itself.
pub(super) fn show_above(
    tx: &mut Tx<'_>,
    task: i64,
    kin: &Kin,
    entries: &[NewEntry],
    now: Timestamp,
) -> Result<(), StoreError> {
    let shown = |entry: &&NewEntry| matches!(&entry.body, Body::Event(kind, _) if kind.is_shown_above());
    if !entries.iter().any(|entry| shown(&entry)) {
        return Ok(());
    }
    let child = id(tx.sql, task)?;
    let mut above = Some(kin.parent);
    while let Some(task) = above {
        let (parent, shows): (Option<i64>, bool) = tx
            .sql
            .prepare_cached("SELECT parent, ended_at IS NULL, last_seq, journal_bytes, limits FROM task WHERE n = ?1")
            .and_then(|mut select| {
                select.query_row(params![task], |row| {
                    let limits = limits(row, 4)?;
                    let (entries, bytes) =
                        (row.get::<_, i64>(2)?.cast_unsigned(), row.get::<_, i64>(3)?.cast_unsigned());
                    let room = entries < limits.journal_entries / 2 && bytes < limits.journal / 2;
                    Ok((row.get(0)?, row.get::<_, bool>(1)? && room))
                })
            })
            .map_err(failed(WHAT))?;
        if shows {
            let copies = entries.iter().filter(shown).filter_map(|entry| match &entry.body {
                Body::Event(kind, _) => {
                    let kind = EventKind::Child { child: child.clone(), event: Box::new(kind.clone()) };
                    Some(NewEntry::outside(entry.at, kind))
                }
                Body::Records(_) => None,
            });
            let step = Step { entries: copies.collect(), ..Step::default() };
            fits(step.take(tx, task, now)?)?;
        }
        above = parent;
    }
    Ok(())
}

/// Tells a parent that its child has ended, unless it has ended itself. It goes on if it waits for that.
pub(super) fn tell_end(
    tx: &mut Tx<'_>,
    task: i64,
    kin: &Kin,
    state: TaskState,
    error: Option<TaskError>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let lives: bool = tx
        .sql
        .prepare_cached("SELECT ended_at IS NULL FROM task WHERE n = ?1")
        .and_then(|mut select| select.query_row(params![kin.parent], |row| row.get(0)))
        .map_err(failed(WHAT))?;
    if !lives {
        return Ok(());
    }
    let child = id(tx.sql, task)?;
    // Whoever wants all of it looks at the child.
    let error = error.map(|error| TaskError { message: crate::json::cut(&error.message), details: None, ..error });
    let kind = EventKind::ChildEnded { handle: kin.handle, child, state, error };
    let entries = vec![NewEntry::outside(now, kind)];
    let step = Step { entries, event: Some(LifeEvent::ChildEnded), ..Step::default() };
    fits(step.take(tx, kin.parent, now)?)?;
    tx.notices.push(Notice::Inbox { task: kin.parent });
    Ok(())
}

fn id(sql: &Connection, task: i64) -> Result<TaskId, StoreError> {
    sql.prepare_cached("SELECT id FROM task WHERE n = ?1")
        .and_then(|mut select| select.query_row(params![task], |row| row.get(0).map(TaskId)))
        .map_err(failed(WHAT))
}

/// None of these events is ever refused: a task that has ended was left out before.
fn fits<T>(taken: Result<T, crate::task::Misfit>) -> Result<(), StoreError> {
    taken.map(drop).map_err(|misfit| StoreError::Failed { what: WHAT, problem: misfit.to_string() })
}

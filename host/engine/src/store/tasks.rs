//! The tasks' rows.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::failure::failed;
use super::notice::Notice;
use super::step::{HttpUse, Lease, Step};
use super::writer::Tx;
use super::{Kin, Owners, children, events, plugins, questions, removal};
use crate::clock::Timestamp;
use crate::host::Callback;
use crate::journal::{EventKind, NewEntry};
use crate::limits::{Limit, Near};
use crate::plugin::Grants;
use crate::task::{LifeEvent, RetryPolicy, Task, TaskId, TaskState, Waiting, WaitingOn};
use crate::{Error, LimitUse, Limits, StoreError};

const WHAT: &str = "a task";

/// A task that is to be taken.
#[derive(Debug, Clone)]
pub(crate) struct NewRow {
    pub id: TaskId,
    pub namespace: String,
    pub session: Option<String>,
    pub digest: String,
    pub tool: String,
    pub input: String,
    pub context: String,
    pub settings: String,
    pub grants: Grants,
    pub limits: Limits,
    /// `None`: the host's.
    pub retry: Option<RetryPolicy>,
    /// For a child.
    pub kin: Option<Kin>,
    /// The caller's key, and a hash of what came with it.
    pub key: Option<(String, [u8; 32])>,
    pub created_at: Timestamp,
    pub deadline: Timestamp,
    pub owner: i64,
    /// Where the caller wants to be told of it.
    pub callback: Option<Callback>,
    /// The trace that it was started in.
    pub traceparent: Option<String>,
    pub locality: Locality,
    pub started: EventKind,
}

/// Where the person is whom a task works for, as far as the caller said so.
#[derive(Debug, Clone, Default)]
pub(crate) struct Locality {
    pub locale: Option<String>,
    pub time_zone: Option<String>,
}

/// What became of a [`NewRow`].
#[derive(Debug, Clone)]
pub(crate) enum Inserted {
    New {
        n: i64,
    },
    /// The key was used before with the same request.
    Existing {
        id: TaskId,
    },
    /// What the caller called the plugin is another one by now. Nothing was taken.
    Outdated,
}

/// What running a task needs.
#[derive(Debug, Clone)]
pub(crate) struct RunRow {
    pub n: i64,
    pub id: TaskId,
    pub namespace: String,
    pub digest: String,
    pub tool: String,
    pub input: String,
    pub context: String,
    pub settings: String,
    pub grants: Grants,
    pub session: Option<String>,
    pub limits: Limits,
    /// The root of the tree, and how far below it: this task itself, and 0, unless it is a child.
    pub root: i64,
    pub depth: u32,
    pub created_at: Timestamp,
    pub deadline: Timestamp,
    pub state: TaskState,
    pub waiting_on: Option<WaitingOn>,
    pub cancel: bool,
    pub attempt: u32,
    pub attempt_seq: u64,
    pub segment: u32,
    pub segment_seq: u64,
    pub ticket: Option<Vec<u8>>,
    pub ticket_same: u32,
    pub due_at: Option<Timestamp>,
    pub fuel: u64,
    pub run_ms: u64,
    pub http: HttpUse,
    /// Bytes of its journal.
    pub journal_bytes: u64,
    /// Limits that are nearly used up, and told of.
    pub near: Near,
    /// Whether a guest stands in the segment.
    pub begun: bool,
    pub failures: u32,
    pub lease: Option<Lease>,
    /// Owners in a row that died while they ran it.
    pub deaths: u32,
    /// The last owner died while it ran this task, or was about to.
    pub suspect: bool,
    /// Fuel that replays have burned, and that the next one would.
    pub replay_fuel: u64,
    pub standing: u64,
    /// How often its `cancel-task` was called and has not returned.
    pub cancel_tries: u32,
    /// The trace that it was started in.
    pub traceparent: Option<String>,
    pub locality: Locality,
}

impl NewRow {
    /// The task that was taken with the same key, if the request is the same.
    pub fn existing(&self, sql: &Connection) -> Result<Option<TaskId>, Error> {
        let Some((key, hash)) = &self.key else { return Ok(None) };
        let found: Option<(String, Vec<u8>)> = sql
            .prepare_cached("SELECT id, idem_hash FROM task WHERE namespace = ?1 AND idem_key = ?2")
            .and_then(|mut select| {
                select.query_row(params![self.namespace, key], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(failed(WHAT))?;
        match found {
            Some((id, was)) if was == hash => Ok(Some(TaskId(id))),
            Some((id, _)) => Err(Error::IdempotencyMismatch { key: key.clone(), task: TaskId(id) }),
            None => Ok(None),
        }
    }

    /// Takes the task, or finds the one that was taken with the same key. `plugin` is what the caller called the plugin.
    pub fn insert(self, tx: &mut Tx<'_>, plugin: &str) -> Result<Inserted, Error> {
        if let Some(id) = self.existing(tx.sql)? {
            return Ok(Inserted::Existing { id });
        }
        // It may have been removed, or another one installed, since the caller looked it up.
        match plugins::newest(tx.sql, plugin)? {
            Some(digest) if digest == self.digest => {}
            Some(_) => return Ok(Inserted::Outdated),
            None => return Err(Error::UnknownPlugin(plugin.to_owned())),
        }
        let limits = self.limits.to_stored().map_err(|error| Error::Fault(error.to_string()))?;
        let grants = match self.grants.is_empty() {
            true => None,
            false => Some(serde_json::to_string(&self.grants).map_err(|error| Error::Fault(error.to_string()))?),
        };
        let retry = self.retry.as_ref().map(serde_json::to_string).transpose();
        let retry = retry.map_err(|error| Error::Fault(error.to_string()))?;
        let callback = self.callback.as_ref().map(serde_json::to_string).transpose();
        let callback = callback.map_err(|error| Error::Fault(error.to_string()))?;
        let now = self.created_at.as_millis().cast_signed();
        tx.sql
            .prepare_cached(
                "INSERT INTO task (id, namespace, session, digest, tool, input, context, settings, limits, idem_key,
                                   idem_hash, state, created_at, updated_at, deadline, last_seq, public_seq,
                                   owner, epoch, grants, parent, root, child, depth, retry, callback, traceparent, locale,
                                   time_zone)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 'queued', ?12, ?12, ?13, 1, 1, ?14, 1,
                         ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24)",
            )
            .and_then(|mut insert| {
                insert.execute(params![
                    self.id.0,
                    self.namespace,
                    self.session,
                    self.digest,
                    self.tool,
                    self.input,
                    self.context,
                    self.settings,
                    limits,
                    self.key.as_ref().map(|(key, _)| key),
                    self.key.as_ref().map(|(_, hash)| hash.as_slice()),
                    now,
                    self.deadline.as_millis().cast_signed(),
                    self.owner,
                    grants,
                    self.kin.map(|kin| kin.parent),
                    self.kin.map(|kin| kin.root),
                    self.kin.map(|kin| kin.handle),
                    self.kin.map_or(0, |kin| kin.depth),
                    retry,
                    callback,
                    self.traceparent,
                    self.locality.locale,
                    self.locality.time_zone,
                ])
            })
            .map_err(failed(WHAT))?;
        let n = tx.sql.last_insert_rowid();
        events::append(tx, n, 0, &[NewEntry::outside(self.created_at, self.started)], None)?;
        Ok(Inserted::New { n })
    }

    /// What running it needs, without reading it back.
    pub fn into_run_row(self, n: i64) -> RunRow {
        RunRow {
            journal_bytes: 0,
            n,
            id: self.id,
            namespace: self.namespace,
            digest: self.digest,
            tool: self.tool,
            input: self.input,
            context: self.context,
            settings: self.settings,
            grants: self.grants,
            session: self.session,
            limits: self.limits,
            root: self.kin.map_or(n, |kin| kin.root),
            depth: self.kin.map_or(0, |kin| kin.depth),
            created_at: self.created_at,
            deadline: self.deadline,
            state: TaskState::Queued,
            waiting_on: None,
            cancel: false,
            attempt: 0,
            attempt_seq: 0,
            segment: 0,
            segment_seq: 0,
            ticket: None,
            ticket_same: 0,
            due_at: None,
            fuel: 0,
            run_ms: 0,
            http: HttpUse::default(),
            near: Near::default(),
            begun: false,
            failures: 0,
            lease: Some(Lease { owner: self.owner, epoch: 1 }),
            deaths: 0,
            suspect: false,
            replay_fuel: 0,
            standing: 0,
            cancel_tries: 0,
            traceparent: self.traceparent,
            locality: self.locality,
        }
    }
}

impl RunRow {
    /// There is nothing left to do for it.
    pub fn is_over(&self) -> bool {
        self.state.is_terminal() && self.ticket.is_none()
    }
}

/// What running the task needs.
pub(crate) fn run_row(sql: &Connection, n: i64) -> Result<Option<RunRow>, StoreError> {
    sql.prepare_cached(
        "SELECT n, id, digest, tool, input, context, settings, session, limits, created_at, deadline, state, cancel,
                attempt, attempt_seq, segment, segment_seq, ticket, ticket_same, due_at, fuel, run_ms, begun, failures,
                owner, epoch, waiting_on, deaths, suspect, namespace, grants, coalesce(root, n), depth,
                replay_fuel, standing, cancel_tries, http_exchanges, http_bytes, near, traceparent,
                locale, time_zone, journal_bytes
         FROM task WHERE n = ?1",
    )
    .and_then(|mut select| {
        select
            .query_row(params![n], |row| {
                let owner: Option<i64> = row.get(24)?;
                let epoch = row.get(25)?;
                let grants: Option<String> = row.get(30)?;
                let grants = grants.map(|grants| serde_json::from_str(&grants)).transpose();
                Ok(RunRow {
                    n: row.get(0)?,
                    id: TaskId(row.get(1)?),
                    namespace: row.get(29)?,
                    digest: row.get(2)?,
                    tool: row.get(3)?,
                    input: row.get(4)?,
                    context: row.get(5)?,
                    settings: row.get(6)?,
                    grants: grants.map_err(|error| unreadable(30, error))?.unwrap_or_default(),
                    session: row.get(7)?,
                    limits: limits(row, 8)?,
                    root: row.get(31)?,
                    depth: row.get(32)?,
                    created_at: at(row, 9)?,
                    deadline: at(row, 10)?,
                    state: state(row, 11)?,
                    waiting_on: row.get::<_, Option<String>>(26)?.as_deref().and_then(WaitingOn::parse),
                    cancel: row.get(12)?,
                    attempt: row.get(13)?,
                    attempt_seq: row.get::<_, i64>(14)?.cast_unsigned(),
                    segment: row.get(15)?,
                    segment_seq: row.get::<_, i64>(16)?.cast_unsigned(),
                    journal_bytes: row.get::<_, i64>(42)?.cast_unsigned(),
                    ticket: row.get(17)?,
                    ticket_same: row.get(18)?,
                    due_at: at_some(row, 19)?,
                    fuel: row.get::<_, i64>(20)?.cast_unsigned(),
                    run_ms: row.get::<_, i64>(21)?.cast_unsigned(),
                    http: HttpUse {
                        exchanges: row.get::<_, i64>(36)?.cast_unsigned(),
                        bytes: row.get::<_, i64>(37)?.cast_unsigned(),
                    },
                    near: near(row, 38)?,
                    begun: row.get(22)?,
                    failures: row.get(23)?,
                    lease: owner.map(|owner| Lease { owner, epoch }),
                    deaths: row.get(27)?,
                    suspect: row.get(28)?,
                    replay_fuel: row.get::<_, i64>(33)?.cast_unsigned(),
                    standing: row.get::<_, i64>(34)?.cast_unsigned(),
                    cancel_tries: row.get(35)?,
                    traceparent: row.get(39)?,
                    locality: Locality { locale: row.get(40)?, time_zone: row.get(41)? },
                })
            })
            .optional()
    })
    .map_err(failed(WHAT))
}

/// What a task may use.
pub(crate) fn limits_of(sql: &Connection, n: i64) -> Result<Limits, StoreError> {
    sql.prepare_cached("SELECT limits FROM task WHERE n = ?1")
        .and_then(|mut select| select.query_row(params![n], |row| limits(row, 0)))
        .map_err(failed(WHAT))
}

/// The last entry of a task's journal.
pub(crate) fn last_seq(sql: &Connection, n: i64) -> Result<u64, StoreError> {
    let found = sql
        .prepare_cached("SELECT last_seq FROM task WHERE n = ?1")
        .and_then(|mut select| select.query_row(params![n], |row| row.get::<_, i64>(0)).optional())
        .map_err(failed(WHAT))?;
    Ok(found.unwrap_or(0).cast_unsigned())
}

/// What a task was started with.
pub(crate) fn input(sql: &Connection, n: i64) -> Result<String, StoreError> {
    sql.prepare_cached("SELECT input FROM task WHERE n = ?1")
        .and_then(|mut select| select.query_row(params![n], |row| row.get(0)))
        .map_err(failed(WHAT))
}

/// A task that must be looked at by a time.
#[derive(Debug, Clone)]
pub(crate) struct Due {
    pub n: i64,
    pub at: Timestamp,
    pub namespace: String,
    pub digest: String,
    /// `None`: it has ended.
    pub deadline: Option<Timestamp>,
}

/// The first tasks of `owner` that are due: waiting ones, and ended ones that owe a `cancel-task`.
pub(crate) fn due(sql: &Connection, owner: i64, limit: usize) -> Result<Vec<Due>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT * FROM (SELECT n, due_at, namespace, digest, deadline FROM task
                            WHERE ended_at IS NULL AND owner = ?1 AND due_at IS NOT NULL ORDER BY due_at LIMIT ?2)
             UNION ALL
             SELECT * FROM (SELECT n, due_at, namespace, digest, NULL FROM task
                            WHERE ended_at IS NOT NULL AND ticket IS NOT NULL AND owner = ?1 AND due_at IS NOT NULL
                            ORDER BY due_at LIMIT ?2)
             ORDER BY due_at LIMIT ?2",
        )
        .map_err(failed(WHAT))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let due = |row: &Row<'_>| {
        let (n, at, namespace, digest) = (row.get(0)?, at(row, 1)?, row.get(2)?, row.get(3)?);
        Ok(Due { n, at, namespace, digest, deadline: at_some(row, 4)? })
    };
    let rows = select.query_map(params![owner, limit], due).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// Ends those of these tasks whose deadlines have passed, if they are `owner`'s. Gives how many.
pub(crate) fn expire(tx: &mut Tx<'_>, owner: i64, tasks: &[i64], now: Timestamp) -> Result<usize, StoreError> {
    let mut ended = 0;
    for task in tasks {
        let epoch: Option<i64> = tx
            .sql
            .prepare_cached(
                "SELECT epoch FROM task WHERE n = ?1 AND owner = ?2 AND ended_at IS NULL AND deadline <= ?3",
            )
            .and_then(|mut select| {
                select.query_row(params![task, owner, now.as_millis().cast_signed()], |row| row.get(0)).optional()
            })
            .map_err(failed(WHAT))?;
        let Some(epoch) = epoch else { continue };
        let lease = Some(Lease { owner, epoch });
        let step = Step { lease, event: Some(LifeEvent::DeadlinePassed), ..Step::default() };
        ended += usize::from(step.take(tx, *task, now)?.is_ok());
    }
    Ok(ended)
}

/// `cancel-task` has not returned: it is called again at `until`.
pub(crate) fn owe(tx: &mut Tx<'_>, task: i64, lease: Option<Lease>, until: Timestamp) -> Result<(), StoreError> {
    let Some(lease) = lease else { return Err(StoreError::NotOwner) };
    let changed = tx
        .sql
        .prepare_cached(
            "UPDATE task SET cancel_tries = cancel_tries + 1, due_at = ?4
             WHERE n = ?1 AND owner = ?2 AND epoch = ?3 AND ticket IS NOT NULL",
        )
        .and_then(|mut update| update.execute(params![task, lease.owner, lease.epoch, until.as_millis().cast_signed()]))
        .map_err(failed(WHAT))?;
    if changed == 0 {
        return Err(StoreError::NotOwner);
    }
    tx.notices.push(Notice::Due { at: until.as_millis() });
    Ok(())
}

/// The tasks of `owner` that somebody else has written to since entry `pos`: and the last `pos` there is.
pub(crate) fn written_since(sql: &Connection, owner: i64, pos: i64) -> Result<(Vec<i64>, i64), StoreError> {
    let last: i64 =
        sql.query_row("SELECT coalesce(max(pos), 0) FROM entry", [], |row| row.get(0)).map_err(failed(WHAT))?;
    let mut select = sql
        .prepare_cached(
            "SELECT DISTINCT entry.task FROM entry JOIN task ON task.n = entry.task
             WHERE entry.pos > ?2 AND entry.kind IN ('reply', 'cancel-requested', 'child-ended')
               AND task.owner = ?1 AND (task.ended_at IS NULL OR task.ticket IS NOT NULL)",
        )
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![owner, pos], |row| row.get(0)).map_err(failed(WHAT))?;
    Ok((rows.collect::<Result<_, _>>().map_err(failed(WHAT))?, last))
}

pub(super) const COLUMNS: &str =
    "SELECT task.n, id, namespace, session, plugin.name, plugin.version, task.digest, tool, state,
    waiting_on, wait_until, attempt, cancel, created_at, updated_at, ended_at, deadline, public_seq, progress, context,
    fuel + segment_fuel, ended_seq, owner, (SELECT above.id FROM task AS above WHERE above.n = task.parent),
    limits, run_ms, memory, replay_fuel, journal_bytes, last_seq - (ended_seq IS NOT NULL), http_exchanges, http_bytes,
    (SELECT count(*) FROM question WHERE question.task = task.n),
    (SELECT count(*) FROM task AS below WHERE below.parent = task.n)
    FROM task LEFT JOIN plugin ON plugin.digest = task.digest";

/// A task as the outside sees it.
pub(crate) fn view(sql: &Connection, owners: &Owners, n: i64, now: Timestamp) -> Result<Option<Task>, StoreError> {
    sql.prepare_cached(&format!("{COLUMNS} WHERE task.n = ?1"))
        .and_then(|mut select| {
            select.query_row(params![n], |row| task(row, |owner| owners.lives(owner), now)).optional()
        })
        .map_err(failed(WHAT))?
        .map(|seen| seen.complete(sql, true))
        .transpose()
}

/// The unfinished tasks of the plugins of that name, of all namespaces, oldest first: `(n, namespace)`.
pub(crate) fn unfinished(sql: &Connection, plugin: &str) -> Result<Vec<(i64, String)>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT task.n, namespace FROM task JOIN plugin ON plugin.digest = task.digest
             WHERE plugin.name = ?1 AND ended_at IS NULL ORDER BY task.n",
        )
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![plugin], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// How many tasks of all namespaces have not ended, by their state.
pub(crate) fn unfinished_by_state(sql: &Connection) -> Result<Vec<(TaskState, u64)>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT state, count(*) FROM task WHERE ended_at IS NULL GROUP BY state")
        .map_err(failed(WHAT))?;
    let rows = select
        .query_map([], |row| Ok((state(row, 0)?, row.get::<_, i64>(1)?.cast_unsigned())))
        .map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// The tasks whose ids begin so, or end so if it is `ending` characters at least; the newest first, `most` at most.
pub(crate) fn named(
    sql: &Connection,
    namespace: &str,
    given: &str,
    ending: usize,
    most: usize,
) -> Result<Vec<TaskId>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT id FROM task
             WHERE namespace = ?1 AND removed = 0
               AND (substr(id, 1, length(?2)) = ?2 OR (length(?2) >= ?3 AND substr(id, -length(?2)) = ?2))
             ORDER BY id DESC LIMIT ?4",
        )
        .map_err(failed(WHAT))?;
    let rows = select
        .query_map(params![namespace, given, ending as i64, most as i64], |row| row.get(0).map(TaskId))
        .map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// The newest task that no other one started.
pub(crate) fn newest(sql: &Connection, namespace: &str) -> Result<Option<TaskId>, StoreError> {
    sql.prepare_cached(
        "SELECT id FROM task WHERE namespace = ?1 AND removed = 0 AND parent IS NULL ORDER BY id DESC LIMIT 1",
    )
    .and_then(|mut select| select.query_row(params![namespace], |row| row.get(0).map(TaskId)).optional())
    .map_err(failed(WHAT))
}

/// The row number of a task, and its state.
pub(crate) fn number(sql: &Connection, namespace: &str, id: &TaskId) -> Result<(i64, TaskState), Error> {
    sql.prepare_cached("SELECT n, state FROM task WHERE id = ?1 AND namespace = ?2 AND removed = 0")
        .and_then(|mut select| {
            select.query_row(params![id.0, namespace], |row| Ok((row.get(0)?, state(row, 1)?))).optional()
        })
        .map_err(failed(WHAT))?
        .ok_or_else(|| Error::UnknownTask(id.0.clone()))
}

/// Removes an ended task and everything below it: nobody sees them any more, and a [`sweep`](super::sweep) deletes them.
///
/// # Errors
///
/// [`Error::NotEnded`] if one of them has not; [`Error::ChildOf`] if it is a child itself.
pub(crate) fn remove(tx: &mut Tx<'_>, n: i64) -> Result<(), Error> {
    let select = "SELECT task.n, task.id, task.state, above.id FROM task LEFT JOIN task AS above ON above.n = task.root
                  WHERE task.n = ?1 OR task.root = ?1";
    let mut tree = Vec::new();
    {
        let mut select = tx.sql.prepare_cached(select).map_err(failed(WHAT))?;
        let mut rows = select.query(params![n]).map_err(failed(WHAT))?;
        while let Some(row) = rows.next().map_err(failed(WHAT))? {
            let one = || Ok((row.get(0)?, TaskId(row.get(1)?), state(row, 2)?, row.get::<_, Option<String>>(3)?));
            tree.push(one().map_err(failed(WHAT))?);
        }
    }
    for (one, task, state, root) in &tree {
        if let Some(root) = root.as_ref().filter(|_| *one == n) {
            return Err(Error::ChildOf { task: task.clone(), root: TaskId(root.clone()) });
        }
        if !state.is_terminal() {
            return Err(Error::NotEnded { task: task.clone(), state: *state });
        }
    }
    for (one, ..) in tree {
        removal::hide(tx, one)?;
    }
    Ok(())
}

/// A task without what lies in other tables.
pub(super) struct Seen {
    n: i64,
    ended_seq: Option<i64>,
    task: Task,
}

impl Seen {
    /// A completed task has an output and no error: where the output is not wanted, its end is not read.
    pub fn complete(mut self, sql: &Connection, with_output: bool) -> Result<Task, StoreError> {
        if !self.task.state.is_terminal() {
            self.task.questions = questions::still_open(sql, self.n)?;
            self.task.questions.append(&mut children::open_questions(sql, self.n)?);
        }
        self.task.children = children::list(sql, self.n)?;
        if let Some(seq) = self.ended_seq.filter(|_| with_output || self.task.state != TaskState::Completed)
            && let EventKind::Ended { output, error, .. } = events::one(sql, self.n, seq)?
        {
            self.task.output = output;
            self.task.error = error;
        }
        Ok(self.task)
    }
}

pub(super) fn task(row: &Row<'_>, lives: impl Fn(i64) -> bool, now: Timestamp) -> rusqlite::Result<Seen> {
    let state = state(row, 8)?;
    let on: Option<String> = row.get(9)?;
    let until = at_some(row, 10)?;
    let owner: Option<i64> = row.get(22)?;
    // What waits, and whose time has not come, needs nobody.
    let waits = state == TaskState::Waiting && until.is_none_or(|until| until > now) && at(row, 16)? > now;
    let due = !state.is_terminal() && !waits;
    let context: String = row.get(19)?;
    let progress: Option<String> = row.get(18)?;
    let task = Task {
        id: TaskId(row.get(1)?),
        namespace: row.get(2)?,
        session: row.get(3)?,
        plugin: row.get::<_, Option<String>>(4)?.unwrap_or_default(),
        version: row.get::<_, Option<String>>(5)?.unwrap_or_default(),
        digest: row.get(6)?,
        tool: row.get(7)?,
        parent: row.get::<_, Option<String>>(23)?.map(TaskId),
        children: Vec::new(),
        state,
        stalled: due && !owner.is_some_and(lives),
        waiting: on.as_deref().and_then(WaitingOn::parse).map(|on| Waiting { on, until }),
        attempt: row.get(11)?,
        cancel_requested: row.get(12)?,
        created_at: at(row, 13)?,
        updated_at: at(row, 14)?,
        ended_at: at_some(row, 15)?,
        deadline: at(row, 16)?,
        last_seq: row.get::<_, i64>(17)?.cast_unsigned(),
        progress: progress.and_then(|progress| serde_json::from_str(&progress).ok()),
        questions: Vec::new(),
        context: serde_json::from_str(&context).unwrap_or(Value::Null),
        fuel_used: row.get::<_, i64>(20)?.cast_unsigned(),
        usage: usage(row, 24)?,
        output: None,
        error: None,
    };
    Ok(Seen { n: row.get(0)?, ended_seq: row.get(21)?, task })
}

/// What a task has used of its limits; the first of the columns that tell of it is the limits themselves.
fn usage(row: &Row<'_>, first: usize) -> rusqlite::Result<Vec<LimitUse>> {
    let limits = limits(row, first)?;
    let fuel: i64 = row.get(20)?;
    let mut usage = vec![limits.used(Limit::fuel, fuel.cast_unsigned())];
    let columns = [
        Limit::run_time,
        Limit::memory,
        Limit::replay_fuel,
        Limit::journal,
        Limit::journal_entries,
        Limit::http_exchanges,
        Limit::http_bytes,
        Limit::questions,
        Limit::children,
    ];
    for (limit, column) in columns.into_iter().zip(first + 1..) {
        usage.push(limits.used(limit, row.get::<_, i64>(column)?.cast_unsigned()));
    }
    Ok(usage)
}

pub(super) fn state(row: &Row<'_>, column: usize) -> rusqlite::Result<TaskState> {
    let state: String = row.get(column)?;
    state.parse().map_err(|error: String| unreadable(column, error))
}

/// The limits of a task.
pub(super) fn limits(row: &Row<'_>, column: usize) -> rusqlite::Result<Limits> {
    match row.get_ref(column)?.as_str()? {
        // Most have the defaults.
        "{}" => Ok(Limits::default()),
        limits => serde_json::from_str(limits).map_err(|error| unreadable(column, error)),
    }
}

/// The limits that are nearly used up.
pub(super) fn near(row: &Row<'_>, column: usize) -> rusqlite::Result<Near> {
    Ok(row.get_ref(column)?.as_str_or_null()?.map(Near::parse).unwrap_or_default())
}

fn at(row: &Row<'_>, column: usize) -> rusqlite::Result<Timestamp> {
    Ok(Timestamp::from_millis(row.get::<_, i64>(column)?.max(0).cast_unsigned()))
}

fn at_some(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Timestamp>> {
    let millis: Option<i64> = row.get(column)?;
    Ok(millis.map(|millis| Timestamp::from_millis(millis.max(0).cast_unsigned())))
}

fn unreadable(column: usize, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, error.into())
}

//! One step of a task: what its guest did and what happened to it, in one transaction.

use std::ops::AddAssign;
use std::time::Duration;

use rusqlite::{OptionalExtension, Row, params};

use super::failure::{damaged, failed};
use super::notice::{Notice, Tally};
use super::tasks::{limits, near};
use super::webhooks::Tidings;
use super::writer::Tx;
use super::{Kin, NewRow, children, events, questions};
use crate::clock::Timestamp;
use crate::journal::{Body, EventKind, NewEntry};
use crate::limits::{Limit, Limits, Near};
use crate::task::{
    Effect, Ending, Given, Life, LifeEvent, Misfit, Output, Reply, RetryPolicy, TaskError, TaskState, Waiting,
    WaitingOn, jitter,
};
use crate::{LimitUse, StoreError};

const WHAT: &str = "a task";

/// The right to write a task's journal: the owner, and how often the task changed hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lease {
    pub owner: i64,
    pub epoch: i64,
}

/// What is to be written at once.
#[derive(Debug, Default)]
pub(crate) struct Step {
    /// Refused unless the task is held by this lease. `None`: an act from outside, such as a request to cancel.
    pub lease: Option<Lease>,
    /// What the guest did.
    pub entries: Vec<NewEntry>,
    /// A guest runs: a task that waited, or stood in line, does so no more.
    pub running: bool,
    /// What happened to the task.
    pub event: Option<LifeEvent>,
    /// The guest waits, unless the task has been asked to stop meanwhile.
    pub wait: Option<Waiting>,
    /// Its instance is dropped for that wait, and has seen what arrived up to this entry. If there is more, the task does not
    /// wait but is queued: nobody else may ever tell of it.
    pub seen: Option<u64>,
    /// For the end: the result, or why there is none.
    pub outcome: Option<Result<Output, TaskError>>,
    /// The child of which one of the entries tells.
    pub child: Option<NewRow>,
    /// A child that is asked to stop, by its handle.
    pub withdrawn: Option<u32>,
    /// For a checkpoint.
    pub ticket: Option<Vec<u8>>,
    /// For the beginning of an attempt.
    pub seed: Option<[u8; 32]>,
    /// Fuel used by a segment that ended.
    pub fuel: u64,
    /// Fuel used so far by a segment that has not, for readers: a replay begins again from nothing, so it is kept where it is less.
    pub burned: u64,
    /// What keeping the instance, or not, has cost and will; only where it is worth a row.
    pub rebuild: Option<Rebuild>,
    /// Milliseconds that the guest computed since the last step.
    pub run_ms: u64,
    /// Bytes of memory that the guest has.
    pub memory: u64,
    /// What HTTP it used since the last step: what is counted before anything is sent is not counted twice after a crash.
    pub http: HttpUse,
}

/// What of HTTP is on the account of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HttpUse {
    /// Requests, against the limit `http_exchanges`.
    pub exchanges: u64,
    /// Bytes of bodies, sent and received, against the limit `http_bytes`.
    pub bytes: u64,
}

impl AddAssign for HttpUse {
    fn add_assign(&mut self, more: Self) {
        self.exchanges = self.exchanges.saturating_add(more.exchanges);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// The account of replays, beside that of the guest's own fuel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rebuild {
    /// Fuel that bringing the guest back has burned.
    pub burned: u64,
    /// Fuel that it would burn to bring it back to where it stands now.
    pub standing: u64,
}

/// What a step has come to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Taken {
    /// The state that it found the task in.
    pub found: TaskState,
    /// The task has ended.
    pub ended: bool,
    /// The task has ended, and its tool's `cancel-task` is owed.
    pub cancel_ticket: bool,
    /// Why the child was not taken, nor the entry that tells of it. All else was.
    pub no_child: Option<String>,
    /// It does not wait: see [`Step::seen`].
    pub woken: bool,
}

/// The columns that a step reads and writes.
struct Columns {
    life: Life,
    attempt_seq: u64,
    segment: u32,
    segment_seq: u64,
    ticket: Option<Vec<u8>>,
    ticket_same: u32,
    last_seq: u64,
    public_seq: u64,
    deadline: Timestamp,
    ended_at: Option<Timestamp>,
    ended_seq: Option<u64>,
    progress: Option<String>,
    fuel: u64,
    kin: Option<Kin>,
    retry: Option<RetryPolicy>,
    journal_bytes: u64,
    namespace: String,
    digest: String,
    tool: String,
    created_at: Timestamp,
    callback: Option<String>,
    limits: Limits,
    near: Near,
}

impl Step {
    /// Takes the step at `now`.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotOwner`] when the lease is not, or no longer, the task's; [`StoreError::JournalFull`] when the
    /// guest's acts do not fit; the inner error when an event does not fit the state. Nothing is written then.
    pub fn take(mut self, tx: &mut Tx<'_>, task: i64, now: Timestamp) -> Result<Result<Taken, Misfit>, StoreError> {
        let mut columns = load(tx, task, self.lease)?;
        let found = columns.life.state;
        // A guest that had not begun, as far as anybody could see, goes on for a moment after its task was cancelled.
        if self.running && found.is_terminal() {
            return Ok(Err(Misfit::Ended { state: found, event: "running" }));
        }
        let retry = columns.retry.take().unwrap_or_default();
        let mut given = Given { now, jitter: 0.0, retry: &retry };
        let mut effects = Vec::new();
        let mut life = columns.life.clone();
        let mut apply = |event, given: &Given<'_>| -> Result<Vec<Effect>, Misfit> {
            let (next, more) = life.apply(event, given)?;
            life = next;
            Ok(more)
        };
        let running: &[LifeEvent] = match found {
            TaskState::Waiting if self.running => &[LifeEvent::Wake, LifeEvent::Begin],
            TaskState::Queued if self.running => &[LifeEvent::Begin],
            _ => &[],
        };
        for event in running {
            match apply(event.clone(), &given) {
                Ok(more) => effects.extend(more),
                Err(misfit) => return Ok(Err(misfit)),
            }
        }
        let begun = effects.len();
        if self.event.as_ref().is_some_and(LifeEvent::may_be_tried_again) {
            let begins = effects.iter().any(|effect| matches!(effect, Effect::BeginAttempt(_)));
            given.jitter = match self.seed.filter(|_| begins) {
                Some(seed) => jitter(&seed),
                None => jitter(&events::seed(tx.sql, task, columns.attempt_seq)?),
            };
        }
        let happened = self.event.is_some() || self.wait.is_some();
        let wait = self.wait.filter(|_| !columns.life.cancel_requested);
        let woken = match self.seen.filter(|_| wait.is_some()) {
            Some(seen) => events::arrived(tx.sql, task, seen)?,
            None => false,
        };
        let wait = wait.map(|Waiting { on, until }| match woken {
            true => LifeEvent::Dropped,
            false => LifeEvent::Wait { on, until },
        });
        for event in self.event.into_iter().chain(wait) {
            match apply(event, &given) {
                Ok(more) => effects.extend(more),
                Err(misfit) => return Ok(Err(misfit)),
            }
        }
        if let Some(rebuild) = self.rebuild {
            rebuild.store(tx, task)?;
        }
        let nothing = self.entries.is_empty() && self.fuel == 0 && self.run_ms == 0 && self.withdrawn.is_none();
        let nothing = nothing && self.http == HttpUse::default();
        if life == columns.life && effects.is_empty() && nothing {
            return Ok(Ok(Taken { found, ended: false, cancel_ticket: false, no_child: None, woken }));
        }
        let no_child = match self.child.take() {
            Some(child) => bear(tx, child, &mut self.entries, columns.life.cancel_requested)?,
            None => None,
        };
        // An act that readers see, a wait, an end: what happens after it is not what its last owners died of.
        let acted = self.entries.iter().any(|entry| matches!(entry.body, Body::Event(..)));
        let further = self.lease.is_some() && (acted || happened);
        columns.life = life;
        columns.fuel += self.fuel;
        let segment_fuel = if self.fuel > 0 { None } else { Some(self.burned) };
        let used = Used { run_ms: self.run_ms, memory: self.memory, http: self.http, segment_fuel };
        // A try begins before what its guest did, and ends after it.
        let (before, after) = effects.split_at(begun);
        let mut entries = Vec::new();
        let said = Said { outcome: self.outcome, seed: self.seed, ticket: self.ticket };
        let began = self.entries.first().map_or(now, |first| first.at.min(now));
        for effect in before {
            columns.apply(tx, task, began, effect, &mut entries, &said)?;
        }
        let mut acts = mirror(tx, task, &mut columns, self.entries)?;
        let any = !acts.is_empty();
        entries.append(&mut acts);
        for effect in after {
            columns.apply(tx, task, now, effect, &mut entries, &said)?;
        }
        let public = entries.iter().rposition(|entry| matches!(entry.body, Body::Event(..)));
        columns.public_seq = public.map_or(columns.public_seq, |place| columns.last_seq + place as u64 + 1);
        let feed = columns.kin.is_none().then_some(columns.namespace.as_str());
        let first = columns.last_seq + 1;
        let appended = events::append(tx, task, columns.last_seq, &entries, feed)?;
        columns.last_seq = appended.last;
        columns.journal_bytes += appended.bytes;
        let ended = columns.life.state.is_terminal();
        if !ended {
            columns.tell_near(tx, task, now)?;
        }
        // What comes from outside always fits, and so does an end.
        if self.lease.is_some() && !entries.is_empty() && (any || !ended) {
            let (entries, bytes) = (columns.acts(ended), columns.journal_bytes);
            let limits = &columns.limits;
            let beyond = match (entries > limits.journal_entries, bytes > limits.journal) {
                (true, _) => Some(Limit::journal_entries),
                (false, true) => Some(Limit::journal),
                (false, false) => None,
            };
            if let Some(limit) = beyond {
                return Err(StoreError::JournalFull { entries, bytes, limit: limits.said(limit) });
            }
        }
        let (ran, memory) = columns.store(tx, task, now, &used, further)?;
        if appended.hooked || (appended.news && columns.callback.is_some()) {
            let (namespace, callback) = (columns.namespace.as_str(), columns.callback.as_deref());
            Tidings { namespace, task, callback, first, entries: &entries }.post(tx)?;
        }
        if let Some(at) = columns.ended_at.filter(|_| !found.is_terminal()) {
            let (digest, tool) = (std::mem::take(&mut columns.digest), std::mem::take(&mut columns.tool));
            let (state, took) = (columns.life.state, at.since(columns.created_at));
            let tally = Tally { state, took, ran, fuel: columns.fuel, memory };
            tx.notices.push(Notice::Ended { digest, tool, tally });
        }
        // From here on the row says where the task stands: those above and below it may write to its journal.
        if let Some(kin) = &columns.kin {
            children::show_above(tx, task, kin, &entries, now)?;
            if let Some(Body::Event(EventKind::Ended { state, error, .. }, _)) = entries.last().map(|last| &last.body) {
                children::tell_end(tx, task, kin, *state, error.clone(), now)?;
            }
        }
        if effects.contains(&Effect::CancelChildren) {
            children::cancel(tx, task, now)?;
        }
        if let Some(handle) = self.withdrawn {
            children::withdraw(tx, task, handle, now)?;
        }
        let cancel_ticket = effects.contains(&Effect::CancelTicket);
        Ok(Ok(Taken { found, ended, cancel_ticket, no_child, woken }))
    }
}

/// Takes the child of which one of the entries tells; or says why not, and takes that entry out.
fn bear(
    tx: &mut Tx<'_>,
    child: NewRow,
    entries: &mut Vec<NewEntry>,
    cancelled: bool,
) -> Result<Option<String>, StoreError> {
    let no_child = match cancelled {
        true => Some("the task is asked to stop".to_owned()),
        false => children::insert(tx, child)?,
    };
    if no_child.is_some() {
        entries.retain(|entry| !matches!(entry.body, Body::Event(EventKind::ChildStarted { .. }, _)));
    }
    Ok(no_child)
}

/// Keeps the tables that mirror the journal in step with what the guest did.
fn mirror(
    tx: &mut Tx<'_>,
    task: i64,
    columns: &mut Columns,
    mut entries: Vec<NewEntry>,
) -> Result<Vec<NewEntry>, StoreError> {
    let mut late = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match &entry.body {
            Body::Event(EventKind::Question(question), _) => questions::open(tx, task, question)?,
            // The guest, or its clock, settles a question that somebody has answered meanwhile: the answer counts.
            Body::Event(EventKind::Reply { question, reply }, _) if !questions::settle(tx, task, *question, reply)? => {
                late.push(place);
            }
            Body::Event(EventKind::Progress(progress), _) => {
                columns.progress = serde_json::to_string(progress).ok();
            }
            Body::Event(EventKind::LimitNear(LimitUse { limit, .. }), _) => {
                if let Ok(limit) = Limit::named(limit) {
                    columns.near.add(limit);
                }
            }
            _ => {}
        }
    }
    for place in late.into_iter().rev() {
        entries.remove(place);
    }
    Ok(entries)
}

/// What is on a task's accounts after a step, beside its fuel.
struct Used {
    run_ms: u64,
    memory: u64,
    http: HttpUse,
    /// `None`: the segment has ended.
    segment_fuel: Option<u64>,
}

/// What a step says beside what happened.
struct Said {
    outcome: Option<Result<Output, TaskError>>,
    seed: Option<[u8; 32]>,
    ticket: Option<Vec<u8>>,
}

impl Columns {
    fn apply(
        &mut self,
        tx: &mut Tx<'_>,
        task: i64,
        now: Timestamp,
        effect: &Effect,
        entries: &mut Vec<NewEntry>,
        said: &Said,
    ) -> Result<(), StoreError> {
        match effect {
            Effect::BeginAttempt(attempt) => {
                let seed = said.seed.map(|seed| seed.to_vec());
                let body = Body::Event(EventKind::Attempt { attempt: *attempt }, seed);
                entries.push(NewEntry { at: now, stamp: None, body });
                self.attempt_seq = self.last_seq + entries.len() as u64;
                self.segment_seq = self.attempt_seq;
            }
            Effect::RequestCancel => {
                entries.push(NewEntry::outside(now, EventKind::CancelRequested));
                tx.notices.push(Notice::Inbox { task });
            }
            Effect::CloseQuestions => {
                for question in questions::still_open(tx.sql, task)? {
                    // Its time was up before the task's was: nobody has written it down yet.
                    let timed_out = question.deadline.is_some_and(|deadline| deadline <= now);
                    let reply = if timed_out { Reply::TimedOut } else { Reply::Closed };
                    questions::settle(tx, task, question.question, &reply)?;
                    let kind = EventKind::Reply { question: question.question, reply };
                    entries.push(NewEntry::outside(now, kind));
                }
            }
            Effect::Checkpoint { until } => {
                self.segment += 1;
                let kind = EventKind::Checkpoint { segment: self.segment, until: *until };
                let same = self.ticket == said.ticket;
                // One that is polled for weeks is not written at each look; no ticket here is the one before.
                let ticket = said.ticket.clone().filter(|_| !same);
                entries.push(NewEntry { at: now, stamp: None, body: Body::Event(kind, ticket) });
                self.segment_seq = self.last_seq + entries.len() as u64;
                self.ticket_same = if same { self.ticket_same + 1 } else { 0 };
                self.ticket.clone_from(&said.ticket);
            }
            Effect::Retry { attempt, until } => {
                let error = match &said.outcome {
                    Some(Err(error)) => error.clone(),
                    _ => return Err(broken("a retry without the error that caused it")),
                };
                entries.push(NewEntry::outside(now, EventKind::Retry { attempt: *attempt, until: *until, error }));
            }
            Effect::End(ending) => {
                let (output, error) = match (ending, &said.outcome) {
                    (Ending::Completed, Some(Ok(output))) => (Some(output.clone()), None),
                    (Ending::Completed, _) => return Err(broken("a completion without a result")),
                    (ending, outcome) => {
                        let given = outcome.as_ref().and_then(|outcome| outcome.as_ref().err());
                        (None, TaskError::of_ending(*ending, given))
                    }
                };
                self.ended_at = Some(now);
                let fuel = self.fuel;
                entries.push(NewEntry::outside(now, EventKind::Ended { state: ending.state(), output, error, fuel }));
                self.ended_seq = Some(self.last_seq + entries.len() as u64);
            }
            Effect::RunAt(at) => tx.notices.push(Notice::Due { at: at.as_millis() }),
            Effect::CancelChildren | Effect::Queue | Effect::WakeGuest | Effect::CancelTicket => {}
        }
        Ok(())
    }

    /// Entries of the journal that count: its end does not, nor what is told of limits.
    fn acts(&self, ended: bool) -> u64 {
        self.last_seq.saturating_sub(u64::from(ended) + self.near.count())
    }

    /// Writes down that the journal itself is nearly full. That takes none of what is left.
    fn tell_near(&mut self, tx: &mut Tx<'_>, task: i64, now: Timestamp) -> Result<(), StoreError> {
        for (limit, used) in [(Limit::journal_entries, self.acts(false)), (Limit::journal, self.journal_bytes)] {
            if self.limits.is_near(limit, used) && self.near.add(limit) {
                let told = NewEntry::outside(now, EventKind::LimitNear(self.limits.used(limit, used)));
                let appended = events::append(tx, task, self.last_seq, &[told], None)?;
                self.last_seq = appended.last;
                self.public_seq = appended.last;
            }
        }
        Ok(())
    }

    /// Gives how long the task has computed, and the most memory it had.
    fn store(
        &self,
        tx: &Tx<'_>,
        task: i64,
        now: Timestamp,
        used: &Used,
        further: bool,
    ) -> Result<(Duration, u64), StoreError> {
        let life = &self.life;
        let waiting = life.waiting.as_ref();
        let until = waiting.and_then(|waiting| waiting.until);
        // A task that waits without a time is looked at when its own time is over.
        let waits = waiting.map(|_| until.map_or(self.deadline, |until| until.min(self.deadline)));
        // What an ended task owes is owed at once.
        let due = waits.or((life.state.is_terminal() && life.ticket).then_some(now));
        let ticket = if life.ticket { self.ticket.as_deref() } else { None };
        let mut update = tx
            .sql
            .prepare_cached(
                "UPDATE task SET state = ?2, waiting_on = ?3, wait_until = ?4, due_at = ?5, attempt = ?6,
                     failures = ?7, begun = ?8, attempt_seq = ?9, segment = ?10, segment_seq = ?11, ticket = ?12,
                     ticket_same = ?13, cancel = ?14, updated_at = ?15, ended_at = ?16, last_seq = ?17,
                     progress = ?18, fuel = ?19, run_ms = run_ms + ?20, ended_seq = ?21,
                     public_seq = ?22, deaths = iif(?23, 0, deaths), suspect = suspect AND ?2 <> 'running',
                     journal_bytes = ?24, http_exchanges = http_exchanges + ?25, http_bytes = http_bytes + ?26,
                     memory = max(memory, ?27), near = ?28, segment_fuel = coalesce(max(segment_fuel, ?29), 0)
                 WHERE n = ?1 RETURNING run_ms, memory",
            )
            .map_err(failed(WHAT))?;
        update
            .query_row(
                params![
                    task,
                    life.state.as_str(),
                    waiting.map(|waiting| waiting.on.as_str()),
                    until.map(millis),
                    due.map(millis),
                    life.attempt,
                    life.failures,
                    life.begun,
                    self.attempt_seq.cast_signed(),
                    self.segment,
                    self.segment_seq.cast_signed(),
                    ticket,
                    self.ticket_same,
                    life.cancel_requested,
                    millis(now),
                    self.ended_at.map(millis),
                    self.last_seq.cast_signed(),
                    self.progress,
                    self.fuel.cast_signed(),
                    used.run_ms.cast_signed(),
                    self.ended_seq.map(u64::cast_signed),
                    self.public_seq.cast_signed(),
                    further,
                    self.journal_bytes.cast_signed(),
                    used.http.exchanges.cast_signed(),
                    used.http.bytes.cast_signed(),
                    used.memory.cast_signed(),
                    self.near.names(),
                    used.segment_fuel.map(u64::cast_signed),
                ],
                |row| {
                    let (ran, memory) = (row.get::<_, i64>(0)?, row.get::<_, i64>(1)?);
                    Ok((Duration::from_millis(ran.cast_unsigned()), memory.cast_unsigned()))
                },
            )
            .map_err(failed(WHAT))
    }
}

impl Rebuild {
    fn store(self, tx: &Tx<'_>, task: i64) -> Result<(), StoreError> {
        tx.sql
            .prepare_cached("UPDATE task SET replay_fuel = replay_fuel + ?2, standing = ?3 WHERE n = ?1")
            .and_then(|mut sql| sql.execute(params![task, self.burned.cast_signed(), self.standing.cast_signed()]))
            .map_err(failed(WHAT))?;
        Ok(())
    }
}

fn load(tx: &Tx<'_>, task: i64, lease: Option<Lease>) -> Result<Columns, StoreError> {
    let mut select = tx
        .sql
        .prepare_cached(
            "SELECT state, waiting_on, wait_until, cancel, attempt, failures, begun, ticket, attempt_seq, segment,
                    segment_seq, ticket_same, last_seq, deadline, ended_at, ended_seq, progress, fuel, owner, epoch,
                    public_seq, parent, root, child, depth, retry, journal_bytes, limits, near,
                    namespace, digest, tool, created_at, callback
             FROM task WHERE n = ?1",
        )
        .map_err(failed(WHAT))?;
    let row = select
        .query_row(params![task], |row| Ok((columns(row)?, row.get::<_, Option<i64>>(18)?, row.get::<_, i64>(19)?)))
        .optional()
        .map_err(failed(WHAT))?;
    // A task that was removed is nobody's.
    let Some((columns, owner, epoch)) = row else { return Err(StoreError::NotOwner) };
    match lease {
        Some(lease) if Some(lease.owner) != owner || lease.epoch != epoch => Err(StoreError::NotOwner),
        _ => columns,
    }
}

fn columns(row: &Row<'_>) -> rusqlite::Result<Result<Columns, StoreError>> {
    let ticket: Option<Vec<u8>> = row.get(7)?;
    let until = row.get::<_, Option<i64>>(2)?.map(timestamp);
    let on: Option<String> = row.get(1)?;
    let state: String = row.get(0)?;
    let waiting = on.as_deref().and_then(WaitingOn::parse).map(|on| Waiting { on, until });
    let kin = match row.get::<_, Option<i64>>(21)? {
        Some(parent) => Some(Kin { parent, root: row.get(22)?, handle: row.get(23)?, depth: row.get(24)? }),
        None => None,
    };
    let retry: Option<String> = row.get(25)?;
    let retry = match retry.map(|retry| serde_json::from_str(&retry)).transpose() {
        Ok(retry) => retry,
        Err(error) => return Ok(Err(damaged(WHAT)(error))),
    };
    let Ok(state) = state.parse::<TaskState>() else { return Ok(Err(damaged(WHAT)("it is in no state"))) };
    let life = Life {
        state,
        waiting,
        cancel_requested: row.get(3)?,
        attempt: row.get(4)?,
        failures: row.get(5)?,
        ticket: ticket.is_some(),
        begun: row.get(6)?,
    };
    Ok(Ok(Columns {
        life,
        attempt_seq: row.get::<_, i64>(8)?.cast_unsigned(),
        segment: row.get(9)?,
        segment_seq: row.get::<_, i64>(10)?.cast_unsigned(),
        ticket,
        ticket_same: row.get(11)?,
        last_seq: row.get::<_, i64>(12)?.cast_unsigned(),
        deadline: timestamp(row.get(13)?),
        ended_at: row.get::<_, Option<i64>>(14)?.map(timestamp),
        ended_seq: row.get::<_, Option<i64>>(15)?.map(i64::cast_unsigned),
        progress: row.get(16)?,
        fuel: row.get::<_, i64>(17)?.cast_unsigned(),
        public_seq: row.get::<_, i64>(20)?.cast_unsigned(),
        kin,
        retry,
        journal_bytes: row.get::<_, i64>(26)?.cast_unsigned(),
        namespace: row.get(29)?,
        digest: row.get(30)?,
        tool: row.get(31)?,
        created_at: timestamp(row.get(32)?),
        callback: row.get(33)?,
        limits: limits(row, 27)?,
        near: near(row, 28)?,
    }))
}

fn millis(at: Timestamp) -> i64 {
    at.as_millis().cast_signed()
}

fn timestamp(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis.max(0).cast_unsigned())
}

fn broken(problem: &str) -> StoreError {
    StoreError::Failed { what: WHAT, problem: problem.into() }
}

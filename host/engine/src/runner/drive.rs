//! One task's turn: segment after segment, until it ends or waits.

use std::sync::Arc;
use std::time::Duration;

use super::check::checked;
use super::segment::{Purpose, Segment};
use super::{PAUSE, Runner};
use tracing::Instrument as _;

use crate::clock::Timestamp;
use crate::journal::Diverged;
use crate::limits::{DEATHS, Limit};
use crate::plugin::Ready;
use crate::sandbox::{Control, Export, How, Interrupted, Returned, Stop};
use crate::store::{self, Rebuild, RunRow, Step, Taken};
use crate::task::{
    Broke, ErrorClass, ErrorKind, LifeEvent, Misfit, TaskError, TaskState, Verdict, Waiting, WaitingOn, cancel_delay,
    ticket_delay,
};
use crate::{Error, StoreError};

/// Why a task gives its place back.
pub(super) enum Left {
    /// There is nothing to do for it, for now or for ever.
    Rests,
    /// Its guest waits for more than had arrived at this version of the inbox.
    Waits(u64),
    /// The pool of instances had none for it.
    NoInstance,
}

/// What follows a segment.
enum Next {
    /// Another segment.
    Again,
    /// What the task has left pending outside is to be cancelled, even if the host stops.
    CleanUp,
    /// Nothing, for now or for ever.
    Rest,
    /// Nothing, unless more has arrived than what had at this version of the inbox.
    RestAt(u64),
    /// The same again, when there is an instance.
    NoInstance,
}

impl Runner {
    /// Runs a task until it ends or waits.
    pub(super) async fn drive(self: &Arc<Self>, task: i64) -> Left {
        loop {
            match self.segment(task).await {
                Ok(Next::CleanUp) => {}
                Ok(Next::Again) if !*self.stopping.borrow() => {}
                Ok(Next::RestAt(version)) => return Left::Waits(version),
                Ok(Next::NoInstance) => return Left::NoInstance,
                Ok(Next::Again | Next::Rest) => return Left::Rests,
                // Somebody else runs it now; or it came back here meanwhile, and goes on with what the row says.
                Err(Error::Store(StoreError::NotOwner)) if !*self.stopping.borrow() => {}
                Err(Error::Store(StoreError::NotOwner)) => return Left::Rests,
                // It reads the same however often it is read, and others need the place.
                Err(Error::Store(damaged @ StoreError::Damaged { .. })) => {
                    tracing::error!("task {task} is left as it is, see `longhaul doctor`: {damaged}");
                    return Left::Rests;
                }
                Err(error) => {
                    tracing::warn!("task {task} pauses: {error}");
                    tokio::time::sleep(PAUSE).await;
                    if *self.stopping.borrow() {
                        return Left::Rests;
                    }
                }
            }
        }
    }

    async fn segment(self: &Arc<Self>, task: i64) -> Result<Next, Error> {
        let span = tracing::info_span!(
            "task",
            id = tracing::field::Empty,
            tool = tracing::field::Empty,
            namespace = tracing::field::Empty,
            attempt = tracing::field::Empty,
            trace = tracing::field::Empty
        );
        self.segment_of(task).instrument(span).await
    }

    async fn segment_of(self: &Arc<Self>, task: i64) -> Result<Next, Error> {
        let fresh = self.live().get_mut(&task).and_then(|live| live.fresh.take());
        // One that was asked to stop while it stood in line is no more what it was.
        let fresh = fresh.filter(|_| self.inbox(task).is_none_or(|inbox| inbox.cancelled().is_none()));
        let row = match fresh {
            Some(row) => *row,
            None => match self.store.read(|sql| store::run_row(sql, task))? {
                Some(row) => row,
                None => return Ok(Next::Rest),
            },
        };
        if row.lease.is_none_or(|lease| lease.owner != self.owners.me()) {
            return Ok(Next::Rest);
        }
        tell_span(&row);
        let now = self.clock.now();
        if row.state.is_terminal() {
            return self.cancel_ticket(row).await;
        }
        if row.deadline <= now {
            return self.end(&row, LifeEvent::DeadlinePassed, None).await;
        }
        if row.deaths >= DEATHS {
            let message = format!("{} hosts in a row died while they ran this task; it is run no more", row.deaths);
            return self.end(&row, LifeEvent::Poisoned, Some(run_error(Broke::Host, message))).await;
        }
        // A timer may have been put in line twice.
        let timed = matches!(row.waiting_on, Some(WaitingOn::Ticket | WaitingOn::Retry));
        if row.state == TaskState::Waiting && timed && row.due_at.is_some_and(|due| due > now) {
            return Ok(Next::Rest);
        }
        // One that was just taken has asked nothing; a request to stop that came since is delivered.
        if row.attempt > 0 {
            self.fill(task)?;
        }
        let ready = match self.ready(&row.digest).await {
            Ok(ready) => ready,
            Err(error @ Error::Plugin(_)) => return self.broke(&row, Broke::Host, error.to_string()).await,
            Err(error) => return Err(error),
        };
        if row.begun && row.replay_fuel.saturating_add(row.standing) > row.limits.replay_fuel {
            let message = format!(
                "bringing it back after its waits has used {} of fuel, and would use {} more ({}). A tool bounds this by \
                 returning a ticket",
                row.replay_fuel,
                row.standing,
                row.limits.said(Limit::replay_fuel)
            );
            return self.broke(&row, Broke::Limit, message).await;
        }
        let (row, _alone) = match row.suspect {
            true => match self.under_suspicion(row).await? {
                Some(begun) => begun,
                // It is not what it was: perhaps it has ended, and something is owed.
                None => return Ok(Next::Again),
            },
            false => (row, None),
        };
        let export = match &row.ticket {
            Some(ticket) => Export::AwaitTask(ticket.clone()),
            None => Export::Execute,
        };
        if row.attempt == 0 {
            self.counts.queued(now.since(row.created_at));
        }
        let inbox = self.inbox(task).unwrap_or_default();
        let mut segment = match Segment::begin(self, &row, &ready, inbox, Purpose::Run).await? {
            Ok(segment) => segment,
            Err((broke, message)) => return self.broke(&row, broke, message).await,
        };
        let how = segment.run(&export).await?;
        let step = segment.step();
        let (unreplayed, parked) = (segment.unreplayed(), segment.parked());
        self.after(&row, &ready, how, step, unreplayed, parked).await
    }

    /// Writes down how a segment ended.
    async fn after(
        self: &Arc<Self>,
        row: &RunRow,
        ready: &Arc<Ready>,
        how: How,
        mut step: Step,
        unreplayed: Option<Diverged>,
        parked: Option<(Waiting, u64)>,
    ) -> Result<Next, Error> {
        let seen = |version| self.inbox(row.n).map(|inbox| inbox.seen(version));
        let now = self.clock.now();
        let fail = |step: &mut Step, broke: Broke, message: String| {
            step.event = Some(LifeEvent::Broke(broke));
            step.outcome = Some(Err(run_error(broke, message)));
        };
        step.rebuild = rebuild(row, &how, step.fuel);
        let mut next = Next::Again;
        match how {
            How::Returned(_) | How::Broke(Broke::Trap | Broke::Fuel | Broke::Memory, _) if unreplayed.is_some() => {
                fail(&mut step, Broke::ReplayDiverged, String::new());
                step.outcome = unreplayed.as_ref().map(diverged_error).map(Err);
            }
            How::Returned(Returned::Done(output)) => match checked(ready, &row.tool, &output).await? {
                Ok(()) => {
                    step.event = Some(LifeEvent::Returned(Verdict::Done));
                    step.outcome = Some(Ok(output));
                }
                Err(problem) => fail(&mut step, Broke::Limit, problem),
            },
            How::Returned(Returned::Pending { ticket, after }) => {
                let unchanged = if row.ticket.as_ref() == Some(&ticket) { row.ticket_same + 1 } else { 0 };
                let until = now.after(after.unwrap_or_else(|| ticket_delay(unchanged)));
                step.event = Some(LifeEvent::Returned(Verdict::Checkpoint { until }));
                step.ticket = Some(ticket);
                next = Next::Rest;
            }
            How::Returned(Returned::Failed { kind, retry_after, error }) => {
                step.event = Some(LifeEvent::Returned(Verdict::ToolError { kind, retry_after }));
                step.outcome = Some(Err(error));
            }
            How::Returned(Returned::Unusable(problem)) => {
                fail(&mut step, Broke::Limit, format!("what it returned breaks the contract: {problem}"));
            }
            // What is pending outside may be as it was: that its wait broke is not its verdict.
            How::Broke(broke, message) if row.ticket.is_some() => {
                fail(&mut step, broke, format!("while `await-task` looked after its ticket: {message}"));
            }
            How::Broke(broke, message) => fail(&mut step, broke, message),
            How::Interrupted(Interrupted::Diverged(diverged)) => {
                fail(&mut step, Broke::ReplayDiverged, String::new());
                step.outcome = Some(Err(diverged_error(&diverged)));
            }
            How::Interrupted(Interrupted::Waits { waiting, version }) => {
                step.wait = Some(waiting);
                step.seen = seen(version);
                step.fuel = 0;
                next = Next::RestAt(version);
            }
            How::Interrupted(Interrupted::Dropped) => step.fuel = 0,
            How::NoInstance => {
                step.event = Some(LifeEvent::Dropped);
                step.fuel = 0;
                next = Next::NoInstance;
            }
            How::Interrupted(Interrupted::Abandoned) | How::Stopped(Stop::Unwritten) => {
                let ended =
                    self.store.read(|sql| store::run_row(sql, row.n))?.is_none_or(|row| row.state.is_terminal());
                if ended {
                    return Ok(Next::Again);
                }
                return Err(Error::Fault("what the guest did could not be written down".into()));
            }
            How::Stopped(Stop::Cancel) => step.event = Some(LifeEvent::StoppedByCancel),
            How::Stopped(Stop::Deadline) => step.event = Some(LifeEvent::DeadlinePassed),
            How::Stopped(Stop::RunTime) => {
                let said = row.limits.said(Limit::run_time);
                fail(&mut step, Broke::RunTime, format!("it computed for longer than it may ({said})"));
            }
            How::Stopped(Stop::Shutdown) => {
                // One that waits goes on waiting, whoever runs it next.
                match parked {
                    Some((waiting, version)) => {
                        step.wait = Some(waiting);
                        step.seen = seen(version);
                    }
                    None => step.event = Some(LifeEvent::Dropped),
                }
                step.fuel = 0;
                next = Next::Rest;
            }
        }
        let taken = self.take(row, step).await?;
        if taken.as_ref().is_some_and(|taken| taken.ended) {
            tracing::debug!("the task has ended");
        }
        Ok(match taken {
            Some(taken) if taken.cancel_ticket => Next::CleanUp,
            Some(taken) if taken.ended => Next::Rest,
            Some(taken) if taken.woken => Next::Again,
            _ => next,
        })
    }

    /// Takes a step of a task that this host runs. One that comes too late changes nothing, and gives `None`; unless it has
    /// ended: whoever ended it while nothing had begun, on disk, left its ticket to whoever runs it. One that its journal
    /// has no room for ends the task.
    pub(super) async fn take(&self, row: &RunRow, step: Step) -> Result<Option<Taken>, Error> {
        let (task, now) = (row.n, self.clock.now());
        let Step { fuel, rebuild, run_ms, .. } = step;
        let taken = match self.store.write("what became of the task", move |tx| step.take(tx, task, now)).await {
            Err(full @ StoreError::JournalFull { .. }) => {
                let step = Step { fuel, rebuild, run_ms, ..broken(row, Broke::Limit, full.to_string())? };
                self.store.write("what became of the task", move |tx| step.take(tx, task, now)).await
            }
            taken => taken,
        };
        match taken? {
            Ok(taken) => Ok(Some(taken)),
            Err(misfit) => {
                tracing::debug!("task {task}: {misfit}");
                Ok(match misfit {
                    Misfit::Ended { state, .. } => {
                        Some(Taken { found: state, cancel_ticket: true, ended: true, no_child: None, woken: false })
                    }
                    _ => None,
                })
            }
        }
    }

    async fn end(&self, row: &RunRow, event: LifeEvent, outcome: Option<TaskError>) -> Result<Next, Error> {
        let step = Step { lease: row.lease, event: Some(event), outcome: outcome.map(Err), ..Step::default() };
        self.take(row, step).await?;
        Ok(Next::Again)
    }

    /// A run that broke before its guest did anything.
    async fn broke(&self, row: &RunRow, broke: Broke, message: String) -> Result<Next, Error> {
        self.take(row, broken(row, broke, message)?).await?;
        Ok(Next::Rest)
    }

    /// Calls `cancel-task` for a ticket that an ended task left behind. It is owed until it returned anything but `unavailable`.
    async fn cancel_ticket(self: &Arc<Self>, row: RunRow) -> Result<Next, Error> {
        let Some(ticket) = row.ticket.clone() else { return Ok(Next::Rest) };
        // It was put in line by other than its timer.
        if row.cancel_tries > 0 && row.due_at.is_some_and(|due| due > self.clock.now()) {
            return Ok(Next::Rest);
        }
        let problem = match self.call_cancel_task(&row, Export::CancelTask(ticket)).await? {
            Ok(How::Returned(Returned::Failed { kind: ErrorKind::Unavailable, error, .. })) => error.message,
            Ok(How::Returned(returned)) => {
                if let Returned::Failed { error, .. } = returned {
                    tracing::warn!("task {}: what it left outside may go on: {}", row.id, error.message);
                }
                let (task, now) = (row.n, self.clock.now());
                let step = Step { lease: row.lease, event: Some(LifeEvent::TicketCancelled), ..Step::default() };
                let cancelled = move |tx: &mut store::Tx<'_>| {
                    if step.take(tx, task, now)?.is_ok() {
                        // It may have been removed before.
                        store::sweep(tx)?;
                    }
                    Ok::<_, Error>(())
                };
                self.store.write("the end of a ticket", cancelled).await?;
                return Ok(Next::Rest);
            }
            Ok(How::NoInstance) => return Ok(Next::NoInstance),
            Ok(How::Broke(_, message)) | Err(message) => message,
            Ok(How::Stopped(_)) => format!("it computed for longer than {:?}", crate::limits::CANCEL_GRACE),
            Ok(How::Interrupted(_)) => "it asked for what only a task that has not ended may ask for".into(),
        };
        let delay = cancel_delay(row.cancel_tries);
        if row.cancel_tries == 0 {
            tracing::warn!("task {}: `cancel-task` has not done it yet, and is called again: {problem}", row.id);
        } else {
            tracing::debug!("task {}: `cancel-task` is called again in {delay:?}: {problem}", row.id);
        }
        let (task, lease, until) = (row.n, row.lease, self.clock.now().after(delay));
        self.store.write("the next call of `cancel-task`", move |tx| store::owe(tx, task, lease, until)).await?;
        Ok(Next::Rest)
    }

    /// How the call ended, or why it could not be made.
    async fn call_cancel_task(self: &Arc<Self>, row: &RunRow, export: Export) -> Result<Result<How, String>, Error> {
        // Without its plugin nobody can cancel what it left. It is kept: the plugin may be added again.
        let ready = match self.ready(&row.digest).await {
            Ok(ready) => ready,
            Err(error) => return Ok(Err(error.to_string())),
        };
        // Nobody follows an ended task, so what this guest does is not recorded.
        match Segment::begin(self, row, &ready, Arc::default(), Purpose::Cancel).await? {
            Ok(mut segment) => segment.run(&export).await.map(Ok),
            Err((_, message)) => Ok(Err(message)),
        }
    }

    /// Stops a guest that has broken a limit of time.
    pub(super) fn watch_over(
        &self,
        row: &RunRow,
        control: &Control,
        cancelled: Option<Timestamp>,
        live_since: Option<Timestamp>,
    ) {
        let now = self.clock.now();
        let Some(live_since) = live_since else { return };
        if row.deadline <= now {
            control.stop(Stop::Deadline);
        }
        if let Some(cancelled) = cancelled
            && now.since(cancelled.max(live_since)) >= crate::limits::CANCEL_GRACE
        {
            control.stop(Stop::Cancel);
        }
        if Duration::from_millis(row.run_ms) + control.computed() > row.limits.run_time {
            control.stop(Stop::RunTime);
        }
    }
}

/// Says in the span which task it is about.
fn tell_span(row: &RunRow) {
    let span = tracing::Span::current();
    span.record("id", row.id.as_str()).record("tool", row.tool.as_str()).record("namespace", row.namespace.as_str());
    span.record("attempt", row.attempt);
    if let Some(trace) = &row.traceparent {
        span.record("trace", trace.as_str());
    }
}

/// What the account of replays says after a segment that `used` so much fuel, its replayed beginning included.
fn rebuild(row: &RunRow, how: &How, used: u64) -> Option<Rebuild> {
    /// Less is not worth a row for each wait: a millisecond of computing.
    const CHEAP: u64 = 1_000_000;
    let (burned, standing) = match how {
        How::NoInstance => return None,
        How::Interrupted(Interrupted::Waits { .. } | Interrupted::Dropped) | How::Stopped(Stop::Shutdown) => {
            // A guest that is stopped in the middle may hide what it used.
            (row.standing, used.max(row.standing))
        }
        _ => (row.standing, 0),
    };
    (row.standing > 0 || standing > CHEAP).then_some(Rebuild { burned, standing })
}

/// What becomes of a run of which nothing else is written.
fn broken(row: &RunRow, broke: Broke, message: String) -> Result<Step, Error> {
    Ok(Step {
        lease: row.lease,
        running: true,
        seed: Some(rand_seed()?),
        event: Some(LifeEvent::Broke(broke)),
        outcome: Some(Err(run_error(broke, message))),
        ..Step::default()
    })
}

fn run_error(broke: Broke, message: String) -> TaskError {
    TaskError { class: ErrorClass::Run, code: broke.as_str().into(), message, details: None }
}

/// The entry and both sides are for programs too.
fn diverged_error(diverged: &Diverged) -> TaskError {
    let details = serde_json::to_value(diverged).ok();
    TaskError { details, ..run_error(Broke::ReplayDiverged, diverged.to_string()) }
}

/// A new seed for an attempt, from the system.
pub(super) fn rand_seed() -> Result<[u8; 32], Error> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| Error::Fault(format!("the system has no random numbers: {error}")))?;
    Ok(seed)
}

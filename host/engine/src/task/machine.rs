//! The life of a task as a pure function: what is, and what happens, give what is then and what is to be done.
//!
//! ```text
//!   queued ── begin ──► running ── done ───────────────────────► completed
//!     ▲  ▲                │ │ │
//!     │  └── dropped ─────┘ │ └─── error, broken, deadline ─────► failed
//!     │                     │  └── asked to stop ──────────────► cancelled
//!     └─ wake ─ waiting ◄───┘ wait, checkpoint, retry
//! ```
//!
//! No clock, no store and no guest is known here: the time and the jitter come in with [`Given`], and what is to be done
//! goes out as [`Effect`]s. Whoever applies an event stores the new [`Life`] and the entries among the effects in one
//! transaction, and acts on the others after it.

mod backoff;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use backoff::{RetryPolicy, ticket_delay};
pub(crate) use backoff::{cancel_delay, jitter};

use super::{Broke, ErrorClass, TaskState, Waiting, WaitingOn};
use crate::clock::Timestamp;

/// The facts of a task's life that decide what may follow. All of them are stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// Where the task stands.
    pub state: TaskState,
    /// What it waits for: there exactly when it is [`TaskState::Waiting`].
    pub waiting: Option<Waiting>,
    /// It has been asked to stop. Never taken back.
    pub cancel_requested: bool,
    /// The try it is on, counted from 1; 0 before the first.
    pub attempt: u32,
    /// Tries that failed since the last checkpoint. The retry policy counts these, so that a task which looks after
    /// external work for weeks may meet a fault now and then.
    pub failures: u32,
    /// A ticket is outstanding. In an ended task: the tool's `cancel-task` is still owed.
    pub ticket: bool,
    /// The current segment has begun: a guest stands somewhere in it, in memory or by replay. Without one nobody has
    /// to be asked when the task is cancelled.
    pub begun: bool,
}

/// What the outside contributes to a step.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// The time.
    pub now: Timestamp,
    /// A random number from 0 to 1, to spread retries.
    pub jitter: f64,
    /// When a failed try is followed by another.
    pub retry: &'a RetryPolicy,
}

/// What happens to a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LifeEvent {
    /// A guest begins to run, or goes on: the task was first in line.
    Begin,
    /// The guest waits, for [`WaitingOn::Human`], [`WaitingOn::Timer`] or [`WaitingOn::Child`]; its instance may be kept
    /// or dropped.
    Wait {
        /// For what.
        on: WaitingOn,
        /// When it goes on by itself.
        until: Option<Timestamp>,
    },
    /// What the task waited for is here, or its time has come.
    Wake,
    /// A child of the task has ended, whether or not the task waits for it.
    ChildEnded,
    /// The guest's export returned.
    Returned(Verdict),
    /// The run broke before the export returned.
    Broke(Broke),
    /// The instance of a running guest is gone, by no fault of the guest's: its host shut down or died.
    Dropped,
    /// Somebody asks the task to stop.
    CancelRequested,
    /// The guest was stopped, because it had not returned in the time it had after the request to stop.
    StoppedByCancel,
    /// The task's time is over.
    DeadlinePassed,
    /// Its owners died while they ran it, one after the other: it is run no more.
    Poisoned,
    /// The tool's `cancel-task` returned, whatever it said.
    TicketCancelled,
}

/// What a guest's export returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// A result.
    Done,
    /// A `tool-error`.
    ToolError {
        /// Its kind.
        kind: ErrorKind,
        /// For [`ErrorKind::Unavailable`]: not before this.
        retry_after: Option<Duration>,
    },
    /// A ticket for work that is pending outside.
    Checkpoint {
        /// When to look after it, by the tool's hint or [`ticket_delay`].
        until: Timestamp,
    },
}

/// Whose fault a tool says its failure is; the contract's `error-kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The caller's.
    InvalidInput,
    /// The tool's verdict.
    Failed,
    /// Nobody's: it may pass.
    Unavailable,
    /// It stopped because it was asked to.
    Cancelled,
}

impl ErrorKind {
    /// The name used in the contract and in [`TaskError::code`](super::TaskError::code).
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid-input",
            Self::Failed => "failed",
            Self::Unavailable => "unavailable",
            Self::Cancelled => "cancelled",
        }
    }
}

/// What is to be done. The entries among them come in the order in which they are journaled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// An entry: a try begins.
    BeginAttempt(u32),
    /// An entry: the task is asked to stop.
    RequestCancel,
    /// Entries: the questions still open are closed. A question belongs to the segment that asked it.
    CloseQuestions,
    /// The children that have not ended are asked to stop, and theirs with them. A child belongs to the segment that
    /// started it, as a question does.
    CancelChildren,
    /// An entry: the tool's ticket is kept, and looked after at `until`.
    Checkpoint {
        /// When.
        until: Timestamp,
    },
    /// An entry: another try follows.
    Retry {
        /// Its number.
        attempt: u32,
        /// When it may begin.
        until: Timestamp,
    },
    /// An entry, and the last one of the task.
    End(Ending),
    /// The task wakes by itself at that time.
    RunAt(Timestamp),
    /// The task is put in line to be run.
    Queue,
    /// The guest that runs is told that it is asked to stop, and its grace begins.
    WakeGuest,
    /// The tool's `cancel-task` is called until it returned once; then [`LifeEvent::TicketCancelled`] is applied.
    CancelTicket,
}

/// How a task ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Ending {
    /// With the result that was returned.
    Completed,
    /// With the tool's error.
    Tool(ErrorKind),
    /// With the way in which the run broke.
    Run(Broke),
    /// As it was asked to.
    Cancelled,
}

impl Ending {
    /// The state that it leaves the task in.
    pub fn state(self) -> TaskState {
        match self {
            Self::Completed => TaskState::Completed,
            Self::Tool(_) | Self::Run(_) => TaskState::Failed,
            Self::Cancelled => TaskState::Cancelled,
        }
    }

    /// Whose verdict it is, unless it is a result.
    pub fn class(self) -> Option<ErrorClass> {
        match self {
            Self::Completed => None,
            Self::Tool(_) | Self::Cancelled => Some(ErrorClass::Tool),
            Self::Run(_) => Some(ErrorClass::Run),
        }
    }

    /// The name of the failure, unless it is a result.
    pub fn code(self) -> Option<&'static str> {
        match self {
            Self::Completed => None,
            Self::Tool(kind) => Some(kind.as_str()),
            Self::Run(broke) => Some(broke.as_str()),
            Self::Cancelled => Some(ErrorKind::Cancelled.as_str()),
        }
    }
}

/// An event that does not fit the task's state. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// The task has ended, and an end is never overwritten.
    #[error("the task is {state} already, and `{event}` comes too late")]
    Ended {
        /// How it ended.
        state: TaskState,
        /// What came.
        event: &'static str,
    },
    /// Something else has to happen first.
    #[error("`{event}` cannot happen to a task that is {state}")]
    State {
        /// Where the task stands.
        state: TaskState,
        /// What came.
        event: &'static str,
    },
    /// The task is asked to stop, so it waits for nothing: the guest's call returns `cancelled` at once.
    #[error("the task is asked to stop, and waits for nothing")]
    Cancelled,
}

impl LifeEvent {
    /// Whether another try may follow it.
    pub fn may_be_tried_again(&self) -> bool {
        match self {
            Self::Broke(broke) => *broke == Broke::Host,
            Self::Returned(Verdict::ToolError { kind, .. }) => *kind == ErrorKind::Unavailable,
            _ => false,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::Wait { .. } => "wait",
            Self::Wake => "wake",
            Self::ChildEnded => "child-ended",
            Self::Returned(_) => "returned",
            Self::Broke(_) => "broke",
            Self::Dropped => "dropped",
            Self::CancelRequested => "cancel-requested",
            Self::StoppedByCancel => "stopped-by-cancel",
            Self::DeadlinePassed => "deadline-passed",
            Self::Poisoned => "poisoned",
            Self::TicketCancelled => "ticket-cancelled",
        }
    }
}

impl Default for Life {
    fn default() -> Self {
        Self::new()
    }
}

impl Life {
    /// The life of a task that was just taken: it is queued.
    pub fn new() -> Self {
        Self {
            state: TaskState::Queued,
            waiting: None,
            cancel_requested: false,
            attempt: 0,
            failures: 0,
            ticket: false,
            begun: false,
        }
    }

    /// What is after `event`, and what is to be done about it.
    ///
    /// Cancelling fits every state and is idempotent: what is asked to stop already, or has ended, stays as it is and
    /// nothing is to be done. Any other event that does not fit is refused.
    pub fn apply(&self, event: LifeEvent, given: &Given<'_>) -> Result<(Self, Vec<Effect>), Misfit> {
        let mut life = self.clone();
        let effects = match (self.state, event) {
            (_, LifeEvent::CancelRequested) => life.cancel(),
            (state, LifeEvent::TicketCancelled) if state.is_terminal() && self.ticket => {
                life.ticket = false;
                Vec::new()
            }
            (state, event) if state.is_terminal() => return Err(Misfit::Ended { state, event: event.name() }),
            (TaskState::Queued, LifeEvent::Begin) => life.begin(),
            (
                TaskState::Running,
                LifeEvent::Wait { on: on @ (WaitingOn::Human | WaitingOn::Timer | WaitingOn::Child), until },
            ) => {
                if self.cancel_requested {
                    return Err(Misfit::Cancelled);
                }
                life.wait(on, until);
                until.map(Effect::RunAt).into_iter().collect()
            }
            (TaskState::Waiting, LifeEvent::Wake) => life.queue(),
            (_, LifeEvent::ChildEnded) => life.child_ended(),
            (TaskState::Running, LifeEvent::Dropped) => life.queue(),
            (TaskState::Running, LifeEvent::Returned(verdict)) => life.returned(verdict, given),
            (TaskState::Running, LifeEvent::Broke(broke)) => life.broke(broke, given),
            (TaskState::Running, LifeEvent::StoppedByCancel) if self.cancel_requested => life.end(Ending::Cancelled),
            (_, LifeEvent::DeadlinePassed) => life.stopped(Broke::Deadline),
            // Not as a host fault in its guest, which is tried again.
            (_, LifeEvent::Poisoned) => life.stopped(Broke::Host),
            (state, event) => return Err(Misfit::State { state, event: event.name() }),
        };
        Ok((life, effects))
    }

    fn begin(&mut self) -> Vec<Effect> {
        self.state = TaskState::Running;
        // A guest that is rebuilt, and one that looks after a ticket, go on with the try they are on.
        let another = !self.begun && (self.attempt == 0 || self.failures > 0);
        self.begun = true;
        if another {
            self.attempt = self.attempt.saturating_add(1);
            vec![Effect::BeginAttempt(self.attempt)]
        } else {
            Vec::new()
        }
    }

    fn wait(&mut self, on: WaitingOn, until: Option<Timestamp>) {
        self.state = TaskState::Waiting;
        self.waiting = Some(Waiting { on, until });
    }

    fn queue(&mut self) -> Vec<Effect> {
        self.state = TaskState::Queued;
        self.waiting = None;
        vec![Effect::Queue]
    }

    /// A wait for people may be one for children as well. Any other goes on.
    fn child_ended(&mut self) -> Vec<Effect> {
        match self.waiting {
            Some(Waiting { on: WaitingOn::Child | WaitingOn::Human, .. }) => self.queue(),
            _ => Vec::new(),
        }
    }

    fn cancel(&mut self) -> Vec<Effect> {
        if self.state.is_terminal() || self.cancel_requested {
            return Vec::new();
        }
        self.cancel_requested = true;
        let mut effects = vec![Effect::RequestCancel];
        // Nobody runs who could clean up. What is pending outside is cancelled by its ticket.
        if !self.begun {
            effects.append(&mut self.end(Ending::Cancelled));
            return effects;
        }
        effects.push(Effect::CancelChildren);
        effects.append(&mut match self.state {
            TaskState::Running => vec![Effect::WakeGuest],
            TaskState::Waiting => self.queue(),
            // It is in line already, and sees the flag when it runs.
            _ => Vec::new(),
        });
        effects
    }

    fn returned(&mut self, verdict: Verdict, given: &Given<'_>) -> Vec<Effect> {
        match verdict {
            Verdict::Done => {
                self.ticket = false;
                self.end(Ending::Completed)
            }
            Verdict::Checkpoint { until } => {
                self.ticket = true;
                if self.cancel_requested {
                    return self.end(Ending::Cancelled);
                }
                self.begun = false;
                self.failures = 0;
                self.wait(WaitingOn::Ticket, Some(until));
                vec![Effect::CloseQuestions, Effect::CancelChildren, Effect::Checkpoint { until }, Effect::RunAt(until)]
            }
            Verdict::ToolError { kind: ErrorKind::Unavailable, retry_after } => {
                self.try_again(Ending::Tool(ErrorKind::Unavailable), retry_after, given)
            }
            Verdict::ToolError { kind: ErrorKind::Cancelled, .. } if self.cancel_requested => {
                self.end(Ending::Cancelled)
            }
            Verdict::ToolError { kind, .. } => {
                // The tool has judged its work, the pending part with it. One that stopped unasked has not.
                self.ticket &= kind == ErrorKind::Cancelled;
                self.end(Ending::Tool(kind))
            }
        }
    }

    fn broke(&mut self, broke: Broke, given: &Given<'_>) -> Vec<Effect> {
        match broke {
            Broke::Host => self.try_again(Ending::Run(broke), None, given),
            Broke::Deadline => self.stopped(broke),
            _ => self.end(Ending::Run(broke)),
        }
    }

    /// The host stops the task. One that was to stop anyway did what it was asked.
    fn stopped(&mut self, broke: Broke) -> Vec<Effect> {
        self.end(if self.cancel_requested { Ending::Cancelled } else { Ending::Run(broke) })
    }

    fn try_again(&mut self, last: Ending, not_before: Option<Duration>, given: &Given<'_>) -> Vec<Effect> {
        if self.cancel_requested {
            return self.end(Ending::Cancelled);
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= given.retry.attempts {
            return self.end(last);
        }
        let delay = given.retry.delay(self.failures, given.jitter).max(not_before.unwrap_or_default());
        let until = given.now.after(delay);
        self.begun = false;
        self.wait(WaitingOn::Retry, Some(until));
        let attempt = self.attempt.saturating_add(1);
        vec![Effect::CloseQuestions, Effect::CancelChildren, Effect::Retry { attempt, until }, Effect::RunAt(until)]
    }

    fn end(&mut self, ending: Ending) -> Vec<Effect> {
        self.state = ending.state();
        self.waiting = None;
        self.begun = false;
        let mut effects = vec![Effect::CloseQuestions, Effect::CancelChildren, Effect::End(ending)];
        if self.ticket {
            effects.push(Effect::CancelTicket);
        }
        effects
    }
}

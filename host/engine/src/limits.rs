//! What a task may use.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;

/// What a task may use, over all its attempts and restarts. Fixed when the task starts.
///
/// ```
/// use longhaul::Limits;
/// use std::time::Duration;
///
/// let limits = Limits { fuel: 1_000_000_000, ..Limits::default() };
/// assert_eq!(limits.memory, 256 << 20);
/// assert_eq!(limits.run_time, Duration::from_secs(3_600));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Instructions, about: wasmtime's fuel. 100 G by default, some minutes of one core.
    pub fuel: u64,
    /// Bytes of linear memory, of all the guest's memories together. 256 MiB by default.
    pub memory: u64,
    /// As `fuel`, for bringing the tool back to where it stood after its instance was dropped in a wait: what it did since
    /// it began, or since its last ticket, is computed once more each time. Ten times `fuel` by default.
    #[serde(default = "replay_fuel")]
    pub replay_fuel: u64,
    /// Time spent computing, by the wall; time spent waiting for people and timers does not count. One hour by default.
    pub run_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let replay_fuel = replay_fuel();
        Self { fuel: 100_000_000_000, memory: 256 << 20, replay_fuel, run_time: Duration::from_secs(3_600) }
    }
}

fn replay_fuel() -> u64 {
    1_000_000_000_000
}

impl Limits {
    /// These limits, if none is above `most`.
    pub(crate) fn within(self, most: &Self) -> Result<Self, Error> {
        let above = |what, value: String, limit: String| {
            Err(Error::OutOfRange { what, value, allowed: format!("this host allows at most {limit}") })
        };
        if self.fuel > most.fuel {
            return above("limit `fuel`", self.fuel.to_string(), most.fuel.to_string());
        }
        if self.memory > most.memory {
            return above("limit `memory`", self.memory.to_string(), format!("{} bytes", most.memory));
        }
        if self.replay_fuel > most.replay_fuel {
            return above("limit `replay_fuel`", self.replay_fuel.to_string(), most.replay_fuel.to_string());
        }
        if self.run_time > most.run_time {
            return above("limit `run_time`", format!("{:?}", self.run_time), format!("{:?}", most.run_time));
        }
        Ok(self)
    }
}

/// How many tasks of one namespace, or of one plugin, a host takes at once. What is beyond is refused at the start with
/// [`Error::QueueFull`], which says when to come again; a task that was taken waits in line instead. Each process counts
/// its own.
///
/// ```
/// use longhaul::QueueLimits;
///
/// let limits = QueueLimits { running: 8, ..QueueLimits::default() };
/// assert_eq!(limits.queued, 100_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// Tasks that have an instance at once, warm ones included. 192 by default, of the 256 that there are in all.
    pub running: usize,
    /// Tasks that stand in line at once. 100,000 by default; a host has 400,000 in all.
    pub queued: usize,
    /// Starts in one second, by the host's clock; as many at once. 20,000 by default.
    pub starts_per_second: u32,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { running: 192, queued: 100_000, starts_per_second: 20_000 }
    }
}

impl QueueLimits {
    /// These limits, if any task can pass them.
    pub(crate) fn checked(self, what: &'static str) -> Result<Self, Error> {
        let none = match self {
            Self { running: 0, .. } => "running",
            Self { queued: 0, .. } => "queued",
            Self { starts_per_second: 0, .. } => "starts_per_second",
            _ => return Ok(self),
        };
        let allowed = format!("`{none}` must be 1 at least, or no task is ever run");
        Err(Error::OutOfRange { what, value: format!("{self:?}"), allowed })
    }
}

/// Tasks that stand in line in one process.
pub(crate) const QUEUED: usize = 400_000;

/// Bytes that a component's file may have.
pub const COMPONENT_BYTES: u64 = 64 << 20;

/// Bytes that an input, and an output, may have as JSON.
pub const INPUT_BYTES: usize = 4 << 20;

/// See [`INPUT_BYTES`].
pub const OUTPUT_BYTES: usize = 4 << 20;

/// Bytes of a progress message; what is longer is cut.
pub(crate) const PROGRESS_BYTES: usize = 4 << 10;

/// Bytes of a question in all.
pub(crate) const QUESTION_BYTES: usize = 64 << 10;

/// Bytes of an answer's value as JSON.
pub(crate) const ANSWER_BYTES: usize = 64 << 10;

/// Bytes of who answered, and of why somebody declined to.
pub(crate) const REPLY_TEXT_BYTES: usize = 4 << 10;

/// Bytes of a task's journal, but for its end.
pub(crate) const JOURNAL_BYTES: u64 = 64 << 20;

/// Entries of a task's journal, but for its end.
pub(crate) const JOURNAL_ENTRIES: u64 = 1_000_000;

/// Questions that a task may ask in its life.
pub(crate) const QUESTIONS: u32 = 100;

/// Questions that may be open at once.
pub(crate) const OPEN_QUESTIONS: usize = 16;

/// Children that a task may start in its life.
pub(crate) const CHILDREN: u32 = 100;

/// Tasks below a root, however deep: so a tree may use at most so many times what its root may, and no more.
pub(crate) const TREE_TASKS: u32 = 100;

/// How deep a child may stand below its root.
pub(crate) const CHILD_DEPTH: u32 = 8;

/// Bytes of what a guest did that may wait to be committed before the guest has to wait too.
pub(crate) const UNCOMMITTED_BYTES: usize = 4 << 20;

/// Bytes of random numbers in one call.
pub(crate) const RANDOM_BYTES: u64 = 1 << 20;

/// Bytes that may be copied out of a guest in one call of the host, counted as wasmtime's host-call fuel.
pub(crate) const HOST_CALL_BYTES: usize = 64 << 20;

/// Entries of the table of resources that a guest holds.
pub(crate) const RESOURCES: usize = 10_000;

/// Elements in all of a guest's tables.
pub(crate) const TABLE_ELEMENTS: usize = 100_000;

/// Core instances of one component. A Python guest has 14.
pub(crate) const CORE_INSTANCES: u32 = 64;

/// Bytes of a guest's own stack.
pub(crate) const WASM_STACK: usize = 512 << 10;

/// How long a task may live, and does if the caller names no deadline.
pub const LIFE: Duration = Duration::from_secs(90 * 24 * 3_600);

/// Owners in a row that may die while they run a task, without it having got further, before it is run no more.
pub(crate) const DEATHS: u32 = 3;

/// Time that a guest has from when it could first see that it should stop.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_secs(10);

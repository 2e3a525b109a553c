//! What this process has done, in numbers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::host::{Histogram, ToolMetrics};
use crate::store::{Tally, Tried};
use crate::task::TaskState;

/// Tools that are told apart: each is some lines at every look.
const TOOLS: usize = 1_000;

/// Counted since the process began.
#[derive(Default)]
pub(crate) struct Counts(Mutex<Counted>);

/// The numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted {
    pub tools: BTreeMap<(String, String), ToolMetrics>,
    pub queue_time: Histogram,
    pub replays: u64,
    pub refused: u64,
    pub delivered: u64,
    pub undelivered: u64,
    pub given_up: u64,
}

impl Counts {
    /// A task had its first turn after it had stood in line for so long.
    pub fn queued(&self, time: Duration) {
        self.lock().queue_time.observe(time);
    }

    /// A task has ended.
    pub fn ended(&self, plugin: String, tool: String, tally: &Tally) {
        let mut counted = self.lock();
        let mut key = (plugin, tool);
        if counted.tools.len() >= TOOLS && !counted.tools.contains_key(&key) {
            key = ("other".to_owned(), "other".to_owned());
        }
        let tool = counted.tools.entry(key).or_default();
        match tally.state {
            TaskState::Completed => tool.completed += 1,
            TaskState::Cancelled => tool.cancelled += 1,
            _ => tool.failed += 1,
        }
        tool.fuel = tool.fuel.saturating_add(tally.fuel);
        tool.run_time = tool.run_time.saturating_add(tally.ran);
        tool.memory = tool.memory.max(tally.memory);
        tool.time.observe(tally.took);
    }

    /// An instance was rebuilt from its journal.
    pub fn replayed(&self) {
        self.lock().replays += 1;
    }

    /// A guest was refused something.
    pub fn refused(&self) {
        self.lock().refused += 1;
    }

    /// A message was sent.
    pub fn message(&self, how: &Tried) {
        let mut counted = self.lock();
        match (&how.problem, how.again) {
            (None, _) => counted.delivered += 1,
            (Some(_), Some(_)) => counted.undelivered += 1,
            (Some(_), None) => counted.given_up += 1,
        }
    }

    /// As of now.
    pub fn now(&self) -> Counted {
        self.lock().clone()
    }

    fn lock(&self) -> MutexGuard<'_, Counted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

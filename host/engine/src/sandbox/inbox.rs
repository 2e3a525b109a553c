//! What reaches a running guest from outside: replies to its questions, the ends of its children, the request to stop.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::clock::Timestamp;
use crate::task::Reply;

/// What has arrived for one task. Filled from what is on disk, so nothing here is ever ahead of the journal.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    replies: BTreeMap<u32, Reply>,
    /// The handles of the children that have ended.
    ended: BTreeSet<u32>,
    /// When the request to stop was seen here.
    cancel: Option<Timestamp>,
    /// Counts changes, so that a change between two looks is noticed.
    version: u64,
    /// The entry of the journal up to which what arrived is here.
    upto: u64,
}

impl Inbox {
    /// Takes in what the database holds: all that had arrived when the journal was at `upto`, and perhaps more.
    pub fn fill(&self, upto: u64, replies: Vec<(u32, Option<Reply>)>, ended: Vec<u32>, cancel: bool, now: Timestamp) {
        let mut state = self.state();
        state.upto = state.upto.max(upto);
        state.ended.extend(ended);
        for (question, reply) in replies {
            if let Some(reply) = reply {
                state.replies.insert(question, reply);
            }
        }
        if cancel && state.cancel.is_none() {
            state.cancel = Some(now);
        }
        state.version += 1;
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Counts changes.
    pub fn version(&self) -> u64 {
        self.state().version
    }

    /// The entry of the journal up to which whoever looked at `version` has seen what arrived; 0 if more is here by now.
    pub fn seen(&self, version: u64) -> u64 {
        let state = self.state();
        if state.version == version { state.upto } else { 0 }
    }

    /// How a question was settled, if it was.
    pub fn reply(&self, question: u32) -> Option<Reply> {
        self.state().replies.get(&question).cloned()
    }

    /// Whether a child has ended.
    pub fn ended(&self, child: u32) -> bool {
        self.state().ended.contains(&child)
    }

    /// Since when the task is asked to stop.
    pub fn cancelled(&self) -> Option<Timestamp> {
        self.state().cancel
    }

    /// Returns when something has arrived that was not there at `version`.
    pub async fn changed(&self, version: u64) {
        loop {
            let arrived = self.arrived.notified();
            if self.version() != version {
                return;
            }
            arrived.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

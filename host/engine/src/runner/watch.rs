//! Telling those who follow a task that it has moved.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// Who follows which task.
#[derive(Debug, Default)]
pub(crate) struct Watchers(Mutex<HashMap<i64, Arc<Notify>>>);

/// One follower of one task.
pub(crate) struct Watch {
    watchers: Arc<Watchers>,
    task: i64,
    moved: Arc<Notify>,
}

impl Watchers {
    /// Follows a task.
    pub fn watch(self: &Arc<Self>, task: i64) -> Watch {
        let moved = self.lock().entry(task).or_default().clone();
        Watch { watchers: self.clone(), task, moved }
    }

    /// The task has new entries.
    pub fn moved(&self, task: i64) {
        if let Some(moved) = self.lock().get(&task) {
            moved.notify_waiters();
        }
    }

    /// Any task may have.
    pub fn all_moved(&self) {
        for moved in self.lock().values() {
            moved.notify_waiters();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<i64, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch {
    /// Resolves when the task moves after this call. Make it before you look, await it after.
    pub fn moved(&self) -> std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>> {
        let mut moved = Box::pin(self.moved.clone().notified_owned());
        // From here on a move is noticed, even before the first poll.
        moved.as_mut().enable();
        moved
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut all = self.watchers.lock();
        // Ours and the map's: nobody else follows it.
        if Arc::strong_count(&self.moved) <= 2 {
            all.remove(&self.task);
        }
    }
}

//! Telling those who follow a task, or a namespace's news, that there is more.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// What those follow who follow all tasks: no task has this number.
pub(crate) const ANY_TASK: i64 = 0;

/// Who follows what: tasks by their numbers, news by the names of namespaces.
#[derive(Debug)]
pub(crate) struct Watchers<K>(Mutex<HashMap<K, Arc<Notify>>>);

/// One follower.
pub(crate) struct Watch<K: Hash + Eq> {
    watchers: Arc<Watchers<K>>,
    followed: K,
    moved: Arc<Notify>,
}

impl<K> Default for Watchers<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Hash + Eq + Clone> Watchers<K> {
    /// Follows it.
    pub fn watch(self: &Arc<Self>, followed: K) -> Watch<K> {
        let moved = self.lock().entry(followed.clone()).or_default().clone();
        Watch { watchers: self.clone(), followed, moved }
    }

    /// There is more of it.
    pub fn moved<Q: Hash + Eq + ?Sized>(&self, followed: &Q)
    where
        K: Borrow<Q>,
    {
        if let Some(moved) = self.lock().get(followed) {
            moved.notify_waiters();
        }
    }

    /// There may be more of anything.
    pub fn all_moved(&self) {
        for moved in self.lock().values() {
            moved.notify_waiters();
        }
    }
}

impl<K> Watchers<K> {
    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<K, Arc<Notify>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Hash + Eq> Watch<K> {
    /// Resolves when there is more after this call. Make it before you look, await it after.
    pub fn moved(&self) -> std::pin::Pin<Box<tokio::sync::futures::OwnedNotified>> {
        let mut moved = Box::pin(self.moved.clone().notified_owned());
        // From here on a move is noticed, even before the first poll.
        moved.as_mut().enable();
        moved
    }
}

impl<K: Hash + Eq> Drop for Watch<K> {
    fn drop(&mut self) {
        let mut all = self.watchers.lock();
        // Ours and the map's: nobody else follows it.
        if Arc::strong_count(&self.moved) <= 2 {
            all.remove(&self.followed);
        }
    }
}

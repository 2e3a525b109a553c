//! Waking tasks that wait for a time. Timers are rows: here is only when the next ones are due.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch as channel;

use super::{Entrant, Lane, Runner};
use crate::StoreError;
use crate::clock::Timestamp;
use crate::store::{self, Due};

/// Tasks looked up at once.
const BATCH: usize = 256;

/// How soon a task that is due and still busy here is looked at again.
const BUSY: Duration = Duration::from_millis(100);

/// Wakes what is due, until the host stops.
pub(super) async fn watch(runner: Weak<Runner>, mut stopping: channel::Receiver<bool>) {
    loop {
        let Some(runner) = runner.upgrade() else { return };
        let clock = runner.clock.clone();
        // Whatever is written from here on must wake this.
        runner.next_due.store(u64::MAX, Ordering::SeqCst);
        let earlier = runner.earlier.notified();
        tokio::pin!(earlier);
        earlier.as_mut().enable();
        let next = match runner.wake_due().await {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!("timers could not be read, and are tried again: {error}");
                Some(clock.now().after(Duration::from_secs(1)))
            }
        };
        runner.next_due.store(next.map_or(u64::MAX, Timestamp::as_millis), Ordering::SeqCst);
        let due = async {
            match next {
                Some(next) if next <= clock.now() => tokio::time::sleep(BUSY).await,
                Some(next) => clock.sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = &mut earlier => {}
            () = due => {}
            // Lets go of the runner now and then, so that a host that was dropped is gone.
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}

impl Runner {
    /// Something is due at that time: the timers are looked at again if it is sooner than they would be.
    pub(super) fn due_at(&self, at: u64) {
        if at < self.next_due.load(Ordering::SeqCst) {
            self.earlier.notify_one();
        }
    }

    /// Puts in line what is due, ends what is past its deadline, and says when to look again.
    async fn wake_due(self: &Arc<Self>) -> Result<Option<Timestamp>, StoreError> {
        loop {
            let now = self.clock.now();
            let mut next = None;
            let mut expired = Vec::new();
            for due in self.store.read(|sql| store::due(sql, self.owners.me(), BATCH))? {
                if due.at > now {
                    next = Some(next.map_or(due.at, |next: Timestamp| next.min(due.at)));
                    break;
                }
                next = Some(now);
                if self.is_live(due.n) {
                    continue;
                }
                // What is past its deadline needs no instance for that, and so no place.
                if due.deadline.is_some_and(|deadline| deadline <= now) {
                    expired.push(due);
                } else {
                    self.enqueue_due(due);
                }
            }
            if !self.expire(expired, now).await? || *self.stopping.borrow() {
                let deadline = self.line().first_deadline();
                return Ok(next.into_iter().chain(deadline).min());
            }
        }
    }

    /// Ends what is past its deadline: these tasks, and some of those in line. Says whether there may be more.
    async fn expire(self: &Arc<Self>, waiting: Vec<Due>, now: Timestamp) -> Result<bool, StoreError> {
        let in_line = self.line().expired(now, BATCH);
        let tasks: Vec<_> = waiting.iter().map(|due| due.n).chain(in_line.iter().map(|(task, _)| *task)).collect();
        if tasks.is_empty() {
            return Ok(false);
        }
        let me = self.owners.me();
        match self.store.write("passed deadlines", move |tx| store::expire(tx, me, &tasks, now)).await {
            Ok(ended) => {
                // One that had ended before, and owes something, comes back by its own time.
                in_line.iter().for_each(|(task, lane)| self.leave_line(*task, lane));
                Ok(ended > 0 || !in_line.is_empty())
            }
            Err(error) => {
                // Then each by itself: that one of them can't be written is not to hold up the others.
                waiting.into_iter().for_each(|due| self.enqueue_due(due));
                Err(error)
            }
        }
    }

    fn enqueue_due(self: &Arc<Self>, due: Due) {
        let lane = Lane::new(&due.namespace, &due.digest);
        self.enqueue(Entrant { task: due.n, lane, deadline: due.deadline }, None);
    }
}

//! Waking tasks that wait for a time. Timers are rows: here is only when the next ones are due.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch as channel;

use super::{Lane, Runner};
use crate::StoreError;
use crate::clock::Timestamp;
use crate::store;

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
        let next = match runner.wake_due() {
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

    /// Puts in line what is due, and says when to look again.
    fn wake_due(self: &Arc<Self>) -> Result<Option<Timestamp>, StoreError> {
        let now = self.clock.now();
        let mut next = None;
        for due in self.store.read(|sql| store::due(sql, self.owners.me(), BATCH))? {
            if due.at > now {
                next = Some(next.map_or(due.at, |next: Timestamp| next.min(due.at)));
                break;
            }
            if !self.is_live(due.n) {
                self.enqueue(due.n, Lane::new(&due.namespace, &due.digest), None);
            }
            next = Some(now);
        }
        Ok(next)
    }
}

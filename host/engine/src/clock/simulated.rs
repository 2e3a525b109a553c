//! A clock that a test moves.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Clock, Timestamp};

/// A clock that stands still until it is told to advance. Clones share the time.
///
/// ```
/// use longhaul::{Clock, SimulatedClock, Timestamp};
/// use std::time::Duration;
///
/// let clock = SimulatedClock::at(Timestamp::from_millis(0));
/// clock.advance(Duration::from_secs(60 * 60 * 24 * 7));
/// assert_eq!(clock.now().as_millis(), 604_800_000);
/// ```
#[derive(Debug, Clone)]
pub struct SimulatedClock(Arc<watch::Sender<Timestamp>>);

impl SimulatedClock {
    /// A clock that shows `now`.
    pub fn at(now: Timestamp) -> Self {
        Self(Arc::new(watch::Sender::new(now)))
    }

    /// Moves the time forward, and wakes whoever sleeps until then.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = now.after(by));
    }

    /// Lets the time jump, back too, as a machine's clock does when somebody sets it.
    pub fn set(&self, now: Timestamp) {
        self.0.send_replace(now);
    }
}

impl Clock for SimulatedClock {
    fn now(&self) -> Timestamp {
        *self.0.borrow()
    }

    fn sleep_until(&self, deadline: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        let mut time = self.0.subscribe();
        Box::pin(async move {
            // The sender lives in `self`, so the wait ends only by time.
            let _ = time.wait_for(|now| *now >= deadline).await;
        })
    }
}

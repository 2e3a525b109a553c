//! The machine's clock.

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Clock, Timestamp};

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct RealClock;

/// The longest sleep before the clock is read again: a clock that was set forward, or a machine that slept, is noticed
/// within it.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

impl Clock for RealClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    fn sleep_until(&self, deadline: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            loop {
                let left = deadline.since(self.now());
                if left.is_zero() {
                    return;
                }
                tokio::time::sleep(left.min(LOOK_AGAIN)).await;
            }
        })
    }
}

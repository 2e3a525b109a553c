//! Time: the machine's, or a simulated one for tests.

mod real;
mod simulated;
mod timestamp;

use std::future::Future;
use std::pin::Pin;

pub use real::RealClock;
pub use simulated::SimulatedClock;
pub use timestamp::Timestamp;

/// Where a host takes the time from.
///
/// Everything that a task can see of time, and every timer, goes through one clock, so that a test moves a week by one
/// call of [`SimulatedClock::advance`].
pub trait Clock: Send + Sync + 'static {
    /// The time now. It may jump, as clocks do.
    fn now(&self) -> Timestamp;

    /// Returns when [`now`](Clock::now) has reached `deadline`.
    fn sleep_until(&self, deadline: Timestamp) -> Pin<Box<dyn Future<Output = ()> + Send + '_>>;
}

//! How long to wait before the next try, and before the next look at external work.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::Error;

/// When a try that failed in a way that may pass is followed by another.
///
/// ```
/// use longhaul::RetryPolicy;
/// use std::time::Duration;
///
/// let policy = RetryPolicy::default();
/// assert_eq!(policy.delay(1, 0.0), Duration::from_secs(1));
/// assert_eq!(policy.delay(2, 0.0), Duration::from_secs(2));
/// assert_eq!(policy.delay(2, 1.0), Duration::from_secs(3));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Tries in all, between two checkpoints: 1 is none but the first.
    pub attempts: u32,
    /// Before the second try.
    pub first: Duration,
    /// Each delay is that many times the one before.
    pub factor: u32,
    /// No delay is longer, jitter apart.
    pub cap: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 3, first: Duration::from_secs(1), factor: 2, cap: Duration::from_secs(300) }
    }
}

impl RetryPolicy {
    /// This policy, if its values make sense.
    pub(crate) fn checked(self) -> Result<Self, Error> {
        const ATTEMPTS: u32 = 1_000;
        const FACTOR: u32 = 100;
        const CAP: Duration = Duration::from_secs(30 * 24 * 3_600);
        let outside = |what, value: String, allowed: String| Err(Error::OutOfRange { what, value, allowed });
        if !(1..=ATTEMPTS).contains(&self.attempts) {
            let allowed = format!("1 to {ATTEMPTS} attempts may be made");
            return outside("retry `attempts`", self.attempts.to_string(), allowed);
        }
        if !(1..=FACTOR).contains(&self.factor) {
            let allowed = format!("each delay may be 1 to {FACTOR} times the one before");
            return outside("retry `factor`", self.factor.to_string(), allowed);
        }
        if self.cap > CAP {
            let allowed = format!("a delay may have {} days at most", CAP.as_secs() / 86_400);
            return outside("retry `cap`", format!("{:?}", self.cap), allowed);
        }
        if self.first > self.cap {
            let allowed = format!("the first delay may be as long as `cap`, {:?}", self.cap);
            return outside("retry `first`", format!("{:?}", self.first), allowed);
        }
        Ok(self)
    }

    /// The time between the try that was the `failures`th to fail, counted from 1, and the next. `jitter`, from 0 to 1,
    /// adds up to half of it, so that tasks that failed together do not come back together.
    pub fn delay(&self, failures: u32, jitter: f64) -> Duration {
        let grown = self.factor.checked_pow(failures.saturating_sub(1)).and_then(|times| self.first.checked_mul(times));
        let base = grown.unwrap_or(Duration::MAX).min(self.cap);
        // What is no number counts as none: a clamp alone would let it through.
        let jitter = if jitter.is_nan() { 0.0 } else { jitter.clamp(0.0, 1.0) };
        base.saturating_add(base.mul_f64(jitter / 2.0))
    }
}

/// A number from 0 to 1 that spreads the tries of tasks that failed together: the same for the same attempt, whenever
/// and wherever its failure is written down. It is seen, and its seed is not.
pub(crate) fn jitter(seed: &[u8; 32]) -> f64 {
    let hash: [u8; 32] = Sha256::new().chain_update(b"retry").chain_update(seed).finalize().into();
    let first = hash.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
    (first >> 11) as f64 / (1u64 << 53) as f64
}

/// The time until the next `await-task` when the tool gave no hint, after `unchanged` looks in a row that returned the
/// ticket they were given: 1 s, doubled each time, 30 s at most.
pub fn ticket_delay(unchanged: u32) -> Duration {
    const LONGEST: u64 = 30;
    // Five doublings pass the longest.
    Duration::from_secs((1 << unchanged.min(5)).min(LONGEST))
}

/// The time until the next `cancel-task` after `tries` that did not return and one more: 1 s, doubled each time, 5 min at
/// most.
pub(crate) fn cancel_delay(tries: u32) -> Duration {
    const LONGEST: u64 = 300;
    // Nine doublings pass the longest.
    Duration::from_secs((1 << tries.min(9)).min(LONGEST))
}

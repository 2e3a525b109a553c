//! How many progress messages are worth an entry of their own.

use crate::clock::Timestamp;

/// A token bucket: 50 at once, 50 a second (`design`: "at most 50/s journaled").
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    /// Milliseconds' worth of tokens that were used.
    used: u64,
    last: Option<Timestamp>,
}

const PER_SECOND: u64 = 50;
const COST: u64 = 1_000 / PER_SECOND;
const BURST: u64 = COST * PER_SECOND;

impl Throttle {
    /// Takes a token, if there is one.
    pub fn take(&mut self, now: Timestamp) -> bool {
        let passed = self.last.map_or(0, |last| now.since(last).as_millis() as u64);
        self.last = Some(now);
        self.used = self.used.saturating_sub(passed);
        if self.used + COST > BURST {
            return false;
        }
        self.used += COST;
        true
    }
}

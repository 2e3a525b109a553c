//! How many progress messages are worth an entry of their own.

use crate::clock::Timestamp;

/// A token bucket: so many at once, and so many a second.
#[derive(Debug)]
pub(crate) struct Throttle {
    /// What a second gives.
    rate: u64,
    /// What was used, in thousandths of a token.
    used: u64,
    last: Option<Timestamp>,
}

/// A token, in what a millisecond gives of it at a rate of one in a second.
const TOKEN: u64 = 1_000;

impl Throttle {
    /// One that lets `rate` through in a second.
    pub fn new(rate: u64) -> Self {
        Self { rate, used: 0, last: None }
    }

    /// Takes a token, if there is one.
    pub fn take(&mut self, now: Timestamp) -> bool {
        let passed = self.last.map_or(0, |last| now.since(last).as_millis() as u64);
        self.last = Some(now);
        self.used = self.used.saturating_sub(passed.saturating_mul(self.rate));
        if self.used + TOKEN > self.rate * TOKEN {
            return false;
        }
        self.used += TOKEN;
        true
    }
}

//! How fast a task gets on, and when it will be done.

use std::time::Duration;

use longhaul::{Progress, Timestamp};

use crate::time;

/// What was done lately, over the time that it took: the older, the less it counts.
#[derive(Default)]
pub struct Pace {
    last: Option<(Timestamp, f64)>,
    done: f64,
    seconds: f64,
}

/// Seconds after which what was done counts by a third.
const MEMORY: f64 = 15.0;

/// Seconds that must have been seen before anything is foretold.
const ENOUGH: f64 = 1.0;

/// Seconds beyond which nothing is foretold.
const TOO_FAR: f64 = 100.0 * 24.0 * 3_600.0;

impl Pace {
    /// The task is so far, at that time: the journal's, so that what is read late counts as what it was.
    pub fn saw(&mut self, progress: &Progress, at: Timestamp) {
        let Some(done) = progress.done.filter(|done| done.is_finite()) else { return };
        match self.last {
            // It counts something else now, or from the beginning.
            Some((_, before)) if done < before => *self = Self::default(),
            Some((then, before)) => {
                let seconds = at.since(then).as_secs_f64();
                let kept = (-seconds / MEMORY).exp();
                self.done = self.done * kept + (done - before);
                self.seconds = self.seconds * kept + seconds;
            }
            None => {}
        }
        self.last = Some((at, done));
    }

    /// `1.2/s · 11s left`, as much as can be said. What counts to 1 or 100 has no rate that anybody could read.
    #[allow(clippy::float_cmp)]
    pub fn told(&self, progress: &Progress, now: Timestamp) -> Option<String> {
        let rate = self.rate()?;
        let (at, done) = self.last?;
        let total = progress.total?;
        let seconds = (total - done) / rate - now.since(at).as_secs_f64();
        let left = (seconds > 0.0 && seconds < TOO_FAR)
            .then(|| format!("{} left", time::duration(Duration::from_secs_f64(seconds.round().max(1.0)))));
        let rate = (total != 1.0 && total != 100.0).then(|| in_words(rate));
        let told: Vec<_> = [rate, left].into_iter().flatten().collect();
        (!told.is_empty()).then(|| told.join(" · "))
    }

    fn rate(&self) -> Option<f64> {
        (self.seconds >= ENOUGH && self.done > 0.0).then(|| self.done / self.seconds)
    }
}

/// A rate by the second, the minute or the hour, so that it is no less than one where that is possible.
fn in_words(rate: f64) -> String {
    const LEAST: f64 = 0.95;
    let (rate, unit) = match rate {
        rate if rate >= LEAST => (rate, "s"),
        rate if rate * 60.0 >= LEAST => (rate * 60.0, "min"),
        rate => (rate * 3_600.0, "h"),
    };
    if rate >= 9.95 { format!("{rate:.0}/{unit}") } else { format!("{rate:.1}/{unit}") }
}

#[cfg(test)]
mod tests {
    use longhaul::Level;

    use super::*;

    fn told(total: f64, seen: &[(u64, f64)], now: u64) -> Option<String> {
        let at = |seconds: u64| Timestamp::from_millis(1_000_000 + seconds * 1_000);
        let progress =
            |done| Progress { message: String::new(), done: Some(done), total: Some(total), level: Level::Info };
        let mut pace = Pace::default();
        seen.iter().for_each(|(seconds, done)| pace.saw(&progress(*done), at(*seconds)));
        pace.told(&progress(seen.last().unwrap().1), at(now))
    }

    #[test]
    fn rate_and_rest_follow_from_what_was_done_lately() {
        assert_eq!(told(25.0, &[(0, 1.0)], 5), None);
        assert_eq!(told(25.0, &[(0, 1.0), (10, 11.0)], 10).as_deref(), Some("1.0/s · 14s left"));
        // The rest counts down while nothing comes, and is not told when it is over.
        assert_eq!(told(25.0, &[(0, 1.0), (10, 11.0)], 14).as_deref(), Some("1.0/s · 10s left"));
        assert_eq!(told(25.0, &[(0, 1.0), (10, 11.0)], 60).as_deref(), Some("1.0/s"));
        // Twice as fast for long is twice as fast.
        assert_eq!(told(1000.0, &[(0, 0.0), (10, 10.0), (200, 390.0)], 200).as_deref(), Some("2.0/s · 5m 5s left"));
    }

    #[test]
    fn a_count_that_falls_begins_anew() {
        assert_eq!(told(10.0, &[(0, 0.0), (5, 9.0), (6, 1.0)], 6), None);
        assert_eq!(told(10.0, &[(0, 0.0), (5, 9.0), (6, 1.0), (8, 3.0)], 8).as_deref(), Some("1.0/s · 7s left"));
    }

    #[test]
    fn shares_have_no_rate_and_slow_rates_a_larger_unit() {
        assert_eq!(told(1.0, &[(0, 0.0), (10, 0.5)], 10).as_deref(), Some("10s left"));
        assert_eq!(told(50.0, &[(0, 0.0), (60, 3.0)], 60).as_deref(), Some("3.0/min · 15m 40s left"));
        assert_eq!(told(50.0, &[(0, 0.0), (3_600, 2.0)], 3_600).as_deref(), Some("2.0/h · 1 day left"));
        assert_eq!(told(5_000.0, &[(0, 0.0), (2, 2_500.0)], 2).as_deref(), Some("1250/s · 2s left"));
    }

    #[test]
    fn numbers_that_are_none_foretell_nothing() {
        assert_eq!(told(f64::NAN, &[(0, 0.0), (10, 5.0)], 10).as_deref(), Some("30/min"));
        assert_eq!(told(10.0, &[(0, f64::NAN), (10, f64::INFINITY)], 10), None);
        assert_eq!(told(f64::INFINITY, &[(0, 0.0), (10, 50.0)], 10).as_deref(), Some("5.0/s"));
    }
}

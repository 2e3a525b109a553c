//! Times and durations as a person reads them.

use std::time::Duration;

use longhaul::{Clock as _, RealClock, Timestamp};

use crate::text::count;

pub fn now() -> Timestamp {
    RealClock.now()
}

/// The two largest units: `4m 10s`, `2 days 3h`; of many days only those, rounded.
pub fn duration(length: Duration) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    /// From so many on hours are of no use to anybody.
    const MANY: u64 = 10 * DAY;
    let two = |large: String, small: u64, unit: &str| match small {
        0 => large,
        small => format!("{large} {small}{unit}"),
    };
    match length.as_secs() {
        seconds @ 0..MINUTE => format!("{seconds}s"),
        seconds @ MINUTE..HOUR => two(format!("{}m", seconds / MINUTE), seconds % MINUTE, "s"),
        seconds @ HOUR..DAY => two(format!("{}h", seconds / HOUR), seconds % HOUR / MINUTE, "m"),
        seconds @ DAY..MANY => two(count((seconds / DAY) as usize, "day"), seconds % DAY / HOUR, "h"),
        seconds => count((seconds.saturating_add(DAY / 2) / DAY) as usize, "day"),
    }
}

/// How long something is planned to take, without fractions of a second that no person waits for: `30 ms`, `4m 10s`.
pub fn length(length: Duration) -> String {
    match length.as_millis() {
        millis @ 0..1_000 => format!("{millis} ms"),
        _ => duration(length + Duration::from_millis(500)),
    }
}

/// How long something took: `30 ms`, `1.2 s`, `4m 10s`.
pub fn brief(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.1} s", millis as f64 / 1_000.0),
        _ => duration(Duration::from_millis(millis)),
    }
}

/// How far a moment is: `in 4m 10s`, `12s ago`.
pub fn relative(at: Timestamp, now: Timestamp) -> String {
    if at > now {
        // Rounded up, so that a countdown does not show 0 s while there is time.
        format!("in {}", duration(at.since(now) + Duration::from_millis(999)))
    } else {
        format!("{} ago", duration(now.since(at)))
    }
}

/// When the time for an answer is, or was, up.
pub fn is_up(deadline: Timestamp, now: Timestamp) -> String {
    let is = if deadline > now { "is" } else { "was" };
    format!("time {is} up {}", relative(deadline, now))
}

/// The moment to the second, and how far it is.
pub fn both(at: Timestamp, now: Timestamp) -> String {
    format!("{} ({})", seconds(at), relative(at, now))
}

/// RFC 3339 without the milliseconds, which no person needs.
pub fn seconds(at: Timestamp) -> String {
    let exact = at.to_string();
    match exact.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => exact,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_told_by_its_distance() {
        let now = Timestamp::from_millis(1_000_000);
        assert_eq!(relative(now.after(Duration::from_secs(250)), now), "in 4m 10s");
        assert_eq!(relative(now.after(Duration::from_millis(400)), now), "in 1s");
        assert_eq!(relative(Timestamp::from_millis(988_000), now), "12s ago");
    }

    #[test]
    fn a_long_time_is_told_in_words_and_numbers_that_fit_each_other() {
        const HOUR: u64 = 3_600;
        let told = [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (HOUR - 1, "59m 59s"),
            (HOUR + 1, "1h"),
            (24 * HOUR - 1, "23h 59m"),
            (25 * HOUR, "1 day 1h"),
            (48 * HOUR + 59, "2 days"),
            (90 * 24 * HOUR - 2, "90 days"),
            (u64::MAX, "213503982334601 days"),
        ];
        for (seconds, words) in told {
            assert_eq!(duration(Duration::from_secs(seconds)), words);
        }
        assert_eq!([20, 1_700, 3_600_000].map(|ms| length(Duration::from_millis(ms))), ["20 ms", "2s", "1h"]);
    }

    #[test]
    fn what_is_past_is_not_told_as_if_it_were_to_come() {
        let now = Timestamp::from_millis(1_000_000);
        assert_eq!(is_up(now.after(Duration::from_secs(5)), now), "time is up in 5s");
        assert_eq!(is_up(Timestamp::from_millis(989_000), now), "time was up 11s ago");
    }

    #[test]
    fn what_took_a_while_is_told_in_few_digits() {
        assert_eq!([brief(30), brief(1_234), brief(250_000)], ["30 ms", "1.2 s", "4m 10s"]);
    }

    #[test]
    fn a_moment_is_written_to_the_second() {
        assert_eq!(seconds(Timestamp::from_millis(1_234)), "1970-01-01T00:00:01Z");
    }
}

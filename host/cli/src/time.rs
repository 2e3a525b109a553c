//! Times and durations as a person reads them.

use std::time::Duration;

use longhaul::{Clock as _, RealClock, Timestamp};

pub fn now() -> Timestamp {
    RealClock.now()
}

/// The two largest units: `4m 10s`, `2days 3h`.
pub fn duration(length: Duration) -> String {
    let whole = humantime::format_duration(Duration::from_secs(length.as_secs())).to_string();
    let units: Vec<_> = whole.split(' ').take(2).collect();
    units.join(" ")
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
    fn what_took_a_while_is_told_in_few_digits() {
        assert_eq!([brief(30), brief(1_234), brief(250_000)], ["30 ms", "1.2 s", "4m 10s"]);
    }

    #[test]
    fn a_moment_is_written_to_the_second() {
        assert_eq!(seconds(Timestamp::from_millis(1_234)), "1970-01-01T00:00:01Z");
    }
}

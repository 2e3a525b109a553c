//! Durations as the contract counts them: whole milliseconds.

use std::time::Duration;

/// Rounded up, so that a wait is never shorter than asked for.
pub(crate) fn to_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_rounded_up() {
        assert_eq!(to_millis(Duration::from_micros(1)), 1);
        assert_eq!(to_millis(Duration::from_millis(7)), 7);
        assert_eq!(to_millis(Duration::MAX), u64::MAX);
    }
}

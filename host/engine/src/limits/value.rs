//! Amounts as people write them.

use super::table::{LimitUnit, Row};
use crate::Error;

const TIMES: &[(&str, u64)] = &[("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

const DECIMAL: &[(&str, u64)] = &[("T", 1_000_000_000_000), ("G", 1_000_000_000), ("M", 1_000_000), ("k", 1_000)];

const BINARY: &[(&str, u64)] = &[("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl LimitUnit {
    fn wanted(self) -> &'static str {
        match self {
            Self::Count => "it must be a whole number, such as 100, 50k or 100G",
            Self::Bytes => "it must be a number of bytes, such as 65536, 64KiB or 256MiB",
            Self::Time => "it must be a time with its unit, such as 250ms, 30s or 5min",
        }
    }

    pub(super) fn suffixes(self) -> &'static [(&'static str, u64)] {
        match self {
            Self::Count => DECIMAL,
            Self::Bytes => BINARY,
            Self::Time => TIMES,
        }
    }

    /// The amount that a text says.
    pub(crate) fn read(self, text: &str) -> Option<u64> {
        if self == Self::Time {
            return u64::try_from(humantime::parse_duration(text).ok()?.as_millis()).ok();
        }
        let suffix = self.suffixes().iter().find_map(|(suffix, times)| Some((text.strip_suffix(suffix)?, *times)));
        let (digits, times) = suffix.unwrap_or((text, 1));
        let digits = digits.trim_end();
        let number = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|_| number)?.checked_mul(times)
    }
}

impl Row {
    /// The setting that raises it.
    pub fn setting(&self) -> String {
        format!("`limits.{}`", self.name)
    }

    /// How it is named where a file reached it, and not a task that could be given more.
    pub fn said(&self, amount: u64) -> String {
        format!("limit `{}` = {}; {} in longhaul.toml raises it", self.name, shown(self.unit, amount), self.setting())
    }
}

/// An amount for that row, as `text` says it.
pub(super) fn parse(row: &Row, text: &str) -> Result<u64, Error> {
    let refused = |allowed: String| Err(Error::OutOfRange { what: row.label, value: format!("`{text}`"), allowed });
    match row.unit.read(text.trim()) {
        None => refused(row.unit.wanted().into()),
        Some(amount) if amount < row.least => refused(format!("it must be {} at least", shown(row.unit, row.least))),
        Some(amount) if amount > row.most => refused(format!("it may be {} at most", shown(row.unit, row.most))),
        Some(amount) => Ok(amount),
    }
}

/// An amount as it may be written, and read again.
pub(crate) fn shown(unit: LimitUnit, amount: u64) -> String {
    let exact = unit.suffixes().iter().find(|(_, times)| amount >= *times && amount.is_multiple_of(*times));
    match exact {
        Some((suffix, times)) => format!("{}{suffix}", amount / times),
        None => amount.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Limit;
    use super::*;

    #[test]
    fn what_is_shown_is_read_as_the_same_amount() {
        for row in Limit::ALL.iter().map(|limit| limit.row()) {
            for amount in [row.least, row.default, row.most, row.default + 1, row.most - 1] {
                assert_eq!(parse(row, &shown(row.unit, amount)).unwrap(), amount, "{}", row.name);
            }
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        let refused = |limit: Limit, text: &str| parse(limit.row(), text).unwrap_err().to_string();
        assert_eq!(
            refused(Limit::fuel, "30s"),
            "limit `fuel` is `30s`; it must be a whole number, such as 100, 50k or 100G"
        );
        assert_eq!(refused(Limit::fuel, "0"), "limit `fuel` is `0`; it must be 1 at least");
        assert_eq!(refused(Limit::memory, "5GiB"), "limit `memory` is `5GiB`; it may be 4GiB at most");
        for (limit, text) in [
            (Limit::fuel, "-1"),
            (Limit::fuel, ""),
            (Limit::fuel, "G"),
            (Limit::fuel, "1.5G"),
            (Limit::fuel, "+5"),
            (Limit::fuel, "99999999999999999999G"),
            (Limit::memory, "1MB"),
            (Limit::memory, "256 potatoes"),
            (Limit::run_time, "3600"),
            (Limit::run_time, "1GiB"),
        ] {
            assert!(refused(limit, text).contains("must be"), "{}: {text}", refused(limit, text));
        }
        assert_eq!(parse(Limit::questions.row(), "0").unwrap(), 0);
        assert_eq!(parse(Limit::memory.row(), " 64 MiB ").unwrap(), 64 << 20);
    }
}

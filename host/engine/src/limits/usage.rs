//! How much of a limit is used.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Limit;
use super::table::{LimitUnit, Limits};

/// How much of a limit a task has used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct LimitUse {
    /// The limit's name, as in [`Limits`].
    pub limit: String,
    /// What it counts.
    pub unit: LimitUnit,
    /// What the task has used so far; of a limit on what it has at once, the most that it had.
    pub used: u64,
    /// What it may use.
    pub allowed: u64,
}

impl fmt::Display for LimitUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} of {}", self.limit, about(self.unit, self.used), about(self.unit, self.allowed))
    }
}

/// An amount as a person reads it: of three digits at least, no more than it takes.
fn about(unit: LimitUnit, amount: u64) -> String {
    let unit_of = unit.suffixes().iter().find(|(_, times)| amount >= *times);
    match unit_of {
        Some((suffix, times)) if amount.is_multiple_of(*times) => format!("{} {suffix}", amount / times),
        Some((suffix, times)) => format!("{:.1} {suffix}", amount as f64 / *times as f64),
        None if unit == LimitUnit::Bytes => format!("{amount} B"),
        None => amount.to_string(),
    }
}

impl Limits {
    /// What has been used of a limit.
    pub(crate) fn used(&self, limit: Limit, used: u64) -> LimitUse {
        let row = limit.row();
        LimitUse { limit: row.name.into(), unit: row.unit, used, allowed: self.get(limit) }
    }

    /// Whether four fifths of a limit are used.
    pub(crate) fn is_near(&self, limit: Limit, used: u64) -> bool {
        used > 0 && used >= self.get(limit).saturating_sub(self.get(limit) / 5)
    }
}

/// The limits of a task that are known to be nearly used up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Near(u64);

impl Near {
    /// Adds one, and tells whether it is new.
    pub fn add(&mut self, limit: Limit) -> bool {
        let before = self.0;
        self.0 |= 1 << limit as u64;
        self.0 != before
    }

    /// How many they are.
    pub fn count(self) -> u64 {
        self.0.count_ones().into()
    }

    /// From the names that are kept. One that this version does not know is left out.
    pub fn parse(names: &str) -> Self {
        let mut near = Self::default();
        names.split(' ').filter_map(|name| Limit::named(name).ok()).for_each(|limit| {
            near.add(limit);
        });
        near
    }

    /// As names; `None` if there are none.
    pub fn names(self) -> Option<String> {
        let near = Limit::ALL.iter().filter(|limit| self.0 & (1 << **limit as u64) != 0);
        let names: Vec<_> = near.map(|limit| limit.row().name).collect();
        (!names.is_empty()).then(|| names.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_fifths_are_near() {
        let limits = Limits { questions: 5, children: 1, fuel: u64::MAX, open_questions: 0, ..Limits::default() };
        assert!(!limits.is_near(Limit::questions, 3) && limits.is_near(Limit::questions, 4));
        assert!(!limits.is_near(Limit::children, 0) && limits.is_near(Limit::children, 1));
        assert!(!limits.is_near(Limit::fuel, 1 << 60) && limits.is_near(Limit::fuel, u64::MAX));
        assert!(!limits.is_near(Limit::open_questions, 0));
    }

    #[test]
    fn what_is_near_is_kept_by_name() {
        let mut near = Near::default();
        assert_eq!(near.names(), None);
        assert!(near.add(Limit::questions) && near.add(Limit::fuel) && !near.add(Limit::fuel));
        assert_eq!(near.names().as_deref(), Some("fuel questions"));
        assert_eq!(Near::parse("fuel questions of_tomorrow"), near);
    }

    #[test]
    fn what_is_used_is_told_in_few_digits() {
        let told = |limit, used| Limits::default().used(limit, used).to_string();
        assert_eq!(told(Limit::questions, 80), "questions 80 of 100");
        assert_eq!(told(Limit::journal, 117), "journal 117 B of 64 MiB");
        assert_eq!(told(Limit::memory, 220_000_000), "memory 209.8 MiB of 256 MiB");
        assert_eq!(told(Limit::run_time, 2_880_000), "run_time 48 min of 1 h");
        assert_eq!(told(Limit::fuel, 80_123_456_789), "fuel 80.1 G of 100 G");
    }
}

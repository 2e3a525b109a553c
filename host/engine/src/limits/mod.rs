//! What a task may use.

#[cfg(test)]
mod reference;
mod section;
mod table;
mod usage;
mod value;

use std::time::Duration;

pub(crate) use section::Section;
pub(crate) use table::{HostLimit, Limit};
pub use table::{HostLimits, LimitUnit, Limits};
pub use usage::LimitUse;
pub(crate) use usage::Near;

use serde::Deserialize;

use crate::Error;

impl Limits {
    /// These limits, if none is above `most`.
    pub(crate) fn within(self, most: &Self) -> Result<Self, Error> {
        for limit in Limit::ALL {
            let (row, value, most) = (limit.row(), self.get(*limit), most.get(*limit));
            if value > most {
                let (value, most) = (value::shown(row.unit, value), value::shown(row.unit, most));
                // The pool of instances is made when a process starts.
                let when = match limit {
                    Limit::memory | Limit::table_elements => ", for processes that are started after that",
                    _ => "",
                };
                let setting = row.setting();
                let allowed = format!("this host allows at most {most}; {setting} in longhaul.toml raises that{when}");
                return Err(Error::OutOfRange { what: row.label, value, allowed });
            }
        }
        Ok(self)
    }

    /// The lesser of each limit.
    pub(crate) fn min(mut self, most: &Self) -> Self {
        for limit in Limit::ALL {
            self.put(*limit, self.get(*limit).min(most.get(*limit)));
        }
        self
    }

    /// How a limit is named where it was reached: what it is, and what raises it.
    pub(crate) fn said(&self, limit: Limit) -> String {
        let row = limit.row();
        let value = value::shown(row.unit, self.get(limit));
        format!("limit `{0}` = {value}; `--limit {0}=…` raises it, up to {1} in longhaul.toml", row.name, row.setting())
    }

    /// As it is kept with a task: what differs from the defaults, as JSON.
    pub(crate) fn to_stored(self) -> Result<String, serde_json::Error> {
        let defaults = Self::default();
        if self == defaults {
            return Ok("{}".into());
        }
        let mut all = serde_json::to_value(self)?;
        if let Some(all) = all.as_object_mut() {
            all.retain(|name, _| Limit::named(name).is_ok_and(|limit| self.get(limit) != defaults.get(limit)));
        }
        Ok(all.to_string())
    }
}

impl Limit {
    /// An amount as a configuration says it.
    pub(crate) fn shown(self, amount: u64) -> String {
        value::shown(self.row().unit, amount)
    }
}

impl HostLimit {
    /// How a limit is named where it was reached: what it allows, and what raises it.
    pub fn said(self, amount: u64) -> String {
        self.row().said(amount)
    }
}

/// Nothing is called so.
fn unknown(name: &str, names: impl Iterator<Item = &'static str>) -> Error {
    let nearest = names.min_by_key(|other| strsim::levenshtein(name, other)).unwrap_or_default();
    Error::UnknownLimit { name: name.to_owned(), nearest }
}

/// What tasks may be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// What a task gets if nothing else is said.
    pub default: Limits,
    /// The most that it may be given.
    pub most: Limits,
}

impl Allowed {
    /// `default` as far as `most` allows it.
    pub fn new(default: Limits, most: Limits) -> Self {
        Self { default: default.min(&most), most }
    }

    /// What a task may use that says `given` of itself.
    pub fn of(&self, given: Option<Limits>, changes: &[(String, String)]) -> Result<Limits, Error> {
        let mut limits = given.unwrap_or(self.default);
        for (name, value) in changes {
            limits.set(name, value)?;
        }
        limits.within(&self.most)
    }
}

/// How many tasks of one namespace, or of one plugin, a host takes at once. What is beyond is refused at the start with
/// [`Error::QueueFull`], which says when to come again; a task that was taken waits in line instead. Each process counts
/// its own.
///
/// ```
/// use longhaul::QueueLimits;
///
/// let limits = QueueLimits { running: 8, ..QueueLimits::default() };
/// assert_eq!(limits.queued, 100_000);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct QueueLimits {
    /// Tasks that have an instance at once, warm ones included. 192 by default, of the 256 that there are in all.
    pub running: usize,
    /// Tasks that stand in line at once. 100,000 by default; a host has 400,000 in all.
    pub queued: usize,
    /// Starts in one second, by the host's clock; as many at once. 20,000 by default.
    pub starts_per_second: u32,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self { running: 192, queued: 100_000, starts_per_second: 20_000 }
    }
}

impl QueueLimits {
    /// These limits, if any task can pass them.
    pub(crate) fn checked(self, what: &'static str) -> Result<Self, Error> {
        let none = match self {
            Self { running: 0, .. } => "running",
            Self { queued: 0, .. } => "queued",
            Self { starts_per_second: 0, .. } => "starts_per_second",
            _ => return Ok(self),
        };
        let allowed = format!("`{none}` must be 1 at least, or no task is ever run");
        Err(Error::OutOfRange { what, value: format!("{self:?}"), allowed })
    }
}

/// Tasks that stand in line in one process.
pub(crate) const QUEUED: usize = 400_000;

/// Bytes of what a guest did that may wait to be committed before the guest has to wait too.
pub(crate) const UNCOMMITTED_BYTES: usize = 4 << 20;

/// How long a task may live, and does if the caller names no deadline.
pub const LIFE: Duration = Duration::from_secs(90 * 24 * 3_600);

/// Owners in a row that may die while they run a task, without it having got further, before it is run no more.
pub(crate) const DEATHS: u32 = 3;

/// Time that a guest has from when it could first see that it should stop.
pub(crate) const CANCEL_GRACE: Duration = Duration::from_secs(10);

//! What the project's own tests need from the inside. No part of the stable interface.

use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::{Error, Host};

/// The median time that a new instance of an installed plugin takes, over `n` of them.
///
/// # Errors
///
/// [`Error::UnknownPlugin`]; [`Error::Fault`] if there is no instance.
pub async fn instantiate(host: &Host, digest: &str, n: usize) -> Result<Duration, Error> {
    host.measure_instances(digest, n).await
}

/// The median time that getting an installed plugin ready from its compiled code takes, over `n` times.
///
/// # Errors
///
/// [`Error::UnknownPlugin`], and those of compiling if there is no compiled code.
pub async fn load(host: &Host, digest: &str, n: usize) -> Result<Duration, Error> {
    host.measure_loads(digest, n).await
}

/// Bytes of the instances that are kept while their tasks wait.
pub fn warm_bytes(host: &Host) -> u64 {
    host.warm_bytes()
}

/// Where a process can be made to die, or an instance to be dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashPoint {
    /// A transaction is complete and not yet committed.
    BeforeCommit,
    /// A transaction was committed, and nobody has been told.
    AfterCommit,
    /// A guest has asked for an effect, live, and it is not yet recorded.
    Effect,
    /// As [`Effect`](Self::Effect), and only the instance is dropped; the process goes on.
    Drop,
}

/// Lets the process die the `n`th time it comes to a point.
#[derive(Debug, Default)]
pub struct CrashPlan {
    point: Option<CrashPoint>,
    left: AtomicU64,
}

impl CrashPlan {
    /// A plan for the `n`th passage of `point`, counted from 1.
    pub fn at_nth(point: CrashPoint, n: u64) -> Self {
        Self { point: Some(point), left: AtomicU64::new(n) }
    }

    /// Whether what was planned has happened.
    pub fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) as i64 <= 0
    }

    /// Passes a point, or dies there as by `kill -9`: nothing is flushed and no destructor runs.
    pub(crate) fn at(&self, point: CrashPoint) {
        if self.reached(point) {
            std::process::abort();
        }
    }

    /// Whether this is the passage that was planned for.
    pub(crate) fn reached(&self, point: CrashPoint) -> bool {
        self.point == Some(point) && self.left.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

impl FromStr for CrashPlan {
    type Err = String;

    /// `POINT:N`, such as `before-commit:3`.
    fn from_str(s: &str) -> Result<Self, String> {
        let usage = || format!("`{s}` is no crash plan: say before-commit:N, after-commit:N, effect:N or drop:N");
        let (point, n) = s.split_once(':').ok_or_else(usage)?;
        let point = match point {
            "before-commit" => CrashPoint::BeforeCommit,
            "after-commit" => CrashPoint::AfterCommit,
            "effect" => CrashPoint::Effect,
            "drop" => CrashPoint::Drop,
            _ => return Err(usage()),
        };
        Ok(Self::at_nth(point, n.parse().map_err(|_| usage())?))
    }
}

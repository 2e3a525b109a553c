//! What the project's own tests need from the inside. No part of the stable interface.

pub mod fuzz;

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

/// Where a process can be made to die, an instance to be dropped, or the disk to fail.
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
    /// A transaction is complete, and the disk can't write it.
    Write,
    /// A transaction is written, and the disk can't sync it.
    Sync,
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

    /// What SQLite would report when the disk fails as planned.
    pub(crate) fn disk_error(&self) -> Option<i32> {
        if self.reached(CrashPoint::Write) {
            return Some(rusqlite::ffi::SQLITE_IOERR_WRITE);
        }
        self.reached(CrashPoint::Sync).then_some(rusqlite::ffi::SQLITE_IOERR_FSYNC)
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
        const POINTS: &str = "before-commit, after-commit, effect, drop, write or sync";
        let usage = || format!("`{s}` is no crash plan: say POINT:N, where POINT is {POINTS}");
        let (point, n) = s.split_once(':').ok_or_else(usage)?;
        let point = match point {
            "before-commit" => CrashPoint::BeforeCommit,
            "after-commit" => CrashPoint::AfterCommit,
            "effect" => CrashPoint::Effect,
            "drop" => CrashPoint::Drop,
            "write" => CrashPoint::Write,
            "sync" => CrashPoint::Sync,
            _ => return Err(usage()),
        };
        Ok(Self::at_nth(point, n.parse().map_err(|_| usage())?))
    }
}

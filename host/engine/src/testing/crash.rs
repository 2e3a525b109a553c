//! Dying at a planned place.

use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where a process can be made to die, an instance to be dropped, or the disk to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
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
    /// A transaction is written, and the disk can't sync it: the process dies.
    Sync,
}

/// Lets the process die the `n`th time it comes to a point, or only its host ([`host_only`](Self::host_only)).
///
/// What a crash does to your own server is seen by trying it: the next host on the same data goes on where the journals stand.
///
/// ```no_run
/// use longhaul::testing::{CrashPlan, CrashPoint};
/// use longhaul::{Host, NewTask};
///
/// # async fn doc() -> Result<(), longhaul::Error> {
/// for n in 1.. {
///     let data = format!("target/crash-{n}");
///     let plan = CrashPlan::at_nth(CrashPoint::BeforeCommit, n).host_only();
///     let crashes = Host::builder().data_dir(&data).crash(plan).open().await;
///     let mut over = false;
///     if let Ok(host) = &crashes {
///         // What the server does; whatever it is doing when the host dies fails with an error.
///         over = host.run::<serde_json::Value>(NewTask::new("csv-profile", "profile_csv").idempotency_key("1")).await.is_ok();
///     }
///     let host = Host::builder().data_dir(&data).open().await?;
///     // Here is what must hold after a crash at any commit.
///     host.shutdown().await;
///     if over {
///         break;
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Default)]
pub struct CrashPlan {
    point: Option<CrashPoint>,
    left: AtomicU64,
    host_only: bool,
    dead: AtomicBool,
}

impl CrashPlan {
    /// A plan for the `n`th passage of `point`, counted from 1. The process dies as by `kill -9`: nothing is flushed and no
    /// destructor runs.
    ///
    /// # Panics
    ///
    /// If `n` is 0: there is no such passage, and a test by this plan would show nothing.
    pub fn at_nth(point: CrashPoint, n: u64) -> Self {
        assert!(n > 0, "passages are counted from 1");
        Self { point: Some(point), left: AtomicU64::new(n), ..Self::default() }
    }

    /// Lets only the host die, and the process go on, so that a test needs no process of its own. From that moment on the host
    /// writes nothing and tells nobody anything; whoever waits for it is told that it stops
    /// ([`Error::ShuttingDown`](crate::Error::ShuttingDown)), or that its writer has; and other hosts find it dead.
    #[must_use]
    pub fn host_only(mut self) -> Self {
        self.host_only = true;
        self
    }

    /// Whether what was planned has happened.
    pub fn is_over(&self) -> bool {
        self.left.load(Ordering::Relaxed) as i64 <= 0
    }

    /// Whether the host is as good as dead.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Relaxed)
    }

    /// Passes a point, or dies there.
    pub(crate) fn at(&self, point: CrashPoint) {
        if self.reached(point) {
            if !self.host_only {
                std::process::abort();
            }
            self.dead.store(true, Ordering::Relaxed);
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
        let usage = || format!("`{s}` is no crash plan: say POINT:N, where N is 1 or more and POINT is {POINTS}");
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
        match n.parse() {
            Ok(n @ 1..) => Ok(Self::at_nth(point, n)),
            Ok(0) | Err(_) => Err(usage()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_would_never_happen_is_refused() {
        for text in ["effect:0", "effect:-1", "effect", "effort:1"] {
            let error = text.parse::<CrashPlan>().unwrap_err();
            assert!(error.contains("is no crash plan: say POINT:N, where N is 1 or more and POINT is"), "{error}");
        }
        assert!(!"effect:1".parse::<CrashPlan>().unwrap().is_over());
        assert!(std::panic::catch_unwind(|| CrashPlan::at_nth(CrashPoint::Effect, 0)).is_err());
    }
}

//! Which instances are kept in memory while they wait, and for how long.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::watch;

/// An instance is kept for so many times as long as it would take to rebuild it: then replays take a twentieth of the
/// machine's time at most, whatever the wait turns out to be.
const WORTH: u32 = 20;

/// No instance is kept longer than this for the sake of its replay.
const LONGEST: Duration = Duration::from_secs(600);

/// Whose instances are to be given up while their tasks wait: others stand in line that need their places.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Crowd {
    /// There is no place left for anybody.
    pub all: bool,
    /// Those that run as many tasks as they may, and have more in line.
    pub namespaces: HashSet<Arc<str>>,
    /// The same, by digest.
    pub plugins: HashSet<Arc<str>>,
}

/// The crowd, for one task.
#[derive(Debug)]
pub(crate) struct Crowded {
    pub crowd: watch::Receiver<Crowd>,
    pub namespace: String,
    pub plugin: String,
}

impl Crowded {
    /// For a run that waits for nothing.
    pub fn never() -> Self {
        let (_, crowd) = watch::channel(Crowd::default());
        Self { crowd, namespace: String::new(), plugin: String::new() }
    }

    /// Returns when this task's place would be of use to another.
    pub async fn comes(&self) {
        let wanted = |crowd: &Crowd| {
            crowd.all
                || crowd.namespaces.contains(self.namespace.as_str())
                || crowd.plugins.contains(self.plugin.as_str())
        };
        let _ = self.crowd.clone().wait_for(wanted).await;
    }
}

/// How long, and in how much memory, instances are kept while they wait.
/// The default keeps none.
#[derive(Debug, Default)]
pub(crate) struct Warm {
    /// Each is kept so long at least.
    time: Duration,
    /// Bytes that all of them may have together.
    budget: u64,
    used: AtomicU64,
}

/// An instance that is kept, and counted until this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    warm: Arc<Warm>,
    bytes: u64,
}

impl Warm {
    pub fn new(time: Duration, budget: u64) -> Self {
        Self { time, budget, used: AtomicU64::new(0) }
    }

    /// How long an instance is kept that took `spent` to get where it stands.
    pub fn time(&self, spent: Duration) -> Duration {
        match self.time {
            Duration::ZERO => Duration::ZERO,
            time => spent.saturating_mul(WORTH).min(LONGEST).max(time),
        }
    }

    /// Keeps an instance of `bytes`, if there is room for it.
    pub fn keep(self: &Arc<Self>, bytes: u64) -> Option<Kept> {
        let room = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.budget);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        Some(Kept { warm: self.clone(), bytes })
    }

    /// Bytes of the instances that are kept.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.warm.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instance_that_is_dear_to_rebuild_is_kept_longer() {
        let warm = Warm::new(Duration::from_secs(2), 100);
        assert_eq!(warm.time(Duration::from_millis(10)), Duration::from_secs(2));
        assert_eq!(warm.time(Duration::from_secs(1)), Duration::from_secs(20));
        assert_eq!(warm.time(Duration::from_secs(3_600)), LONGEST);
        assert_eq!(Warm::new(Duration::ZERO, 100).time(Duration::from_secs(1)), Duration::ZERO);
    }

    #[test]
    fn the_budget_is_kept_and_given_back() {
        let warm = Arc::new(Warm::new(Duration::from_secs(2), 100));
        let first = warm.keep(60).unwrap();
        assert!(warm.keep(41).is_none());
        let second = warm.keep(40).unwrap();
        assert_eq!(warm.used(), 100);
        drop((first, second));
        assert_eq!(warm.used(), 0);
    }
}

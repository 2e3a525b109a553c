//! Numbers for whoever keeps the host running.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Host;
use crate::task::TaskState;
use crate::{Error, store};

/// Upper bounds of a [`Histogram`]'s buckets, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 60.0, 600.0, 3_600.0, 86_400.0, 604_800.0];

/// What a host does, in numbers. Those that are counted are of this process, since it began.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Metrics {
    /// Unfinished tasks of all namespaces and processes, by their state.
    pub unfinished: BTreeMap<&'static str, u64>,
    /// Tasks that ended, by plugin and tool.
    pub tools: BTreeMap<(String, String), ToolMetrics>,
    /// How long tasks stood in line before their first turn.
    pub queue_time: Histogram,
    /// Tasks that have a place to run in now.
    pub running: u64,
    /// Tasks that stand in line now.
    pub queued: u64,
    /// Bytes of the instances that are kept while their tasks wait.
    pub warm_bytes: u64,
    /// Instances that were rebuilt from their journals.
    pub replays: u64,
    /// What guests asked for and were refused: requests that no rule allows, tools that are not granted.
    pub refused: u64,
    /// Transactions that were committed, and the writes in them.
    pub commits: u64,
    /// See `commits`: divided by it, this is how many share a sync of the disk.
    pub writes: u64,
    /// Messages that were received by their receivers.
    pub delivered: u64,
    /// Tries that were in vain, and are repeated.
    pub undelivered: u64,
    /// Messages that are not sent any more, though nobody received them.
    pub given_up: u64,
    /// Messages that are to be sent, now or later.
    pub pending: u64,
}

/// What became of the calls of one tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolMetrics {
    /// Those that returned a result.
    pub completed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were stopped.
    pub cancelled: u64,
    /// Instructions executed, about.
    pub fuel: u64,
    /// How long their guests ran, waits left out.
    pub run_time: Duration,
    /// The most bytes of memory that the guest of one of them had.
    pub memory: u64,
    /// How long they took, from start to end, waits included.
    pub time: Histogram,
}

/// How often something took how long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl Histogram {
    pub(crate) fn observe(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.count += 1;
        self.sum += seconds;
        if let Some(bucket) = BOUNDS.iter().position(|bound| seconds <= *bound) {
            self.counts[bucket] += 1;
        }
    }

    /// The upper bound of each bucket in seconds, and how many took at most so long.
    pub fn buckets(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        BOUNDS.into_iter().zip(self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        }))
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Seconds in all.
    pub fn sum(&self) -> f64 {
        self.sum
    }
}

impl Host {
    /// What this host does, in numbers, over all namespaces.
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host) -> Result<(), longhaul::Error> {
    /// let metrics = host.metrics().await?;
    /// println!("{} running, {} in line", metrics.running, metrics.queued);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        let (found, pending) = self
            .read(|runner| {
                Ok(runner.store.read(|sql| {
                    Ok::<_, crate::StoreError>((store::unfinished_by_state(sql)?, store::pending_deliveries(sql)?))
                })?)
            })
            .await?;
        let mut unfinished: BTreeMap<_, _> =
            [TaskState::Queued, TaskState::Running, TaskState::Waiting].map(|state| (state.as_str(), 0)).into();
        unfinished.extend(found.into_iter().map(|(state, count)| (state.as_str(), count)));
        let runner = self.runner();
        let counted = runner.counts.now();
        let (running, queued) = runner.busy();
        let commits = runner.store.commits();
        Ok(Metrics {
            unfinished,
            tools: counted.tools,
            queue_time: counted.queue_time,
            running,
            queued,
            warm_bytes: runner.warm.used(),
            replays: counted.replays,
            refused: counted.refused,
            commits: commits.commits.load(Ordering::Relaxed),
            writes: commits.writes.load(Ordering::Relaxed),
            delivered: counted.delivered,
            undelivered: counted.undelivered,
            given_up: counted.given_up,
            pending,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_says_how_many_took_at_most_how_long() {
        let mut histogram = Histogram::default();
        for millis in [1, 2, 700_000, 1_000_000_000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let at_most = |bound: f64| histogram.buckets().find(|(least, _)| *least == bound).map(|(_, count)| count);
        assert_eq!((at_most(0.001), at_most(0.005), at_most(3_600.0)), (Some(1), Some(2), Some(3)));
        assert_eq!(histogram.count(), 4);
        assert!(histogram.sum() > 1_000_000.0);
    }
}

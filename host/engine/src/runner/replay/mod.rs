//! Running tasks again from their journals, without effects: nothing is sent, written, asked, charged or owned.

mod plan;
mod segment;

use std::sync::Arc;

use serde::Serialize;

use super::{Runner, blocking};
use crate::Error;
use crate::journal::{Diverged, Heard};
use crate::plugin::Ready;
use crate::sandbox::Inbox;
use crate::store::{self, RunRow};
use crate::task::{Output, TaskId};
use plan::{End, Plan, Planned};
use segment::Burned;

/// What a replayed task came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Replayed {
    /// The task.
    pub task: TaskId,
    /// The digest of the plugin that was run.
    pub digest: String,
    /// The last entry that was replayed.
    pub seq: u64,
    /// Where the guest left the journal. `None`: it did all that is recorded, and nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diverged: Option<Diverged>,
    /// The result, if it came to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// Fuel that the replay used. Equal to `recorded_fuel` for the plugin that the task ran.
    pub fuel: u64,
    /// Fuel that the task used, if that is known and can be compared: the task ended, and each of its segments by the
    /// guest's own doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recorded_fuel: Option<u64>,
}

/// A task and its journal, as of one moment.
struct Kept {
    row: RunRow,
    plan: Plan,
    inbox: Arc<Inbox>,
}

impl Runner {
    /// Runs all of a task again, up to the entry `until`.
    pub(crate) async fn replay(
        self: &Arc<Self>,
        task: i64,
        another: Option<Arc<Ready>>,
        until: u64,
        hear: &mut (dyn FnMut(Heard) + Send),
    ) -> Result<Replayed, Error> {
        let Kept { row, plan, inbox } = self.journal_of(task, until).await?;
        let ready = match another {
            Some(ready) => ready,
            None => self.ready(&row.digest).await?,
        };
        let (id, digest) = (row.id.clone(), ready.digest.clone());
        let mut replayed =
            Replayed { task: id, digest, seq: 0, diverged: None, output: None, fuel: 0, recorded_fuel: None };
        let mut outside = plan.outside.into_iter().peekable();
        let mut burned = Burned::default();
        let mut tell = |heard: Heard, last: &mut u64| {
            // What came from outside before it.
            while let Some((seq, kind)) = outside.next_if(|(seq, _)| heard.seq.is_some_and(|at| *seq < at)) {
                *last = seq;
                hear(Heard { seq: Some(seq), kind });
            }
            *last = heard.seq.unwrap_or(*last);
            hear(heard);
        };
        for planned in plan.segments.into_iter().filter(Planned::replays) {
            let seq = &mut replayed.seq;
            let done =
                self.run_again(&row, &ready, planned, &inbox, &mut burned, &mut |heard| tell(heard, seq)).await?;
            replayed.seq = replayed.seq.max(done.seq);
            replayed.fuel = burned.fuel;
            replayed.output = done.output;
            if let Err(diverged) = done.outcome {
                replayed.diverged = Some(diverged);
                return Ok(replayed);
            }
        }
        for (seq, kind) in outside {
            replayed.seq = replayed.seq.max(seq);
            hear(Heard { seq: Some(seq), kind });
        }
        replayed.recorded_fuel = plan.fuel.filter(|_| burned.exact);
        Ok(replayed)
    }

    /// Runs what an unfinished task has done in its present segment again, with another build of its plugin. Says how
    /// many entries that are.
    pub(crate) async fn would_go_on(
        self: &Arc<Self>,
        task: i64,
        another: &Arc<Ready>,
    ) -> Result<Result<usize, Diverged>, Error> {
        let Kept { row, mut plan, inbox } = self.journal_of(task, u64::MAX).await?;
        let present = plan.segments.pop().filter(|planned| planned.end == End::Open && planned.replays());
        // What it does next it begins afresh.
        let Some(planned) = present else { return Ok(Ok(0)) };
        let entries = planned.entries.len();
        let mut burned = Burned { fuel: row.fuel, exact: true };
        let done = self.run_again(&row, another, planned, &inbox, &mut burned, &mut |_| {}).await?;
        Ok(done.outcome.map(|()| entries))
    }

    async fn journal_of(self: &Arc<Self>, task: i64, until: u64) -> Result<Kept, Error> {
        let runner = self.clone();
        blocking(move || runner.kept(task, until)).await
    }

    fn kept(&self, task: i64, until: u64) -> Result<Kept, Error> {
        self.store.read(|sql| {
            // Its host may be writing to it.
            let sql = store::snapshot(sql)?;
            let row = store::run_row(&sql, task)?.ok_or_else(|| Error::UnknownTask(task.to_string()))?;
            let journal = store::journal(&sql, task, until)?;
            let plan = plan::plan(journal, row.ticket.as_deref());
            let plan = plan.map_err(|problem| Error::Replay { task: row.id.clone(), problem })?;
            let inbox = Arc::new(Inbox::default());
            inbox.fill(
                0,
                store::replies(&sql, task)?,
                store::ended_children(&sql, task)?,
                row.cancel,
                self.clock.now(),
            );
            Ok(Kept { row, plan, inbox })
        })
    }
}

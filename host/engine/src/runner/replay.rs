//! Running a segment again from its journal, to see whether it does the same.

use std::sync::Arc;

use super::Runner;
use super::segment::{Purpose, Segment};
use crate::sandbox::{Export, How, Inbox, Returned};
use crate::store;
use crate::task::Output;
use crate::{Error, StoreError};

/// What a replayed segment came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// The result, if the segment ended with one.
    pub output: Option<Output>,
    /// Fuel that the segment used.
    pub fuel: u64,
}

impl Runner {
    pub(crate) async fn replay(self: &Arc<Self>, task: i64) -> Result<Replayed, Error> {
        let fault = |problem: String| Error::Fault(format!("the task can't be replayed: {problem}"));
        let row = self.store.read(|sql| store::run_row(sql, task))?.ok_or_else(|| fault("it is gone".into()))?;
        // What earlier segments used is not this one's.
        let row = store::RunRow { fuel: 0, ..row };
        let ready = self.ready(&row.digest).await?;
        let inbox = Arc::new(Inbox::default());
        let (replies, ended) = self
            .store
            .read(|sql| Ok::<_, StoreError>((store::replies(sql, task)?, store::ended_children(sql, task)?)))?;
        inbox.fill(replies, ended, row.cancel, self.clock.now());
        let export = match &row.ticket {
            Some(ticket) => Export::AwaitTask(ticket.clone()),
            None => Export::Execute,
        };
        let segment = Segment::begin(self, &row, &ready, inbox, Purpose::Replay).await?;
        let mut segment = segment.map_err(|(_, message)| fault(message))?;
        let output = match segment.run(&export).await? {
            How::Returned(Returned::Done(output)) => Some(output),
            How::Interrupted(interrupted) => return Err(fault(interrupted.to_string())),
            _ => None,
        };
        match segment.unreplayed() {
            Some(diverged) => Err(fault(diverged.to_string())),
            None => Ok(Replayed { output, fuel: segment.step().fuel }),
        }
    }
}

//! Running what the last owner may have died of.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::Runner;
use super::drive::rand_seed;
use crate::Error;
use crate::limits::DEATHS;
use crate::store::{self, RunRow, Step};

/// How long a task whose next death would be its last runs before the next such one may. What a host dies of, it mostly
/// dies of soon.
const ALONE: Duration = Duration::from_secs(10);

/// Keeps others on their last chance waiting, until it is dropped or [`ALONE`] is over.
pub(super) struct Alone {
    _permit: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
}

impl Alone {
    fn new(permit: OwnedSemaphorePermit) -> Self {
        let held = Arc::new(Mutex::new(Some(permit)));
        let weak = Arc::downgrade(&held);
        tokio::spawn(async move {
            tokio::time::sleep(ALONE).await;
            if let Some(held) = weak.upgrade() {
                held.lock().unwrap_or_else(PoisonError::into_inner).take();
            }
        });
        Self { _permit: held }
    }
}

impl Runner {
    /// Writes down that the task runs, before anything of it does: if this host dies of it too, the next one knows. Those
    /// on their last chance go one by one, so that only the guilty one is found running. `None`: it is not to be run.
    pub(super) async fn under_suspicion(&self, row: RunRow) -> Result<Option<(RunRow, Option<Alone>)>, Error> {
        let alone = match row.deaths + 1 >= DEATHS {
            true => {
                let mut stopping = self.stopping.subscribe();
                tokio::select! {
                    permit = self.last_chance.clone().acquire_owned() => permit.ok().map(Alone::new),
                    _ = stopping.wait_for(|stopping| *stopping) => return Ok(None),
                }
            }
            false => None,
        };
        let step = Step { lease: row.lease, running: true, seed: Some(rand_seed()?), ..Step::default() };
        self.take(&row, step).await?;
        let row = self.store.read(|sql| store::run_row(sql, row.n))?;
        // Somebody may have ended it, or taken it, meanwhile.
        let mine = |row: &RunRow| !row.suspect && row.lease.is_some_and(|lease| lease.owner == self.owners.me());
        Ok(row.filter(mine).map(|row| (row, alone)))
    }
}

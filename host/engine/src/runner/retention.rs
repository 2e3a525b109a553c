//! Removing what has ended and was kept for long enough.

use std::sync::Weak;
use std::time::Duration;

use tokio::sync::watch;

use super::Runner;
use crate::Error;
use crate::clock::Timestamp;
use crate::store;

/// How often is looked, by the host's clock.
const PAUSE: Duration = Duration::from_secs(3_600);

/// Looks at the start and then now and then, until the host stops.
pub(super) async fn watch(runner: Weak<Runner>, mut stopping: watch::Receiver<bool>) {
    loop {
        let (clock, now) = {
            let Some(runner) = runner.upgrade() else { return };
            // Whoever runs only tasks of its own does not know how long others want to keep theirs.
            if !runner.take_over {
                return;
            }
            let now = runner.clock.now();
            if let Err(error) = runner.remove_old(now).await {
                tracing::warn!("old tasks are removed later: {error}");
            }
            (runner.clock.clone(), now)
        };
        let next = now.after(PAUSE);
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = clock.sleep_until(next) => {}
        }
    }
}

impl Runner {
    async fn remove_old(&self, now: Timestamp) -> Result<(), Error> {
        let kept = u64::try_from(self.retention.as_millis()).unwrap_or(u64::MAX);
        let before = Timestamp::from_millis(now.as_millis().saturating_sub(kept));
        loop {
            let hidden = self.store.write("a removal", move |tx| store::hide_ended(tx, before)).await?;
            self.sweep().await?;
            let forgotten =
                self.store.write("a removal", move |tx| Ok::<_, Error>(store::forget_deliveries(tx, before)?)).await?;
            if !(hidden || forgotten) || *self.stopping.borrow() {
                return Ok(());
            }
        }
    }

    /// Deletes what was removed, in steps between which others write.
    pub async fn sweep(&self) -> Result<(), Error> {
        while !*self.stopping.borrow() && self.store.write("a removal", store::sweep).await? {}
        Ok(())
    }
}

//! The processes that share the database: showing the others that this one lives, and taking over from those that do not.

use std::sync::{Arc, Weak};

use tokio::sync::watch;

use super::{Entrant, Lane, Runner};
use crate::Error;
use crate::store::{self, Moved, Predecessor};

/// Shows now and then that this process is not frozen.
pub(super) async fn beat(runner: Weak<Runner>, mut stopping: watch::Receiver<bool>) {
    loop {
        {
            let Some(runner) = runner.upgrade() else { return };
            let me = runner.owners.me();
            let beat = runner.store.write("a heartbeat", move |tx| store::beat(tx, me)).await;
            if let Err(error) = beat {
                tracing::warn!("the other hosts were not shown that this one lives: {error}");
            }
        }
        let Some(heartbeat) = runner.upgrade().map(|runner| runner.owners.heartbeat()) else { return };
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(heartbeat) => {}
        }
    }
}

/// Looks after the other processes now and then, and takes over what nobody runs.
pub(super) async fn look_around(runner: Weak<Runner>, mut stopping: watch::Receiver<bool>) {
    loop {
        let pause = {
            let Some(runner) = runner.upgrade() else { return };
            if let Err(error) = runner.look_after_others().await {
                tracing::warn!("no look at other hosts' tasks: {error}");
            }
            runner.owners.look_around()
        };
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

impl Runner {
    async fn look_after_others(self: &Arc<Self>) -> Result<(), Error> {
        let me = self.owners.me();
        let (beats, with_work) =
            self.store.read(|sql| Ok::<_, Error>((store::beats(sql)?, store::others_with_work(sql, me)?)))?;
        self.owners.feel(&beats);
        if self.take_over {
            for &owner in with_work.iter().filter(|owner| !owner.is_some_and(|owner| self.owners.lives(owner))) {
                self.take_over_from(self.predecessor(owner)).await?;
            }
        }
        for (owner, _) in beats.into_iter().filter(|(owner, _)| self.owners.is_dead(*owner)) {
            if self.take_over || !with_work.contains(&Some(owner)) {
                self.store.write("the end of another host", move |tx| store::forget(tx, owner)).await?;
            }
        }
        Ok(())
    }

    fn predecessor(&self, owner: Option<i64>) -> Predecessor {
        Predecessor { owner, dead: owner.is_some_and(|owner| self.owners.is_dead(owner)) }
    }

    /// Takes over all that an owner had which is gone, and puts in line what has something to do. What waits stays a row.
    async fn take_over_from(self: &Arc<Self>, from: Predecessor) -> Result<(), Error> {
        let me = self.owners.me();
        while !*self.stopping.borrow() {
            let now = self.clock.now();
            let claim = move |tx: &mut store::Tx<'_>| store::claim_batch(tx, from, me, now);
            let claimed = self.store.write("the tasks of another host", claim).await?;
            if claimed.tasks == 0 {
                return Ok(());
            }
            claimed.ready.into_iter().for_each(|moved| self.enqueue_moved(&moved));
            self.earlier.notify_one();
        }
        Ok(())
    }

    /// Takes a task from an owner that is gone, and puts it in line. Says whether it did.
    pub async fn claim(self: &Arc<Self>, task: i64, from: Option<i64>) -> Result<bool, Error> {
        let (me, now, from) = (self.owners.me(), self.clock.now(), self.predecessor(from));
        let moved = self.store.write("a task of another host", move |tx| store::claim(tx, task, from, me, now)).await?;
        if let Some(moved) = &moved {
            self.enqueue_moved(moved);
        }
        Ok(moved.is_some())
    }

    /// Puts a task in line that changed hands.
    pub fn enqueue_moved(self: &Arc<Self>, moved: &Moved) {
        let lane = Lane::new(&moved.namespace, &moved.digest);
        self.enqueue(Entrant { task: moved.n, lane, deadline: moved.deadline }, None);
    }
}

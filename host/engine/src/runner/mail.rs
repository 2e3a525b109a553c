//! What was committed, here or by another process, and who must hear of it.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{Entrant, Lane, PAUSE, Runner};
use crate::StoreError;
use crate::store::{self, Notice, RunRow};

/// Passes on what was committed.
pub(super) async fn read(runner: Weak<Runner>, mut notices: mpsc::UnboundedReceiver<Vec<Notice>>) {
    // What was written before concerns nobody here: a task that is taken over is read as it stands.
    let mut seen = runner
        .upgrade()
        .and_then(|runner| runner.store.read(|sql| store::written_since(sql, runner.owners.me(), i64::MAX)).ok())
        .map_or(0, |(_, last)| last);
    // What could not be read when it came. Nobody tells of it again, and a task that waits cold is woken by nothing else.
    let (mut late, mut late_foreign, mut again) = (BTreeSet::new(), false, Instant::now());
    loop {
        let mut batch = tokio::select! {
            batch = notices.recv() => match batch {
                Some(batch) => batch,
                None => return,
            },
            () = tokio::time::sleep_until(again), if late_foreign || !late.is_empty() => {
                late.iter().map(|task| Notice::Inbox { task: *task }).collect()
            }
        };
        if std::mem::take(&mut late_foreign) {
            batch.push(Notice::Foreign);
        }
        let Some(runner) = runner.upgrade() else { return };
        let mut deliver = |task| match runner.deliver(task) {
            Ok(()) => {
                late.remove(&task);
            }
            // It reads the same however often it is read.
            Err(error @ StoreError::Damaged { .. }) => {
                late.remove(&task);
                tracing::error!("task {task} is left as it is, see `longhaul doctor`: {error}");
            }
            Err(error) => {
                tracing::warn!("task {task} could not be told of an answer, and will be later: {error}");
                late.insert(task);
            }
        };
        for notice in batch {
            match notice {
                // Told already, by the writer itself.
                Notice::Entries { .. } | Notice::News { .. } => {}
                Notice::Outbox => runner.outbox.notify_one(),
                Notice::Refused => runner.counts.refused(),
                Notice::Ended { digest, tool, tally } => {
                    let plugin = runner.library.at_hand(&digest).map(|ready| ready.manifest.name.clone());
                    runner.counts.ended(plugin.unwrap_or(digest), tool, &tally);
                }
                Notice::Inbox { task } => deliver(task),
                Notice::Due { at } => runner.due_at(at),
                Notice::Crashed => {
                    runner.stopping.send_replace(true);
                    runner.owners.leave();
                }
                Notice::Foreign => {
                    runner.names().clear();
                    runner.watchers.all_moved();
                    runner.news.all_moved();
                    runner.outbox.notify_one();
                    runner.earlier.notify_one();
                    match runner.store.read(|sql| store::written_since(sql, runner.owners.me(), seen)) {
                        Ok((tasks, last)) => {
                            seen = last;
                            tasks.into_iter().for_each(&mut deliver);
                        }
                        Err(error) => {
                            tracing::warn!("another process's changes could not be read, and will be later: {error}");
                            late_foreign = true;
                        }
                    }
                }
            }
        }
        let now = Instant::now();
        if again <= now {
            again = now + PAUSE;
        }
    }
}

impl Runner {
    /// Brings a task what has arrived for it, if it is this host's to run.
    fn deliver(self: &Arc<Self>, task: i64) -> Result<(), StoreError> {
        let filled = self.inbox(task).is_some().then(|| self.fill(task));
        match filled {
            // It may have left meanwhile, without having seen this.
            Some(filled) if self.is_live(task) || filled.is_err() => filled,
            _ => self.store.read(|sql| store::run_row(sql, task)).map(|row| {
                let mine = |row: &RunRow| row.lease.is_some_and(|lease| lease.owner == self.owners.me());
                if let Some(row) = row.filter(|row| mine(row) && !row.is_over()) {
                    let deadline = (!row.state.is_terminal()).then_some(row.deadline);
                    let lane = Lane::new(&row.namespace, &row.digest);
                    self.enqueue(Entrant { task, lane, deadline }, None);
                }
            }),
        }
    }

    /// Fills a live task's inbox from the database.
    pub(super) fn fill(&self, task: i64) -> Result<(), StoreError> {
        let Some(inbox) = self.inbox(task) else { return Ok(()) };
        let (upto, replies, ended, row) = self.store.read(|sql| {
            Ok::<_, StoreError>((
                // First: what arrives between these reads is not taken for seen.
                store::last_seq(sql, task)?,
                store::replies(sql, task)?,
                store::ended_children(sql, task)?,
                store::run_row(sql, task)?,
            ))
        })?;
        inbox.fill(upto, replies, ended, row.as_ref().is_some_and(|row| row.cancel), self.clock.now());
        if let Some(row) = row.filter(RunRow::is_over) {
            self.leave_line(task, &Lane::new(&row.namespace, &row.digest));
        }
        Ok(())
    }
}

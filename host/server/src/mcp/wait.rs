//! Waiting for a task within a call: until it ends, asks something, or the time is up.

use std::collections::BTreeSet;
use std::pin::Pin;

use futures_util::{Stream, StreamExt as _};
use longhaul::{Error, Event, EventKind, Host, Progress, Task, TaskId};
use rmcp::RoleServer;
use rmcp::model::{ProgressNotificationParam, ProgressToken};
use rmcp::service::Peer;
use tokio::time::{Instant, timeout_at};

use super::question;

/// Why the waiting is over.
pub enum Came {
    /// The task ended.
    Ended,
    /// It asks something that may be put to the client and was not yet.
    Asks,
    /// Neither, in time.
    TimeUp,
}

/// A task that a call waits for.
pub struct Wait {
    host: Host,
    /// As of the last look.
    pub task: Task,
    events: Pin<Box<dyn Stream<Item = Result<Event, Error>> + Send>>,
    reporter: Option<Reporter>,
}

impl Wait {
    pub async fn on(host: &Host, id: &TaskId, reporter: Option<Reporter>) -> Result<Self, Error> {
        let task = host.task(id).await?;
        // What came before is in the task.
        let events = Box::pin(host.events(id, task.last_seq));
        let mut wait = Self { host: host.clone(), task, events, reporter };
        if let Some(progress) = wait.task.progress.clone() {
            wait.report(&progress).await;
        }
        Ok(wait)
    }

    /// Waits until `deadline` at most. `asked`: the questions that were put to the client already, by key.
    pub async fn until(&mut self, deadline: Instant, asked: &BTreeSet<String>) -> Result<Came, Error> {
        loop {
            if self.task.state.is_terminal() {
                return Ok(Came::Ended);
            }
            let is_new = |asking: &longhaul::OpenQuestion| {
                question::is_askable(asking) && !asked.contains(&question::key(asking))
            };
            if self.task.questions.iter().any(is_new) {
                return Ok(Came::Asks);
            }
            let Ok(more) = timeout_at(deadline, self.next()).await else { return Ok(Came::TimeUp) };
            if !more? {
                return Ok(Came::TimeUp);
            }
        }
    }

    /// Waits until the question of that key is no longer open.
    pub async fn settled(&mut self, key: &str) -> Result<(), Error> {
        while self.task.questions.iter().any(|open| question::key(open) == key) && self.next().await? {}
        Ok(())
    }

    /// Waits for the next event, and looks at the task again if it tells of something that is waited for. `false`: there are
    /// no more.
    async fn next(&mut self) -> Result<bool, Error> {
        let Some(event) = self.events.next().await.transpose()? else {
            self.look().await?;
            // It ends with the task.
            return Ok(self.task.state.is_terminal());
        };
        let kind = match event.kind {
            EventKind::Child { event, .. } => match *event {
                // The end of a child is not the end of the task.
                EventKind::Ended { .. } => return Ok(true),
                kind => kind,
            },
            kind => kind,
        };
        match kind {
            EventKind::Progress(progress) => self.report(&progress).await,
            EventKind::Question(_) | EventKind::Reply { .. } | EventKind::Ended { .. } => self.look().await?,
            _ => {}
        }
        Ok(true)
    }

    /// Reads the task anew.
    pub async fn look(&mut self) -> Result<(), Error> {
        self.task = self.host.task(&self.task.id).await?;
        Ok(())
    }

    async fn report(&mut self, progress: &Progress) {
        if let Some(reporter) = &mut self.reporter {
            reporter.report(progress).await;
        }
    }
}

/// Tells a client of progress within a call, if it asked for it.
pub struct Reporter {
    peer: Peer<RoleServer>,
    token: ProgressToken,
    said: f64,
}

impl Reporter {
    pub fn new(peer: Peer<RoleServer>, token: ProgressToken) -> Self {
        Self { peer, token, said: 0.0 }
    }

    async fn report(&mut self, progress: &Progress) {
        self.said = next(self.said, progress.done);
        let mut params =
            ProgressNotificationParam::new(self.token.clone(), self.said).with_message(progress.message.clone());
        params.total = progress.total;
        // A client that has gone is noticed where its call is answered.
        let _ = self.peer.notify_progress(params).await;
    }
}

/// The protocol wants a number that grows with each notification; a tool may have news without being further.
fn next(said: f64, done: Option<f64>) -> f64 {
    done.filter(|done| *done > said).unwrap_or_else(|| (said + 0.001).max(said.next_up()))
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn progress_always_grows() {
        let mut said = 0.0;
        for done in [None, Some(0.0), Some(3.0), Some(3.0), None, Some(2.0), Some(1e300), None] {
            let now = next(said, done);
            assert!(now > said, "{said} {done:?}");
            said = now;
        }
        assert_eq!(next(0.5, Some(3.0)), 3.0);
    }
}

//! Following a task: its events as they come, and its end.

use std::collections::VecDeque;

use futures_util::stream::{Stream, try_unfold};

use serde::de::DeserializeOwned;

use super::{Host, NewTask};
use crate::Error;
use crate::journal::{Event, EventKind};
use crate::store;
use crate::task::{Task, TaskId};

/// Events read at once.
const PAGE: usize = 256;

impl Host {
    /// A task's public events after `after`, as far as there are any now, `limit` at most.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`].
    pub async fn journal(&self, id: &TaskId, after: u64, limit: usize) -> Result<Vec<Event>, Error> {
        let (id, namespace) = (id.clone(), self.namespace.clone());
        self.read(move |runner| {
            let (n, _) = runner.store.read(|sql| store::number(sql, &namespace, &id))?;
            Ok(runner.store.read(|sql| store::public(sql, n, after, limit))?)
        })
        .await
    }

    /// A task's public events after `after`, and those that come; ends with the task. Whoever drops off goes on from the
    /// `seq` of the last event it has seen, and misses nothing.
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host, id: longhaul::TaskId) -> Result<(), longhaul::Error> {
    /// use futures_util::TryStreamExt;
    /// let mut events = std::pin::pin!(host.events(&id, 0));
    /// while let Some(event) = events.try_next().await? {
    ///     println!("{} {}", event.seq, event.kind.name());
    /// }
    /// # Ok(()) }
    /// ```
    pub fn events(&self, id: &TaskId, after: u64) -> impl Stream<Item = Result<Event, Error>> + Send + use<> {
        let host = self.clone();
        let id = id.clone();
        let state = (host, id, after, VecDeque::new(), false);
        try_unfold(state, |(host, id, mut after, mut page, mut ended)| async move {
            if page.is_empty() && !ended {
                page = host.next_page(&id, after).await?.into();
            }
            let Some(event): Option<Event> = page.pop_front() else { return Ok(None) };
            after = event.seq;
            ended |= matches!(event.kind, EventKind::Ended { .. });
            Ok(Some((event, (host, id, after, page, ended))))
        })
    }

    /// Events after `after`, waiting until there are some. Empty: the task has ended, and there are no more.
    async fn next_page(&self, id: &TaskId, after: u64) -> Result<Vec<Event>, Error> {
        let (n, _) = self.number_now(id)?;
        let watch = self.runner().watchers.watch(n);
        let mut stopping = self.runner().stopping.subscribe();
        loop {
            let moved = watch.moved();
            let (id, namespace) = (id.clone(), self.namespace.clone());
            let page = self.read(move |runner| {
                runner.store.read(|sql| {
                    // In this order: what a task did is complete once it has ended, not before.
                    let (n, state) = store::number(sql, &namespace, &id)?;
                    Ok((store::public(sql, n, after, PAGE)?, state.is_terminal()))
                })
            });
            let (events, ended) = page.await?;
            if !events.is_empty() || ended {
                return Ok(events);
            }
            tokio::select! {
                () = moved => {}
                _ = stopping.wait_for(|stopping| *stopping) => return Err(Error::ShuttingDown),
            }
        }
    }

    /// Starts a task, waits until it has ended, and gives its structured output as a type of yours: for what is over soon. One
    /// that may take long is better started, and heard of by a [subscription](Self::subscription).
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host) -> Result<(), longhaul::Error> {
    /// use longhaul::NewTask;
    ///
    /// #[derive(serde::Serialize)]
    /// struct Input {
    ///     csv: String,
    /// }
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Profile {
    ///     rows: u64,
    /// }
    ///
    /// let input = Input { csv: "a,b\n1,2\n".into() };
    /// let profile: Profile = host.run(NewTask::new("csv-profile", "profile_csv").input(input)).await?;
    /// println!("{} rows", profile.rows);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`start`](Self::start); [`Error::NoResult`] if the task does not complete; [`Error::Output`] if its output is of
    /// another shape; [`Error::ShuttingDown`] if this host stops before the task does.
    pub async fn run<T: DeserializeOwned>(&self, new: NewTask) -> Result<T, Error> {
        let started = self.start(new).await?;
        self.wait(&started.id).await?.output_as()
    }

    /// Waits until a task has ended.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`]; [`Error::ShuttingDown`] if this host stops before the task does.
    pub async fn wait(&self, id: &TaskId) -> Result<Task, Error> {
        let runner = self.runner();
        let (n, _) = self.number_now(id)?;
        let watch = runner.watchers.watch(n);
        let mut stopping = runner.stopping.subscribe();
        loop {
            let moved = watch.moved();
            // The whole of it is read once, when it has ended.
            if self.number_now(id)?.1.is_terminal() {
                return self.task(id).await;
            }
            tokio::select! {
                () = moved => {}
                _ = stopping.wait_for(|stopping| *stopping) => return Err(Error::ShuttingDown),
            }
        }
    }
}

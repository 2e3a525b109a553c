//! The feed: what the sessions of a namespace should hear of, as new input.

use std::collections::VecDeque;

use futures_util::stream::{Stream, try_unfold};
use serde::Serialize;
use serde_json::Value;

use super::Host;
use crate::task::TaskId;
use crate::{Error, Event, store};

/// Items read at once.
pub(super) const PAGE: usize = 256;

/// Something that a session should hear of: a task that nobody started from within another one asks something, or a child of
/// it does; a question is settled; the task has ended.
///
/// `task` and `event.seq` together are the key to drop doubles by: word of the same entry may come by other ways too.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FeedItem {
    /// Where to read on from. Grows within the namespace.
    pub cursor: u64,
    /// The task.
    pub task: TaskId,
    /// The conversation that it was started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What the caller attached at the start.
    pub context: Value,
    /// The plugin's name.
    pub plugin: String,
    /// The tool's name.
    pub tool: String,
    /// What happened: `question`, `reply`, `ended`, or one of the first two of a child (`child`).
    pub event: Event,
}

/// Some of a feed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FeedPage {
    /// In the order in which they were committed.
    pub items: Vec<FeedItem>,
    /// Where to read on from.
    pub next: u64,
}

impl Host {
    /// The items of this namespace's feed after the cursor `after`, as far as there are any now, `limit` at most. `None`: from
    /// the oldest that are kept.
    ///
    /// # Errors
    ///
    /// [`Error::FeedExpired`] if the cursor is older than what is kept; [`Error::OutOfRange`] if there has never been such a
    /// one.
    pub async fn feed_page(&self, after: Option<u64>, limit: usize) -> Result<FeedPage, Error> {
        let namespace = self.namespace.clone();
        self.read(move |runner| {
            let (items, next) = runner.store.read(|sql| store::feed_page(sql, &namespace, after, limit))?;
            Ok(FeedPage { items, next })
        })
        .await
    }

    /// The cursor behind everything that there is: read on from it for what is new from now on.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn feed_end(&self) -> Result<u64, Error> {
        let namespace = self.namespace.clone();
        self.read(move |runner| Ok(runner.store.read(|sql| store::feed_end(sql, &namespace))?)).await
    }

    /// This namespace's feed after the cursor `after`, and on as it comes, for as long as the host runs. Whoever drops off goes
    /// on from the last item's cursor, and misses nothing that is kept.
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host) -> Result<(), longhaul::Error> {
    /// use futures_util::TryStreamExt;
    /// let mut feed = std::pin::pin!(host.feed(None));
    /// while let Some(item) = feed.try_next().await? {
    ///     println!("{:?}: {} {}", item.session, item.task, item.event.kind.name());
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`feed_page`](Self::feed_page); [`Error::ShuttingDown`] when the host stops.
    pub fn feed(&self, after: Option<u64>) -> impl Stream<Item = Result<FeedItem, Error>> + Send + use<> {
        let state = (self.clone(), after, VecDeque::new());
        try_unfold(state, |(host, mut after, mut items)| async move {
            while items.is_empty() {
                let page = host.next_news(after).await?;
                after = Some(page.next);
                items = page.items.into();
            }
            Ok(items.pop_front().map(|item: FeedItem| (item, (host, after, items))))
        })
    }

    /// The items after `after`, waiting until there are some.
    async fn next_news(&self, after: Option<u64>) -> Result<FeedPage, Error> {
        let watch = self.runner().news.watch(self.namespace.clone());
        let mut stopping = self.runner().stopping.subscribe();
        let mut after = after;
        loop {
            let moved = watch.moved();
            let page = self.feed_page(after, PAGE).await?;
            if !page.items.is_empty() {
                return Ok(page);
            }
            after = Some(page.next);
            tokio::select! {
                () = moved => {}
                _ = stopping.wait_for(|stopping| *stopping) => return Err(Error::ShuttingDown),
            }
        }
    }
}

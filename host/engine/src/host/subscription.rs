//! The feed, brought to whoever subscribed to it until they say that they have it: over restarts, by a cursor on disk.

use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::feed::PAGE;
use super::start::within;
use super::{FeedItem, Handle, Host};
use crate::Error;
use crate::store::{self, Held, Tx};

/// Bytes of a name.
const NAME_BYTES: usize = 256;

/// Waits before an item is brought again: the first, doubled each time, and the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// A reader of a namespace's [feed](Host::feed) whose place is kept in the database, under its name: how an agent server hears
/// of questions and completions, also of those that came while it was down.
///
/// ```no_run
/// # async fn hand_to_session(item: longhaul::FeedItem) -> std::io::Result<()> { Ok(()) }
/// # async fn doc(host: longhaul::Host) {
/// let agent = host.subscription("agent");
/// let delivering = tokio::spawn(async move {
///     agent.deliver(|item| hand_to_session(item)).await
/// });
/// # }
/// ```
#[derive(Clone)]
pub struct Subscription {
    host: Host,
    name: Arc<str>,
}

/// Held while this process delivers under a name, so that it does so once.
struct Alone<'a> {
    handle: &'a Handle,
    key: (Arc<str>, Arc<str>),
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.handle.delivering.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

/// How delivering goes on.
enum Next {
    /// There may be more.
    More,
    /// Somebody else brings the news, or the place was changed.
    Claim,
    /// The host stops.
    Stop,
}

impl Host {
    /// A reader of this namespace's feed under a name of your choice. A new name begins with the oldest news that are kept;
    /// [`Subscription::seek`] with [`Host::feed_end`] begins with what comes.
    pub fn subscription(&self, name: impl Into<String>) -> Subscription {
        Subscription { host: self.clone(), name: name.into().into() }
    }
}

impl Subscription {
    /// Brings every item of the feed to `handler`, in order and one at a time, until the host stops. An item counts as
    /// delivered when the handler returned `Ok` and that is on disk; until then it is brought again: after an error (in 1 s,
    /// then 2 s, 4 s, a minute at most, by the host's clock), and after a crash, by whichever process delivers next. So an
    /// item comes at least once; `task` and `event.seq` tell doubles. Nothing that comes after it is brought before it: return
    /// `Ok` for what can never succeed.
    ///
    /// Of several processes on the same data one delivers, and the others wait until it stops or dies. A handler that is at
    /// work when the host stops is waited for.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyDelivering`] if this process delivers under that name already; [`Error::FeedExpired`] if news were
    /// taken by retention before they were delivered: [`seek`](Self::seek) says where to go on. A database that can't be
    /// written for a while is waited for.
    pub async fn deliver<F, D, E>(&self, mut handler: F) -> Result<(), Error>
    where
        F: FnMut(FeedItem) -> D + Send,
        D: Future<Output = Result<(), E>> + Send,
        E: fmt::Display + Send,
    {
        self.check_name()?;
        let _alone = self.alone()?;
        let mut failures = 0;
        let delivered = loop {
            let next = match self.claim().await {
                Ok(true) => self.bring(&mut handler, &mut failures).await,
                Ok(false) => Ok(Next::Stop),
                Err(error) => Err(error),
            };
            match next {
                Ok(Next::More | Next::Claim) => {}
                Ok(Next::Stop) => break Ok(()),
                Err(Error::Store(error)) => {
                    tracing::warn!("subscription `{}` goes on later: {error}", self.name);
                    self.pause(&mut failures).await;
                }
                Err(error) => break Err(error),
            }
        };
        let (namespace, name, me) = self.key_of_row();
        let let_go = move |tx: &mut Tx<'_>| Ok::<_, Error>(store::let_go_of_subscription(tx, &namespace, &name, me)?);
        // If that fails, others find out that this process is gone.
        let _ = self.host.runner().store.write("a subscription", let_go).await;
        delivered
    }

    /// The cursor of the last item that was delivered; `None`: there was none.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn cursor(&self) -> Result<Option<u64>, Error> {
        Ok(self.held().await?.cursor)
    }

    /// Goes on after the cursor, as [`Host::feed`] does; `None`: from the oldest news that are kept. What is being delivered
    /// now is delivered to its end.
    ///
    /// # Errors
    ///
    /// [`Error::FeedExpired`], [`Error::OutOfRange`] if there is no such place in the feed.
    pub async fn seek(&self, cursor: Option<u64>) -> Result<(), Error> {
        self.check_name()?;
        // It is judged as a reader's would be.
        self.host.feed_page(cursor, 0).await?;
        let (namespace, name, _) = self.key_of_row();
        let seek = move |tx: &mut Tx<'_>| Ok::<_, Error>(store::seek_subscription(tx, &namespace, &name, cursor)?);
        self.host.runner().store.write("a subscription", seek).await
    }

    fn check_name(&self) -> Result<(), Error> {
        within("the subscription's name", self.name.len(), NAME_BYTES)
    }

    fn alone(&self) -> Result<Alone<'_>, Error> {
        let handle = &*self.host.handle;
        let key = (self.host.namespace.clone(), self.name.clone());
        if !handle.delivering.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone()) {
            return Err(Error::AlreadyDelivering(self.name.to_string()));
        }
        Ok(Alone { handle, key })
    }

    fn key_of_row(&self) -> (Arc<str>, Arc<str>, i64) {
        (self.host.namespace.clone(), self.name.clone(), self.host.runner().owners.me())
    }

    async fn held(&self) -> Result<Held, Error> {
        let (namespace, name, _) = self.key_of_row();
        self.host.read(move |runner| Ok(runner.store.read(|sql| store::subscription(sql, &namespace, &name))?)).await
    }

    /// Waits until this process is the one that delivers. `false`: the host stops.
    async fn claim(&self) -> Result<bool, Error> {
        let runner = self.host.runner();
        let mut stopping = runner.stopping.subscribe();
        while !*stopping.borrow() {
            let from = self.held().await?.owner;
            if from.is_none_or(|owner| owner == runner.owners.me() || !runner.owners.lives(owner)) {
                let (namespace, name, me) = self.key_of_row();
                let claim =
                    move |tx: &mut Tx<'_>| Ok::<_, Error>(store::claim_subscription(tx, &namespace, &name, from, me)?);
                if runner.store.write("a subscription", claim).await? {
                    return Ok(true);
                }
            }
            tokio::select! {
                _ = stopping.wait_for(|stopping| *stopping) => {}
                () = tokio::time::sleep(runner.owners.look_around()) => {}
            }
        }
        Ok(false)
    }

    /// Brings what there is, or waits until there is something.
    async fn bring<F, D, E>(&self, handler: &mut F, failures: &mut u32) -> Result<Next, Error>
    where
        F: FnMut(FeedItem) -> D + Send,
        D: Future<Output = Result<(), E>> + Send,
        E: fmt::Display + Send,
    {
        let runner = self.host.runner();
        let watch = runner.news.watch(self.host.namespace.clone());
        let mut stopping = runner.stopping.subscribe();
        loop {
            let moved = watch.moved();
            if *stopping.borrow() {
                return Ok(Next::Stop);
            }
            let (namespace, name, me) = self.key_of_row();
            let page = self.host.read(move |runner| {
                runner.store.read(|sql| {
                    let held = store::subscription(sql, &namespace, &name)?;
                    let mine = held.owner == Some(me);
                    Ok::<_, Error>(match mine {
                        true => Some(store::feed_page(sql, &namespace, held.cursor, PAGE)?.0),
                        false => None,
                    })
                })
            });
            let Some(items) = page.await? else { return Ok(Next::Claim) };
            if items.is_empty() {
                tokio::select! {
                    () = moved => {}
                    _ = stopping.wait_for(|stopping| *stopping) => {}
                }
                continue;
            }
            for item in items {
                let (task, cursor) = (item.task.clone(), item.cursor);
                if let Err(error) = handler(item).await {
                    tracing::warn!("subscription `{}` is told of task {task} again: {error}", self.name);
                    self.pause(failures).await;
                    return Ok(Next::More);
                }
                *failures = 0;
                if !self.acknowledge(cursor).await? {
                    return Ok(Next::Claim);
                }
                if *stopping.borrow() {
                    return Ok(Next::Stop);
                }
            }
        }
    }

    /// Notes that an item was delivered; `false`: it is not this process's to say any more.
    async fn acknowledge(&self, cursor: u64) -> Result<bool, Error> {
        let (namespace, name, me) = self.key_of_row();
        let acknowledge = move |tx: &mut Tx<'_>| store::acknowledge_subscription(tx, &namespace, &name, cursor, me);
        Ok(self.host.runner().store.write("a subscription", acknowledge).await?)
    }

    /// Waits, longer each time, or until the host stops.
    async fn pause(&self, failures: &mut u32) {
        let runner = self.host.runner();
        let mut stopping = runner.stopping.subscribe();
        let wait = FIRST_WAIT.saturating_mul(1 << (*failures).min(6)).min(LONGEST_WAIT);
        *failures += 1;
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => {}
            () = runner.clock.sleep_until(runner.clock.now().after(wait)) => {}
        }
    }
}

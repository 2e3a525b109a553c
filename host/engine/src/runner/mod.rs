//! Running tasks: the line they stand in, the timers that wake them, and taking over what nobody runs.

mod children;
mod drive;
mod mail;
mod owners;
mod replay;
mod segment;
mod timers;
mod watch;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, mpsc, watch as channel};

use crate::clock::Clock;
use crate::plugin::{Library, Ready};
use crate::sandbox::{INSTANCES, Inbox};
use crate::store::{Notice, Owners, RunRow, Store, plugin_row};
use crate::testing::CrashPlan;
use crate::{Error, Limits, PluginError};

pub use replay::Replayed;
pub(crate) use watch::Watchers;

/// Everything that running tasks needs. Shared by the host's handles and its background work.
pub(crate) struct Runner {
    pub store: Store,
    pub owners: Owners,
    pub library: Library,
    pub clock: Arc<dyn Clock>,
    pub watchers: Arc<Watchers>,
    pub warm: Duration,
    pub take_over: bool,
    pub crash: Arc<CrashPlan>,
    pub limits: Limits,
    /// The tasks that stand in line or run here.
    live: Mutex<HashMap<i64, Live>>,
    line: mpsc::UnboundedSender<i64>,
    /// Tasks that stand in line.
    pub waiting: AtomicUsize,
    places: Arc<Semaphore>,
    crowded: channel::Sender<bool>,
    /// A timer may be due earlier than was known.
    earlier: Notify,
    pub stopping: channel::Sender<bool>,
}

/// A task that stands in line or runs.
struct Live {
    inbox: Arc<Inbox>,
    /// Just taken: what the database would say of it.
    fresh: Option<RunRow>,
    /// Something happened while it was about to leave.
    again: bool,
}

/// The parts that a runner is made of.
pub(crate) struct Parts {
    pub store: Store,
    pub owners: Owners,
    pub library: Library,
    pub clock: Arc<dyn Clock>,
    pub watchers: Arc<Watchers>,
    pub warm: Duration,
    pub take_over: bool,
    pub crash: Arc<CrashPlan>,
    pub limits: Limits,
    pub notices: mpsc::UnboundedReceiver<Vec<Notice>>,
}

impl Runner {
    /// Begins to run tasks, on the current tokio runtime.
    pub fn begin(parts: Parts) -> Arc<Self> {
        let (line, queue) = mpsc::unbounded_channel();
        let runner = Arc::new(Self {
            store: parts.store,
            owners: parts.owners,
            library: parts.library,
            clock: parts.clock,
            watchers: parts.watchers,
            warm: parts.warm,
            take_over: parts.take_over,
            crash: parts.crash,
            limits: parts.limits,
            live: Mutex::default(),
            line,
            waiting: AtomicUsize::new(0),
            places: Arc::new(Semaphore::new(INSTANCES as usize)),
            crowded: channel::Sender::new(false),
            earlier: Notify::new(),
            stopping: channel::Sender::new(false),
        });
        // None of them keeps the runner alive: they end when the host is dropped.
        let weak = Arc::downgrade(&runner);
        tokio::spawn(serve(weak.clone(), queue, runner.stopping.subscribe()));
        tokio::spawn(mail::read(weak.clone(), parts.notices));
        tokio::spawn(timers::watch(weak.clone(), runner.stopping.subscribe()));
        tokio::spawn(owners::beat(weak.clone(), runner.stopping.subscribe()));
        tokio::spawn(owners::look_around(weak, runner.stopping.subscribe()));
        runner
    }

    /// Puts a task in line, unless it stands there or runs.
    pub fn enqueue(&self, task: i64, fresh: Option<RunRow>) {
        let mut live = self.live();
        if let Some(live) = live.get_mut(&task) {
            live.again = true;
            return;
        }
        live.insert(task, Live { inbox: Arc::default(), fresh, again: false });
        drop(live);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The line is gone only when the host is.
        let _ = self.line.send(task);
    }

    /// Whether a task stands in line or runs here.
    pub fn is_live(&self, task: i64) -> bool {
        self.live().contains_key(&task)
    }

    /// The inbox of a task that stands in line or runs here.
    fn inbox(&self, task: i64) -> Option<Arc<Inbox>> {
        self.live().get(&task).map(|live| live.inbox.clone())
    }

    /// Takes a task off; says whether it must be put in line again at once, since more has arrived than its guest saw.
    fn leave(&self, task: i64, seen: Option<u64>) -> bool {
        let left = self.live().remove(&task);
        left.is_some_and(|live| live.again || seen.is_some_and(|seen| live.inbox.version() != seen))
    }

    fn live(&self) -> MutexGuard<'_, HashMap<i64, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A plugin, ready to run.
    pub async fn ready(self: &Arc<Self>, digest: &str) -> Result<Arc<Ready>, Error> {
        if let Some(ready) = self.library.at_hand(digest) {
            return Ok(ready);
        }
        let (runner, digest) = (self.clone(), digest.to_owned());
        blocking(move || {
            let row = runner.store.read(|sql| plugin_row(sql, &digest))?;
            let missing = || PluginError::Damaged { digest: digest.clone(), problem: "missing" };
            let row = row.ok_or_else(missing)?;
            runner.library.prepare(&digest, row.manifest, || {
                Ok(runner.store.read(|sql| crate::store::component(sql, &digest))?)
            })
        })
        .await
    }

    /// Stops everything that runs here, so that others can go on with it.
    pub async fn stop(&self) {
        self.stopping.send_replace(true);
        // Every place is free when nothing runs. What does not end in time is taken up from its journal all the same.
        let _ = tokio::time::timeout(Duration::from_secs(10), self.places.acquire_many(INSTANCES)).await;
        let me = self.owners.me();
        if let Err(error) = self.store.write("the end of this host", move |tx| crate::store::release(tx, me)).await {
            tracing::warn!("the tasks of this host could not be given up: {error}");
        }
    }
}

/// Runs work that blocks on a thread for such.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(error) => Err(Error::Fault(error.to_string())),
    }
}

/// Gives each task in line a place when there is one.
async fn serve(
    runner: std::sync::Weak<Runner>,
    mut line: mpsc::UnboundedReceiver<i64>,
    mut stopping: channel::Receiver<bool>,
) {
    loop {
        let task = tokio::select! {
            biased;
            _ = stopping.wait_for(|stopping| *stopping) => return,
            task = line.recv() => task,
        };
        let (Some(task), Some(runner)) = (task, runner.upgrade()) else { return };
        let places = runner.places.clone();
        let place = match places.clone().try_acquire_owned() {
            Ok(place) => place,
            Err(_) => {
                // Those that wait with an instance in hand are to give it up.
                runner.crowded.send_replace(true);
                let place = tokio::select! {
                    place = places.acquire_owned() => place,
                    _ = stopping.wait_for(|stopping| *stopping) => return,
                };
                runner.crowded.send_replace(false);
                let Ok(place) = place else { return };
                place
            }
        };
        runner.waiting.fetch_sub(1, Ordering::Relaxed);
        tokio::spawn(async move {
            let seen = runner.drive(task).await;
            drop(place);
            if runner.leave(task, seen) && !*runner.stopping.borrow() {
                runner.enqueue(task, None);
            }
        });
    }
}

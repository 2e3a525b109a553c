//! Running tasks: the line they stand in, the timers that wake them, and taking over what nobody runs.

pub(crate) mod check;
mod children;
mod counts;
mod drive;
mod http;
mod line;
mod mail;
mod outbox;
mod owners;
mod replay;
mod retention;
mod segment;
mod suspect;
mod timers;
pub(crate) mod trace;
mod watch;

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore, mpsc, watch as channel};

use self::counts::Counts;
use self::drive::Left;
use self::line::{Caps, Line};
use crate::clock::Clock;
use crate::egress::Egress;
use crate::limits::QUEUED;
use crate::plugin::{Library, Manifest, Ready};
use crate::policy::{Asker, LimitsInForce, LivePolicy, Rights};
use crate::sandbox::{Crowd, INSTANCES, Inbox, Warm};
use crate::store::{Notice, Owners, RunRow, Store, plugin_row};
use crate::testing::CrashPlan;
use crate::{Error, HostLimits, PluginError, QueueLimits};

pub(crate) use line::{Entrant, Full, Lane, Whose};
pub use replay::Replayed;
pub(crate) use watch::{ANY_TASK, Watchers};

/// Tasks in line of which what the database says is kept in memory.
const FRESH: usize = 1_000;

/// How long a task rests whose steps could not be written, or that there is no instance for.
const PAUSE: Duration = Duration::from_secs(1);

/// Everything that running tasks needs. Shared by the host's handles and its background work.
pub(crate) struct Runner {
    pub store: Store,
    pub owners: Owners,
    pub library: Library,
    pub clock: Arc<dyn Clock>,
    pub watchers: Arc<Watchers<i64>>,
    /// Who reads the news of which namespace.
    pub news: Arc<Watchers<Arc<str>>>,
    pub webhooks_to_private: bool,
    pub retention: Duration,
    pub warm: Arc<Warm>,
    pub take_over: bool,
    pub crash: Arc<CrashPlan>,
    /// What the operator allows, as of now. Shared with guests that run.
    pub policy: Arc<LivePolicy>,
    pub limits: LimitsInForce,
    pub host_limits: HostLimits,
    egress: Egress,
    pub counts: Counts,
    /// There is something to send.
    outbox: Notify,
    /// The digests of the newest plugins by name, as far as they were asked for: checked again when a task is taken.
    names: Mutex<HashMap<String, String>>,
    /// The tasks that stand in line or run here.
    live: Mutex<HashMap<i64, Live>>,
    line: Mutex<Line>,
    /// For those whose next death would be their last.
    last_chance: Arc<Semaphore>,
    /// Nothing runs any more.
    idle: Notify,
    crowd: channel::Sender<Crowd>,
    /// A timer may be due earlier than was known.
    earlier: Notify,
    /// When the timers are looked at next, in milliseconds.
    next_due: AtomicU64,
    pub stopping: channel::Sender<bool>,
}

/// A task that stands in line or runs.
struct Live {
    inbox: Arc<Inbox>,
    /// Just taken: what the database would say of it.
    fresh: Option<Box<RunRow>>,
    /// Something happened while it was about to leave.
    again: bool,
}

/// The parts that a runner is made of.
pub(crate) struct Parts {
    pub store: Store,
    pub owners: Owners,
    pub library: Library,
    pub clock: Arc<dyn Clock>,
    pub watchers: Arc<Watchers<i64>>,
    /// Who reads the news of which namespace.
    pub news: Arc<Watchers<Arc<str>>>,
    pub webhooks_to_private: bool,
    pub retention: Duration,
    pub warm: Arc<Warm>,
    pub take_over: bool,
    pub crash: Arc<CrashPlan>,
    pub policy: LivePolicy,
    pub limits: LimitsInForce,
    pub host_limits: HostLimits,
    pub egress: Egress,
    pub namespace_queue: QueueLimits,
    pub plugin_queue: QueueLimits,
    pub notices: mpsc::UnboundedReceiver<Vec<Notice>>,
}

impl Runner {
    /// Begins to run tasks, on the current tokio runtime.
    pub fn begin(parts: Parts) -> Arc<Self> {
        let caps = Caps {
            places: INSTANCES as usize,
            queued: QUEUED,
            namespaces: parts.namespace_queue,
            plugins: parts.plugin_queue,
        };
        let runner = Arc::new(Self {
            store: parts.store,
            owners: parts.owners,
            library: parts.library,
            clock: parts.clock,
            watchers: parts.watchers,
            news: parts.news,
            webhooks_to_private: parts.webhooks_to_private,
            counts: Counts::default(),
            outbox: Notify::new(),
            retention: parts.retention,
            warm: parts.warm,
            take_over: parts.take_over,
            crash: parts.crash,
            policy: Arc::new(parts.policy),
            limits: parts.limits,
            host_limits: parts.host_limits,
            egress: parts.egress,
            names: Mutex::default(),
            live: Mutex::default(),
            line: Mutex::new(Line::new(caps)),
            last_chance: Arc::new(Semaphore::new(1)),
            idle: Notify::new(),
            crowd: channel::Sender::new(Crowd::default()),
            earlier: Notify::new(),
            next_due: AtomicU64::new(u64::MAX),
            stopping: channel::Sender::new(false),
        });
        // None of them keeps the runner alive: they end when the host is dropped.
        let weak = Arc::downgrade(&runner);
        tokio::spawn(mail::read(weak.clone(), parts.notices));
        tokio::spawn(retention::watch(weak.clone(), runner.stopping.subscribe()));
        tokio::spawn(timers::watch(weak.clone(), runner.stopping.subscribe()));
        tokio::spawn(outbox::watch(weak.clone(), runner.stopping.subscribe()));
        tokio::spawn(owners::beat(weak.clone(), runner.stopping.subscribe()));
        tokio::spawn(owners::look_around(weak, runner.stopping.subscribe()));
        runner
    }

    /// Keeps room in the line for a start.
    pub fn admit(self: &Arc<Self>, lane: &Lane) -> Result<Room, Full> {
        self.line().admit(lane, self.clock.now())?;
        Ok(Room { runner: self.clone(), lane: lane.clone() })
    }

    /// Puts a task in line, unless it stands there or runs.
    pub fn enqueue(self: &Arc<Self>, entrant: Entrant, fresh: Option<RunRow>) {
        {
            let mut live = self.live();
            if let Some(live) = live.get_mut(&entrant.task) {
                live.again = true;
                return;
            }
            let mut line = self.line();
            // Where many stand in line, what they need is read when it is their turn.
            let fresh = fresh.filter(|_| line.queued() < FRESH).map(Box::new);
            live.insert(entrant.task, Live { inbox: Arc::default(), fresh, again: false });
            line.enter(entrant);
        }
        self.serve();
    }

    /// Takes a task out of the line that has ended while it stood there.
    fn leave_line(&self, task: i64, lane: &Lane) {
        let mut live = self.live();
        if self.line().remove(task, lane) {
            live.remove(&task);
        }
    }

    /// Gives places to those whose turn it is.
    fn serve(self: &Arc<Self>) {
        while !*self.stopping.borrow() {
            let next = {
                let mut line = self.line();
                let next = line.next();
                // Those that wait with an instance in hand are to give it up where others wait for their place.
                let crowd = if next.is_some() { Crowd::default() } else { line.crowd() };
                self.crowd.send_if_modified(|was| {
                    let changed = *was != crowd;
                    *was = crowd;
                    changed
                });
                next.ok_or(line.first_deadline())
            };
            let entrant = match next {
                Ok(entrant) => entrant,
                Err(deadline) => return deadline.map_or((), |deadline| self.due_at(deadline.as_millis())),
            };
            let place = Place { runner: self.clone(), entrant };
            tokio::spawn(place.fill());
        }
    }

    /// How many tasks run here, and how many stand in line.
    pub fn busy(&self) -> (u64, u64) {
        let line = self.line();
        (line.running() as u64, line.queued() as u64)
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

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See the field.
    pub fn names(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// What a task may reach now. Not to be asked on replay.
    pub fn rights(&self, row: &RunRow, manifest: &Manifest) -> Rights {
        let settings = serde_json::from_str(&row.settings).unwrap_or_default();
        let asker = Asker { manifest, namespace: &row.namespace, grants: &row.grants, settings: &settings };
        self.policy.current().rights(asker)
    }

    /// Stops everything that runs here, so that others can go on with it.
    pub async fn stop(&self) {
        self.stopping.send_replace(true);
        let idle = async {
            loop {
                let idle = self.idle.notified();
                if self.line().running() == 0 {
                    return;
                }
                idle.await;
            }
        };
        // What does not end in time is taken up from its journal all the same.
        let _ = tokio::time::timeout(Duration::from_secs(10), idle).await;
        let me = self.owners.me();
        if let Err(error) = self.store.write("the end of this host", move |tx| crate::store::release(tx, me)).await {
            tracing::warn!("the tasks of this host could not be given up: {error}");
        }
        self.owners.leave();
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

/// Room in the line for a start, until it stands there or is not taken.
pub(crate) struct Room {
    runner: Arc<Runner>,
    lane: Lane,
}

impl Drop for Room {
    fn drop(&mut self) {
        self.runner.line().leave(&self.lane);
    }
}

/// A place to run in.
struct Place {
    runner: Arc<Runner>,
    entrant: Entrant,
}

impl Place {
    /// Runs the task in it, and gives it to the next.
    async fn fill(self) {
        let (runner, entrant) = (self.runner.clone(), self.entrant.clone());
        let task = entrant.task;
        let left = runner.drive(task).await;
        if let Left::NoInstance = left
            && !runner.line().exhausted()
        {
            // Nothing that ends would tell.
            tokio::time::sleep(PAUSE).await;
        }
        drop(self);
        match left {
            Left::NoInstance => runner.line().enter_in_front(entrant),
            Left::Waits(version) if runner.leave(task, Some(version)) => runner.enqueue(entrant, None),
            Left::Rests if runner.leave(task, None) => runner.enqueue(entrant, None),
            Left::Waits(_) | Left::Rests => {}
        }
        runner.serve();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut line = self.runner.line();
        line.done(&self.entrant.lane);
        if line.running() == 0 {
            self.runner.idle.notify_waiters();
        }
    }
}

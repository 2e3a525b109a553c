//! One run of a guest as its imports see it: the recorder, what arrives from outside, and the way to disk.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::http::{self, Sent};
use super::inbox::Inbox;
use super::meter::MemoryUse;
use super::warm::{Crowded, Warm};
use crate::clock::{Clock, Timestamp};
use crate::egress::Outgoing;
use crate::journal::{Call, Diverged, EventKind, Recorded, Recorder, Turn};
use crate::limits::{Limit, Limits, Near};
use crate::task::{Output, Reply, TaskError, TaskId, Waiting, WaitingOn};
use crate::testing::{CrashPlan, CrashPoint};

/// The value that a setting has now.
pub(crate) type Settings = Box<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What a guest's imports need from whoever runs it.
pub(crate) struct Run {
    recorder: Mutex<Recorder>,
    pub inbox: Arc<Inbox>,
    pub clock: Arc<dyn Clock>,
    pub task: TaskId,
    /// When the task was taken: the zero of its monotonic clock.
    pub created_at: Timestamp,
    pub settings: Settings,
    /// What the task may use.
    pub limits: Limits,
    /// What earlier segments opened: numbers are never used twice.
    pub opened: Opened,
    /// How long an instance is kept while it waits.
    pub warm: Arc<Warm>,
    pub memory: Arc<MemoryUse>,
    /// Nanoseconds that it took to bring the guest where it stands.
    pub spent: AtomicU64,
    pub crowded: Crowded,
    /// Turns true when the host stops.
    pub stopping: watch::Receiver<bool>,
    pub requests: mpsc::UnboundedSender<Request>,
    pub crash: Arc<CrashPlan>,
    /// What the guest waits for, while it does.
    parked: Mutex<Option<(Waiting, u64)>>,
    /// Waits of the guest for something outside of it.
    outside: AtomicU32,
    /// Limits that are nearly used up, and told of.
    near: Mutex<Near>,
}

/// What a run begins with; see the fields of [`Run`].
pub(crate) struct RunParts {
    pub recorder: Recorder,
    pub inbox: Arc<Inbox>,
    pub clock: Arc<dyn Clock>,
    pub task: TaskId,
    pub created_at: Timestamp,
    pub settings: Settings,
    pub limits: Limits,
    pub near: Near,
    pub opened: Opened,
    pub warm: Arc<Warm>,
    pub crowded: Crowded,
    pub stopping: watch::Receiver<bool>,
    pub requests: mpsc::UnboundedSender<Request>,
    pub crash: Arc<CrashPlan>,
}

/// How many questions and children earlier segments of a task have opened, and the keys of their answered HTTP requests.
#[derive(Debug, Clone, Default)]
pub(crate) struct Opened {
    pub questions: u32,
    pub children: u32,
    pub keys: HashSet<String>,
}

/// What an import asks of whoever runs the guest.
#[derive(Debug)]
pub(crate) enum Request {
    /// Everything recorded so far is to be written, and this with it.
    Write {
        /// The guest waits; `None`: it goes on.
        wait: Option<Waiting>,
        act: Act,
        /// Told when it is on disk; what was settled is in the inbox then. The text says why a child that was to be started
        /// with it was not.
        done: oneshot::Sender<Option<String>>,
    },
    /// A child is to be made ready, so that it is started by the next write, if that has an entry which tells of it.
    Child { handle: u32, tool: String, input: String, done: oneshot::Sender<Result<ChildReady, Refusal>> },
    /// What became of a child that has ended.
    Outcome { handle: u32, done: oneshot::Sender<Result<Output, TaskError>> },
    /// An HTTP request is to be sent, when everything recorded so far is written.
    Send(Box<Sent>),
    /// What an entry keeps beside what readers see of it.
    Kept { seq: u64, done: oneshot::Sender<Vec<u8>> },
}

/// What is to be done beside writing.
#[derive(Debug, PartialEq)]
pub(crate) enum Act {
    Nothing,
    /// A question is to be settled so, unless somebody was first.
    Settle(u32, Reply),
    /// A child is to be asked to stop.
    Withdraw(u32),
}

/// A child that may be started.
#[derive(Debug)]
pub(crate) struct ChildReady {
    pub task: TaskId,
    pub plugin: String,
    pub tool: String,
}

/// Why a guest is not given what it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    /// The request breaks the contract, or its own schema; if not, a limit or the policy forbids it.
    pub malformed: bool,
    pub why: String,
}

impl Refusal {
    pub fn malformed(why: impl Into<String>) -> Self {
        Self { malformed: true, why: why.into() }
    }

    pub fn refused(why: impl Into<String>) -> Self {
        Self { malformed: false, why: why.into() }
    }
}

/// Why an import ends the run, other than by the guest's own doing. Travels as the error of the guest's call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Interrupted {
    /// The instance is to be dropped while it waits, and rebuilt when what it waits for is there.
    #[error("the instance is dropped while it waits")]
    Waits {
        waiting: Waiting,
        /// What had arrived when it last looked.
        version: u64,
    },
    /// The instance is to be dropped and rebuilt at once.
    #[error("the instance is dropped")]
    Dropped,
    #[error(transparent)]
    Diverged(#[from] Diverged),
    /// Whoever runs the guest has gone away.
    #[error("nobody runs this guest any more")]
    Abandoned,
}

impl Run {
    pub fn new(parts: RunParts) -> Self {
        Self {
            recorder: Mutex::new(parts.recorder),
            inbox: parts.inbox,
            clock: parts.clock,
            task: parts.task,
            created_at: parts.created_at,
            settings: parts.settings,
            limits: parts.limits,
            opened: parts.opened,
            warm: parts.warm,
            memory: Arc::default(),
            spent: AtomicU64::new(0),
            crowded: parts.crowded,
            stopping: parts.stopping,
            requests: parts.requests,
            crash: parts.crash,
            parked: Mutex::default(),
            outside: AtomicU32::new(0),
            near: Mutex::new(parts.near),
        }
    }

    pub fn recorder(&self) -> MutexGuard<'_, Recorder> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The guest's next call. On a live one the process, or the instance, may be made to end here by a test.
    pub fn next(&self, recorder: &mut Recorder, call: Call, arguments: &[u8]) -> Result<Turn, Interrupted> {
        let turn = recorder.next(call, arguments)?;
        if matches!(turn, Turn::Live) {
            self.planned()?;
        }
        Ok(turn)
    }

    /// Where a test lets the process die, or the instance be dropped: before a live effect is recorded.
    pub fn planned(&self) -> Result<(), Interrupted> {
        self.crash.at(CrashPoint::Effect);
        if self.crash.is_dead() || self.crash.reached(CrashPoint::Drop) { Err(Interrupted::Dropped) } else { Ok(()) }
    }

    /// As [`next`](Self::next), for a call that always leaves something in the journal: `None` when it is live.
    pub fn expect(
        &self,
        recorder: &mut Recorder,
        call: Call,
        arguments: &[u8],
    ) -> Result<Option<Recorded>, Interrupted> {
        match self.next(recorder, call, arguments)? {
            Turn::Live => Ok(None),
            Turn::Recorded(recorded) => Ok(Some(recorded)),
            // All is replayed, in a run that only replays: here it ends.
            Turn::Silent if recorder.is_live() => {
                recorder.beyond();
                Err(Interrupted::Abandoned)
            }
            Turn::Silent => Err(recorder.diverged().into()),
        }
    }

    /// The task's monotonic clock, in milliseconds.
    pub fn monotonic(&self, recorder: &mut Recorder) -> u64 {
        let reading = self.now().since(self.created_at).as_millis();
        recorder.monotonic(u64::try_from(reading).unwrap_or(u64::MAX))
    }

    /// Returns when everything recorded so far is on disk; says why a child that it tells of was not started.
    pub async fn commit(&self, wait: Option<Waiting>) -> Result<Option<String>, Interrupted> {
        self.ask(|done| Request::Write { wait, act: Act::Nothing, done }).await
    }

    /// Settles a question, and gives what counts: `reply`, or the one that was first.
    pub async fn settle(&self, question: u32, reply: Reply) -> Result<Reply, Interrupted> {
        self.ask(|done| Request::Write { wait: None, act: Act::Settle(question, reply), done }).await?;
        self.inbox.reply(question).ok_or(Interrupted::Abandoned)
    }

    /// Asks a child to stop.
    pub async fn withdraw(&self, handle: u32) -> Result<(), Interrupted> {
        self.ask(|done| Request::Write { wait: None, act: Act::Withdraw(handle), done }).await.map(drop)
    }

    /// Makes a child ready.
    pub async fn child(
        &self,
        handle: u32,
        tool: String,
        input: String,
    ) -> Result<Result<ChildReady, Refusal>, Interrupted> {
        self.ask(|done| Request::Child { handle, tool, input, done }).await
    }

    /// What became of a child that has ended.
    pub async fn outcome(&self, handle: u32) -> Result<Result<Output, TaskError>, Interrupted> {
        self.ask(|done| Request::Outcome { handle, done }).await
    }

    /// Hands an HTTP request over.
    pub fn send(&self, request: Outgoing, again: bool) -> Result<oneshot::Receiver<http::Outcome>, Interrupted> {
        let (done, outcome) = oneshot::channel();
        self.requests
            .send(Request::Send(Box::new(Sent { request, again, done })))
            .map_err(|_| Interrupted::Abandoned)?;
        Ok(outcome)
    }

    /// What an entry keeps beside what readers see of it.
    pub async fn kept(&self, seq: u64) -> Result<Vec<u8>, Interrupted> {
        self.ask(|done| Request::Kept { seq, done }).await
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Result<T, Interrupted> {
        let (done, answer) = oneshot::channel();
        self.requests.send(request(done)).map_err(|_| Interrupted::Abandoned)?;
        self.outside(answer).await.map_err(|_| Interrupted::Abandoned)
    }

    /// Awaits something outside of the guest. A guest that is dropped there never runs again.
    async fn outside<F: Future>(&self, awaited: F) -> F::Output {
        self.outside.fetch_add(1, Ordering::Relaxed);
        let output = awaited.await;
        self.outside.fetch_sub(1, Ordering::Relaxed);
        output
    }

    /// Whether the guest waits for something outside of it.
    pub fn waits_outside(&self) -> bool {
        self.outside.load(Ordering::Relaxed) > 0
    }

    /// What has been used of a limit by now: when four fifths are, readers are told, once and live.
    pub fn used(&self, recorder: &mut Recorder, limit: Limit, used: u64) {
        if !self.limits.is_near(limit, used) || !recorder.is_live() {
            return;
        }
        if self.near.lock().unwrap_or_else(PoisonError::into_inner).add(limit) {
            recorder.aside(self.now(), EventKind::LimitNear(self.limits.used(limit, used)));
        }
    }

    /// What the guest waits for, if it does, and the inbox's version when it last looked.
    pub fn parked(&self) -> MutexGuard<'_, Option<(Waiting, u64)>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something arrives that was not there at `version`, or until `until`. The instance is kept warm for a
    /// while, and dropped after that: then this does not return to the guest.
    pub async fn wait(&self, version: u64, on: WaitingOn, until: Option<Timestamp>) -> Result<(), Interrupted> {
        let waiting = Waiting { on, until };
        *self.parked() = Some((waiting.clone(), version));
        let dropped = || Interrupted::Waits { waiting: waiting.clone(), version };
        let mut stopping = self.stopping.clone();
        let elapsed = async {
            match until {
                Some(until) => self.clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        // One that is known to take longer than it would be kept is dropped at once.
        let worth = self.warm.time(Duration::from_nanos(self.spent.load(Ordering::Relaxed)));
        let long = until.is_some_and(|until| until.since(self.now()) > worth);
        let kept = if long { None } else { self.warm.keep(self.memory.now()) };
        let warm = if kept.is_some() { worth } else { Duration::ZERO };
        // One that was asked to stop and waits all the same stays, until its grace is over: of a row there is nothing to stop.
        let stays = self.inbox.cancelled().is_some();
        let arrived = self.outside(async {
            tokio::select! {
                biased;
                () = self.inbox.changed(version) => true,
                () = elapsed => true,
                () = tokio::time::sleep(warm), if !stays => false,
                () = self.crowded.comes(), if !stays => false,
                _ = stopping.wait_for(|stopping| *stopping) => false,
            }
        });
        if !arrived.await {
            return Err(dropped());
        }
        *self.parked() = None;
        Ok(())
    }
}

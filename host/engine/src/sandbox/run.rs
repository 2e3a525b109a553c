//! One run of a guest as its imports see it: the recorder, what arrives from outside, and the way to disk.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};

use super::inbox::Inbox;
use crate::clock::{Clock, Timestamp};
use crate::journal::{Call, Diverged, Recorded, Recorder, Turn};
use crate::task::{Reply, Waiting, WaitingOn};
use crate::testing::{CrashPlan, CrashPoint};

/// What a guest's imports need from whoever runs it.
pub(crate) struct Run {
    recorder: Mutex<Recorder>,
    pub inbox: Arc<Inbox>,
    pub clock: Arc<dyn Clock>,
    /// When the task was taken: the zero of its monotonic clock.
    pub created_at: Timestamp,
    pub settings: BTreeMap<String, String>,
    /// Questions asked in earlier segments: numbers are never used twice.
    pub asked_before: u32,
    /// How long an instance is kept while it waits.
    pub warm: Duration,
    /// Turns true while others wait for an instance.
    pub crowded: watch::Receiver<bool>,
    /// Turns true when the host stops.
    pub stopping: watch::Receiver<bool>,
    pub requests: mpsc::UnboundedSender<Request>,
    pub crash: Arc<CrashPlan>,
    /// What the guest waits for, while it does.
    parked: Mutex<Option<Waiting>>,
}

/// What an import asks of whoever runs the guest.
#[derive(Debug)]
pub(crate) struct Request {
    /// The guest waits; `None`: it goes on.
    pub wait: Option<Waiting>,
    /// A question to be settled so, unless somebody was first.
    pub settle: Option<(u32, Reply)>,
    /// Told when that, and everything recorded so far, is on disk; what was settled is in the inbox then.
    pub done: oneshot::Sender<()>,
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
    #[expect(clippy::too_many_arguments, reason = "each is one fact of the run, and there is one caller")]
    pub fn new(
        recorder: Recorder,
        inbox: Arc<Inbox>,
        clock: Arc<dyn Clock>,
        created_at: Timestamp,
        settings: BTreeMap<String, String>,
        asked_before: u32,
        warm: Duration,
        crowded: watch::Receiver<bool>,
        stopping: watch::Receiver<bool>,
        requests: mpsc::UnboundedSender<Request>,
        crash: Arc<CrashPlan>,
    ) -> Self {
        let recorder = Mutex::new(recorder);
        Self {
            recorder,
            inbox,
            clock,
            created_at,
            settings,
            asked_before,
            warm,
            crowded,
            stopping,
            requests,
            crash,
            parked: Mutex::default(),
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
        if self.crash.reached(CrashPoint::Drop) { Err(Interrupted::Dropped) } else { Ok(()) }
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
            Turn::Silent => Err(recorder.diverged(call.to_string()).into()),
        }
    }

    /// The task's monotonic clock, in milliseconds.
    pub fn monotonic(&self, recorder: &mut Recorder) -> u64 {
        let reading = self.now().since(self.created_at).as_millis();
        recorder.monotonic(u64::try_from(reading).unwrap_or(u64::MAX))
    }

    /// Returns when everything recorded so far is on disk.
    pub async fn commit(&self, wait: Option<Waiting>) -> Result<(), Interrupted> {
        self.request(wait, None).await
    }

    /// Settles a question, and gives what counts: `reply`, or the one that was first.
    pub async fn settle(&self, question: u32, reply: Reply) -> Result<Reply, Interrupted> {
        self.request(None, Some((question, reply))).await?;
        self.inbox.reply(question).ok_or(Interrupted::Abandoned)
    }

    async fn request(&self, wait: Option<Waiting>, settle: Option<(u32, Reply)>) -> Result<(), Interrupted> {
        let (done, committed) = oneshot::channel();
        self.requests.send(Request { wait, settle, done }).map_err(|_| Interrupted::Abandoned)?;
        committed.await.map_err(|_| Interrupted::Abandoned)
    }

    /// What the guest waits for, if it does.
    pub fn parked(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until something arrives that was not there at `version`, or until `until`. The instance is kept warm for a
    /// while, and dropped after that: then this does not return to the guest.
    pub async fn wait(&self, version: u64, on: WaitingOn, until: Option<Timestamp>) -> Result<(), Interrupted> {
        let waiting = Waiting { on, until };
        *self.parked() = Some(waiting.clone());
        let dropped = || Interrupted::Waits { waiting: waiting.clone(), version };
        let (mut crowded, mut stopping) = (self.crowded.clone(), self.stopping.clone());
        let elapsed = async {
            match until {
                Some(until) => self.clock.sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        // One that is known to take longer than it would be kept is dropped at once.
        let long = until.is_some_and(|until| until.since(self.now()) > self.warm);
        let warm = if long { Duration::ZERO } else { self.warm };
        tokio::select! {
            biased;
            () = self.inbox.changed(version) => {}
            () = elapsed => {}
            () = tokio::time::sleep(warm) => return Err(dropped()),
            _ = crowded.wait_for(|crowded| *crowded) => return Err(dropped()),
            _ = stopping.wait_for(|stopping| *stopping) => return Err(dropped()),
        }
        *self.parked() = None;
        Ok(())
    }
}

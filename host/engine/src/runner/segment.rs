//! One guest export running: its instance, and its way to disk.

use std::collections::{BTreeMap, HashSet};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::children::Wanted;
use super::drive::rand_seed;
use super::http::UnderWay;
use super::{Runner, blocking};
use crate::clock::Timestamp;
use crate::journal::{Body, Diverged, EventKind, NewEntry, Recorder, StoredEntry};
use crate::limits::{CANCEL_GRACE, Limit, UNCOMMITTED_BYTES};
use crate::plugin::{Grants, Ready};
use crate::policy::Asker;
use crate::sandbox::{
    Act, ChildReady, Crowded, Export, GuestCall, How, Inbox, Instance, Opened, Outcome, Refusal, Request, Run,
    RunParts, Seed, Settings, Stop, wasi_context,
};
use crate::store::{self, HttpUse, NewRow, RunRow, Step, Taken};
use crate::task::{Broke, Misfit, Waiting};
use crate::{Error, StoreError};

/// How long what a guest did may wait to be written, while it goes on.
const FLUSH: Duration = Duration::from_millis(25);

/// How often a guest that waits is looked at.
const IDLE: Duration = Duration::from_millis(200);

/// How much computing may be lost to the account when the process dies.
const CHARGE: Duration = Duration::from_secs(1);

/// Fuel that one call of `cancel-task` may use.
const CANCEL_FUEL: u64 = 10_000_000_000;

/// Bytes that are read from disk sooner than another thread is woken to do it. More is read there, and holds up nobody.
const SHORT: u64 = 64 << 10;

type Written = Pin<Box<dyn Future<Output = Result<Result<Taken, Misfit>, StoreError>> + Send>>;

type Making<'a> = Pin<Box<dyn Future<Output = Result<Result<NewRow, Refusal>, Error>> + Send + 'a>>;

/// A child that is made ready, and the guest's request for it.
struct Birth<'a> {
    making: Making<'a>,
    done: oneshot::Sender<Result<ChildReady, Refusal>>,
}

/// What a segment is run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To get on with the task.
    Run,
    /// To call `cancel-task` when the task has ended.
    Cancel,
}

/// A segment that runs.
pub(super) struct Segment<'a> {
    runner: &'a Arc<Runner>,
    row: &'a RunRow,
    ready: &'a Ready,
    run: Arc<Run>,
    instance: Instance,
    call: GuestCall,
    requests: mpsc::UnboundedReceiver<Request>,
    left: Left,
    /// It is on disk that a guest runs.
    told: bool,
    /// The guest came to an end of its own, or was stopped for good.
    over: bool,
    purpose: Purpose,
    under_way: UnderWay<'a>,
}

/// What is to be written beside what the guest did.
struct Left {
    /// The seed of an attempt that begins with this segment, until it is on disk.
    seed: Option<[u8; 32]>,
    /// Milliseconds of computing that are on disk.
    charged: u64,
    /// A child that is ready, until the guest has started it.
    child: Option<NewRow>,
}

impl<'a> Segment<'a> {
    /// Loads what is recorded, and makes an instance.
    pub async fn begin(
        runner: &'a Arc<Runner>,
        row: &'a RunRow,
        ready: &'a Arc<Ready>,
        inbox: Arc<Inbox>,
        purpose: Purpose,
    ) -> Result<Result<Self, (Broke, String)>, Error> {
        let silent = purpose != Purpose::Run;
        let another = !silent && !row.begun && (row.attempt == 0 || row.failures > 0);
        let fresh = row.attempt == 0;
        let seed = match another || row.attempt_seq == 0 {
            true => rand_seed()?,
            false => runner.store.read(|sql| store::seed(sql, row.n, row.attempt_seq))?,
        };
        // What stands for a secret is the same in every attempt, and so is a request with it, and its key.
        let task_seed = match row.attempt {
            0 => seed,
            1 if !another => seed,
            _ => runner.store.read(|sql| store::first_seed(sql, row.n))?,
        };
        let since = (!another && purpose == Purpose::Run).then_some(row.segment_seq);
        let (task, sends, from) = (row.n, row.http.exchanges > 0, runner.clone());
        let before = match row.journal_bytes {
            _ if fresh => Ok(Before { recorder: Recorder::new(Vec::new()), opened: Opened::default(), replays: false }),
            ..=SHORT => before(runner, task, since, sends),
            _ => blocking(move || Ok(before(&from, task, since, sends))).await?,
        };
        let Before { recorder, opened, replays } = before?;
        if replays {
            runner.counts.replayed();
        }
        let recorder = match recorder {
            Ok(recorder) => recorder,
            Err(seq) => return Ok(Err((Broke::Host, format!("entry {seq} of its journal can't be read")))),
        };
        let (sender, requests) = mpsc::unbounded_channel();
        let (namespace, plugin) = (row.namespace.clone(), row.digest.clone());
        let crowded = Crowded { crowd: runner.crowd.subscribe(), namespace, plugin };
        let run = Arc::new(Run::new(RunParts {
            recorder: recorder.progress_rate(row.limits.progress_rate),
            inbox,
            clock: runner.clock.clone(),
            task: row.id.clone(),
            created_at: row.created_at,
            settings: settings(runner, row, ready, task_seed),
            limits: row.limits,
            near: row.near,
            opened,
            warm: runner.warm.clone(),
            crowded,
            stopping: runner.stopping.subscribe(),
            requests: sender,
            crash: runner.crash.clone(),
        }));
        let wasi = wasi_context(&run, &Seed::new(seed, row.segment));
        // Cleaning up must be possible when the fuel ran out.
        let fuel = if purpose == Purpose::Cancel { CANCEL_FUEL } else { row.limits.fuel.saturating_sub(row.fuel) };
        let instance = match Instance::new(&ready.loaded, run.clone(), wasi, fuel) {
            Ok(instance) => instance,
            Err(broke) => return Ok(Err(broke)),
        };
        let call = call(row, row.attempt + u32::from(another));
        let left = Left { seed: another.then_some(seed), charged: 0, child: None };
        let under_way = UnderWay::new(runner, row, &ready.manifest, task_seed);
        let (told, over) = (false, false);
        Ok(Ok(Self { runner, row, ready, run, instance, call, requests, left, told, over, purpose, under_way }))
    }

    /// Runs the export to its end.
    pub async fn run(&mut self, export: &Export) -> Result<How, Error> {
        let control = self.instance.control();
        // Replay is the host's doing: no limit of time runs until the guest is where it was.
        let mut live_since = None;
        let mut written: Option<Written> = None;
        let mut birth: Option<Birth<'_>> = None;
        let mut looked = Instant::now();
        let mut goes_to_wait = false;
        let call = self.instance.call(export, &self.call);
        tokio::pin!(call);
        let how = loop {
            // Here and not by a timer: a guest whose every step is written would put that off for ever.
            if looked.elapsed() >= FLUSH {
                looked = Instant::now();
                if live_since.is_none() && self.run.recorder().is_live() {
                    live_since = Some(self.runner.clock.now());
                }
                match self.purpose {
                    Purpose::Run => {
                        // One whose wait has just been written waits as soon as it is polled, and leaves from there: stopped
                        // before, it would not be known to wait any more.
                        if *self.runner.stopping.borrow() && !std::mem::take(&mut goes_to_wait) {
                            control.stop(Stop::Shutdown);
                        }
                        self.runner.watch_over(self.row, &control, self.run.inbox.cancelled(), live_since);
                        near(self.row, &self.run, &control, control.burned(), self.under_way.used());
                    }
                    // Nobody waits for it, but its place is needed.
                    Purpose::Cancel if control.computed() > CANCEL_GRACE => control.stop(Stop::RunTime),
                    Purpose::Cancel => {}
                }
            }
            let busy = self.run.recorder().has_pending();
            // A guest that is faster than the disk is not run until the disk has caught up. It can't tell.
            let full = || self.purpose == Purpose::Run && self.run.recorder().pending_bytes() > UNCOMMITTED_BYTES;
            let rest = match busy {
                true if full() => Duration::ZERO,
                true => FLUSH,
                false => IDLE,
            };
            let guest = poll_fn(|cx| if full() { Poll::Pending } else { call.as_mut().poll(cx) });
            tokio::select! {
                biased;
                how = guest => break Ok(how),
                Some(request) = self.requests.recv() => match (self.purpose, request) {
                    (Purpose::Run, Request::Write { wait, act, done }) => {
                        self.told = true;
                        let spent = self.under_way.spent();
                        let mut step = step(self.row, &self.run, &mut self.left, &control, false, spent);
                        goes_to_wait = wait.is_some();
                        step.wait = wait;
                        let acts = !matches!(act, Act::Nothing);
                        match act {
                            Act::Nothing => {}
                            Act::Settle(question, reply) => {
                                let kind = EventKind::Reply { question, reply };
                                step.entries.push(NewEntry::outside(self.run.now(), kind));
                            }
                            Act::Withdraw(handle) => step.withdrawn = Some(handle),
                        }
                        let taken = match write(self.runner, self.row.n, step).await {
                            Err(full @ StoreError::JournalFull { .. }) => break Err(full),
                            taken => taken?,
                        };
                        match taken {
                            Ok(taken) => {
                                if acts {
                                    self.runner.fill(self.row.n)?;
                                }
                                let _ = done.send(taken.no_child);
                            }
                            // The guest's call ends with `Abandoned`, and this run with it.
                            Err(misfit) => tracing::debug!("task {}: {misfit}", self.row.id),
                        }
                    }
                    (Purpose::Run, Request::Child { handle, tool, input, done }) => {
                        let wanted = Wanted { handle, tool, input };
                        let making = Box::pin(self.runner.child(self.row, &self.ready.manifest, wanted));
                        birth = Some(Birth { making, done });
                    }
                    (Purpose::Run, Request::Send(sent)) => {
                        if let Err(failure) = self.under_way.count(&sent) {
                            let _ = sent.done.send(Outcome { result: Err(failure), millis: 0 });
                            continue;
                        }
                        self.told = true;
                        // What explains it, and that it may have been sent, is on disk before it leaves.
                        let spent = self.under_way.spent();
                        let step = step(self.row, &self.run, &mut self.left, &control, false, spent);
                        let taken = match write(self.runner, self.row.n, step).await {
                            Err(full @ StoreError::JournalFull { .. }) => break Err(full),
                            taken => taken?,
                        };
                        match taken {
                            Ok(_) => self.under_way.send(*sent, &self.run.inbox),
                            Err(misfit) => tracing::debug!("task {}: {misfit}", self.row.id),
                        }
                    }
                    (Purpose::Run, Request::Kept { seq, done }) => {
                        self.runner.hand_over(self.row.n, seq, done)?;
                    }
                    (Purpose::Run, Request::Outcome { handle, done }) => {
                        let outcome = self.runner.store.read(|sql| store::outcome(sql, self.row.n, handle))?;
                        if let Some(outcome) = outcome {
                            let _ = done.send(outcome);
                        }
                    }
                    // It may sleep, and has nobody to ask.
                    (Purpose::Cancel, Request::Write { act: Act::Nothing, done, .. }) => {
                        let _ = done.send(None);
                    }
                    (Purpose::Cancel, Request::Child { done, .. }) => {
                        let _ = done.send(Err(Refusal::refused("`cancel-task` starts nothing")));
                    }
                    // It is called until it returned once, and sends the same each time.
                    (Purpose::Cancel, Request::Send(sent)) => match self.under_way.count(&sent) {
                        Ok(()) => self.under_way.send(*sent, &self.run.inbox),
                        Err(failure) => {
                            let _ = sent.done.send(Outcome { result: Err(failure), millis: 0 });
                        }
                    },
                    // What is not recorded can't be done again.
                    (Purpose::Cancel, _) => {}
                },
                child = async { match &mut birth {
                    Some(birth) => birth.making.as_mut().await,
                    None => std::future::pending().await,
                } } => {
                    let made = child?.map(|child| {
                        let ready = ready_child(&child);
                        self.left.child = Some(child);
                        ready
                    });
                    if let Some(Birth { done, .. }) = birth.take() {
                        let _ = done.send(made);
                    }
                }
                back = self.under_way.next() => self.under_way.tell(back, &self.run),
                outcome = async { match &mut written {
                    Some(written) => written.await,
                    None => std::future::pending().await,
                } } => {
                    written = None;
                    match outcome {
                        Ok(Ok(_)) => {}
                        Ok(Err(_)) => control.stop(Stop::Unwritten),
                        Err(full @ StoreError::JournalFull { .. }) => break Err(full),
                        Err(error) => return Err(error.into()),
                    }
                }
                () = tokio::time::sleep(rest), if written.is_none() => {
                    if self.purpose != Purpose::Run {
                        continue;
                    }
                    let computed = control.computed().saturating_sub(Duration::from_millis(self.left.charged));
                    if busy || !self.told || computed >= CHARGE {
                        self.told = true;
                        let spent = self.under_way.spent();
                        let step = step(self.row, &self.run, &mut self.left, &control, false, spent);
                        written = Some(Box::pin(write(self.runner, self.row.n, step)));
                    }
                }
            }
        };
        let how = match (how, written) {
            (Ok(how), Some(written)) => match written.await {
                Err(full @ StoreError::JournalFull { .. }) => Err(full),
                written => {
                    written?.ok();
                    Ok(how)
                }
            },
            (how, _) => how,
        };
        let how = match how {
            Ok(how) => how,
            Err(full) => {
                // What came after it has no place in the journal either.
                drop(self.run.recorder().take(self.run.now(), true));
                return Ok(How::Broke(Broke::Limit, full.to_string()));
            }
        };
        if !matches!(how, How::Interrupted(_) | How::Stopped(Stop::Shutdown)) {
            self.over = true;
            self.run.recorder().finish(self.run.now());
        }
        Ok(how)
    }

    /// What is left to be written.
    pub fn step(&mut self) -> Step {
        let (control, fuel) = (self.instance.control(), self.instance.fuel_used());
        if self.over {
            near(self.row, &self.run, &control, fuel, self.under_way.used());
        }
        let spent = self.under_way.spent();
        let mut step = step(self.row, &self.run, &mut self.left, &control, true, spent);
        (step.fuel, step.burned) = (fuel, fuel);
        step
    }

    /// What the guest waits for, if it does, and what had arrived when it last looked.
    pub fn parked(&self) -> Option<(Waiting, u64)> {
        self.run.parked().clone()
    }

    /// What is recorded and was not done, if the guest came to its end before.
    pub fn unreplayed(&self) -> Option<Diverged> {
        let recorder = self.run.recorder();
        (!recorder.is_live()).then(|| recorder.ended("come to its end", String::new()))
    }
}

/// Tells readers which limits are nearly used up; `burned`: fuel of this segment.
fn near(row: &RunRow, run: &Run, control: &crate::sandbox::Control, burned: u64, http: HttpUse) {
    let computed = u64::try_from(control.computed().as_millis()).unwrap_or(u64::MAX);
    let mut recorder = run.recorder();
    run.used(&mut recorder, Limit::fuel, row.fuel.saturating_add(burned));
    run.used(&mut recorder, Limit::memory, run.memory.most());
    run.used(&mut recorder, Limit::run_time, row.run_ms.saturating_add(computed));
    run.used(&mut recorder, Limit::http_exchanges, http.exchanges);
    run.used(&mut recorder, Limit::http_bytes, http.bytes);
    // What it burned before it was live.
    let rebuilt = if row.begun { row.standing } else { 0 };
    run.used(&mut recorder, Limit::replay_fuel, row.replay_fuel.saturating_add(rebuilt));
}

/// What the guest did since the last step; all of it, or what there is room for.
fn step(row: &RunRow, run: &Run, left: &mut Left, control: &crate::sandbox::Control, all: bool, http: HttpUse) -> Step {
    let computed = u64::try_from(control.computed().as_millis()).unwrap_or(u64::MAX);
    let run_ms = computed.saturating_sub(left.charged);
    left.charged = computed;
    let entries = run.recorder().take(run.now(), all);
    let bears = entries.iter().any(|entry| matches!(entry.body, Body::Event(EventKind::ChildStarted { .. }, _)));
    let child = left.child.take_if(|_| bears);
    let (seed, memory, burned) = (left.seed.take(), run.memory.most(), control.burned());
    Step { lease: row.lease, entries, running: true, child, seed, burned, run_ms, memory, http, ..Step::default() }
}

impl Runner {
    /// Gives a guest what an entry keeps beside what readers see of it.
    pub(super) fn hand_over(
        self: &Arc<Self>,
        task: i64,
        seq: u64,
        done: oneshot::Sender<Vec<u8>>,
    ) -> Result<(), StoreError> {
        let read = move |runner: &Self| {
            if let Some(kept) = runner.store.read(|sql| store::kept(sql, task, seq))? {
                // If there is nobody who listens, the guest has been stopped meanwhile.
                let _ = done.send(kept);
            }
            Ok(())
        };
        if self.store.read(|sql| store::kept_bytes(sql, task, seq))? <= SHORT {
            return read(self);
        }
        let runner = self.clone();
        tokio::task::spawn_blocking(move || {
            // The guest's call ends with `Abandoned`.
            read(&runner).unwrap_or_else(|error| tracing::warn!("task {task}: {error}"));
        });
        Ok(())
    }
}

/// The settings of a task, each as it is when the guest asks for it; and what stands for its secrets, where that is how they
/// are placed.
fn settings(runner: &Runner, row: &RunRow, ready: &Arc<Ready>, seed: [u8; 32]) -> Settings {
    let own: BTreeMap<String, String> = serde_json::from_str(&row.settings).unwrap_or_default();
    let (policy, ready, namespace) = (runner.policy.clone(), ready.clone(), row.namespace.clone());
    Box::new(move |name| {
        let (grants, manifest) = (&Grants::default(), &ready.manifest);
        let asker = Asker { manifest, namespace: &namespace, grants, settings: &own };
        let mut rights = policy.current().rights(asker);
        let placeholder = || rights.secrets.iter().find(|secret| secret.name == name)?.placeholder(&seed);
        rights.settings.remove(name).or_else(placeholder)
    })
}

/// What a segment goes on from.
struct Before {
    /// Or the entry that can't be read.
    recorder: Result<Recorder, u64>,
    opened: Opened,
    /// Something is recorded.
    replays: bool,
}

/// Reads it, from the entry `since` on if anything of the segment is recorded. `sends`: the task has sent HTTP requests.
fn before(runner: &Runner, task: i64, since: Option<u64>, sends: bool) -> Result<Before, StoreError> {
    let recorded = match since {
        Some(since) => runner.store.read(|sql| store::of_segment(sql, task, since))?,
        None => Vec::new(),
    };
    let (opened, replays) = (opened_before(runner, task, sends, &recorded)?, !recorded.is_empty());
    Ok(Before { recorder: Recorder::new(recorded), opened, replays })
}

/// What a task had opened before its current segment, of which `recorded` is left.
fn opened_before(runner: &Runner, task: i64, sends: bool, recorded: &[StoredEntry]) -> Result<Opened, StoreError> {
    let here = |is: fn(&EventKind) -> bool| {
        recorded.iter().filter(|entry| matches!(&entry.body, Body::Event(kind, _) if is(kind))).count() as u32
    };
    let questions = runner.store.read(|sql| store::replies(sql, task))?.len() as u32;
    let children = runner.store.read(|sql| store::children_started(sql, task))?;
    let keys = match sends {
        false => HashSet::new(),
        true => {
            let first = recorded.first().map_or(u64::MAX, |entry| entry.seq);
            runner.store.read(|sql| store::keys_before(sql, task, first))?
        }
    };
    Ok(Opened {
        questions: questions.saturating_sub(here(|kind| matches!(kind, EventKind::Question(_)))),
        children: children.saturating_sub(here(|kind| matches!(kind, EventKind::ChildStarted { .. }))),
        keys,
    })
}

/// What a guest's journal says of its child.
fn ready_child(child: &NewRow) -> ChildReady {
    let plugin = match &child.started {
        EventKind::Started { plugin, .. } => plugin.clone(),
        _ => String::new(),
    };
    ChildReady { task: child.id.clone(), plugin, tool: child.tool.clone() }
}

fn write(
    runner: &Arc<Runner>,
    task: i64,
    step: Step,
) -> impl Future<Output = Result<Result<Taken, Misfit>, StoreError>> + Send + use<> {
    let now = runner.clock.now();
    runner.store.write("what the task did", move |tx| step.take(tx, task, now))
}

pub(super) fn call(row: &RunRow, attempt: u32) -> GuestCall {
    let caller: Value = serde_json::from_str(&row.context).unwrap_or(Value::Null);
    let deadline: Timestamp = row.deadline;
    let mut context = json!({ "session": row.session, "deadline": deadline, "caller": caller });
    // Not there at all if the caller did not say: so every run of a task is given the same text, whichever version began it.
    if let Some(locale) = &row.locality.locale {
        context["locale"] = locale.as_str().into();
    }
    if let Some(zone) = &row.locality.time_zone {
        context["timeZone"] = zone.as_str().into();
    }
    GuestCall {
        task_id: row.id.0.clone(),
        tool: row.tool.clone(),
        input: row.input.clone(),
        attempt,
        idempotency_key: format!("longhaul-{}", row.id),
        context: context.to_string(),
    }
}

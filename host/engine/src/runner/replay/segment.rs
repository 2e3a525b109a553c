//! Running one segment again, and comparing its end.

use std::future::poll_fn;
use std::sync::Arc;

use tokio::sync::{mpsc, watch};

use super::plan::{End, Planned};
use crate::Error;
use crate::journal::{Diverged, Heard, Recorder, clip};
use crate::plugin::Ready;
use crate::runner::Runner;
use crate::runner::check::checked;
use crate::runner::segment::call;
use crate::sandbox::{
    Crowded, How, Inbox, Instance, Interrupted, Opened, Request, Returned, Run, RunParts, Seed, Stop, wasi_context,
};
use crate::store::{self, RunRow};
use crate::task::{Broke, ErrorClass, Output};

/// Fuel that the segments so far have used.
pub(super) struct Burned {
    pub fuel: u64,
    /// Each of them came to an end of its own, so that it is what they used when they first ran.
    pub exact: bool,
}

impl Default for Burned {
    fn default() -> Self {
        Self { fuel: 0, exact: true }
    }
}

/// What a segment came to.
pub(super) struct Done {
    /// The last entry that was replayed.
    pub seq: u64,
    pub output: Option<Output>,
    pub outcome: Result<(), Diverged>,
}

impl Runner {
    pub(super) async fn run_again(
        self: &Arc<Self>,
        row: &RunRow,
        ready: &Arc<Ready>,
        planned: Planned,
        inbox: &Arc<Inbox>,
        burned: &mut Burned,
        hear: &mut (dyn FnMut(Heard) + Send),
    ) -> Result<Done, Error> {
        let refused = |problem: String| Error::Replay { task: row.id.clone(), problem };
        let kept = "a ticket that it was called with was not kept: the task was run by an older version";
        let export = planned.export.ok_or_else(|| refused(kept.into()))?;
        let recorder = Recorder::new(planned.entries)
            .map_err(|seq| refused(format!("entry {seq} of its journal can't be read; `longhaul doctor` says more")))?;
        let (sender, mut requests) = mpsc::unbounded_channel();
        let run = Arc::new(self.silent(row, recorder.closed(), inbox, sender));
        let wasi = wasi_context(&run, &Seed::new(planned.seed, planned.segment));
        let fuel = row.limits.fuel.saturating_sub(burned.fuel);
        let (how, fuel) = match Instance::new(&ready.loaded, run.clone(), wasi, fuel) {
            Err((Broke::Host, problem)) => return Err(Error::Fault(problem)),
            Err((broke, problem)) => (How::Broke(broke, problem), 0),
            Ok(mut instance) => {
                let control = instance.control();
                let arguments = call(row, planned.attempt);
                let how = {
                    let mut called = std::pin::pin!(instance.call(&export, &arguments));
                    poll_fn(|cx| {
                        let polled = called.as_mut().poll(cx);
                        let heard = run.recorder().heard(false);
                        heard.into_iter().for_each(&mut *hear);
                        while let Ok(request) = requests.try_recv() {
                            self.tell(row.n, request);
                        }
                        let over = match &planned.end {
                            End::Open => run.recorder().is_live(),
                            // The host stopped it there, at the latest.
                            End::Returned { what: Err(error), .. } => {
                                error.code == Broke::Limit.as_str() && run.recorder().is_beyond()
                            }
                            _ => false,
                        };
                        if over {
                            // Where it goes from here nobody knows.
                            control.stop(Stop::Unwritten);
                        }
                        polled
                    })
                    .await
                };
                (how, instance.fuel_used())
            }
        };
        if matches!(how, How::NoInstance) {
            return Err(Error::Fault("all instances are taken by tasks; replay it again in a moment".into()));
        }
        if matches!(how, How::Interrupted(Interrupted::Abandoned)) && !run.recorder().is_beyond() {
            return Err(refused(
                "a reply, a response or a child's result that it was given is gone; `longhaul doctor` says more".into(),
            ));
        }
        run.recorder().finish(row.created_at);
        // What its result is worth is judged live, and so here.
        let accepted = match &how {
            How::Returned(Returned::Done(output)) => checked(ready, &row.tool, output).await?.is_ok(),
            _ => true,
        };
        let outcome = compare(&planned.end, &how, &run.recorder(), accepted);
        burned.fuel = burned.fuel.saturating_add(fuel);
        burned.exact &= planned.end != End::Open;
        // What it said beyond its journal is part of how it diverged, and of nothing else.
        run.recorder().heard(outcome.is_err()).into_iter().for_each(&mut *hear);
        let output = match how {
            How::Returned(Returned::Done(output)) if planned.end != End::Open => Some(output),
            How::Broke(Broke::Host, problem) => return Err(Error::Fault(problem)),
            _ => None,
        };
        Ok(Done { seq: run.recorder().replayed(), output, outcome })
    }

    /// What became of a child is in the child's journal, and a response in an entry that is not read before it is needed: so
    /// a replay reads them too. It is given nothing else.
    fn tell(self: &Arc<Self>, task: i64, request: Request) {
        // If there is nobody who listens, the guest has been stopped meanwhile.
        match request {
            Request::Outcome { handle, done } => {
                if let Ok(Some(outcome)) = self.store.read(|sql| store::outcome(sql, task, handle)) {
                    let _ = done.send(outcome);
                }
            }
            Request::Kept { seq, done } => {
                let _ = self.hand_over(task, seq, done);
            }
            Request::Write { .. } | Request::Child { .. } | Request::Send(_) => {}
        }
    }

    /// A run that reaches nobody.
    fn silent(
        &self,
        row: &RunRow,
        recorder: Recorder,
        inbox: &Arc<Inbox>,
        requests: mpsc::UnboundedSender<Request>,
    ) -> Run {
        let (_, never) = watch::channel(false);
        Run::new(RunParts {
            recorder,
            inbox: inbox.clone(),
            clock: self.clock.clone(),
            task: row.id.clone(),
            created_at: row.created_at,
            settings: Box::new(|_| None),
            limits: row.limits,
            near: row.near,
            opened: Opened::default(),
            warm: Arc::default(),
            crowded: Crowded::never(),
            stopping: never,
            requests,
            crash: Arc::default(),
        })
    }
}

/// Whether the guest came to the recorded end. `accepted`: what it returned, if anything, is what its tool declares.
fn compare(end: &End, how: &How, recorder: &Recorder, accepted: bool) -> Result<(), Diverged> {
    if let How::Interrupted(Interrupted::Diverged(diverged)) = how {
        return Err(diverged.clone());
    }
    let (did, with) = told(how);
    if !recorder.is_live() {
        return Err(recorder.ended(did, with));
    }
    let (entry, recorded) = match end {
        End::Open => return Ok(()),
        End::Checkpoint { entry, ticket } => (
            entry,
            ticket
                .as_deref()
                .map_or("a ticket".into(), |ticket| format!("the ticket `{}`", clip(&String::from_utf8_lossy(ticket)))),
        ),
        End::Returned { entry, what: Ok(output) } => (entry, format!("the result `{}`", json(output))),
        End::Returned { entry, what: Err(error) } => {
            (entry, format!("the error {}: {}", error.code, clip(&error.message)))
        }
    };
    let same = match (end, how) {
        (End::Checkpoint { ticket, .. }, How::Returned(Returned::Pending { ticket: new, .. })) => {
            ticket.as_ref().is_none_or(|ticket| ticket == new)
        }
        (End::Returned { what: Ok(was), .. }, How::Returned(Returned::Done(output))) => accepted && output == was,
        (End::Returned { what: Err(was), .. }, How::Returned(Returned::Failed { kind, error, .. })) => {
            was.class == ErrorClass::Tool
                && was.code == kind.as_str()
                && (&was.message, &was.details) == (&error.message, &error.details)
        }
        (End::Returned { what: Err(was), .. }, how) if was.class == ErrorClass::Run => match how {
            How::Broke(broke, _) => was.code == broke.as_str(),
            How::Returned(Returned::Done(_)) => !accepted && was.code == Broke::Limit.as_str(),
            How::Returned(Returned::Unusable(_)) => was.code == Broke::Limit.as_str(),
            // The host stopped it there, for a limit of the journal's.
            How::Interrupted(_) if was.code == Broke::Limit.as_str() => return Ok(()),
            _ if was.code == Broke::Limit.as_str() && recorder.is_beyond() => return Ok(()),
            _ => false,
        },
        _ => false,
    };
    if same && !recorder.is_beyond() { Ok(()) } else { Err(recorder.other_end(*entry, recorded, did, with)) }
}

/// How a guest came to its end, and with what.
fn told(how: &How) -> (&'static str, String) {
    match how {
        How::Returned(Returned::Done(output)) => ("return the result", json(output)),
        How::Returned(Returned::Pending { ticket, .. }) => ("return a ticket", clip(&String::from_utf8_lossy(ticket))),
        How::Returned(Returned::Failed { kind, error, .. }) => {
            ("return an error", clip(&format!("{}: {}", kind.as_str(), error.message)))
        }
        How::Returned(Returned::Unusable(problem)) => ("return what breaks the contract", clip(problem)),
        How::Broke(_, problem) => ("break", clip(problem)),
        How::Interrupted(_) | How::Stopped(_) | How::NoInstance => ("go on", String::new()),
    }
}

fn json(output: &Output) -> String {
    clip(&serde_json::to_string(output).unwrap_or_default())
}

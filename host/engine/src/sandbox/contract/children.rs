//! Tools that a tool starts: a child is another task, and its parent holds no more of it than a handle.

use crate::journal::{Call, EventKind, Record, Recorded, Turn};
use crate::limits::Limit;
use crate::sandbox::bindings::longhaul::tool::task::WaitError;
use crate::sandbox::guest::{Guest, Started};
use crate::sandbox::run::{ChildReady, Interrupted, Refusal, Run};
use crate::task::{Output, TaskError};

impl Guest {
    /// `start-tool`.
    pub(super) async fn start_child(
        &mut self,
        tool: String,
        input: String,
    ) -> Result<Result<u32, WaitError>, Interrupted> {
        let run = self.run.clone();
        let arguments = [tool.as_bytes(), &[0], input.as_bytes()].concat();
        {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::StartTool, &arguments)? {
                Some(Recorded::Event(EventKind::ChildStarted { handle, .. })) => return Ok(Ok(self.started(handle))),
                Some(Recorded::Record(Record::WaitCancelled)) => return Ok(Err(self.told_to_stop())),
                Some(Recorded::Record(Record::Declined { malformed: true, why })) => {
                    return Ok(Err(WaitError::Malformed(why)));
                }
                Some(Recorded::Record(Record::Declined { malformed: false, why })) => {
                    return Ok(Err(WaitError::Refused(why)));
                }
                Some(other) => return Err(recorder.mismatch(Call::StartTool, &other).into()),
                None => {}
            }
        }
        let handle = self.next_handle();
        let refusal = match self.room_for_a_child() {
            _ if run.inbox.cancelled().is_some() => None,
            Err(refusal) => Some(refusal),
            Ok(()) => match run.child(handle, tool.clone(), input).await? {
                // Getting it ready may have taken a while.
                _ if run.inbox.cancelled().is_some() => None,
                Ok(child) => match bear(&run, handle, child).await? {
                    Ok(()) => {
                        let handle = self.started(handle);
                        let started = run.opened.children as usize + self.children.len();
                        run.used(&mut run.recorder(), Limit::children, started as u64);
                        return Ok(Ok(handle));
                    }
                    Err(refusal) => Some(refusal).filter(|_| run.inbox.cancelled().is_none()),
                },
                Err(refusal) => Some(refusal),
            },
        };
        let mut recorder = run.recorder();
        let Some(Refusal { malformed, why }) = refusal else {
            recorder.record(&Record::WaitCancelled);
            drop(recorder);
            return Ok(Err(self.told_to_stop()));
        };
        recorder.record(&Record::Declined { malformed, why: why.clone() });
        if malformed {
            return Ok(Err(WaitError::Malformed(why)));
        }
        let what = format!("tool `{}`", crate::json::cut(&tool));
        recorder.aside(run.now(), EventKind::Refused { what, why: why.clone() });
        Ok(Err(WaitError::Refused(why)))
    }

    fn started(&mut self, handle: u32) -> u32 {
        self.children.push(Started { handle, seen: false });
        handle
    }

    fn room_for_a_child(&self) -> Result<(), Refusal> {
        let (limits, started) = (&self.run.limits, self.run.opened.children as usize + self.children.len());
        if started as u64 >= limits.children {
            let why = format!("the task has started as many children as it may ({})", limits.said(Limit::children));
            return Err(Refusal::refused(why));
        }
        Ok(())
    }

    /// `result-of`.
    pub(super) async fn outcome_of(&mut self, handle: u32) -> Result<Option<Result<Output, TaskError>>, Interrupted> {
        let run = self.run.clone();
        {
            let mut recorder = run.recorder();
            let turn = run.next(&mut recorder, Call::ResultOf, &handle.to_le_bytes())?;
            let Some(child) = self.children.iter_mut().find(|child| child.handle == handle) else { return Ok(None) };
            match turn {
                Turn::Live if !child.seen && run.inbox.ended(handle) => {
                    child.seen = true;
                    recorder.record(&Record::ResultSeen);
                }
                Turn::Live | Turn::Silent => {}
                Turn::Recorded(Recorded::Record(Record::ResultSeen)) => child.seen = true,
                Turn::Recorded(other) => return Err(recorder.mismatch(Call::ResultOf, &other).into()),
            }
            if !child.seen {
                return Ok(None);
            }
        }
        Ok(Some(run.outcome(handle).await?))
    }
}

/// Starts a child that is ready: its row and the entry that tells of it are one write.
async fn bear(run: &Run, handle: u32, child: ChildReady) -> Result<Result<(), Refusal>, Interrupted> {
    let ChildReady { task, plugin, tool } = child;
    run.recorder().event(run.now(), EventKind::ChildStarted { handle, child: task, plugin, tool });
    Ok(match run.commit(None).await? {
        None => Ok(()),
        Some(why) => Err(Refusal::refused(why)),
    })
}

//! `longhaul:tool/concurrent`: several questions at once, and children.

use std::time::Duration;

use super::convert::{wit_outcome, wit_reply};
use crate::clock::Timestamp;
use crate::journal::{Call, Record, Recorded, Turn};
use crate::sandbox::bindings::longhaul::tool::concurrent::Host;
use crate::sandbox::bindings::longhaul::tool::task::WaitError;
use crate::sandbox::bindings::longhaul::tool::types::{self, Millis};
use crate::sandbox::guest::Guest;
use crate::sandbox::run::Interrupted;
use crate::task::{Reply, Waiting, WaitingOn};

impl Host for Guest {
    async fn ask(&mut self, question: types::Question) -> wasmtime::Result<Result<u32, WaitError>> {
        Ok(self.open_question(question, false).await?.map(|asked| asked.number))
    }

    async fn start_tool(&mut self, tool: String, input: String) -> wasmtime::Result<Result<u32, WaitError>> {
        Ok(self.start_child(tool, input).await?)
    }

    async fn wait_any(
        &mut self,
        on: Vec<u32>,
        timeout: Option<Millis>,
    ) -> wasmtime::Result<Result<Option<u32>, WaitError>> {
        Ok(self.wait_for_any(&on, timeout.map(Duration::from_millis)).await?)
    }

    fn reply_to(&mut self, question: u32) -> wasmtime::Result<Option<types::Reply>> {
        let run = self.run.clone();
        let reply = run.inbox.reply(question);
        let mut recorder = run.recorder();
        let turn = run.next(&mut recorder, Call::ReplyTo, &question.to_le_bytes())?;
        let Some(asked) = self.questions.iter_mut().find(|asked| asked.number == question) else { return Ok(None) };
        match turn {
            Turn::Live if !asked.seen && reply.is_some() => {
                asked.seen = true;
                recorder.record(&Record::ReplySeen);
            }
            Turn::Live | Turn::Silent => {}
            Turn::Recorded(Recorded::Record(Record::ReplySeen)) => asked.seen = true,
            Turn::Recorded(other) => return Err(Interrupted::from(recorder.mismatch(Call::ReplyTo, &other)).into()),
        }
        Ok(if asked.seen { reply.map(wit_reply) } else { None })
    }

    async fn result_of(&mut self, child: u32) -> wasmtime::Result<Option<Result<types::Output, types::ToolError>>> {
        Ok(self.outcome_of(child).await?.map(wit_outcome))
    }

    async fn withdraw(&mut self, handle: u32) -> wasmtime::Result<()> {
        let run = self.run.clone();
        // Nothing comes back, so nothing is recorded: done twice it is the same.
        let turn = run.next(&mut run.recorder(), Call::Withdraw, &handle.to_le_bytes())?;
        let asked = self.questions.iter().any(|asked| asked.number == handle);
        if matches!(turn, Turn::Live) && asked && run.inbox.reply(handle).is_none() {
            run.settle(handle, Reply::Closed).await?;
        }
        let started = self.children.iter().any(|child| child.handle == handle);
        if matches!(turn, Turn::Live) && started && !run.inbox.ended(handle) {
            run.withdraw(handle).await?;
        }
        Ok(())
    }
}

impl Guest {
    async fn wait_for_any(
        &mut self,
        on: &[u32],
        timeout: Option<Duration>,
    ) -> Result<Result<Option<u32>, WaitError>, Interrupted> {
        let run = self.run.clone();
        let mut arguments: Vec<u8> = on.iter().flat_map(|handle| handle.to_le_bytes()).collect();
        arguments.extend_from_slice(&timeout.map_or(u64::MAX, |timeout| timeout.as_millis() as u64).to_le_bytes());
        let began = {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::WaitAny, &arguments)? {
                Some(Recorded::Record(Record::TimerSet(millis))) => millis,
                Some(Recorded::Record(Record::Declined { why, .. })) => return Ok(Err(WaitError::Malformed(why))),
                Some(other) => return Err(recorder.mismatch(Call::WaitAny, &other).into()),
                None => match self.unknown(on) {
                    Some(why) => {
                        recorder.record(&Record::Declined { malformed: true, why: why.clone() });
                        return Ok(Err(WaitError::Malformed(why)));
                    }
                    None => {
                        let millis = run.monotonic(&mut recorder);
                        recorder.record(&Record::TimerSet(millis));
                        millis
                    }
                },
            }
        };
        {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::WaitAny, &[])? {
                Some(Recorded::Record(Record::Found(found))) => return Ok(Ok(self.found(on, found))),
                Some(Recorded::Record(Record::WaitCancelled)) => return Ok(Err(self.told_to_stop())),
                Some(other) => return Err(recorder.mismatch(Call::WaitAny, &other).into()),
                None => {}
            }
        }
        let began = Timestamp::from_millis(run.created_at.as_millis().saturating_add(began));
        let end = timeout.map(|timeout| began.after(timeout));
        let deadlines: Vec<(u32, Timestamp)> = self
            .questions
            .iter()
            .filter(|asked| on.contains(&asked.number))
            .filter_map(|asked| Some((asked.number, asked.deadline?)))
            .collect();
        let asks = on.iter().any(|handle| self.questions.iter().any(|asked| asked.number == *handle));
        let on_whom = if asks { WaitingOn::Human } else { WaitingOn::Child };
        let mut written = false;
        loop {
            let version = run.inbox.version();
            let now = run.now();
            for (question, deadline) in &deadlines {
                if *deadline <= now && run.inbox.reply(*question).is_none() {
                    run.settle(*question, Reply::TimedOut).await?;
                }
            }
            let settled = on.iter().position(|handle| run.inbox.reply(*handle).is_some() || run.inbox.ended(*handle));
            let outcome = if let Some(place) = settled {
                Some(Record::Found(u32::try_from(place).ok()))
            } else if run.inbox.cancelled().is_some() {
                Some(Record::WaitCancelled)
            } else if end.is_some_and(|end| end <= now) {
                Some(Record::Found(None))
            } else {
                None
            };
            if let Some(outcome) = outcome {
                run.recorder().record(&outcome);
                return Ok(match outcome {
                    Record::Found(found) => Ok(self.found(on, found)),
                    _ => Err(self.told_to_stop()),
                });
            }
            let until = deadlines.iter().map(|(_, deadline)| *deadline).chain(end).min();
            if !written {
                run.commit(Some(Waiting { on: on_whom, until })).await?;
                written = true;
                continue;
            }
            run.wait(version, on_whom, until).await?;
            // Whatever arrived has put the task in line. If it was something else, it waits again.
            written = false;
        }
    }

    fn unknown(&self, on: &[u32]) -> Option<String> {
        if on.is_empty() {
            return Some("`on` is empty: there is nothing to wait for".into());
        }
        let known = |handle: &u32| {
            self.questions.iter().any(|asked| asked.number == *handle)
                || self.children.iter().any(|child| child.handle == *handle)
        };
        on.iter().find(|handle| !known(handle)).map(|handle| format!("this task has opened no {handle}"))
    }

    /// Whoever was found settled is seen to be so.
    fn found(&mut self, on: &[u32], found: Option<u32>) -> Option<u32> {
        let handle = found.and_then(|place| on.get(place as usize)).copied();
        for asked in self.questions.iter_mut().filter(|asked| Some(asked.number) == handle) {
            asked.seen = true;
        }
        for child in self.children.iter_mut().filter(|child| Some(child.handle) == handle) {
            child.seen = true;
        }
        found
    }
}

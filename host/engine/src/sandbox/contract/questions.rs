//! Asking people: opening a question, and waiting for what becomes of it.

use std::time::Duration;

use serde_json::Value;

use crate::journal::{Call, EventKind, Record, Recorded};
use crate::limits::Limit;
use crate::sandbox::bindings::longhaul::tool::task::WaitError;
use crate::sandbox::bindings::longhaul::tool::types;
use crate::sandbox::guest::{Asked, Guest};
use crate::sandbox::run::Interrupted;
use crate::task::{AnswerSchema, OpenQuestion, Reply, Waiting, WaitingOn};

impl Guest {
    /// Opens a question. `waits`: the guest does nothing until it is settled.
    pub(super) async fn open_question(
        &mut self,
        question: types::Question,
        waits: bool,
    ) -> Result<Result<Asked, WaitError>, Interrupted> {
        let run = self.run.clone();
        let number = self.next_handle();
        let (asked, fresh) = {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::Ask, &arguments(&question))? {
                Some(Recorded::Event(EventKind::Question(open))) => {
                    (Asked { number: open.question, deadline: open.deadline, seen: false }, false)
                }
                Some(Recorded::Record(Record::WaitCancelled)) => return Ok(Err(self.told_to_stop())),
                Some(Recorded::Record(Record::Declined { malformed: true, why })) => {
                    return Ok(Err(WaitError::Malformed(why)));
                }
                Some(Recorded::Record(Record::Declined { malformed: false, why })) => {
                    return Ok(Err(WaitError::Refused(why)));
                }
                Some(other) => return Err(recorder.mismatch(Call::Ask, &other).into()),
                None if run.inbox.cancelled().is_some() => {
                    recorder.record(&Record::WaitCancelled);
                    return Ok(Err(self.told_to_stop()));
                }
                None => match self.checked(question, number) {
                    Ok(open) => {
                        let asked = Asked { number, deadline: open.deadline, seen: false };
                        recorder.event(run.now(), EventKind::Question(open));
                        let asked_so_far = run.opened.questions as usize + self.questions.len() + 1;
                        run.used(&mut recorder, Limit::questions, asked_so_far as u64);
                        (asked, true)
                    }
                    Err(refused) => {
                        let (malformed, why) = match &refused {
                            WaitError::Malformed(why) => (true, why.clone()),
                            WaitError::Refused(why) => (false, why.clone()),
                            WaitError::Cancelled => (false, String::new()),
                        };
                        recorder.record(&Record::Declined { malformed, why });
                        return Ok(Err(refused));
                    }
                },
            }
        };
        self.questions.push(asked.clone());
        if fresh {
            let waiting = Waiting { on: WaitingOn::Human, until: asked.deadline };
            run.commit(waits.then_some(waiting)).await?;
        }
        Ok(Ok(asked))
    }

    fn checked(&self, question: types::Question, number: u32) -> Result<OpenQuestion, WaitError> {
        let size = question.prompt.len()
            + question.answer.len()
            + question.detail.as_ref().map_or(0, String::len)
            + question.options.as_ref().map_or(0, String::len);
        let limits = &self.run.limits;
        let refused = |what: &str, limit| Err(WaitError::Refused(format!("{what} ({})", limits.said(limit))));
        if size as u64 > limits.question {
            return refused(&format!("a question of {size} bytes"), Limit::question);
        }
        let asked = self.run.opened.questions as usize + self.questions.len();
        if asked as u64 >= limits.questions {
            return refused("the task has asked as many questions as it may", Limit::questions);
        }
        let open = self.questions.iter().filter(|asked| self.run.inbox.reply(asked.number).is_none()).count();
        if open as u64 >= limits.open_questions {
            return refused("the task has as many questions open as it may", Limit::open_questions);
        }
        let answer: Value = serde_json::from_str(&question.answer)
            .map_err(|error| WaitError::Malformed(format!("`answer` is not JSON: {error}")))?;
        AnswerSchema::parse(&answer).map_err(|problem| WaitError::Malformed(format!("`answer`: {problem}")))?;
        let options = question.options.as_deref().map(crate::json::parse).transpose();
        let options = options
            .map_err(|error| WaitError::Malformed(format!("`options` is not JSON that can be kept: {error}")))?;
        let deadline = question.timeout.map(|millis| self.run.now().after(Duration::from_millis(millis)));
        Ok(OpenQuestion {
            question: number,
            task: None,
            prompt: question.prompt,
            detail: question.detail,
            answer,
            deadline,
            options,
        })
    }

    /// Waits until a question is settled.
    pub(super) async fn await_reply(&mut self, asked: &Asked) -> Result<Result<Reply, WaitError>, Interrupted> {
        let run = self.run.clone();
        {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::AwaitReply, &asked.number.to_le_bytes())? {
                Some(Recorded::Record(Record::Settled)) => {
                    let reply = run.inbox.reply(asked.number).ok_or(Interrupted::Abandoned)?;
                    return Ok(Ok(reply));
                }
                Some(Recorded::Record(Record::WaitCancelled)) => return Ok(Err(self.told_to_stop())),
                Some(other) => return Err(recorder.mismatch(Call::AwaitReply, &other).into()),
                None => {}
            }
        }
        loop {
            let version = run.inbox.version();
            let passed = asked.deadline.is_some_and(|deadline| deadline <= run.now());
            let mut reply = run.inbox.reply(asked.number);
            // Whether the answer or the end of the wait was first is for the database to say.
            if reply.is_none() && passed {
                reply = Some(run.settle(asked.number, Reply::TimedOut).await?);
            } else if reply.is_none() && run.inbox.cancelled().is_some() {
                reply = Some(run.settle(asked.number, Reply::Closed).await?);
            }
            match reply {
                Some(Reply::Closed) => {
                    run.recorder().record(&Record::WaitCancelled);
                    return Ok(Err(self.told_to_stop()));
                }
                Some(reply) => {
                    run.recorder().record(&Record::Settled);
                    return Ok(Ok(reply));
                }
                None => {}
            }
            run.wait(version, WaitingOn::Human, asked.deadline).await?;
        }
    }
}

/// Everything that makes the question, for the fingerprint.
fn arguments(question: &types::Question) -> Vec<u8> {
    let mut arguments = Vec::with_capacity(question.prompt.len() + question.answer.len() + 16);
    for text in [Some(&question.prompt), question.detail.as_ref(), Some(&question.answer), question.options.as_ref()] {
        arguments.extend_from_slice(text.map_or("", String::as_str).as_bytes());
        arguments.push(0);
    }
    arguments.extend_from_slice(&question.timeout.unwrap_or(u64::MAX).to_le_bytes());
    arguments
}

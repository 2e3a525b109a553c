//! `longhaul:tool/task`: progress, questions, sleep, cancellation, settings.

use std::time::Duration;

use super::convert::{level, wit_reply};
use crate::journal::{Call, EventKind, Record, Recorded, Turn};
use crate::sandbox::bindings::longhaul::tool::task::{Host, WaitError};
use crate::sandbox::bindings::longhaul::tool::types::{self, Millis};
use crate::sandbox::guest::Guest;
use crate::sandbox::run::Interrupted;
use crate::task::{Progress, Waiting, WaitingOn};

impl types::Host for Guest {}

impl Host for Guest {
    fn report_progress(&mut self, update: types::Progress) -> wasmtime::Result<()> {
        let mut arguments = Vec::with_capacity(update.message.len() + 17);
        arguments.extend_from_slice(update.message.as_bytes());
        for number in [update.done, update.total] {
            arguments.extend_from_slice(&number.map_or(u64::MAX, f64::to_bits).to_le_bytes());
        }
        arguments.push(update.level as u8);
        let progress = Progress {
            message: cut(update.message, self.run.limits.progress_message),
            // JSON has no other numbers.
            done: update.done.filter(|done| done.is_finite()),
            total: update.total.filter(|total| total.is_finite()),
            level: level(update.level),
        };
        let now = self.run.now();
        let mut recorder = self.run.recorder();
        if recorder.is_live() {
            self.run.planned()?;
        }
        recorder.progress(now, &arguments, progress).map_err(Interrupted::from)?;
        Ok(())
    }

    async fn ask_human(&mut self, question: types::Question) -> wasmtime::Result<Result<types::Reply, WaitError>> {
        let asked = match self.open_question(question, true).await? {
            Ok(asked) => asked,
            Err(refused) => return Ok(Err(refused)),
        };
        Ok(self.await_reply(&asked).await?.map(wit_reply))
    }

    async fn sleep(&mut self, duration: Millis) -> wasmtime::Result<Result<(), WaitError>> {
        Ok(self.sleep_for(Duration::from_millis(duration)).await?)
    }

    fn is_cancelled(&mut self) -> wasmtime::Result<bool> {
        let run = self.run.clone();
        let mut recorder = run.recorder();
        match run.next(&mut recorder, Call::IsCancelled, &[])? {
            Turn::Live if !self.cancel_seen && run.inbox.cancelled().is_some() => {
                self.cancel_seen = true;
                recorder.record(&Record::CancelSeen);
            }
            Turn::Live | Turn::Silent => {}
            Turn::Recorded(Recorded::Record(Record::CancelSeen)) => self.cancel_seen = true,
            Turn::Recorded(other) => return Err(Interrupted::from(recorder.mismatch(Call::IsCancelled, &other)).into()),
        }
        Ok(self.cancel_seen)
    }

    fn setting(&mut self, name: String) -> wasmtime::Result<Option<String>> {
        let mut recorder = self.run.recorder();
        match self.run.expect(&mut recorder, Call::Setting, name.as_bytes())? {
            Some(Recorded::Record(Record::Setting(value))) => Ok(value),
            Some(other) => Err(Interrupted::from(recorder.mismatch(Call::Setting, &other)).into()),
            None => {
                let value = (self.run.settings)(&name);
                recorder.record(&Record::Setting(value.clone()));
                Ok(value)
            }
        }
    }
}

impl Guest {
    async fn sleep_for(&mut self, duration: Duration) -> Result<Result<(), WaitError>, Interrupted> {
        let run = self.run.clone();
        let arguments = duration.as_millis().to_le_bytes();
        let until = {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::Sleep, &arguments)? {
                Some(Recorded::Event(EventKind::Sleep { until })) => until,
                Some(Recorded::Record(Record::WaitCancelled)) => return Ok(Err(self.told_to_stop())),
                Some(other) => return Err(recorder.mismatch(Call::Sleep, &other).into()),
                None if run.inbox.cancelled().is_some() => {
                    recorder.record(&Record::WaitCancelled);
                    return Ok(Err(self.told_to_stop()));
                }
                None => {
                    let now = run.now();
                    let until = now.after(duration);
                    recorder.event(now, EventKind::Sleep { until });
                    until
                }
            }
        };
        {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::AwaitSleep, &[])? {
                Some(Recorded::Record(Record::Settled)) => return Ok(Ok(())),
                Some(Recorded::Record(Record::WaitCancelled)) => return Ok(Err(self.told_to_stop())),
                Some(other) => return Err(recorder.mismatch(Call::AwaitSleep, &other).into()),
                None => {}
            }
        }
        // The deadline is the same after a restart, so it is on disk before the wait begins.
        let waiting = Waiting { on: WaitingOn::Timer, until: Some(until) };
        run.commit((until > run.now()).then_some(waiting)).await?;
        loop {
            let version = run.inbox.version();
            let over = if until <= run.now() {
                Some(Record::Settled)
            } else if run.inbox.cancelled().is_some() {
                Some(Record::WaitCancelled)
            } else {
                None
            };
            if let Some(record) = over {
                run.recorder().record(&record);
                return Ok(if record == Record::Settled { Ok(()) } else { Err(self.told_to_stop()) });
            }
            run.wait(version, WaitingOn::Timer, Some(until)).await?;
        }
    }

    /// The guest hears from a wait that it should stop; from then on `is-cancelled` says so too.
    pub(super) fn told_to_stop(&mut self) -> WaitError {
        self.cancel_seen = true;
        WaitError::Cancelled
    }
}

fn cut(mut message: String, most: u64) -> String {
    if message.len() as u64 > most {
        let end = message.floor_char_boundary(usize::try_from(most).unwrap_or(usize::MAX));
        message.truncate(end);
    }
    message
}

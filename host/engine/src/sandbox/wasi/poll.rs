//! Polling. A pollable is a timer, or it is always ready: what a guest may write to never blocks, and what it may read is
//! empty.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::io::poll;

use crate::clock::Timestamp;
use crate::journal::{Call, Record, Recorded};
use crate::sandbox::guest::Guest;
use crate::sandbox::run::Interrupted;
use crate::task::{Waiting, WaitingOn};

const NANOS_PER_MILLI: u64 = 1_000_000;

impl poll::Host for Guest {
    async fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        if pollables.is_empty() {
            return Err(wasmtime::Error::msg("poll of no pollables"));
        }
        Ok(self.first_ready(&pollables).await?)
    }
}

impl poll::HostPollable for Guest {
    async fn ready(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        let deadline = self.timers.get(&pollable.rep()).copied();
        let mut recorder = self.run.recorder();
        match self.run.expect(&mut recorder, Call::Ready, &[])? {
            Some(Recorded::Record(Record::Ready(ready))) => Ok(ready),
            Some(other) => Err(Interrupted::from(recorder.mismatch(Call::Ready, &other)).into()),
            None => {
                let now = self.run.monotonic(&mut recorder).saturating_mul(NANOS_PER_MILLI);
                let ready = deadline.is_none_or(|deadline| deadline <= now);
                recorder.record(&Record::Ready(ready));
                Ok(ready)
            }
        }
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.first_ready(&[pollable]).await?;
        Ok(())
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.timers.remove(&pollable.rep());
        poll::HostPollable::drop(&mut self.table, pollable)
    }
}

impl Guest {
    /// Which of them are ready, waiting for the first timer if none is.
    async fn first_ready(&mut self, pollables: &[Resource<DynPollable>]) -> Result<Vec<u32>, Interrupted> {
        let deadlines: Vec<Option<u64>> =
            pollables.iter().map(|pollable| self.timers.get(&pollable.rep()).copied()).collect();
        let run = self.run.clone();
        {
            let mut recorder = run.recorder();
            let arguments = (deadlines.len() as u64).to_le_bytes();
            match run.expect(&mut recorder, Call::Poll, &arguments)? {
                Some(Recorded::Record(Record::Polled(ready))) => {
                    // The clock never falls below a timer that has fired.
                    for deadline in ready.iter().filter_map(|place| *deadlines.get(*place as usize)?) {
                        recorder.monotonic(deadline.div_ceil(NANOS_PER_MILLI));
                    }
                    return Ok(ready);
                }
                Some(other) => return Err(recorder.mismatch(Call::Poll, &other).into()),
                None => {}
            }
        }
        let mut written = false;
        loop {
            {
                let mut recorder = run.recorder();
                let now = run.monotonic(&mut recorder).saturating_mul(NANOS_PER_MILLI);
                let ready: Vec<u32> = deadlines
                    .iter()
                    .zip(0..)
                    .filter(|(deadline, _)| deadline.is_none_or(|deadline| deadline <= now))
                    .map(|(_, place)| place)
                    .collect();
                if !ready.is_empty() {
                    recorder.record(&Record::Polled(ready.clone()));
                    return Ok(ready);
                }
            }
            // None is ready, so all are timers.
            let first = deadlines.iter().flatten().min().copied().unwrap_or(0);
            let until =
                Timestamp::from_millis(run.created_at.as_millis().saturating_add(first.div_ceil(NANOS_PER_MILLI)));
            if !written && until.since(run.now()) > SHORT {
                // The deadline must be the same after a restart, so what it was computed from goes to disk first.
                run.commit(Some(Waiting { on: WaitingOn::Timer, until: Some(until) })).await?;
                written = true;
            }
            let version = run.inbox.version();
            run.wait(version, WaitingOn::Timer, Some(until)).await?;
        }
    }
}

/// A wait that is over before it would be worth a line in the database.
const SHORT: std::time::Duration = std::time::Duration::from_millis(50);

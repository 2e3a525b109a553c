//! Polling. A pollable is a timer or a response, or it is always ready: what a guest may write to never blocks, and what it
//! may read is there.

use std::future::poll_fn;

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::io::poll;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use crate::clock::Timestamp;
use crate::journal::{Call, Record, Recorded};
use crate::sandbox::guest::Guest;
use crate::sandbox::http::Waited;
use crate::sandbox::run::Interrupted;
use crate::task::{Waiting, WaitingOn};

const NANOS_PER_MILLI: u64 = 1_000_000;

/// What a pollable waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sandbox) enum Source {
    /// A time: monotonic nanoseconds.
    Timer(u64),
    /// The outcome of an HTTP exchange, by its number.
    Exchange(u32),
}

/// Stands in the table for what is in [`Guest::sources`], where our `poll` finds it.
struct Ours;

#[wasmtime_wasi::async_trait]
impl Pollable for Ours {
    async fn ready(&mut self) {
        // Only WASI's own `poll` would wait here, and it is not linked.
        std::future::pending().await
    }
}

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
        let source = self.sources.get(&pollable.rep()).copied();
        let run = self.run.clone();
        let recorded = {
            let mut recorder = run.recorder();
            match run.expect(&mut recorder, Call::Ready, &[])? {
                Some(Recorded::Record(Record::Ready(ready))) => Some(ready),
                Some(other) => return Err(Interrupted::from(recorder.mismatch(Call::Ready, &other)).into()),
                None => None,
            }
        };
        let ready = match recorded {
            Some(ready) => ready,
            None => {
                self.resume()?;
                let ready = self.waited(source)? == Waited::Ready;
                run.recorder().record(&Record::Ready(ready));
                ready
            }
        };
        if let (true, Some(Source::Exchange(number))) = (ready, source) {
            self.exchanges.tell(number);
        }
        Ok(ready)
    }

    async fn block(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.first_ready(&[pollable]).await?;
        Ok(())
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        self.sources.remove(&pollable.rep());
        poll::HostPollable::drop(&mut self.table, pollable)
    }
}

impl Guest {
    /// A pollable. Without a source it is always ready.
    pub(in crate::sandbox) fn pollable(&mut self, source: Option<Source>) -> wasmtime::Result<Resource<DynPollable>> {
        let ours = self.table.push(Ours)?;
        let pollable = subscribe(&mut self.table, ours)?;
        if let Some(source) = source {
            self.sources.insert(pollable.rep(), source);
        }
        Ok(pollable)
    }

    /// What there is to wait for.
    fn waited(&mut self, source: Option<Source>) -> Result<Waited, Interrupted> {
        match source {
            None => Ok(Waited::Ready),
            Some(Source::Exchange(number)) => self.exchanges.look(number),
            Some(Source::Timer(deadline)) => {
                let now = self.run.monotonic(&mut self.run.recorder()).saturating_mul(NANOS_PER_MILLI);
                Ok(if deadline <= now { Waited::Ready } else { Waited::Comes })
            }
        }
    }

    /// Which of them are ready, waiting for the first if none is.
    async fn first_ready(&mut self, pollables: &[Resource<DynPollable>]) -> Result<Vec<u32>, Interrupted> {
        let sources: Vec<Option<Source>> =
            pollables.iter().map(|pollable| self.sources.get(&pollable.rep()).copied()).collect();
        let run = self.run.clone();
        let replayed = {
            let mut recorder = run.recorder();
            let arguments = (sources.len() as u64).to_le_bytes();
            match run.expect(&mut recorder, Call::Poll, &arguments)? {
                Some(Recorded::Record(Record::Polled(ready))) => {
                    // The clock never falls below a timer that has fired.
                    for place in &ready {
                        if let Some(Some(Source::Timer(deadline))) = sources.get(*place as usize) {
                            recorder.monotonic(deadline.div_ceil(NANOS_PER_MILLI));
                        }
                    }
                    Some(ready)
                }
                Some(other) => return Err(recorder.mismatch(Call::Poll, &other).into()),
                None => None,
            }
        };
        let ready = match replayed {
            Some(ready) => ready,
            None => {
                self.resume()?;
                let ready = self.wait_for_first(&sources).await?;
                run.recorder().record(&Record::Polled(ready.clone()));
                ready
            }
        };
        for place in &ready {
            if let Some(Some(Source::Exchange(number))) = sources.get(*place as usize) {
                self.exchanges.tell(*number);
            }
        }
        Ok(ready)
    }

    async fn wait_for_first(&mut self, sources: &[Option<Source>]) -> Result<Vec<u32>, Interrupted> {
        let run = self.run.clone();
        let first = sources.iter().filter_map(|source| match source {
            Some(Source::Timer(deadline)) => Some(*deadline),
            _ => None,
        });
        let first = first.min().map(|first| {
            Timestamp::from_millis(run.created_at.as_millis().saturating_add(first.div_ceil(NANOS_PER_MILLI)))
        });
        let mut written = false;
        loop {
            let mut ready = Vec::new();
            let mut coming = Vec::new();
            for (source, place) in sources.iter().zip(0..) {
                match (self.waited(*source)?, source) {
                    (Waited::Ready, _) => ready.push(place),
                    (Waited::Comes, Some(Source::Exchange(number))) => coming.push(*number),
                    _ => {}
                }
            }
            if !ready.is_empty() {
                return Ok(ready);
            }
            match first {
                // What is under way is lost with the instance, so this one stays.
                _ if !coming.is_empty() => {
                    let elapsed = async {
                        match first {
                            Some(until) => run.clock.sleep_until(until).await,
                            None => std::future::pending().await,
                        }
                    };
                    tokio::select! {
                        biased;
                        arrived = poll_fn(|cx| self.exchanges.poll_arrival(&coming, cx)) => arrived?,
                        () = elapsed => {}
                    }
                }
                Some(until) => {
                    if !written && until.since(run.now()) > SHORT {
                        // The deadline must be the same after a restart, so what it was computed from goes to disk first.
                        run.commit(Some(Waiting { on: WaitingOn::Timer, until: Some(until) })).await?;
                        written = true;
                    }
                    let version = run.inbox.version();
                    run.wait(version, WaitingOn::Timer, Some(until)).await?;
                }
                // Nothing would ever come.
                None => {
                    for source in sources {
                        if let Some(Source::Exchange(number)) = source {
                            self.exchanges.give_up(*number);
                        }
                    }
                }
            }
        }
    }
}

/// A wait that is over before it would be worth a line in the database.
const SHORT: std::time::Duration = std::time::Duration::from_millis(50);

//! The clocks, to the millisecond: read live, recorded, and read from the record on replay.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::DynPollable;
use wasmtime_wasi::p2::bindings::clocks::monotonic_clock::{self, Duration, Instant};
use wasmtime_wasi::p2::bindings::clocks::wall_clock::{self, Datetime};

use super::poll::Source;
use crate::journal::{Call, Record, Recorded};
use crate::sandbox::guest::Guest;
use crate::sandbox::run::Interrupted;

const NANOS_PER_MILLI: u64 = 1_000_000;

impl wall_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<Datetime> {
        Ok(datetime(self.wall()?))
    }

    fn resolution(&mut self) -> wasmtime::Result<Datetime> {
        Ok(datetime(1))
    }
}

impl monotonic_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<Instant> {
        Ok(self.reading(Call::MonotonicClock, &[])?.saturating_mul(NANOS_PER_MILLI))
    }

    fn resolution(&mut self) -> wasmtime::Result<Duration> {
        Ok(NANOS_PER_MILLI)
    }

    fn subscribe_instant(&mut self, when: Instant) -> wasmtime::Result<Resource<DynPollable>> {
        // The guest names the moment, so there is nothing to record; it is counted like every call.
        let run = self.run.clone();
        run.next(&mut run.recorder(), Call::SubscribeInstant, &when.to_le_bytes())?;
        self.timer(when)
    }

    fn subscribe_duration(&mut self, duration: Duration) -> wasmtime::Result<Resource<DynPollable>> {
        let now = self.reading(Call::SubscribeDuration, &duration.to_le_bytes())?;
        self.timer(now.saturating_mul(NANOS_PER_MILLI).saturating_add(duration))
    }
}

impl Guest {
    fn wall(&mut self) -> Result<u64, Interrupted> {
        let mut recorder = self.run.recorder();
        match self.run.expect(&mut recorder, Call::WallClock, &[])? {
            Some(Recorded::Record(Record::Wall(millis))) => Ok(millis),
            Some(other) => Err(recorder.mismatch(Call::WallClock, &other).into()),
            None => {
                let millis = self.run.now().as_millis();
                recorder.record(&Record::Wall(millis));
                Ok(millis)
            }
        }
    }

    /// A reading of the monotonic clock, in milliseconds; for a timer that is set it is kept in a record of its own kind.
    fn reading(&mut self, call: Call, arguments: &[u8]) -> Result<u64, Interrupted> {
        let mut recorder = self.run.recorder();
        let timer = call == Call::SubscribeDuration;
        match self.run.expect(&mut recorder, call, arguments)? {
            Some(Recorded::Record(Record::TimerSet(millis))) if timer => Ok(millis),
            Some(Recorded::Record(Record::Monotonic(millis))) if !timer => Ok(millis),
            Some(other) => Err(recorder.mismatch(call, &other).into()),
            None => {
                let millis = self.run.monotonic(&mut recorder);
                recorder.record(&if timer { Record::TimerSet(millis) } else { Record::Monotonic(millis) });
                Ok(millis)
            }
        }
    }

    fn timer(&mut self, deadline: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.pollable(Some(Source::Timer(deadline)))
    }
}

fn datetime(millis: u64) -> Datetime {
    Datetime { seconds: millis / 1_000, nanoseconds: (millis % 1_000) as u32 * NANOS_PER_MILLI as u32 }
}

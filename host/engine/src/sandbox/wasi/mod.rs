//! WASI 0.2 by record and replay.
//!
//! What a guest can learn or do through WASI is decided here: clocks and polling are ours, standard output is the task's
//! log, random numbers come from the attempt's seed, and the rest is empty or denied.

mod clocks;
mod names;
mod poll;
mod random;
mod stdio;

use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::WasiCtx;
use wasmtime_wasi::p2::bindings as p2;
use wasmtime_wasi::p2::pipe::MemoryInputPipe;

pub(super) use poll::Source;
pub(crate) use random::Seed;

use super::guest::Guest;
use super::run::Run;
use crate::journal::LogStream;

/// Puts our interfaces in the place of those that would touch the outside.
pub(super) fn shadow(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    p2::clocks::wall_clock::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    p2::clocks::monotonic_clock::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    p2::io::poll::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    p2::sockets::ip_name_lookup::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    linker.allow_shadowing(false);
    Ok(())
}

/// The rest of WASI: no arguments, no environment, no files, no network, an empty standard input.
pub(crate) fn context(run: &Arc<Run>, seed: &Seed) -> WasiCtx {
    let mut wasi = WasiCtx::builder();
    wasi.stdin(MemoryInputPipe::new(Vec::new()))
        .stdout(stdio::Log::new(run.clone(), LogStream::Stdout))
        .stderr(stdio::Log::new(run.clone(), LogStream::Stderr))
        .secure_random(seed.stream(random::SECURE))
        .insecure_random(seed.stream(random::INSECURE))
        .insecure_random_seed(seed.number(random::HASH_SEED))
        .max_random_size(run.limits.random)
        .allow_tcp(false)
        .allow_udp(false)
        .allow_ip_name_lookup(false);
    wasi.build()
}

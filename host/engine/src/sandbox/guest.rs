//! What a guest's store holds, and the linker that gives a guest its imports.

use std::collections::HashMap;
use std::sync::Arc;

use wasmtime::component::{HasSelf, Linker, ResourceTable};
use wasmtime::{Engine, Store};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use super::bindings;
use super::http::Exchanges;
use super::meter::Meter;
use super::run::Run;
use super::wasi::Source;

/// Fuel between two yields of a guest that computes: about a millisecond.
pub(super) const YIELD: u64 = 2_000_000;

/// The state of one instance.
pub(crate) struct Guest {
    pub run: Arc<Run>,
    pub wasi: WasiCtx,
    pub table: ResourceTable,
    pub meter: Meter,
    /// What the pollables wait for that are not always ready, by their place in the table.
    pub sources: HashMap<u32, Source>,
    /// HTTP requests so far.
    pub exchanges: Exchanges,
    /// Questions asked so far, in the order of their numbers, and whether their reply was seen.
    pub questions: Vec<Asked>,
    /// Children started so far, in the order of their handles.
    pub children: Vec<Started>,
    /// The guest has been told that it should stop.
    pub cancel_seen: bool,
}

/// A question of this segment.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub number: u32,
    pub deadline: Option<crate::Timestamp>,
    /// `reply-to` has given the reply.
    pub seen: bool,
}

/// A child of this segment.
#[derive(Debug, Clone)]
pub(crate) struct Started {
    pub handle: u32,
    /// `result-of` has given the result.
    pub seen: bool,
}

impl Guest {
    /// The number of the next question or child.
    pub fn next_handle(&self) -> u32 {
        let before = self.run.opened.questions + self.run.opened.children;
        before + (self.questions.len() + self.children.len()) as u32 + 1
    }
}

impl WasiView for Guest {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

/// A store with all limits set.
pub(crate) fn store(engine: &Engine, run: Arc<Run>, wasi: WasiCtx, fuel: u64) -> wasmtime::Result<Store<Guest>> {
    let size = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
    let limits = run.limits;
    let mut table = ResourceTable::new();
    // What has a handle may lie in the table in two parts: a timer, and what polls it.
    table.set_max_capacity(size(limits.resources).saturating_mul(2));
    let meter = Meter::new(&limits, run.memory.clone());
    let guest = Guest {
        run,
        wasi,
        table,
        meter,
        sources: HashMap::new(),
        exchanges: Exchanges::default(),
        questions: Vec::new(),
        children: Vec::new(),
        cancel_seen: false,
    };
    let mut store = Store::new(engine, guest);
    store.limiter(|guest| &mut guest.meter);
    store.set_fuel(fuel)?;
    store.fuel_async_yield_interval(Some(YIELD))?;
    store.set_hostcall_fuel(size(limits.host_call));
    store.set_max_component_handles(size(limits.resources));
    Ok(store)
}

/// Everything that a guest may import: the contract, and WASI 0.2 with clocks, polling, standard output and HTTP of ours.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    super::wasi::shadow(&mut linker)?;
    super::http::link(&mut linker)?;
    bindings::Plugin::add_to_linker::<Guest, HasSelf<Guest>>(&mut linker, |guest| guest)?;
    Ok(linker)
}

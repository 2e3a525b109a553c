//! The one configuration of the engine, and the thread that ticks its epochs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use wasmtime::component::Linker;
use wasmtime::{Config, Enabled, Engine, EngineWeak, InstanceAllocationStrategy, PoolingAllocationConfig};

use super::guest::{Guest, linker};
use crate::{HostLimits, Limits};

/// How often epochs tick: the grain of the backstop that yields between guests.
const TICK: Duration = Duration::from_millis(10);

/// Stack of the host calls that a guest makes, on the same fiber as the guest's own.
const HOST_STACK: usize = 512 << 10;

/// Bytes of what the engine itself keeps of one component instance.
const INSTANCE_BYTES: usize = 1_280_000;

/// Instances that exist at once, warm ones included. Each is as many core instances as [`HostLimits`] says at most.
pub(crate) const INSTANCES: u32 = 256;

/// Bytes of a memory, and of a table, that stay in the machine's memory between two guests.
const KEPT: usize = 256 << 10;

/// The configuration. Everything here that changes what a guest computes is fixed, so that a replay computes the same.
fn config() -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // We host WASI 0.2 only; component-model async would let calls interleave in an order nobody records.
        .concurrency_support(false)
        // Without these a NaN's bits, or a relaxed instruction, may differ between machines.
        .cranelift_nan_canonicalization(true)
        .relaxed_simd_deterministic(true)
        .consume_fuel(true)
        .epoch_interruption(true);
    config
}

/// An engine that compiles for those that run, and runs nothing: it reserves no memory for instances.
pub(crate) fn compiling() -> wasmtime::Result<Engine> {
    Engine::new(&config())
}

fn size(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

fn pool(most: &Limits, host: &HostLimits) -> PoolingAllocationConfig {
    let each = u32::try_from(host.core_instances).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    // What most guests need for each component; those that need more find fewer slots, and wait for them.
    const TYPICAL: u32 = 4;
    pool.total_component_instances(INSTANCES)
        .total_core_instances(INSTANCES * TYPICAL)
        .total_memories(INSTANCES * TYPICAL)
        .total_tables(INSTANCES * TYPICAL)
        .total_stacks(INSTANCES)
        .max_core_instances_per_component(each)
        .max_memories_per_component(each)
        .max_tables_per_component(each)
        .max_component_instance_size(INSTANCE_BYTES)
        .table_elements(size(most.table_elements))
        .max_memory_size(size(most.memory))
        // What a guest has touched is cleared in place, and found by asking the kernel where it can be: giving pages
        // back and faulting them in again costs more than all else that a short task does.
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(KEPT)
        .table_keep_resident(KEPT)
        .decommit_batch_size(16);
    pool
}

/// An engine, and the thread that ticks for it.
pub(crate) struct Sandbox {
    pub engine: Engine,
    /// All that a guest may import: the same for each, and made once.
    pub(super) linker: Linker<Guest>,
    /// The most that a guest may have, and what any may use of the host.
    pub most: Limits,
    pub host: HostLimits,
    stop: Arc<AtomicBool>,
}

impl Sandbox {
    /// An engine whose guests may have `most` each.
    pub fn new(most: &Limits, host: &HostLimits) -> wasmtime::Result<Self> {
        let stack = size(host.wasm_stack);
        let mut config = config();
        config
            .max_wasm_stack(stack)
            .async_stack_size(stack + HOST_STACK)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool(most, host)));
        let engine = Engine::new(&config)?;
        let stop = Arc::new(AtomicBool::new(false));
        let (weak, stopped) = (engine.weak(), stop.clone());
        let linker = linker(&engine)?;
        // A thread of its own: on the async runtime it would stop when guests starve that.
        std::thread::Builder::new().name("longhaul-epochs".into()).spawn(move || tick(&weak, &stopped))?;
        Ok(Self { engine, linker, most: *most, host: *host, stop })
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

fn tick(engine: &EngineWeak, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(TICK);
        match engine.upgrade() {
            Some(engine) => engine.increment_epoch(),
            None => return,
        }
    }
}

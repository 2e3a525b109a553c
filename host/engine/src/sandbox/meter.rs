//! What a guest has of memory and tables, all of them counted together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

use crate::Limits;

/// The machine has no memory left for a guest that may have it.
#[derive(Debug, thiserror::Error)]
#[error("this machine has no memory for it: {0}")]
pub(super) struct MachineRefused(String);

/// What a guest wanted more of than it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Memory,
    Elements,
}

/// Bytes of memory that a guest has: its own, and what the host [holds](Held) for it.
#[derive(Debug, Default)]
pub(crate) struct MemoryUse {
    now: AtomicU64,
    most: AtomicU64,
}

impl MemoryUse {
    /// What it has now.
    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    /// The most that it has had.
    pub fn most(&self) -> u64 {
        self.most.load(Ordering::Relaxed)
    }

    fn set(&self, bytes: u64) {
        self.now.store(bytes, Ordering::Relaxed);
        self.most.fetch_max(bytes, Ordering::Relaxed);
    }
}

/// What the host holds for a guest outside of the guest's own memory: counted with that, until it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    memory: Arc<MemoryUse>,
    limit: u64,
    bytes: u64,
}

impl Held {
    /// Nothing yet, of a guest that has so much memory and may have `limit`.
    pub fn new(memory: Arc<MemoryUse>, limit: u64) -> Self {
        Self { memory, limit, bytes: 0 }
    }

    /// How much it is.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Makes it so many bytes. False: with them the guest would have more than it may, and nothing has changed.
    #[must_use]
    pub fn set(&mut self, bytes: u64) -> bool {
        let others = self.memory.now().saturating_sub(self.bytes);
        let total = others.saturating_add(bytes);
        let fits = bytes <= self.bytes || total <= self.limit;
        if fits {
            self.memory.set(total);
            self.bytes = bytes;
        }
        fits
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.set(0);
    }
}

/// Counts a guest's memory and table elements. A growth beyond the limit answers -1 in the guest, as always.
#[derive(Debug)]
pub(crate) struct Meter {
    limit: usize,
    most_elements: usize,
    /// Where whoever runs the guest sees it too.
    memory: Arc<MemoryUse>,
    elements: usize,
    /// The growth that was refused last. If the guest crashes next, this is why.
    refused: Option<Refused>,
}

impl Meter {
    pub fn new(limits: &Limits, memory: Arc<MemoryUse>) -> Self {
        let size = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        let (limit, most_elements) = (size(limits.memory), size(limits.table_elements));
        Self { limit, most_elements, memory, elements: 0, refused: None }
    }

    /// What the guest wanted more of than it may have, if it did.
    pub fn refused(&self) -> Option<Refused> {
        self.refused
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        // It grows no further than the guest itself says: then it is not counted either.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let memory = usize::try_from(self.memory.now()).unwrap_or(usize::MAX);
        let total = memory.saturating_add(desired.saturating_sub(current));
        let allowed = total <= self.limit;
        if allowed {
            self.memory.set(total as u64);
        } else {
            self.refused = Some(Refused::Memory);
        }
        Ok(allowed)
    }

    /// What was allowed, and did not happen, is the machine's doing: the guest can't be told -1, or a replay, where there is
    /// room, would have it take another way.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        // Beyond what an address reaches. It has no type of its own.
        let beyond_its_type = error.to_string().contains("exceeds memory type's limits");
        if beyond_its_type { Ok(()) } else { Err(MachineRefused(error.to_string()).into()) }
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.elements.saturating_add(desired.saturating_sub(current));
        let within = total <= self.most_elements;
        if !within {
            self.refused = Some(Refused::Elements);
        }
        // A table of the pool has a maximum too, which is the limit's; one that the guest itself says is no limit.
        let allowed = within && maximum.is_none_or(|maximum| desired <= maximum);
        if allowed {
            self.elements = total;
        }
        Ok(allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter() -> Meter {
        Meter::new(&Limits { memory: 1_000, table_elements: 100, ..Limits::default() }, Arc::default())
    }

    #[test]
    fn a_growth_that_the_guest_itself_forbids_is_not_counted() {
        let mut meter = meter();
        for _ in 0..5 {
            assert!(!meter.memory_growing(0, 900, Some(500)).unwrap());
            assert!(!meter.table_growing(0, 90, Some(50)).unwrap());
        }
        assert!(meter.memory_growing(0, 1_000, Some(1_000)).unwrap());
        assert!(meter.table_growing(0, 100, None).unwrap());
        assert_eq!(meter.refused(), None);
        assert!(!meter.memory_growing(1_000, 1_001, None).unwrap());
        assert_eq!(meter.refused(), Some(Refused::Memory));
        assert!(!meter.table_growing(100, 101, None).unwrap());
        assert_eq!(meter.refused(), Some(Refused::Elements));
    }

    #[test]
    fn what_the_host_holds_counts_with_a_guests_memory_until_it_is_dropped() {
        let mut meter = meter();
        assert!(meter.memory_growing(0, 900, None).unwrap());
        let (mut one, mut other) = (Held::new(meter.memory.clone(), 1_000), Held::new(meter.memory.clone(), 1_000));
        assert!(one.set(60) && other.set(40) && !other.set(41) && !one.set(61));
        assert!(!meter.memory_growing(900, 901, None).unwrap());
        assert_eq!((one.bytes(), other.bytes()), (60, 40));
        drop(one);
        assert!(other.set(100) && other.set(10));
        assert!(meter.memory_growing(900, 990, None).unwrap());
        drop(other);
        assert_eq!((meter.memory.now(), meter.memory.most()), (990, 1_000));
    }

    #[test]
    fn what_the_machine_refuses_is_a_fault_and_no_minus_one() {
        let failed = |problem: &str| meter().memory_grow_failed(wasmtime::Error::msg(problem.to_owned()));
        assert!(failed("Cannot allocate memory (os error 12)").unwrap_err().is::<MachineRefused>());
        failed("memory growth exceeds memory type's limits").unwrap();
    }
}

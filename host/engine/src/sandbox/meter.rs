//! What a guest has of memory and tables, all of them counted together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

use crate::Limits;

/// The machine has no memory left for a guest that may have it.
#[derive(Debug, thiserror::Error)]
#[error("this machine has no memory for it: {0}")]
pub(super) struct MachineRefused(String);

/// Counts a guest's memory and table elements. A growth beyond the limit answers -1 in the guest, as always.
#[derive(Debug)]
pub(crate) struct Meter {
    limit: usize,
    most_elements: usize,
    /// Bytes of memory, where whoever runs the guest sees them too.
    memory: Arc<AtomicU64>,
    elements: usize,
    /// A growth was refused. If the guest crashes next, this is why.
    refused: bool,
}

impl Meter {
    pub fn new(limits: &Limits, memory: Arc<AtomicU64>) -> Self {
        let size = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        let (limit, most_elements) = (size(limits.memory), size(limits.table_elements));
        Self { limit, most_elements, memory, elements: 0, refused: false }
    }

    /// Whether the guest wanted more memory than it may have.
    pub fn refused(&self) -> bool {
        self.refused
    }
}

impl ResourceLimiter for Meter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        // It grows no further than the guest itself says: then it is not counted either.
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let memory = usize::try_from(self.memory.load(Ordering::Relaxed)).unwrap_or(usize::MAX);
        let total = memory.saturating_add(desired.saturating_sub(current));
        let allowed = total <= self.limit;
        if allowed {
            self.memory.store(total as u64, Ordering::Relaxed);
        } else {
            self.refused = true;
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
        if maximum.is_some_and(|maximum| desired > maximum) {
            return Ok(false);
        }
        let total = self.elements.saturating_add(desired.saturating_sub(current));
        let allowed = total <= self.most_elements;
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
        assert!(!meter.refused());
        assert!(!meter.memory_growing(1_000, 1_001, None).unwrap());
        assert!(!meter.table_growing(100, 101, None).unwrap());
        assert!(meter.refused());
    }

    #[test]
    fn what_the_machine_refuses_is_a_fault_and_no_minus_one() {
        let failed = |problem: &str| meter().memory_grow_failed(wasmtime::Error::msg(problem.to_owned()));
        assert!(failed("Cannot allocate memory (os error 12)").unwrap_err().is::<MachineRefused>());
        failed("memory growth exceeds memory type's limits").unwrap();
    }
}

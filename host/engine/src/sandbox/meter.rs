//! What a guest has of memory and tables, all of them counted together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

use crate::Limits;

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
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
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

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.elements.saturating_add(desired.saturating_sub(current));
        let allowed = total <= self.most_elements;
        if allowed {
            self.elements = total;
        }
        Ok(allowed)
    }
}

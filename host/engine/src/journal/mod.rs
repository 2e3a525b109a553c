//! The journal: what one entry is, how a run is recorded, and how it is replayed.

mod event;

pub use event::{Event, EventKind, LogStream};

//! The journal: what one entry is, how a run is recorded, and how it is replayed.

mod diverged;
mod entry;
mod event;
mod fingerprint;
mod recorder;
mod records;
mod replay;
mod throttle;

pub(crate) use diverged::clip;
pub use diverged::{Diverged, Heard};
pub(crate) use entry::{Body, NewEntry, Stamp, StoredEntry};
pub use event::{Event, EventKind, LogStream};
pub(crate) use recorder::{Call, Recorded, Recorder, Turn};
pub(crate) use records::{Record, readable, stands};

//! One entry of a journal, as it is written and read back.

use super::EventKind;
use crate::clock::Timestamp;

/// Where the guest stood when an entry was made: how many effects it had asked for in this segment, and a hash over
/// all of them. Two runs that agree in both have done the same so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Counted from 1 within the segment.
    pub call: u64,
    /// See [`super::fingerprint`].
    pub hash: u64,
}

/// What an entry holds.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "most are events, and there is one block to a flush")]
pub(crate) enum Body {
    /// What readers see, and what only the host sees beside it (an attempt's seed, a ticket).
    Event(EventKind, Option<Vec<u8>>),
    /// Results handed to the guest, packed by [`super::records`]. Never shown.
    Records(Vec<u8>),
}

/// An entry that is not yet in the journal, so it has no number.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct NewEntry {
    pub at: Timestamp,
    /// `None`: not an act of the guest (an answer, a request to cancel).
    pub stamp: Option<Stamp>,
    pub body: Body,
}

impl NewEntry {
    /// An entry that is not an act of the guest.
    pub fn outside(at: Timestamp, kind: EventKind) -> Self {
        Self { at, stamp: None, body: Body::Event(kind, None) }
    }
}

/// An entry read back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredEntry {
    pub seq: u64,
    pub stamp: Option<Stamp>,
    pub body: Body,
}

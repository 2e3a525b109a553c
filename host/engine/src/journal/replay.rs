//! What is left to replay: the entries of a segment, in the order of the guest's calls.
//!
//! Records stay packed until their turn has come. A guest that reads a clock for minutes leaves some bytes for a million
//! readings: taken apart at once they would be more than the machine has.

use std::collections::VecDeque;

use super::entry::{Body, Stamp, StoredEntry};
use super::recorder::Recorded;
use super::records::{Unpacker, readable};

/// What one call left.
pub(super) struct Item {
    pub stamp: Stamp,
    /// Whether `stamp.hash` is known: it is at the end of a block, not within.
    pub hashed: bool,
    pub seq: u64,
    pub what: Recorded,
}

impl Item {
    /// What a guest did not write to its end stands as if by its last call, after what that left.
    fn place(&self) -> (u64, u64) {
        (self.stamp.call, self.seq)
    }
}

struct Block {
    records: Unpacker,
    hash: u64,
    seq: u64,
}

impl Block {
    fn next(&mut self) -> Option<Item> {
        let (call, record) = self.records.next()?;
        // A block is stamped where its last record was made.
        let hashed = self.records.is_done();
        Some(Item { stamp: Stamp { call, hash: self.hash }, hashed, seq: self.seq, what: Recorded::Record(record) })
    }
}

/// Entries to be replayed.
pub(super) struct Replay {
    events: VecDeque<Item>,
    blocks: VecDeque<Block>,
    /// The next record.
    record: Option<Item>,
}

impl Replay {
    /// Of the guest's entries of a segment, in any order.
    ///
    /// # Errors
    ///
    /// An entry that can't be read: its `seq`.
    pub fn new(recorded: Vec<StoredEntry>) -> Result<Self, u64> {
        let (mut events, mut blocks) = (Vec::new(), Vec::new());
        for entry in recorded {
            let (Some(stamp), seq) = (entry.stamp, entry.seq) else { continue };
            match entry.body {
                Body::Event(kind, _) => {
                    events.push(Item { stamp, hashed: true, seq, what: Recorded::Event(kind) });
                }
                Body::Records(block) if readable(&block) => {
                    blocks.push((stamp.call, Block { records: Unpacker::new(block), hash: stamp.hash, seq }));
                }
                Body::Records(_) => return Err(seq),
            }
        }
        events.sort_by_key(Item::place);
        // A block ends before the next begins.
        blocks.sort_by_key(|(call, _)| *call);
        let blocks = blocks.into_iter().map(|(_, block)| block).collect();
        let mut replay = Self { events: events.into(), blocks, record: None };
        replay.unpack();
        Ok(replay)
    }

    /// What the next call that left something left.
    pub fn front(&self) -> Option<&Item> {
        if self.is_record() { self.record.as_ref() } else { self.events.front() }
    }

    pub fn pop_front(&mut self) -> Option<Item> {
        if !self.is_record() {
            return self.events.pop_front();
        }
        let item = self.record.take();
        self.unpack();
        item
    }

    pub fn is_empty(&self) -> bool {
        self.front().is_none()
    }

    fn is_record(&self) -> bool {
        match (&self.record, self.events.front()) {
            (Some(record), Some(event)) => record.place() < event.place(),
            (record, _) => record.is_some(),
        }
    }

    fn unpack(&mut self) {
        while let Some(block) = self.blocks.front_mut() {
            self.record = block.next();
            if self.record.is_some() {
                return;
            }
            self.blocks.pop_front();
        }
    }
}

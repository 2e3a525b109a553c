//! The results that a guest was given, packed: clock readings as run lengths and differences, the rest as short records.
//!
//! A block is a list of records in the order of their calls. Each is: calls since the last record (varint), a tag, a
//! payload. Numbers are LEB128 varints, signed ones zigzagged.

/// A result that was handed to the guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    /// The wall clock, in milliseconds since the epoch.
    Wall(u64),
    /// The monotonic clock, in milliseconds since the task was taken.
    Monotonic(u64),
    /// The monotonic clock when a timer was set.
    TimerSet(u64),
    /// Which pollables were ready.
    Polled(Vec<u32>),
    /// Whether one pollable was ready.
    Ready(bool),
    /// `is-cancelled` turned true.
    CancelSeen,
    /// A setting's value.
    Setting(Option<String>),
    /// A wait ended: the time is up or the question is settled.
    Settled,
    /// A wait ended because the task is to stop.
    WaitCancelled,
    /// A request was refused or broke a rule; the text says how.
    Declined { malformed: bool, why: String },
    /// `wait-any` found this one; `None` when the time was up.
    Found(Option<u32>),
    /// `reply-to` had a reply for the first time.
    ReplySeen,
    /// `result-of` had a result for the first time.
    ResultSeen,
    /// An HTTP request is about to be sent. From here on nobody knows whether it was, until its response is recorded.
    HttpSent,
}

const WALL: u8 = 0;
const MONOTONIC: u8 = 1;
const TIMER_SET: u8 = 2;
const POLLED: u8 = 3;
const READY: u8 = 4;
const CANCEL_SEEN: u8 = 5;
const SETTING: u8 = 6;
const SETTLED: u8 = 7;
const WAIT_CANCELLED: u8 = 8;
const REFUSED: u8 = 9;
const MALFORMED: u8 = 10;
const FOUND: u8 = 11;
const REPLY_SEEN: u8 = 12;
const RESULT_SEEN: u8 = 13;
const HTTP_SENT: u8 = 14;

/// Packs records into one block.
#[derive(Debug, Default)]
pub(crate) struct Packer {
    bytes: Vec<u8>,
    call: u64,
    wall: u64,
    monotonic: u64,
    run: Option<Run>,
}

/// Readings of one clock in calls that follow each other and that gave the same value.
#[derive(Debug)]
struct Run {
    tag: u8,
    value: u64,
    first: u64,
    length: u64,
}

impl Packer {
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.run.is_none()
    }

    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    pub fn push(&mut self, call: u64, record: &Record) {
        let (tag, value) = match record {
            Record::Wall(value) => (WALL, *value),
            Record::Monotonic(value) => (MONOTONIC, *value),
            other => {
                self.end_run();
                self.head(call, tag_of(other));
                self.payload(other);
                return;
            }
        };
        match &mut self.run {
            Some(run)
                if run.tag == tag && run.value == value && run.first + run.length == call && run.length < MAX_RUN =>
            {
                run.length += 1;
            }
            _ => {
                self.end_run();
                self.run = Some(Run { tag, value, first: call, length: 1 });
            }
        }
    }

    /// The block so far; the packer is empty afterwards.
    pub fn take(&mut self) -> Vec<u8> {
        self.end_run();
        let bytes = std::mem::take(&mut self.bytes);
        *self = Self::default();
        bytes
    }

    fn end_run(&mut self) {
        let Some(run) = self.run.take() else { return };
        self.head(run.first, run.tag);
        let last = if run.tag == WALL { &mut self.wall } else { &mut self.monotonic };
        let difference = run.value.wrapping_sub(*last) as i64;
        *last = run.value;
        varint(&mut self.bytes, zigzag(difference));
        varint(&mut self.bytes, run.length);
        self.call = run.first + run.length - 1;
    }

    fn head(&mut self, call: u64, tag: u8) {
        varint(&mut self.bytes, call - self.call);
        self.bytes.push(tag);
        self.call = call;
    }

    fn payload(&mut self, record: &Record) {
        match record {
            Record::TimerSet(value) => varint(&mut self.bytes, *value),
            Record::Polled(ready) => {
                varint(&mut self.bytes, ready.len() as u64);
                for index in ready {
                    varint(&mut self.bytes, u64::from(*index));
                }
            }
            Record::Ready(ready) => self.bytes.push(u8::from(*ready)),
            Record::Setting(None) => self.bytes.push(0),
            Record::Setting(Some(value)) => {
                self.bytes.push(1);
                text(&mut self.bytes, value);
            }
            Record::Declined { why, .. } => text(&mut self.bytes, why),
            Record::Found(None) => self.bytes.push(0),
            Record::Found(Some(index)) => {
                self.bytes.push(1);
                varint(&mut self.bytes, u64::from(*index));
            }
            Record::Wall(_)
            | Record::Monotonic(_)
            | Record::CancelSeen
            | Record::Settled
            | Record::WaitCancelled
            | Record::ReplySeen
            | Record::ResultSeen
            | Record::HttpSent => {}
        }
    }
}

fn tag_of(record: &Record) -> u8 {
    match record {
        Record::Wall(_) => WALL,
        Record::Monotonic(_) => MONOTONIC,
        Record::TimerSet(_) => TIMER_SET,
        Record::Polled(_) => POLLED,
        Record::Ready(_) => READY,
        Record::CancelSeen => CANCEL_SEEN,
        Record::Setting(_) => SETTING,
        Record::Settled => SETTLED,
        Record::WaitCancelled => WAIT_CANCELLED,
        Record::Declined { malformed: false, .. } => REFUSED,
        Record::Declined { malformed: true, .. } => MALFORMED,
        Record::Found(_) => FOUND,
        Record::ReplySeen => REPLY_SEEN,
        Record::ResultSeen => RESULT_SEEN,
        Record::HttpSent => HTTP_SENT,
    }
}

/// Whether the bytes are a block that can be read back.
pub(crate) fn readable(bytes: &[u8]) -> bool {
    let (mut reader, mut place) = (Reader(bytes), Place::default());
    while !reader.0.is_empty() {
        if place.run(&mut reader).is_none() {
            return false;
        }
    }
    true
}

/// For fuzzing: whether a block that can be read, if it is one, is read as the same when it is packed again.
pub(crate) fn stands(bytes: &[u8]) -> bool {
    if !readable(bytes) {
        return true;
    }
    let mut packer = Packer::default();
    Unpacker::new(bytes.to_vec()).for_each(|(call, record)| packer.push(call, &record));
    Unpacker::new(bytes.to_vec()).eq(Unpacker::new(packer.take()))
}

/// Reads a block back: `(call, record)` in order, and no more at a time, since a few bytes may be a million readings of a
/// clock. It ends where the bytes are not what [`Packer`] wrote: see [`readable`].
pub(super) struct Unpacker {
    block: Vec<u8>,
    at: usize,
    place: Place,
    /// What is left of a run: the next call, its record, and how many more there are after it.
    run: Option<(u64, Record, u64)>,
}

impl Unpacker {
    pub fn new(block: Vec<u8>) -> Self {
        Self { block, at: 0, place: Place::default(), run: None }
    }

    /// Whether nothing is left.
    pub fn is_done(&self) -> bool {
        self.run.is_none() && self.at == self.block.len()
    }
}

impl Iterator for Unpacker {
    type Item = (u64, Record);

    fn next(&mut self) -> Option<(u64, Record)> {
        let (call, record, more) = match self.run.take() {
            Some(run) => run,
            None => {
                let mut reader = Reader(self.block.get(self.at..)?);
                let (call, record, length) = self.place.run(&mut reader)?;
                self.at = self.block.len() - reader.0.len();
                (call, record, length - 1)
            }
        };
        if more > 0 {
            self.run = Some((call + 1, record.clone(), more - 1));
        }
        Some((call, record))
    }
}

/// Where in a block a reader stands: what the next record is told from.
#[derive(Default)]
struct Place {
    call: u64,
    wall: u64,
    monotonic: u64,
}

impl Place {
    /// One record: the call that it was for, and in how many calls from there it was the same.
    fn run(&mut self, reader: &mut Reader<'_>) -> Option<(u64, Record, u64)> {
        let call = self.call.checked_add(reader.varint()?)?;
        let mut length = 1;
        let record = match reader.byte()? {
            tag @ (WALL | MONOTONIC) => {
                let last = if tag == WALL { &mut self.wall } else { &mut self.monotonic };
                *last = last.wrapping_add(unzigzag(reader.varint()?) as u64);
                let value = *last;
                length = reader.varint()?;
                if length == 0 || length > MAX_RUN {
                    return None;
                }
                if tag == WALL { Record::Wall(value) } else { Record::Monotonic(value) }
            }
            TIMER_SET => Record::TimerSet(reader.varint()?),
            POLLED => {
                let count = usize::try_from(reader.varint()?).ok()?;
                let mut ready = Vec::with_capacity(count.min(reader.0.len()));
                for _ in 0..count {
                    ready.push(u32::try_from(reader.varint()?).ok()?);
                }
                Record::Polled(ready)
            }
            READY => Record::Ready(reader.byte()? == 1),
            CANCEL_SEEN => Record::CancelSeen,
            SETTING => Record::Setting(if reader.byte()? == 1 { Some(reader.text()?) } else { None }),
            SETTLED => Record::Settled,
            WAIT_CANCELLED => Record::WaitCancelled,
            REFUSED => Record::Declined { malformed: false, why: reader.text()? },
            MALFORMED => Record::Declined { malformed: true, why: reader.text()? },
            FOUND => {
                let found = if reader.byte()? == 1 { Some(u32::try_from(reader.varint()?).ok()?) } else { None };
                Record::Found(found)
            }
            REPLY_SEEN => Record::ReplySeen,
            RESULT_SEEN => Record::ResultSeen,
            HTTP_SENT => Record::HttpSent,
            _ => return None,
        };
        self.call = call.checked_add(length - 1)?;
        Some((call, record, length))
    }
}

/// The longest run in one record.
const MAX_RUN: u64 = 1_000_000;

fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn text(bytes: &mut Vec<u8>, value: &str) {
    varint(bytes, value.len() as u64);
    bytes.extend_from_slice(value.as_bytes());
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = usize::try_from(self.varint()?).ok()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record() -> impl Strategy<Value = Record> {
        prop_oneof![
            (0..5u64).prop_map(Record::Wall),
            any::<u64>().prop_map(Record::Wall),
            (0..5u64).prop_map(Record::Monotonic),
            any::<u64>().prop_map(Record::TimerSet),
            prop::collection::vec(any::<u32>(), 0..4).prop_map(Record::Polled),
            any::<bool>().prop_map(Record::Ready),
            Just(Record::CancelSeen),
            prop::option::of(".*").prop_map(Record::Setting),
            Just(Record::Settled),
            Just(Record::WaitCancelled),
            (any::<bool>(), ".*").prop_map(|(malformed, why)| Record::Declined { malformed, why }),
            prop::option::of(any::<u32>()).prop_map(Record::Found),
            Just(Record::ReplySeen),
            Just(Record::ResultSeen),
            Just(Record::HttpSent),
        ]
    }

    fn unpack(block: Vec<u8>) -> Option<Vec<(u64, Record)>> {
        readable(&block).then(|| Unpacker::new(block).collect())
    }

    proptest! {
        #[test]
        fn what_was_packed_is_read_back(steps in prop::collection::vec((1..4u64, record()), 0..60)) {
            let mut packer = Packer::default();
            let mut call = 0;
            let mut expected = Vec::new();
            for (step, record) in steps {
                call += step;
                packer.push(call, &record);
                expected.push((call, record));
            }
            prop_assert_eq!(unpack(packer.take()), Some(expected));
            prop_assert!(packer.is_empty());
        }

        #[test]
        fn a_damaged_block_is_refused_and_never_panics(
            steps in prop::collection::vec((1..4u64, record()), 0..20),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut packer = Packer::default();
            let mut call = 0;
            for (step, record) in steps {
                call += step;
                packer.push(call, &record);
            }
            let mut block = packer.take();
            if !block.is_empty() {
                let place = place.index(block.len());
                block[place] = byte;
                block.truncate(block.len() - place % 2);
            }
            prop_assert!(stands(&block));
        }

        #[test]
        fn any_bytes_are_a_block_or_refused(block in prop::collection::vec(any::<u8>(), 0..100)) {
            prop_assert!(stands(&block));
        }
    }

    #[test]
    fn a_million_readings_within_a_millisecond_cost_a_few_bytes() {
        let mut packer = Packer::default();
        for call in 1..=1_000_000 {
            packer.push(call, &Record::Monotonic(7));
        }
        assert!(packer.take().len() < 10);
    }
}

//! One run of a guest, recorded; or replayed from what was recorded, until that is used up and the run goes on live.

#[cfg(test)]
mod tests;

use std::fmt;

use super::diverged::{Diverged, Heard, clip, shown};
use super::entry::{Body, NewEntry, Stamp, StoredEntry};
use super::fingerprint::Fingerprint;
use super::records::{Packer, Record};
use super::replay::{Item, Replay};
use super::throttle::Throttle;
use super::{EventKind, LogStream};
use crate::Limits;
use crate::clock::Timestamp;
use crate::task::Progress;

/// What a guest can ask of the host. The number is folded into the fingerprint, so it is never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Call {
    Progress = 1,
    Stdout = 2,
    Stderr = 3,
    WallClock = 4,
    MonotonicClock = 5,
    SubscribeDuration = 6,
    SubscribeInstant = 7,
    Poll = 8,
    Ready = 9,
    Ask = 10,
    AwaitReply = 11,
    Sleep = 12,
    AwaitSleep = 13,
    IsCancelled = 14,
    Setting = 15,
    StartTool = 16,
    WaitAny = 17,
    ReplyTo = 18,
    ResultOf = 19,
    Withdraw = 20,
    HttpSend = 21,
    HttpResponse = 22,
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Progress => "report-progress",
            Self::Stdout => "a write to stdout",
            Self::Stderr => "a write to stderr",
            Self::WallClock => "a reading of the wall clock",
            Self::MonotonicClock => "a reading of the monotonic clock",
            Self::SubscribeDuration => "subscribe-duration",
            Self::SubscribeInstant => "subscribe-instant",
            Self::Poll => "poll",
            Self::Ready => "ready",
            Self::Ask => "a question",
            Self::AwaitReply => "the wait for a reply",
            Self::Sleep => "sleep",
            Self::AwaitSleep => "the end of a sleep",
            Self::IsCancelled => "is-cancelled",
            Self::Setting => "setting",
            Self::StartTool => "start-tool",
            Self::WaitAny => "wait-any",
            Self::ReplyTo => "reply-to",
            Self::ResultOf => "result-of",
            Self::Withdraw => "withdraw",
            Self::HttpSend => "an HTTP request",
            Self::HttpResponse => "a look at an HTTP response",
        })
    }
}

/// What the journal holds for a call.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "patterns see through it; a box would cost each event an allocation")]
pub(crate) enum Recorded {
    Event(EventKind),
    Record(Record),
}

/// What a call finds.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart where it is made")]
pub(crate) enum Turn {
    /// Nothing is left to replay: do it, and record it.
    Live,
    /// Replaying, and this call left nothing in the journal.
    Silent,
    /// Replaying: this is what it gave.
    Recorded(Recorded),
}

/// Records one segment, replaying first what an earlier instance left.
pub(crate) struct Recorder {
    call: u64,
    fingerprint: Fingerprint,
    replay: Replay,
    packer: Packer,
    /// Where the guest stood at the last record that was packed.
    packed: Stamp,
    entries: Vec<NewEntry>,
    log: Vec<u8>,
    /// The beginning of a character that stdout, and stderr, ended in so far. It belongs to the entry of its end.
    begun: [Vec<u8>; 2],
    throttle: Throttle,
    /// A message past the rate. It is written when there is room, or when the guest is done.
    held: Option<NewEntry>,
    bytes: usize,
    monotonic: u64,
    /// The entry that was replayed last.
    replayed: u64,
    /// The last call that was found to be the recorded one, by its hash.
    agreed: u64,
    /// What the guest does, for the message if that is not what is recorded. Only kept while it replays.
    doing: Option<(Call, Vec<u8>)>,
    /// What is recorded is all that the guest may do: nothing is live.
    closed: Option<Closed>,
    /// The end of what the guest wrote to stderr: where a guest that crashes says why.
    last_words: Vec<u8>,
}

/// What is kept of a run that only replays.
#[derive(Default)]
struct Closed {
    /// What the guest said, and was told, since that was last fetched.
    heard: Vec<Heard>,
    /// The first thing that it did beyond what is recorded, and at which call.
    beyond: Option<(u64, String, String)>,
}

/// How much of a call's arguments is kept to be shown.
const SHOWN_BYTES: usize = 8 << 10;

/// How much of stderr is kept for the message of a crash.
const LAST_WORDS_BYTES: usize = 2 << 10;

/// What an entry takes beside its text.
const ENTRY_BYTES: usize = 256;

/// A log entry is not made longer than this by merging.
const LOG_ENTRY_BYTES: usize = 8 << 10;

impl Recorder {
    /// A recorder that first replays `recorded`: the guest's entries of this segment, in any order.
    ///
    /// # Errors
    ///
    /// An entry that can't be read: its `seq`.
    pub fn new(recorded: Vec<StoredEntry>) -> Result<Self, u64> {
        Ok(Self {
            call: 0,
            fingerprint: Fingerprint::new(),
            replay: Replay::new(recorded)?,
            packer: Packer::default(),
            packed: Stamp { call: 0, hash: 0 },
            entries: Vec::new(),
            log: Vec::new(),
            begun: Default::default(),
            throttle: Throttle::new(Limits::default().progress_rate),
            held: None,
            bytes: 0,
            monotonic: 0,
            replayed: 0,
            agreed: 0,
            doing: None,
            closed: None,
            last_words: Vec::new(),
        })
    }

    /// One that keeps so much progress in a second.
    pub fn progress_rate(mut self, rate: u64) -> Self {
        self.throttle = Throttle::new(rate);
        self
    }

    /// One that only replays: what is recorded is all that the guest may do, and what it says is kept.
    pub fn closed(mut self) -> Self {
        self.closed = Some(Closed::default());
        self
    }

    /// Whether there is anything left to replay.
    pub fn is_live(&self) -> bool {
        self.replay.is_empty()
    }

    /// The guest's next call.
    pub fn next(&mut self, call: Call, arguments: &[u8]) -> Result<Turn, Diverged> {
        self.call += 1;
        self.fingerprint.fold(call as u8, arguments);
        let Some(front) = self.replay.front() else {
            // Nothing is live in a run that only replays: this call has left nothing, or is one too many.
            return Ok(if self.closed.is_some() { self.note(call, arguments) } else { Turn::Live });
        };
        let (stamp, hashed) = (front.stamp, front.hashed);
        self.note(call, arguments);
        if stamp.call > self.call {
            return Ok(Turn::Silent);
        }
        if hashed && stamp.hash != self.fingerprint.value() {
            return Err(self.diverged());
        }
        match self.replay.pop_front() {
            Some(item) => {
                self.replayed = item.seq;
                if hashed {
                    self.agreed = self.call;
                }
                if let (Some(closed), Recorded::Event(kind)) = (&mut self.closed, &item.what) {
                    closed.hear(item.seq, kind.clone());
                }
                if let Recorded::Record(Record::Monotonic(value) | Record::TimerSet(value)) = item.what {
                    self.monotonic = value;
                }
                Ok(Turn::Recorded(item.what))
            }
            None => Ok(Turn::Live),
        }
    }

    /// Remembers what the guest does, for a message.
    fn note(&mut self, call: Call, arguments: &[u8]) -> Turn {
        let (doing, kept) = self.doing.get_or_insert_with(|| (call, Vec::new()));
        *doing = call;
        kept.clear();
        kept.extend_from_slice(&arguments[..arguments.len().min(SHOWN_BYTES)]);
        Turn::Silent
    }

    /// The guest's call is not the one that the journal holds next.
    pub fn diverged(&self) -> Diverged {
        let (did, arguments) = self.did();
        self.ended(&did, arguments)
    }

    /// The guest came to its end, by `did`, before what the journal holds next.
    pub fn ended(&self, did: &str, arguments: String) -> Diverged {
        let (entry, recorded) = match self.replay.front() {
            Some(item) => (item.seq, describe(&item.what)),
            None => (0, "nothing".to_owned()),
        };
        self.against(entry, recorded, did, arguments)
    }

    /// The guest did `call` where the journal held `recorded`.
    pub fn mismatch(&self, call: Call, recorded: &Recorded) -> Diverged {
        let (_, arguments) = self.did();
        // The hash agrees where an entry was changed by hand.
        let agreed = self.agreed.min(self.call.saturating_sub(1));
        Diverged { agreed, ..self.against(self.replayed, describe(recorded), &call.to_string(), arguments) }
    }

    /// The guest came to an end, by `did`, that is not what the entry records; or did more before it.
    pub fn other_end(&self, entry: u64, recorded: String, did: &str, arguments: String) -> Diverged {
        match self.closed.as_ref().and_then(|closed| closed.beyond.clone()) {
            Some((call, did, arguments)) => Diverged { call, ..self.against(entry, recorded, &did, arguments) },
            None => self.against(entry, recorded, did, arguments),
        }
    }

    fn against(&self, entry: u64, recorded: String, did: &str, arguments: String) -> Diverged {
        Diverged { entry, recorded, did: did.to_owned(), arguments, call: self.call, agreed: self.agreed }
    }

    /// What the guest does at its present call.
    fn did(&self) -> (String, String) {
        self.doing.as_ref().map_or_else(Default::default, |(call, kept)| (call.to_string(), shown(*call, kept)))
    }

    /// Notes that the guest has done something that is recorded nowhere, where all it did is recorded.
    pub fn beyond(&mut self) {
        let (did, arguments) = self.did();
        let call = self.call;
        if let Some(closed) = self.closed.as_mut().filter(|closed| closed.beyond.is_none()) {
            closed.beyond = Some((call, did, arguments));
        }
    }

    /// Whether the guest has done more than what is recorded.
    pub fn is_beyond(&self) -> bool {
        self.closed.as_ref().is_some_and(|closed| closed.beyond.is_some())
    }

    /// The entry that was replayed last.
    pub fn replayed(&self) -> u64 {
        self.replayed
    }

    /// What the guest said, and was told, since the last call of this; `all`: also what no entry has recorded yet.
    pub fn heard(&mut self, all: bool) -> Vec<Heard> {
        let Some(Closed { heard, .. }) = &mut self.closed else { return Vec::new() };
        let upto = match all {
            true => heard.len(),
            false => heard.iter().rposition(|heard| heard.seq.is_some()).map_or(0, |last| last + 1),
        };
        heard.drain(..upto).collect()
    }

    /// Records what the current call gave.
    pub fn record(&mut self, record: &Record) {
        self.packer.push(self.call, record);
        self.packed = self.stamp();
    }

    /// Records an act of the guest that readers see.
    pub fn event(&mut self, at: Timestamp, kind: EventKind) {
        self.push(at, kind, None);
    }

    /// As [`event`](Self::event), with what readers do not see and a replay needs.
    pub fn event_with(&mut self, at: Timestamp, kind: EventKind, kept: Vec<u8>) {
        self.push(at, kind, Some(kept));
    }

    fn push(&mut self, at: Timestamp, kind: EventKind, kept: Option<Vec<u8>>) {
        self.close_last(at);
        self.bytes += ENTRY_BYTES + kept.as_ref().map_or(0, Vec::len);
        let stamp = Some(self.stamp());
        self.entries.push(NewEntry { at, stamp, body: Body::Event(kind, kept) });
    }

    /// Records something that readers see and that a replay does not need.
    pub fn aside(&mut self, at: Timestamp, kind: EventKind) {
        self.close_last(at);
        self.bytes += ENTRY_BYTES;
        self.entries.push(NewEntry::outside(at, kind));
    }

    /// `report-progress`. Past a rate the newest message wins.
    pub fn progress(&mut self, at: Timestamp, arguments: &[u8], progress: Progress) -> Result<(), Diverged> {
        if !self.live_or_told(Call::Progress, arguments, || EventKind::Progress(progress.clone()))? {
            return Ok(());
        }
        let bytes = progress.message.len() + ENTRY_BYTES;
        let stamp = Some(self.stamp());
        let entry = NewEntry { at, stamp, body: Body::Event(EventKind::Progress(progress), None) };
        if self.throttle.take(at) {
            self.settle_log();
            self.held = None;
            self.bytes += bytes;
            self.entries.push(entry);
        } else {
            self.held = Some(entry);
        }
        Ok(())
    }

    /// A write to stdout or stderr. Writes that follow each other become one entry.
    pub fn write(&mut self, at: Timestamp, stream: LogStream, bytes: &[u8]) -> Result<(), Diverged> {
        let call = match stream {
            LogStream::Stdout => Call::Stdout,
            LogStream::Stderr => Call::Stderr,
        };
        if stream == LogStream::Stderr {
            self.last_words.extend_from_slice(bytes);
            let surplus = self.last_words.len().saturating_sub(LAST_WORDS_BYTES);
            self.last_words.drain(..surplus);
        }
        let begun = self.follow(stream, bytes);
        let said = || EventKind::Log { stream, text: String::from_utf8_lossy(bytes).into_owned() };
        if !self.live_or_told(call, bytes, said)? {
            return Ok(());
        }
        self.bytes += bytes.len();
        // A message past the rate stays where it is: a replay takes entries in the order of their calls.
        let open = self.log_stream() == Some(stream) && self.log.len() + bytes.len() <= LOG_ENTRY_BYTES;
        if !open {
            self.settle_log();
            self.bytes += ENTRY_BYTES;
            let kind = EventKind::Log { stream, text: String::new() };
            self.entries.push(NewEntry { at, stamp: None, body: Body::Event(kind, None) });
            self.log = begun;
        }
        self.log.extend_from_slice(bytes);
        let stamp = self.stamp();
        if let Some(entry) = self.entries.last_mut() {
            entry.stamp = Some(stamp);
        }
        Ok(())
    }

    /// Notes what a stream ends in, replaying too, and gives what it ended in before.
    fn follow(&mut self, stream: LogStream, bytes: &[u8]) -> Vec<u8> {
        let begun = &mut self.begun[stream as usize];
        let all = [begun, &bytes[bytes.len().saturating_sub(4)..]].concat();
        let end = all[all.len() - incomplete(&all)..].to_vec();
        std::mem::replace(begun, end)
    }

    /// The guest writes no more: a character that it did not end is replaced like everything that is no text.
    pub fn finish(&mut self, at: Timestamp) {
        // What was left of a character was written as if by the last call.
        while let Some(Item { what: Recorded::Event(kind @ EventKind::Log { .. }), stamp, seq, .. }) =
            self.replay.front()
            && *stamp == self.stamp()
        {
            if let Some(closed) = &mut self.closed {
                closed.hear(*seq, kind.clone());
            }
            self.replay.pop_front();
        }
        if !self.is_live() || self.closed.is_some() {
            return;
        }
        for stream in [LogStream::Stdout, LogStream::Stderr] {
            let begun = std::mem::take(&mut self.begun[stream as usize]);
            if !begun.is_empty() {
                self.close_last(at);
                let kind = EventKind::Log { stream, text: String::from_utf8_lossy(&begun).into_owned() };
                let stamp = Some(self.stamp());
                self.entries.push(NewEntry { at, stamp, body: Body::Event(kind, None) });
            }
        }
    }

    /// Whether a call that gives nothing back is live; when replaying it is only counted, and `said` may be heard.
    fn live_or_told(
        &mut self,
        call: Call,
        arguments: &[u8],
        said: impl FnOnce() -> EventKind,
    ) -> Result<bool, Diverged> {
        match self.next(call, arguments)? {
            Turn::Live => Ok(true),
            Turn::Silent => {
                if self.is_live() {
                    self.beyond();
                }
                if let Some(closed) = &mut self.closed {
                    closed.heard.push(Heard { seq: None, kind: said() });
                }
                Ok(false)
            }
            Turn::Recorded(Recorded::Event(EventKind::Progress(_))) if call == Call::Progress => Ok(false),
            Turn::Recorded(Recorded::Event(EventKind::Log { .. })) if call != Call::Progress => Ok(false),
            Turn::Recorded(other) => Err(self.mismatch(call, &other)),
        }
    }

    /// A monotonic reading that never falls below the last one that the guest saw.
    pub fn monotonic(&mut self, reading: u64) -> u64 {
        self.monotonic = self.monotonic.max(reading);
        self.monotonic
    }

    /// What the guest wrote to stderr last.
    pub fn last_words(&self) -> String {
        String::from_utf8_lossy(&self.last_words).trim().to_owned()
    }

    /// Bytes that wait to be committed, about.
    pub fn pending_bytes(&self) -> usize {
        self.bytes + self.packer.len()
    }

    /// Whether anything waits to be committed.
    pub fn has_pending(&self) -> bool {
        !self.entries.is_empty() || !self.packer.is_empty() || self.held.is_some()
    }

    /// What is not yet in the journal: a prefix of the guest's calls, in order. `all`: even a message past the rate, since
    /// nothing follows it.
    pub fn take(&mut self, at: Timestamp, all: bool) -> Vec<NewEntry> {
        self.close_last(at);
        if all {
            self.entries.extend(self.held.take());
        }
        self.bytes = 0;
        let mut entries = std::mem::take(&mut self.entries);
        if !self.packer.is_empty() {
            entries.insert(0, NewEntry { at, stamp: Some(self.packed), body: Body::Records(self.packer.take()) });
        }
        entries
    }

    fn stamp(&self) -> Stamp {
        Stamp { call: self.call, hash: self.fingerprint.value() }
    }

    fn log_stream(&self) -> Option<LogStream> {
        match self.entries.last() {
            Some(NewEntry { body: Body::Event(EventKind::Log { stream, .. }, _), .. }) if !self.log.is_empty() => {
                Some(*stream)
            }
            _ => None,
        }
    }

    /// Nothing is merged into the last line of output any more. A message past the rate is written if there is room by now;
    /// if not it waits on, whatever is written meanwhile: a guest that does something between its messages has no other rate.
    fn close_last(&mut self, at: Timestamp) {
        self.settle_log();
        if self.held.is_some() && self.throttle.take(at) {
            self.entries.extend(self.held.take());
        }
    }

    /// Turns the bytes gathered for the last log entry into its text.
    fn settle_log(&mut self) {
        if self.log.is_empty() {
            return;
        }
        let whole = self.log.len() - incomplete(&self.log);
        if whole == 0 {
            self.entries.pop();
        } else if let Some(NewEntry { body: Body::Event(EventKind::Log { text, .. }, _), .. }) = self.entries.last_mut()
        {
            *text = String::from_utf8_lossy(&self.log[..whole]).into_owned();
        }
        self.log.clear();
    }
}

impl Closed {
    /// An entry. What the guest wrote since the one before is in it, if it is of the same stream.
    fn hear(&mut self, seq: u64, kind: EventKind) {
        let part = |heard: &Heard| match (&heard.kind, &kind) {
            (EventKind::Log { stream: part, .. }, EventKind::Log { stream, .. }) => {
                heard.seq.is_none() && part == stream
            }
            _ => false,
        };
        while self.heard.last().is_some_and(part) {
            self.heard.pop();
        }
        self.heard.push(Heard { seq: Some(seq), kind });
    }
}

/// Bytes at the end that are the beginning of a character.
fn incomplete(bytes: &[u8]) -> usize {
    let begins = |at: &usize| {
        std::str::from_utf8(&bytes[*at..]).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (bytes.len().saturating_sub(3)..bytes.len()).find(begins).map_or(0, |at| bytes.len() - at)
}

fn describe(what: &Recorded) -> String {
    match what {
        Recorded::Event(kind) => serde_json::to_string(kind).map_or_else(|_| "an event".into(), |text| clip(&text)),
        Recorded::Record(record) => clip(&format!("{record:?}")),
    }
}

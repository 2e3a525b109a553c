//! A journal taken apart into the segments that a replay runs again.

use crate::journal::{Body, EventKind, StoredEntry};
use crate::sandbox::Export;
use crate::task::{Broke, ErrorClass, Output, TaskError, TaskState};

/// One segment as the journal has it.
#[derive(Debug, PartialEq)]
pub(super) struct Planned {
    pub attempt: u32,
    /// Which one of the task: its random numbers depend on it.
    pub segment: u32,
    pub seed: [u8; 32],
    /// `None`: with a ticket that was not kept.
    pub export: Option<Export>,
    /// What the guest did.
    pub entries: Vec<StoredEntry>,
    pub end: End,
}

/// How a segment ended.
#[derive(Debug, PartialEq)]
pub(super) enum End {
    /// By no doing of the guest's: it waits or runs, was stopped, or its host failed. It may be anywhere after its last
    /// entry.
    Open,
    /// With a ticket; `None` if it was not kept.
    Checkpoint { entry: u64, ticket: Option<Vec<u8>> },
    /// With a result, an error of the tool, or a crash.
    Returned { entry: u64, what: Result<Output, TaskError> },
}

/// What a journal consists of.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub segments: Vec<Planned>,
    /// What readers see and no guest did, in order.
    pub outside: Vec<(u64, EventKind)>,
    /// The fuel of all segments together, if the task ended.
    pub fuel: Option<u64>,
}

/// Takes a journal apart. `ticket`: the one that the task has now. Older versions kept no other.
///
/// # Errors
///
/// What is missing in it.
pub(super) fn plan(journal: Vec<StoredEntry>, ticket: Option<&[u8]>) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let mut open: Option<Planned> = None;
    let last_checkpoint =
        journal.iter().rev().find(|entry| kind(entry).is_some_and(is_checkpoint)).map(|last| last.seq);
    let mut kept: Option<Vec<u8>> = None;
    let mut segment = 0;
    for entry in journal {
        let seq = entry.seq;
        if entry.stamp.is_some() {
            match &mut open {
                Some(open) => open.entries.push(entry),
                None => return Err(format!("entry {seq} is a guest's, and no attempt has begun")),
            }
            continue;
        }
        let Body::Event(kind, blob) = entry.body else { continue };
        if let EventKind::Attempt { attempt } = &kind {
            let seed = blob.and_then(|seed| seed.try_into().ok()).ok_or(format!("entry {seq} has no seed"))?;
            let export = if segment == 0 { Some(Export::Execute) } else { kept.clone().map(Export::AwaitTask) };
            plan.segments.extend(open.take());
            open = Some(Planned { attempt: *attempt, segment, seed, export, entries: Vec::new(), end: End::Open });
        } else if let EventKind::Checkpoint { segment: next, .. } = &kind {
            segment = *next;
            let now = || ticket.filter(|_| last_checkpoint == Some(seq)).map(<[u8]>::to_vec);
            kept = blob.or_else(|| kept.take()).or_else(now);
            if let Some(mut done) = open.take() {
                done.end = End::Checkpoint { entry: seq, ticket: kept.clone() };
                let (attempt, seed) = (done.attempt, done.seed);
                plan.segments.push(done);
                let export = kept.clone().map(Export::AwaitTask);
                open = Some(Planned { attempt, segment, seed, export, entries: Vec::new(), end: End::Open });
            }
        } else if let EventKind::Retry { error, .. } = &kind {
            plan.segments.extend(open.take().map(|done| Planned { end: returned(seq, Err(error.clone())), ..done }));
        } else if let EventKind::Ended { state, output, error, fuel } = &kind {
            plan.fuel = Some(*fuel);
            let end = match (state, output, error) {
                (TaskState::Completed, Some(output), _) => returned(seq, Ok(output.clone())),
                (TaskState::Failed, _, Some(error)) => returned(seq, Err(error.clone())),
                // It may have been anywhere when it was stopped, and what it said then has not counted.
                _ => End::Open,
            };
            plan.segments.extend(open.take().map(|done| Planned { end, ..done }));
        }
        plan.outside.push((seq, kind));
    }
    plan.segments.extend(open);
    Ok(plan)
}

impl Planned {
    /// Whether there is anything to run again.
    pub fn replays(&self) -> bool {
        !self.entries.is_empty() || self.end != End::Open
    }
}

/// How a guest ended that came to `what`; unless that was not its doing.
fn returned(entry: u64, what: Result<Output, TaskError>) -> End {
    let by_the_guest = |error: &TaskError| {
        let codes = [Broke::Trap, Broke::Fuel, Broke::Memory, Broke::Limit];
        error.class == ErrorClass::Tool || codes.iter().any(|code| code.as_str() == error.code)
    };
    match &what {
        Err(error) if !by_the_guest(error) => End::Open,
        _ => End::Returned { entry, what },
    }
}

fn kind(entry: &StoredEntry) -> Option<&EventKind> {
    match &entry.body {
        Body::Event(kind, _) => Some(kind),
        Body::Records(_) => None,
    }
}

fn is_checkpoint(kind: &EventKind) -> bool {
    matches!(kind, EventKind::Checkpoint { .. })
}

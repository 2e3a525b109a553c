//! Telling where a replayed guest left its journal.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::recorder::Call;

/// Where a replayed guest did something else than what is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[non_exhaustive]
pub struct Diverged {
    /// The `seq` of the entry that it does not agree with.
    pub entry: u64,
    /// What that entry records, shortened.
    pub recorded: String,
    /// What the guest did there: a kind of call, or how it came to its end.
    pub did: String,
    /// With what, shortened; empty if with nothing.
    pub arguments: String,
    /// The call of the segment that it was at, counted from 1.
    pub call: u64,
    /// The last call before it that is known to be the recorded one. A call that left nothing in the journal is compared
    /// with the next one that did, so what differs is one of those after this, up to `call`.
    pub agreed: u64,
}

impl fmt::Display for Diverged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entry, recorded, did, arguments, call, agreed } = self;
        write!(f, "entry {entry} records {recorded}; the replayed guest did {did}")?;
        if !arguments.is_empty() {
            write!(f, " with `{arguments}`")?;
        }
        match agreed + 1 {
            first if first >= *call => write!(f, " (call {call} of the segment)"),
            first => write!(f, " (call {call} of the segment; what differs is between call {first} and call {call})"),
        }
    }
}

/// What a guest said while it was replayed, or what the journal holds from outside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Heard {
    /// The entry that records it. `None`: it was merged into a later one, or is recorded nowhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What it is.
    #[serde(flatten)]
    pub kind: super::EventKind,
}

/// A call's arguments as they were folded into the fingerprint, for a person to read.
pub(super) fn shown(call: Call, arguments: &[u8]) -> String {
    let number = |bytes: &[u8]| bytes.iter().rev().fold(0u128, |number, byte| number << 8 | u128::from(*byte));
    // A text, and after it three numbers.
    const PROGRESS_NUMBERS: usize = 17;
    match call {
        Call::Progress if arguments.len() >= PROGRESS_NUMBERS => {
            let (message, numbers) = arguments.split_at(arguments.len() - PROGRESS_NUMBERS);
            let told = |at: usize| {
                let bits = number(&numbers[at..at + 8]) as u64;
                (bits != u64::MAX).then(|| f64::from_bits(bits).to_string())
            };
            let parts = [Some(clip(&text(message))), told(0), told(8).map(|total| format!("of {total}"))];
            parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
        }
        Call::Progress | Call::Stdout | Call::Stderr | Call::Setting => clip(&text(arguments)),
        Call::Ask | Call::HttpSend => clip(&text(arguments.split(|byte| *byte == 0).next().unwrap_or_default())),
        _ if arguments.len() <= 16 && !arguments.is_empty() => number(arguments).to_string(),
        _ => clip(&text(arguments)),
    }
}

/// Text without control characters, and without what separates its parts.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\0', '\n']);
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// The beginning of a text that may be long.
pub(crate) fn clip(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divergence_names_the_entry_both_sides_and_the_calls_it_may_be_in() {
        let mut diverged = Diverged {
            entry: 5,
            recorded: "a sleep".into(),
            did: "report-progress".into(),
            arguments: "half 1 of 2".into(),
            call: 7,
            agreed: 6,
        };
        let said = "entry 5 records a sleep; the replayed guest did report-progress with `half 1 of 2` (call 7 of the \
                    segment)";
        assert_eq!(diverged.to_string(), said);
        diverged.agreed = 3;
        assert!(diverged.to_string().ends_with("what differs is between call 4 and call 7)"), "{diverged}");
    }

    #[test]
    fn arguments_are_shown_as_a_person_reads_them() {
        let progress = [b"half".as_slice(), &1f64.to_bits().to_le_bytes(), &u64::MAX.to_le_bytes(), &[1]].concat();
        assert_eq!(shown(Call::Progress, &progress), "half 1");
        assert_eq!(shown(Call::Sleep, &1_500u128.to_le_bytes()), "1500");
        assert_eq!(shown(Call::AwaitReply, &3u32.to_le_bytes()), "3");
        assert_eq!(shown(Call::Ask, b"go on?\0\0{}\0\0\xff\xff\xff\xff\xff\xff\xff\xff"), "go on?");
        assert_eq!(shown(Call::HttpSend, b"GET https://a.example/\0\xff\xfe"), "GET https://a.example/");
        assert_eq!(shown(Call::Stdout, b"one\ntwo\n"), "one two");
        assert_eq!(shown(Call::IsCancelled, b""), "");
        assert_eq!(shown(Call::Stdout, "x".repeat(999).as_bytes()).chars().count(), 201);
    }
}

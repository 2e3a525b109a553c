use super::*;
use crate::journal::StoredEntry;

const NOW: Timestamp = Timestamp::from_millis(1_000_000);

/// Far more than the rate, and a line of output after each.
fn talk(recorder: &mut Recorder, mut after: impl FnMut(&mut Recorder)) -> Result<(), Diverged> {
    for n in 0..120u8 {
        let level = crate::task::Level::Info;
        let progress = Progress { message: n.to_string(), done: None, total: None, level };
        recorder.progress(NOW, &[n], progress)?;
        recorder.write(NOW, LogStream::Stdout, &[b'a' + n % 26])?;
        after(recorder);
    }
    Ok(())
}

/// A message past the rate comes into the journal after output that was written later, or never: where the process dies
/// in between, the guest is brought back all the same.
#[test]
fn what_is_held_back_is_in_no_replays_way() {
    let mut recorder = Recorder::new(Vec::new()).unwrap();
    let mut steps = Vec::new();
    talk(&mut recorder, |recorder| steps.push(recorder.take(NOW, false))).unwrap();
    steps.push(recorder.take(NOW, true));
    let is_progress = |entry: &&NewEntry| matches!(entry.body, Body::Event(EventKind::Progress(_), _));
    assert_eq!(steps.iter().flatten().filter(is_progress).count(), 51);
    for written in 0..=steps.len() {
        let stored = (1..).zip(steps[..written].iter().flatten());
        let stored = stored.map(|(seq, entry)| StoredEntry { seq, stamp: entry.stamp, body: entry.body.clone() });
        let mut again = Recorder::new(stored.collect()).unwrap();
        talk(&mut again, |_| {}).unwrap();
        assert!(again.is_live());
    }
}

/// A guest that reads a clock as fast as it can for some minutes: taken apart, what it was given is more than any machine
/// has, and the journal's limit does not see it.
#[test]
fn a_billion_readings_are_brought_back_without_being_held_in_memory() {
    let mut packer = Packer::default();
    (1..=1_000_000).for_each(|call| packer.push(call, &Record::Monotonic(7)));
    // What is told is how far each is from the one before, so the same again is a million more, somewhat later.
    let block = packer.take().repeat(1_000);
    assert!(block.len() < 16_000);
    let stamp = Some(Stamp { call: 1_000_000_000, hash: 0 });
    let mut recorder = Recorder::new(vec![StoredEntry { seq: 1, stamp, body: Body::Records(block) }]).unwrap();
    for _ in 0..1_000_001 {
        let turn = recorder.next(Call::MonotonicClock, &[]).unwrap();
        assert!(matches!(turn, Turn::Recorded(Recorded::Record(Record::Monotonic(_)))));
    }
    assert!(!recorder.is_live());
}

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

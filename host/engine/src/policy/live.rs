//! The policy in force: that of a file, as it is now.

use std::fs::Metadata;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use super::{LimitsInForce, Policy};
use crate::{Error, PolicyError};

/// Bytes that are read of a file at most.
const LARGEST: u64 = 4 << 20;

/// How soon a file that could not be read is read again.
const AGAIN: Duration = Duration::from_secs(1);

/// The policy in force. A file is looked at whenever somebody asks, so that a grant, or its end, counts at once and for
/// every process on the same data.
pub(crate) struct LivePolicy {
    state: RwLock<State>,
    /// One reads the file anew, while others go on with what is known.
    reading: Mutex<()>,
    /// What the process was made for that goes by it.
    limits: OnceLock<LimitsInForce>,
}

struct State {
    policy: Arc<Policy>,
    /// Read from here; `None`: an embedder has given it.
    file: Option<PathBuf>,
    /// What the file was when it was read.
    seen: Option<Seen>,
    /// It has changed and could not be read: not before then again.
    again: Option<Instant>,
}

/// Enough of a file's metadata to tell that it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    length: u64,
    modified: Option<SystemTime>,
    /// Its number and when that was last changed: a file that is replaced, or written twice within a tick of the clock.
    #[cfg(unix)]
    inode: (u64, i64, i64),
}

impl LivePolicy {
    /// The policy of a file; the default one while there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Policy`]: it can't be read, or is wrong.
    pub fn open(path: PathBuf) -> Result<Self, Error> {
        let (policy, seen) = read(&path)?;
        Ok(Self::new(State { policy: Arc::new(policy), file: Some(path), seen, again: None }))
    }

    /// A policy that stays until another is set.
    pub fn given(policy: Policy) -> Self {
        Self::new(State { policy: Arc::new(policy), file: None, seen: None, again: None })
    }

    fn new(state: State) -> Self {
        Self { state: RwLock::new(state), reading: Mutex::default(), limits: OnceLock::new() }
    }

    /// From now on, what a new policy allows is held against what there is room for.
    pub fn is_limited_by(&self, limits: LimitsInForce) {
        // It is said once.
        let _ = self.limits.set(limits);
    }

    /// Where it is read from.
    pub fn file(&self) -> Option<PathBuf> {
        let file = self.state.read().unwrap_or_else(PoisonError::into_inner).file.clone();
        file.map(|path| std::path::absolute(&path).unwrap_or(path))
    }

    fn warn(&self, policy: &Policy) {
        for problem in self.limits.get().into_iter().flat_map(|limits| limits.beyond(policy)) {
            tracing::warn!("{problem}");
        }
    }

    /// From now on this one counts, and no file.
    pub fn set(&self, policy: Policy) {
        self.warn(&policy);
        *self.state.write().unwrap_or_else(PoisonError::into_inner) =
            State { policy: Arc::new(policy), file: None, seen: None, again: None };
    }

    /// The policy as it is now. One that is wrong leaves the last good one in force.
    pub fn current(&self) -> Arc<Policy> {
        let known = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let rests = known.again.is_some_and(|again| Instant::now() < again);
        let changed = known.file.as_ref().filter(|path| !rests && Seen::at(path) != known.seen).cloned();
        let policy = known.policy.clone();
        drop(known);
        match changed {
            Some(path) => self.refresh(&path),
            None => policy,
        }
    }

    fn refresh(&self, path: &Path) -> Arc<Policy> {
        let _alone = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        let looked = Seen::at(path);
        let known = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if known.file.as_deref() != Some(path) || known.seen == looked {
            return known.policy.clone();
        }
        drop(known);
        let read = read(path);
        match &read {
            Ok((policy, _)) => self.warn(policy),
            Err(Unread::Wrong(error) | Unread::Unreadable(error)) => {
                tracing::warn!("{error}; what it said before stays in force");
            }
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.file.as_deref() == Some(path) {
            state.again = None;
            match read {
                Ok((policy, seen)) => (state.policy, state.seen) = (Arc::new(policy), seen),
                // It says nothing else until it changes again.
                Err(Unread::Wrong(_)) => state.seen = looked,
                // It may be readable in a moment, and take something back.
                Err(Unread::Unreadable(_)) => state.again = Some(Instant::now() + AGAIN),
            }
        }
        state.policy.clone()
    }
}

impl Seen {
    fn at(path: &Path) -> Option<Self> {
        std::fs::metadata(path).ok().map(|metadata| Self::of(&metadata))
    }

    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: (metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// Why a file says nothing.
enum Unread {
    /// Whoever reads it finds the same.
    Wrong(Error),
    /// This time; a later one may succeed.
    Unreadable(Error),
}

impl From<Unread> for Error {
    fn from(unread: Unread) -> Self {
        match unread {
            Unread::Wrong(error) | Unread::Unreadable(error) => error,
        }
    }
}

/// What the file says, and what it was before it was read: if it is written meanwhile, it is read once more.
fn read(path: &Path) -> Result<(Policy, Option<Seen>), Unread> {
    let policy = |error: PolicyError| Error::Policy { path: path.to_owned(), error };
    let wrong = |error: PolicyError| Unread::Wrong(policy(error));
    let unreadable = |problem: String| Unread::Unreadable(policy(PolicyError { line: None, key: None, problem }));
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        // Where there is no directory there is no file either; what is there instead is the database's to say.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok((Policy::default(), None));
        }
        Err(error) => return Err(unreadable(format!("it can't be read: {error}"))),
    };
    let metadata = file.metadata().map_err(|error| unreadable(error.to_string()))?;
    if !metadata.is_file() || metadata.len() > LARGEST {
        let problem = format!("it is no file of at most {LARGEST} bytes");
        return Err(wrong(PolicyError { line: None, key: None, problem }));
    }
    let mut text = String::new();
    file.take(LARGEST).read_to_string(&mut text).map_err(|error| unreadable(format!("it can't be read: {error}")))?;
    let policy = Policy::parse(&text).map_err(wrong)?;
    Ok((policy, Some(Seen::of(&metadata))))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "[plugins.one]\nalias = \"uno\"\n";

    fn alias(live: &LivePolicy) -> Option<String> {
        live.current().alias("default", "one").map(str::to_owned)
    }

    #[test]
    fn a_file_counts_from_when_it_is_written_until_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhaul.toml");
        let live = LivePolicy::open(path.clone()).unwrap();
        assert_eq!(alias(&live), None);
        std::fs::write(&path, ONE).unwrap();
        assert_eq!(alias(&live).as_deref(), Some("uno"));
        let replaced = dir.path().join("new");
        std::fs::write(&replaced, ONE.replace("uno", "eins")).unwrap();
        std::fs::rename(&replaced, &path).unwrap();
        assert_eq!(alias(&live).as_deref(), Some("eins"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(alias(&live), None);
    }

    #[test]
    fn a_file_that_is_wrong_leaves_the_last_good_one_in_force() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhaul.toml");
        std::fs::write(&path, ONE).unwrap();
        let live = LivePolicy::open(path.clone()).unwrap();
        std::fs::write(&path, "[plugins.one\n").unwrap();
        assert_eq!(alias(&live).as_deref(), Some("uno"));
        let error = LivePolicy::open(path.clone()).err().unwrap().to_string();
        assert!(error.starts_with(&format!("{}: line 1", path.display())), "{error}");
        std::fs::write(&path, "").unwrap();
        assert_eq!(alias(&live), None);
    }

    #[test]
    fn what_an_embedder_sets_takes_the_place_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("longhaul.toml");
        std::fs::write(&path, ONE).unwrap();
        let live = LivePolicy::open(path).unwrap();
        live.set(Policy::default());
        assert_eq!(alias(&live), None);
    }
}

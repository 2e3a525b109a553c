//! Compiled code on disk. It is run as it is found, so it is taken only if a host on the same data wrote it for that
//! very plugin.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a key.
pub(crate) const KEY: usize = 32;

/// Bytes of a tag, which stands after the code.
const TAG: usize = blake3::OUT_LEN;

/// Bytes of a file that is looked at. The code of the largest component has some hundred MB.
const LARGEST: u64 = 1 << 30;

/// The last part of the name of a file that is being written.
const UNFINISHED: &str = "new";

/// How long the code of another version of the engine is kept: until it is plain that nobody goes back to it.
const LEFT: Duration = Duration::from_secs(7 * 24 * 3_600);

/// What the key of the tags is derived for, so that the data directory's key makes no other tag.
const PURPOSE: &str = "longhaul 2026-11 tags of compiled code";

/// Tells code that a host on this data wrote from all other. All of a plugin's code is read for its tag at each start, and
/// of what makes one BLAKE3 is the fastest by far.
pub(crate) struct Seal(blake3::Hasher);

impl Seal {
    /// A seal for code of the engine that `engine` distinguishes.
    pub fn new(key: &[u8; KEY], engine: &str) -> Self {
        let mut tags = blake3::Hasher::new_keyed(&blake3::derive_key(PURPOSE, key));
        tags.update(engine.as_bytes()).update(&[0]);
        Self(tags)
    }

    fn of(&self, digest: &str, code: &[u8]) -> blake3::Hash {
        self.0.clone().update(digest.as_bytes()).update(&[0]).update(code).finalize()
    }

    /// The code of a plugin, if `file` is that and its tag, and nothing else.
    pub fn open(&self, digest: &str, mut file: Vec<u8>) -> Result<Vec<u8>, &'static str> {
        let Some(length) = file.len().checked_sub(TAG) else { return Err("it is cut off") };
        let tag = file.split_off(length);
        // Compared in constant time.
        if self.of(digest, &file) == *tag.as_slice() {
            Ok(file)
        } else {
            Err("no host on this data wrote it for this plugin, or it has changed since")
        }
    }
}

/// The compiled code of one engine, a file for each plugin.
pub(crate) struct Cache {
    dir: PathBuf,
    seal: Seal,
}

impl Cache {
    /// Below `compiled` in the data directory, a folder for each engine. `None`, with a warning, if others can put
    /// anything there.
    pub fn open(data_dir: &Path, engine: &str, key: &[u8; KEY]) -> Option<Self> {
        let made = data_dir.canonicalize().and_then(|data| {
            let dir = data.join("compiled").join(engine);
            create_private_dir(&dir)?;
            Ok(dir)
        });
        let refused = |problem: String| tracing::warn!("no compiled code is kept in {}: {problem}", data_dir.display());
        let dir = match made {
            Ok(dir) => dir,
            Err(error) => {
                refused(error.to_string());
                return None;
            }
        };
        // The folder of this engine, that of all of them, and the data directory.
        for place in dir.ancestors().take(3) {
            if let Err(problem) = is_private(place) {
                refused(format!("{} {problem}", place.display()));
                return None;
            }
        }
        tidy(&dir);
        Some(Self { dir, seal: Seal::new(key, engine) })
    }

    /// The code of a plugin, if there is any and nobody has touched it.
    pub fn load(&self, digest: &str) -> Option<Vec<u8>> {
        let path = self.path(digest);
        let found = match read(&path) {
            Ok(found) => found?,
            Err(error) => {
                tracing::warn!("compiled code at {} is made again: {error}", path.display());
                return None;
            }
        };
        let opened = self.seal.open(digest, found);
        opened.inspect_err(|why| tracing::warn!("compiled code at {} is made again: {why}", path.display())).ok()
    }

    /// Keeps the code of a plugin.
    pub fn save(&self, digest: &str, code: &[u8]) -> std::io::Result<()> {
        let path = self.path(digest);
        // Whole or not at all: another may be reading it, or writing it at the same time, and after a power cut a file
        // that was renamed and not synced may have holes.
        let temporary = path.with_extension(format!("{}.{UNFINISHED}", ulid::Ulid::generate()));
        let tag = self.seal.of(digest, code);
        let written = private(&temporary).and_then(|mut file| {
            file.write_all(code)?;
            file.write_all(tag.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&temporary, &path)
        });
        if written.is_err() {
            let _ = std::fs::remove_file(&temporary);
        }
        written
    }

    /// Forgets the code of a plugin.
    pub fn remove(&self, digest: &str) {
        let _ = std::fs::remove_file(self.path(digest));
    }

    fn path(&self, digest: &str) -> PathBuf {
        self.dir.join(digest).with_extension("cwasm")
    }
}

/// Removes what other versions have left that nobody has written to for long, and what was not finished.
fn tidy(dir: &Path) {
    let old = |path: &Path| {
        let modified = std::fs::symlink_metadata(path).and_then(|found| found.modified());
        modified.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > LEFT))
    };
    let entries = |dir: &Path| std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path());
    // Whatever can't be removed only takes room; and an older version that still runs compiles again.
    for folder in dir.parent().into_iter().flat_map(entries).filter(|folder| folder != dir && old(folder)) {
        let _ = std::fs::remove_dir_all(folder);
    }
    let unfinished = |path: &PathBuf| path.extension().is_some_and(|extension| extension == UNFINISHED);
    for file in entries(dir).filter(unfinished).filter(|file| old(file)) {
        let _ = std::fs::remove_file(file);
    }
}

/// All of a file of ours; `None` if there is none. It is read once: what is checked is what is run, whatever happens to
/// the file meanwhile.
pub(crate) fn read(path: &Path) -> std::io::Result<Option<Vec<u8>>> {
    let found = match std::fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !found.is_file() || found.len() > LARGEST {
        return Err(std::io::Error::other("it is no file, or far too large"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0) + 1);
    File::open(path)?.take(LARGEST).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// A new file that nobody else can read or write.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether nobody else can put anything into a directory, or what is wrong with it.
pub(crate) fn is_private(path: &Path) -> Result<(), String> {
    let found = std::fs::symlink_metadata(path).map_err(|error| format!("can't be looked at: {error}"))?;
    if !found.is_dir() {
        return Err("is no directory".into());
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        const OTHERS_WRITE: u32 = 0o022;
        let (owner, me) = (found.uid(), rustix::process::geteuid().as_raw());
        if owner != me {
            return Err(format!("belongs to user {owner}, and this process to {me}"));
        }
        if found.mode() & OTHERS_WRITE != 0 {
            return Err(format!("can be written by others (mode {:o}); make it 0700", found.mode() & 0o7777));
        }
    }
    Ok(())
}

/// A directory that only its owner may enter.
pub(crate) fn create_private_dir(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINE: &str = "0123456789abcdef";

    fn cache(data: &Path) -> Cache {
        Cache::open(data, ENGINE, &[7; KEY]).unwrap()
    }

    #[test]
    fn code_is_given_back_and_that_of_another_plugin_engine_or_key_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let own = cache(dir.path());
        assert_eq!(own.load("a"), None);
        own.save("a", b"code").unwrap();
        assert_eq!(own.load("a").as_deref(), Some(&b"code"[..]));
        std::fs::copy(own.path("a"), own.path("b")).unwrap();
        assert_eq!(own.load("b"), None, "the code of another plugin under this one's name");
        let other = Cache::open(dir.path(), "fedcba9876543210", &[7; KEY]).unwrap();
        std::fs::copy(own.path("a"), other.path("a")).unwrap();
        assert_eq!(other.load("a"), None, "the code of another engine");
        let key = Cache::open(dir.path(), ENGINE, &[8; KEY]).unwrap();
        assert_eq!(key.load("a"), None, "code that another data directory's host wrote");
    }

    #[test]
    fn code_of_other_versions_is_removed_when_nobody_has_used_it_for_long() {
        let dir = tempfile::tempdir().unwrap();
        let long_ago = std::time::SystemTime::now() - LEFT - Duration::from_secs(60);
        let other = Cache::open(dir.path(), "fedcba9876543210", &[7; KEY]).unwrap();
        other.save("a", b"code").unwrap();
        let own = cache(dir.path());
        own.save("a", b"code").unwrap();
        let unfinished = own.dir.join("b.01j.new");
        std::fs::write(&unfinished, "co").unwrap();
        cache(dir.path());
        assert!(other.load("a").is_some() && unfinished.exists(), "somebody may be at it");
        for place in [&other.dir, &own.dir, &own.path("a"), &unfinished] {
            File::open(place).unwrap().set_modified(long_ago).unwrap();
        }
        cache(dir.path());
        assert!(!other.dir.exists() && !unfinished.exists());
        assert_eq!(own.load("a").as_deref(), Some(&b"code"[..]), "its own stays");
    }

    #[test]
    fn code_in_which_a_byte_has_changed_is_not_taken() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path());
        cache.save("a", b"code").unwrap();
        let good = std::fs::read(cache.path("a")).unwrap();
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 1;
            std::fs::write(cache.path("a"), &bad).unwrap();
            assert_eq!(cache.load("a"), None, "byte {at}");
            std::fs::write(cache.path("a"), &good[..at]).unwrap();
            assert_eq!(cache.load("a"), None, "cut off after {at}");
        }
        std::fs::write(cache.path("a"), [&good[..], b"x"].concat()).unwrap();
        assert_eq!(cache.load("a"), None, "a byte more");
        std::fs::write(cache.path("a"), &good).unwrap();
        assert!(cache.load("a").is_some());
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_kept_where_others_can_write_or_what_is_linked_from_elsewhere() {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let dir = tempfile::tempdir().unwrap();
        cache(dir.path());
        let compiled = dir.path().join("compiled");
        for place in [dir.path(), &compiled, &compiled.join(ENGINE)] {
            for wide in [0o770, 0o702] {
                mode(place, wide);
                assert!(Cache::open(dir.path(), ENGINE, &[7; KEY]).is_none(), "{} {wide:o}", place.display());
            }
            mode(place, 0o755);
            cache(dir.path());
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let moved = elsewhere.path().join("compiled");
        std::fs::rename(&compiled, &moved).unwrap();
        std::os::unix::fs::symlink(&moved, &compiled).unwrap();
        assert!(Cache::open(dir.path(), ENGINE, &[7; KEY]).is_none());
        std::fs::remove_file(&compiled).unwrap();
        std::fs::write(&compiled, "").unwrap();
        assert!(Cache::open(dir.path(), ENGINE, &[7; KEY]).is_none());
    }

    /// A pipe would make whoever opens it wait for ever.
    #[cfg(unix)]
    #[test]
    fn a_link_or_a_pipe_in_the_place_of_code_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let cache = cache(dir.path());
        cache.save("a", b"code").unwrap();
        std::os::unix::fs::symlink(cache.path("a"), cache.path("b")).unwrap();
        assert!(read(&cache.path("b")).is_err());
        assert!(std::process::Command::new("mkfifo").arg(cache.path("c")).status().unwrap().success());
        assert_eq!(cache.load("c"), None);
    }
}

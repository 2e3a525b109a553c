//! Compiled code on disk. It is run as it is found, so it is taken only if a host on the same data wrote it for that
//! very plugin.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Bytes of a key.
pub(crate) const KEY: usize = 32;

/// Bytes of a tag, which stands after the code.
const TAG: usize = 32;

/// Bytes of a file that is looked at. The code of the largest component has some hundred MB.
const LARGEST: u64 = 1 << 30;

/// What is mixed into every tag, so that the key makes no other.
const PURPOSE: &[u8] = b"longhaul compiled code 1\0";

/// Tells code that a host on this data wrote from all other.
#[derive(Clone)]
pub(crate) struct Seal(Hmac<Sha256>);

impl Seal {
    /// A seal for code of the engine that `engine` distinguishes.
    pub fn new(key: &[u8; KEY], engine: &str) -> Self {
        // A key of any length is taken; this one has a block's.
        let mut block = [0; 64];
        block[..KEY].copy_from_slice(key);
        Self(Hmac::new(&block.into()).chain_update(PURPOSE).chain_update(engine).chain_update([0]))
    }

    fn of(&self, digest: &str, code: &[u8]) -> Hmac<Sha256> {
        self.0.clone().chain_update(digest).chain_update([0]).chain_update(code)
    }

    /// The code of a plugin, if `file` is that and its tag, and nothing else.
    pub fn open(&self, digest: &str, mut file: Vec<u8>) -> Result<Vec<u8>, &'static str> {
        let Some(length) = file.len().checked_sub(TAG) else { return Err("it is cut off") };
        let tag = file.split_off(length);
        match self.of(digest, &file).verify_slice(&tag) {
            Ok(()) => Ok(file),
            Err(_) => Err("no host on this data wrote it for this plugin, or it has changed since"),
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
        let temporary = path.with_extension(format!("{}.new", ulid::Ulid::generate()));
        let tag = self.seal.of(digest, code).finalize().into_bytes();
        let written = private(&temporary).and_then(|mut file| {
            file.write_all(code)?;
            file.write_all(&tag)?;
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

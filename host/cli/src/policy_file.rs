//! `longhaul.toml` on disk: read, checked, replaced as a whole.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use longhaul::Policy;
use toml_edit::DocumentMut;

use crate::exit::Problem;

/// The policy's file in a data directory.
pub struct PolicyFile {
    /// As the person knows it.
    path: PathBuf,
}

impl PolicyFile {
    pub fn of(data: &Path) -> Self {
        Self { path: data.join("longhaul.toml") }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Edits the file, so that all of the edit is there, or nothing. What is not a policy afterwards is not written.
    pub fn edit(data: &Path, edit: impl FnOnce(&mut DocumentMut) -> Result<(), Problem>) -> Result<Self, Problem> {
        let file = Self::of(data);
        let failed = |error: io::Error| Problem::new(format!("cannot change {}: {error}", file.path.display()));
        // Of two that edit at once, one waits. Where a directory can't be locked, the last one counts.
        let directory = File::open(data).map_err(failed)?;
        let _locked = directory.lock();
        let text = match fs::read_to_string(&file.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(failed(error)),
        };
        let wrong = |error: longhaul::PolicyError| Problem::new(format!("{}: {error}", file.path.display()));
        Policy::parse(&text).map_err(wrong)?;
        let mut policy: DocumentMut =
            text.parse().map_err(|error| Problem::new(format!("{}: {error}", file.path.display())))?;
        edit(&mut policy)?;
        let edited = policy.to_string();
        // Its lines are not the person's.
        Policy::parse(&edited).map_err(|error| wrong(longhaul::PolicyError { line: None, ..error }))?;
        file.replace(&edited).map_err(failed)?;
        Ok(file)
    }

    /// Writes a new file, and puts it in the place of the old one, for the same to read. A link stays one.
    fn replace(&self, text: &str) -> io::Result<()> {
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let unfinished = target.with_extension(format!("{}.unfinished", std::process::id()));
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&unfinished).and_then(|mut file| {
            if let Ok(old) = fs::metadata(&target) {
                like(&old, &file)?;
            }
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&unfinished, &target)
        });
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
            return written;
        }
        match target.parent() {
            // Where a directory can't be synced, nothing more can be done.
            Some(directory) => File::open(directory).and_then(|directory| directory.sync_all()).or(Ok(())),
            None => Ok(()),
        }
    }
}

/// Gives a new file the owner and the mode of the one that it replaces: a server that runs as somebody else reads it, and would
/// go on with what it knows when it no longer can.
fn like(old: &fs::Metadata, new: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let is = new.metadata()?;
        if (is.uid(), is.gid()) != (old.uid(), old.gid()) {
            fchown(new, Some(old.uid()), Some(old.gid()))?;
        }
    }
    new.set_permissions(old.permissions())
}

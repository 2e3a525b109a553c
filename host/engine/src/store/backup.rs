//! A copy of the database as of one moment, made while it is in use.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::Store;
use super::failure::failed;
use crate::Error;

const WHAT: &str = "the backup";

/// What a backup leaves out: who runs the tasks, and keys. Whoever opens it takes them over, nobody has died on them, and
/// what a key was for is made anew.
const NOBODY: &str = "
    PRAGMA secure_delete = ON;
    BEGIN;
    DELETE FROM key;
    UPDATE task SET owner = NULL WHERE owner IS NOT NULL AND (ended_at IS NULL OR ticket IS NOT NULL);
    UPDATE subscription SET owner = NULL;
    DELETE FROM owner;
    COMMIT;";

impl Store {
    /// Writes the backup to a new file at `path`. Takes long: not for an async thread.
    pub fn back_up(&self, path: &Path) -> Result<(), Error> {
        let unmade = |problem: String| Error::Backup { path: path.to_owned(), problem };
        // The name is taken first, so that nothing that appears meanwhile is overwritten.
        let reserved = private(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => unmade("there is a file of that name already; give a new name".into()),
            _ => unmade(error.to_string()),
        })?;
        drop(reserved);
        let unfinished = beside(path);
        let made = self.copy_to(&unfinished).and_then(|()| {
            // A reader of the name finds all of it or nothing, whenever the power fails.
            std::fs::rename(&unfinished, path).and_then(|()| sync_dir(path)).map_err(|error| unmade(error.to_string()))
        });
        if made.is_err() {
            let _ = std::fs::remove_file(&unfinished);
            let _ = std::fs::remove_file(path);
        }
        made
    }

    fn copy_to(&self, unfinished: &Path) -> Result<(), Error> {
        let unmade = |problem: String| Error::Backup { path: unfinished.to_owned(), problem };
        // SQLite takes an empty file for none, and leaves its rights as they are.
        let file = private(unfinished).map_err(|error| unmade(error.to_string()))?;
        let name = unfinished.to_str().ok_or_else(|| unmade("its name is not UTF-8".into()))?;
        self.read(|sql| sql.execute("VACUUM INTO ?1", [name]).map_err(failed(WHAT)))?;
        let copy = Connection::open(unfinished).map_err(failed(WHAT))?;
        copy.execute_batch(NOBODY).map_err(failed(WHAT))?;
        copy.close().map_err(|(_, error)| failed(WHAT)(error))?;
        file.sync_all().map_err(|error| unmade(error.to_string()))
    }
}

/// A new file that only its owner may read: it holds all that anybody has told a task.
fn private(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// A name in the same directory that nobody else has.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.unfinished", ulid::Ulid::generate()));
    path.with_file_name(name)
}

/// A name is on disk when its directory is.
fn sync_dir(path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(parent)?.sync_all() } else { Ok(()) }
}

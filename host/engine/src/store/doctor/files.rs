//! Plugins' files, owners' locks and compiled code.

use std::collections::HashSet;
use std::fs::{File, TryLockError};
use std::path::Path;

use rusqlite::Connection;

use super::{Examination, rows};
use crate::plugin::{CODE_KEY, Manifest, Seal, digest_of, is_private, read_code};
use crate::policy::Told;
use crate::store::keys;

const ADD: &str = "add the plugin again with `longhaul plugin add FILE`; its tasks go on then";

pub(super) fn plugins(sql: &Connection, found: &mut Examination) {
    let select = "SELECT digest, name, version, size, removed, manifest, component FROM plugin ORDER BY name";
    rows(sql, select, "plugins", found, |row, found| {
        let (digest, name, version): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let (size, removed): (i64, bool) = (row.get(3)?, row.get(4)?);
        let at = format!("plugin {name} {version} ({digest})");
        found.plugins += 1;
        match Manifest::parse(&row.get::<_, String>(5)?) {
            Ok(manifest) if manifest.name == name && manifest.version == version => {}
            Ok(manifest) => {
                let problem = format!("its manifest is that of {} {}", manifest.name, manifest.version);
                found.damage(&at, problem, ADD);
            }
            Err(error) => found.damage(&at, format!("its manifest can't be read: {error}"), ADD),
        }
        let component: Vec<u8> = row.get(6)?;
        if component.is_empty() && removed {
            return Ok(());
        }
        if component.is_empty() {
            found.damage(&at, "its file is missing", ADD);
        } else if digest_of(&component) != digest {
            found.damage(&at, "its file is not the one that was added", ADD);
        } else if component.len() as i64 != size {
            found.damage(&at, format!("its file has {} bytes, its row says {size}", component.len()), ADD);
        }
        Ok(())
    });
    let select = "SELECT digest, sum(ended_at IS NULL), count(*) FROM task
                  WHERE digest NOT IN (SELECT digest FROM plugin) GROUP BY digest";
    rows(sql, select, "plugins", found, |row, found| {
        let (digest, live, all): (String, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let at = format!("plugin {digest}");
        match live {
            0 => found.note(at, format!("it is gone, and {all} ended tasks were run by it")),
            live => found.damage(at, format!("it is gone, and {live} unfinished tasks need it"), ADD),
        }
        Ok(())
    });
}

/// Which processes are there, and what the others have left.
pub(super) fn owners(sql: &Connection, dir: &Path, found: &mut Examination) {
    let select = "SELECT owner.id, owner.pid, count(task.n) FROM owner
                  LEFT JOIN task ON task.owner = owner.id AND task.ended_at IS NULL GROUP BY owner.id";
    rows(sql, select, "owners", found, |row, found| {
        let (owner, pid, tasks): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let file = dir.join("owners").join(owner.to_string());
        let held = File::open(&file).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)));
        match (held, tasks) {
            (true, _) => {
                let at = format!("process {pid}");
                found.note(&at, format!("it is at work here, and owns {tasks} unfinished tasks"));
                for problem in Told::beyond(&std::fs::read_to_string(&file).unwrap_or_default()) {
                    found.note(&at, problem);
                }
            }
            (false, 0) => {}
            (false, _) => {
                let problem = format!("it is gone and owned {tasks} unfinished tasks; the next host takes them over");
                found.note(format!("process {pid}"), problem);
            }
        }
        Ok(())
    });
}

/// Compiled code that no plugin needs any more, and what lies there and is not used.
pub(super) fn compiled(sql: &Connection, dir: &Path, found: &mut Examination) {
    let mut known = HashSet::new();
    rows(sql, "SELECT digest FROM plugin", "plugins", found, |row, _| {
        known.insert(row.get::<_, String>(0)?);
        Ok(())
    });
    let key: Option<[u8; CODE_KEY]> = sql
        .query_row("SELECT bytes FROM key WHERE name = ?1", [keys::CODE], |row| row.get::<_, Vec<u8>>(0))
        .ok()
        .and_then(|bytes| bytes.try_into().ok());
    let Ok(engines) = std::fs::read_dir(dir.join("compiled")) else { return };
    for engine in engines.flatten() {
        let path = engine.path();
        if let Err(problem) = is_private(&path) {
            found.note(path.display().to_string(), format!("it {problem}; no code in it is used"));
        }
        let Ok(files) = std::fs::read_dir(&path) else { continue };
        let seal = key.map(|key| Seal::new(&key, &engine.file_name().to_string_lossy()));
        let (mut count, mut bytes) = (0, 0);
        for file in files.flatten() {
            let path = file.path();
            let digest = path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| known.contains(*stem));
            let Some(digest) = digest else {
                count += 1;
                bytes += file.metadata().map_or(0, |metadata| metadata.len());
                continue;
            };
            let opened = match (&seal, read_code(&path)) {
                (Some(seal), Ok(Some(code))) => seal.open(digest, code).map_err(str::to_owned),
                (None, Ok(Some(_))) => Err("this data has no key yet".into()),
                // It was removed meanwhile.
                (_, Ok(None)) => continue,
                (_, Err(error)) => Err(error.to_string()),
            };
            if let Err(problem) = opened {
                found.note(path.display().to_string(), format!("{problem}; the plugin is compiled again"));
            }
        }
        if count > 0 {
            let problem =
                format!("{count} files ({bytes} bytes) are of no plugin that is installed; they may be deleted");
            found.note(path.display().to_string(), problem);
        }
    }
}

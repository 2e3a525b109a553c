//! Looking for damage: whether the database is whole, journals have no holes, and what mirrors them agrees.
//!
//! Nothing is written, and whatever can't be read is told and passed over.

mod files;
mod journal;

use std::path::Path;

use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::schema::{self, known};
use super::snapshot;
use crate::{Error, StoreError};

/// Findings that are told at most: a damaged database may have any number.
const MOST: usize = 1_000;

const RESTORE: &str =
    "stop every process on it and put a backup in its place; `sqlite3 FILE .recover` may save the rest";
const JOURNAL: &str = "restore a backup, or cancel the task and start it again: its journal is not what it did";
const MIRROR: &str = "the journal counts; cancel the task, or restore a backup if it matters";

/// What an examination of a data directory has found.
#[derive(Debug, Clone, Default, Serialize)]
#[non_exhaustive]
pub struct Examination {
    /// What is wrong, or worth knowing.
    #[serde(skip)]
    pub findings: Vec<Finding>,
    /// Tasks that were looked at.
    pub tasks: usize,
    /// Entries of their journals.
    pub entries: usize,
    /// Plugins that were looked at.
    pub plugins: usize,
    /// How many findings are damage.
    pub damaged: usize,
}

/// One thing that is wrong, or worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// Whether it is damage. If not, everything works.
    pub damage: bool,
    /// Where: a task, an entry, a plugin, a file.
    pub at: String,
    /// What.
    pub problem: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Examination {
    /// Whether nothing is damaged.
    pub fn is_sound(&self) -> bool {
        self.damaged == 0
    }

    fn damage(&mut self, at: impl Into<String>, problem: impl Into<String>, remedy: &str) {
        self.damaged += 1;
        self.find(Finding { damage: true, at: at.into(), problem: problem.into(), remedy: Some(remedy.into()) });
    }

    fn note(&mut self, at: impl Into<String>, problem: impl Into<String>) {
        self.find(Finding { damage: false, at: at.into(), problem: problem.into(), remedy: None });
    }

    fn find(&mut self, finding: Finding) {
        if self.findings.len() < MOST {
            self.findings.push(finding);
        }
    }
}

/// Looks for damage in a data directory: whether the database is whole, each journal has all its entries, tasks and
/// questions agree with the journals, and plugins' files are what was added. Processes may be at work on it meanwhile.
///
/// # Errors
///
/// [`Error::Store`] if there is no database, or one by a newer version. Damage is no error.
pub fn examine(data_dir: impl AsRef<Path>) -> Result<Examination, Error> {
    let dir = data_dir.as_ref();
    let path = dir.join("longhaul.db");
    let corrupt = |problem: String| StoreError::Corrupt { path: path.clone(), problem };
    std::fs::metadata(&path).map_err(|error| corrupt(error.to_string()))?;
    let sql = schema::open_reader(&path)?;
    let mut found = Examination::default();
    let version = sql.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    match version {
        Ok(0) => return Err(corrupt("it has no tables of ours".into()).into()),
        Ok(version) if version > known() => {
            return Err(StoreError::Newer { path, found: version, known: known() }.into());
        }
        Ok(version) if version < known() => {
            let next = format!("schema version {version}; the next host that opens it makes it {}", known());
            found.note("the database", next);
        }
        Ok(_) => {}
        Err(error) => {
            found.damage("the database", error.to_string(), RESTORE);
            return Ok(found);
        }
    }
    let sql = match snapshot(&sql) {
        Ok(sql) => sql,
        Err(error) => {
            found.damage("the database", error.to_string(), RESTORE);
            return Ok(found);
        }
    };
    integrity(&sql, &mut found);
    journal::examine(&sql, &mut found);
    strays(&sql, &mut found);
    files::plugins(&sql, &mut found);
    files::owners(&sql, dir, &mut found);
    files::compiled(&sql, dir, &mut found);
    Ok(found)
}

/// What SQLite itself finds.
fn integrity(sql: &Connection, found: &mut Examination) {
    rows(sql, "PRAGMA integrity_check(100)", "the database", found, |row, found| {
        let said: String = row.get(0)?;
        if said != "ok" {
            found.damage("the database", said, RESTORE);
        }
        Ok(())
    });
}

/// What belongs to tasks that are not there.
fn strays(sql: &Connection, found: &mut Examination) {
    for (table, what) in [("entry", "entries"), ("question", "questions")] {
        let select = format!("SELECT task, count(*) FROM {table} WHERE task NOT IN (SELECT n FROM task) GROUP BY task");
        rows(sql, &select, what, found, |row, found| {
            let (task, count): (i64, i64) = (row.get(0)?, row.get(1)?);
            let remedy = "nobody reads them; a task is missing if it was not removed: then restore a backup";
            found.damage(format!("{what} of task number {task}"), format!("{count} without their task"), remedy);
            Ok(())
        });
    }
}

/// Looks at each row of a query. What can't be read is damage, and ends the query alone.
fn rows(
    sql: &Connection,
    select: &str,
    at: &str,
    found: &mut Examination,
    mut look: impl FnMut(&Row<'_>, &mut Examination) -> rusqlite::Result<()>,
) {
    let looked = sql.prepare(select).and_then(|mut select| {
        let mut rows = select.query(params![])?;
        loop {
            match rows.next()? {
                // A row that can't be read is no reason not to read the next.
                Some(row) => {
                    if let Err(error) = look(row, found) {
                        found.damage(at, format!("a row can't be read: {error}"), RESTORE);
                    }
                }
                None => return Ok(()),
            }
        }
    });
    if let Err(error) = looked {
        found.damage(at, format!("can't be read: {error}"), RESTORE);
    }
}

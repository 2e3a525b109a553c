//! What there are names for in a data directory: for a shell, which completes them while somebody types.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, Row, params};

use super::failure::failed;
use super::schema::{self, known};
use super::tasks::state;
use super::{plugins, snapshot};
use crate::Error;
use crate::plugin::Tool;
use crate::task::{TaskId, TaskState};

const WHAT: &str = "a name";

/// Somebody waits for it with a finger on a key.
const BUSY: Duration = Duration::from_millis(100);

/// What there are names for, see [`names`].
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Names {
    /// Tasks of the namespace, the newest first.
    pub tasks: Vec<NamedTask>,
    /// Installed plugins, by name.
    pub plugins: Vec<NamedPlugin>,
}

/// A task, as far as it takes to know it again.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NamedTask {
    /// Its id.
    pub id: TaskId,
    /// The plugin's name.
    pub plugin: String,
    /// The tool's name.
    pub tool: String,
    /// Where it stands.
    pub state: TaskState,
    /// The questions of its own that may be answered: their numbers, and what they ask.
    pub questions: Vec<(u32, String)>,
}

/// A plugin in its newest version.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NamedPlugin {
    /// Its name.
    pub name: String,
    /// Its tools.
    pub tools: Vec<Tool>,
}

/// Reads the names that a person may want to type, without opening a host: nothing is made, written or waited for.
/// `tasks`: so many at most.
///
/// # Errors
///
/// [`Error::Store`] if there is no database, if it is another version's, or busy.
pub fn names(data_dir: impl AsRef<Path>, namespace: &str, tasks: usize) -> Result<Names, Error> {
    let path = data_dir.as_ref().join("longhaul.db");
    let sql = schema::open_reader(&path)?;
    sql.busy_timeout(BUSY).map_err(failed(WHAT))?;
    let sql = snapshot(&sql)?;
    let found: i64 = sql.query_row("PRAGMA user_version", [], |row| row.get(0)).map_err(failed(WHAT))?;
    if found != known() {
        return Err(crate::StoreError::Newer { path, found, known: known() }.into());
    }
    let mut installed: Vec<NamedPlugin> = Vec::new();
    for plugin in plugins::list(&sql)? {
        // The newest of each name comes first.
        if installed.last().is_none_or(|last| last.name != plugin.manifest.name) {
            installed.push(NamedPlugin { name: plugin.manifest.name, tools: plugin.manifest.tools });
        }
    }
    Ok(Names { tasks: named(&sql, namespace, tasks).map_err(failed(WHAT))?, plugins: installed })
}

fn named(sql: &Connection, namespace: &str, most: usize) -> rusqlite::Result<Vec<NamedTask>> {
    let mut select = sql.prepare(
        "SELECT task.n, id, coalesce(plugin.name, ''), tool, state FROM task LEFT JOIN plugin USING (digest)
         WHERE namespace = ?1 AND task.removed = 0 ORDER BY id DESC LIMIT ?2",
    )?;
    let mut asks =
        sql.prepare("SELECT question, json_extract(body, '$.prompt') FROM question WHERE task = ?1 AND reply IS NULL")?;
    let mut task = |row: &Row<'_>| {
        let (id, plugin, tool, state) = (TaskId(row.get(1)?), row.get(2)?, row.get(3)?, state(row, 4)?);
        let questions = asks.query_map(params![row.get::<_, i64>(0)?], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(NamedTask { id, plugin, tool, state, questions: questions.collect::<Result<_, _>>()? })
    };
    select.query_map(params![namespace, most as i64], |row| task(row))?.collect()
}

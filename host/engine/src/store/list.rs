//! Lists of tasks.

use rusqlite::{Connection, params};

use super::Owners;
use super::failure::failed;
use super::tasks::{COLUMNS, state, task};
use crate::StoreError;
use crate::clock::Timestamp;
use crate::host::TaskFilter;
use crate::task::{Task, TaskId, TaskState};

const WHAT: &str = "the list of tasks";

/// Which of them: the namespace, state, session, plugin, tool and text. Only tasks that did not complete have an error, and
/// its text is short.
const WHERE: &str = "namespace = ?1 AND task.removed = 0 AND (?2 IS NULL OR state = ?2)
    AND (?3 IS NULL OR session = ?3) AND (?4 IS NULL OR plugin.name = ?4 OR task.digest = ?4) AND (?5 IS NULL OR tool = ?5)
    AND (?6 IS NULL
         OR instr(lower(id || char(10) || coalesce(plugin.name, '') || '/' || tool || char(10) || coalesce(session, '')), ?6)
         OR instr(lower(coalesce(json_extract(progress, '$.message'), '')), ?6)
         OR (state IN ('failed', 'cancelled') AND instr(lower(coalesce((
             SELECT json_extract(data, '$.error.message') FROM entry
             WHERE entry.task = task.n AND entry.seq = task.ended_seq), '')), ?6)))";

fn newest_first() -> String {
    format!("{COLUMNS} WHERE {WHERE} AND id < ?7 ORDER BY id DESC LIMIT ?8")
}

fn by_state() -> String {
    format!(
        "SELECT state, count(*) FROM task LEFT JOIN plugin ON plugin.digest = task.digest WHERE {WHERE} GROUP BY state"
    )
}

/// Tasks, newest first, without their outputs.
pub(crate) fn page(
    sql: &Connection,
    owners: &Owners,
    namespace: &str,
    filter: &TaskFilter,
    now: Timestamp,
) -> Result<Vec<Task>, StoreError> {
    let mut select = sql.prepare_cached(&newest_first()).map_err(failed(WHAT))?;
    let TaskFilter { session, plugin, tool, .. } = filter;
    let (state, text) = (filter.state.map(TaskState::as_str), lower(filter));
    // Ids are made of letters and digits: all of them come before this.
    let after = filter.after.as_ref().map_or("~", TaskId::as_str);
    let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
    let lives = owners.living();
    let rows = select
        .query_map(params![namespace, state, session, plugin, tool, text, after, limit], |row| task(row, &lives, now))
        .map_err(failed(WHAT))?;
    rows.map(|seen| seen.map_err(failed(WHAT))?.complete(sql, false)).collect()
}

/// How many, by their state.
pub(crate) fn count(
    sql: &Connection,
    namespace: &str,
    filter: &TaskFilter,
) -> Result<Vec<(TaskState, u64)>, StoreError> {
    let mut select = sql.prepare_cached(&by_state()).map_err(failed(WHAT))?;
    let TaskFilter { session, plugin, tool, .. } = filter;
    let (wanted, text) = (filter.state.map(TaskState::as_str), lower(filter));
    let rows = select
        .query_map(params![namespace, wanted, session, plugin, tool, text], |row| {
            Ok((state(row, 0)?, row.get::<_, i64>(1)?.cast_unsigned()))
        })
        .map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// As SQLite lowers the other side.
fn lower(filter: &TaskFilter) -> Option<String> {
    filter.text.as_deref().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use crate::store::schema::{open_writer, plan};

    #[test]
    fn promise_8_a_list_costs_what_its_own_namespace_has() {
        let dir = tempfile::tempdir().unwrap();
        let sql = open_writer(&dir.path().join("longhaul.db")).unwrap();
        for (statement, within) in [
            (super::newest_first(), "SEARCH task USING INDEX task_namespace (namespace=? AND id<?)"),
            (super::by_state(), "SEARCH task USING INDEX task_namespace (namespace=?)"),
        ] {
            let plan = plan(&sql, &statement);
            assert!(plan.iter().any(|step| step == within), "{plan:?}");
            assert!(!plan.iter().any(|step| step.contains("SCAN")), "{plan:?}");
        }
        let plan = plan(&sql, &super::newest_first());
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "a page ends where it is full: {plan:?}");
    }
}

//! The questions' rows: which are open, and how the others were settled.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::{damaged, failed};
use super::writer::Tx;
use crate::StoreError;
use crate::clock::Timestamp;
use crate::host::AskedQuestion;
use crate::task::{OpenQuestion, Reply, TaskId};

const WHAT: &str = "a question";

/// Writes down a question that a guest asked.
pub(super) fn open(tx: &Tx<'_>, task: i64, question: &OpenQuestion) -> Result<(), StoreError> {
    let body = json(question)?;
    let deadline = question.deadline.map(|deadline| deadline.as_millis().cast_signed());
    let mut insert = tx
        .sql
        .prepare_cached(
            "INSERT INTO question (task, question, body, deadline, namespace)
             VALUES (?1, ?2, ?3, ?4, (SELECT namespace FROM task WHERE n = ?1))",
        )
        .map_err(failed(WHAT))?;
    insert.execute(params![task, question.question, body, deadline]).map_err(failed(WHAT))?;
    Ok(())
}

/// Settles a question, if it is open. Says whether it was.
pub(super) fn settle(tx: &Tx<'_>, task: i64, question: u32, reply: &Reply) -> Result<bool, StoreError> {
    let mut update = tx
        .sql
        .prepare_cached("UPDATE question SET reply = ?3 WHERE task = ?1 AND question = ?2 AND reply IS NULL")
        .map_err(failed(WHAT))?;
    let changed = update.execute(params![task, question, json(reply)?]).map_err(failed(WHAT))?;
    Ok(changed == 1)
}

/// A question and its reply, if there is such a question.
pub(crate) fn one(
    sql: &Connection,
    task: i64,
    question: u32,
) -> Result<Option<(OpenQuestion, Option<Reply>)>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT body, reply FROM question WHERE task = ?1 AND question = ?2")
        .map_err(failed(WHAT))?;
    let found: Option<(String, Option<String>)> = select
        .query_row(params![task, question], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
        .map_err(failed(WHAT))?;
    let Some((body, reply)) = found else { return Ok(None) };
    Ok(Some((parse(&body)?, reply.as_deref().map(parse).transpose()?)))
}

/// When a question was settled, as the journal has it.
pub(crate) fn settled_at(sql: &Connection, task: i64, question: u32) -> Result<Option<Timestamp>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT at FROM entry WHERE task = ?1 AND kind = 'reply' AND json_extract(data, '$.question') = ?2",
        )
        .map_err(failed(WHAT))?;
    let at: Option<i64> =
        select.query_row(params![task, question], |row| row.get(0)).optional().map_err(failed(WHAT))?;
    Ok(at.map(|at| Timestamp::from_millis(at.max(0).cast_unsigned())))
}

/// The questions that may be answered, oldest first.
pub(crate) fn still_open(sql: &Connection, task: i64) -> Result<Vec<OpenQuestion>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT body FROM question WHERE task = ?1 AND reply IS NULL ORDER BY question")
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![task], |row| row.get::<_, String>(0)).map_err(failed(WHAT))?;
    rows.map(|row| parse(&row.map_err(failed(WHAT))?)).collect()
}

/// A question with the task that asks it.
const ASKED: &str =
    "SELECT task.id, root.id, task.session, plugin.name, plugin.version, task.digest, task.tool, task.progress,
           question.body, question.reply
    FROM question JOIN task ON task.n = question.task
         LEFT JOIN task AS root ON root.n = task.root
         LEFT JOIN plugin ON plugin.digest = task.digest";

fn inbox() -> String {
    format!(
        "{ASKED} WHERE question.reply IS NULL AND question.namespace = ?1 AND task.ended_at IS NULL AND task.removed = 0
               AND (question.deadline IS NULL OR question.deadline > ?2)
         ORDER BY question.deadline IS NULL, question.deadline, question.task, question.question LIMIT ?3"
    )
}

/// The questions of a namespace that may be answered at `now`: those with a deadline first, the nearest one first.
pub(crate) fn asked(
    sql: &Connection,
    namespace: &str,
    now: Timestamp,
    limit: usize,
) -> Result<Vec<AskedQuestion>, StoreError> {
    let mut select = sql.prepare_cached(&inbox()).map_err(failed(WHAT))?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut rows = select.query(params![namespace, now.as_millis().cast_signed(), limit]).map_err(failed(WHAT))?;
    let mut asked = Vec::new();
    while let Some(row) = rows.next().map_err(failed(WHAT))? {
        asked.push(with_task(row)?);
    }
    Ok(asked)
}

/// A question of a task, and its reply if it is settled.
pub(crate) fn one_asked(
    sql: &Connection,
    task: i64,
    question: u32,
) -> Result<Option<(AskedQuestion, Option<Reply>)>, StoreError> {
    let mut select = sql
        .prepare_cached(&format!("{ASKED} WHERE question.task = ?1 AND question.question = ?2"))
        .map_err(failed(WHAT))?;
    let mut rows = select.query(params![task, question]).map_err(failed(WHAT))?;
    let Some(row) = rows.next().map_err(failed(WHAT))? else { return Ok(None) };
    let reply: Option<String> = row.get(9).map_err(failed(WHAT))?;
    Ok(Some((with_task(row)?, reply.as_deref().map(parse).transpose()?)))
}

fn with_task(row: &Row<'_>) -> Result<AskedQuestion, StoreError> {
    let text = |column| row.get::<_, Option<String>>(column).map_err(failed(WHAT));
    let body: String = row.get(8).map_err(failed(WHAT))?;
    Ok(AskedQuestion {
        task: TaskId(text(0)?.unwrap_or_default()),
        root: text(1)?.map(TaskId),
        session: text(2)?,
        plugin: text(3)?.unwrap_or_default(),
        version: text(4)?.unwrap_or_default(),
        digest: text(5)?.unwrap_or_default(),
        tool: text(6)?.unwrap_or_default(),
        progress: text(7)?.as_deref().map(parse).transpose()?,
        // Its task stands beside it already.
        question: OpenQuestion { task: None, ..parse(&body)? },
    })
}

/// Every question of a task with its reply, if it has one.
pub(crate) fn all(sql: &Connection, task: i64) -> Result<Vec<(u32, Option<Reply>)>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT question, reply FROM question WHERE task = ?1 ORDER BY question")
        .map_err(failed(WHAT))?;
    let rows = select
        .query_map(params![task], |row| Ok((row.get::<_, u32>(0)?, row.get::<_, Option<String>>(1)?)))
        .map_err(failed(WHAT))?;
    rows.map(|row| {
        let (question, reply) = row.map_err(failed(WHAT))?;
        Ok((question, reply.as_deref().map(parse).transpose()?))
    })
    .collect()
}

fn json(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed { what: WHAT, problem: error.to_string() })
}

fn parse<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(damaged(WHAT))
}

#[cfg(test)]
mod tests {
    use crate::store::schema::{open_writer, plan};

    #[test]
    fn promise_8_an_inbox_costs_what_its_own_namespace_has_open() {
        let dir = tempfile::tempdir().unwrap();
        let sql = open_writer(&dir.path().join("longhaul.db")).unwrap();
        let plan = plan(&sql, &super::inbox());
        assert!(plan[0].contains("SEARCH question USING INDEX question_open (namespace=?)"), "{plan:?}");
        assert!(!plan.iter().any(|step| step.contains("TEMP B-TREE")), "it is sorted already: {plan:?}");
        assert!(!plan.iter().any(|step| step.contains("SCAN")), "{plan:?}");
    }
}

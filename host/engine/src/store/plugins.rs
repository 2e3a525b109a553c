//! The plugins' rows.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::{damaged, failed};
use super::writer::Tx;
use crate::clock::Timestamp;
use crate::plugin::Manifest;
use crate::{Error, StoreError};

const WHAT: &str = "a plugin";

/// A plugin without its file.
#[derive(Debug, Clone)]
pub(crate) struct PluginRow {
    pub digest: String,
    pub size: u64,
    pub installed_at: Timestamp,
    pub manifest: Manifest,
}

/// Keeps a plugin. One that is there already becomes the newest of its name, whatever the clock says.
pub(crate) fn insert(tx: &Tx<'_>, row: &PluginRow, component: &[u8]) -> Result<(), StoreError> {
    let manifest = serde_json::to_string(&row.manifest)
        .map_err(|error| StoreError::Failed { what: WHAT, problem: error.to_string() })?;
    tx.sql
        .prepare_cached(
            "INSERT INTO plugin (digest, name, version, manifest, size, installed_at, component)
             VALUES (?1, ?2, ?3, ?4, ?5,
                     max(?6, coalesce((SELECT max(installed_at) + 1 FROM plugin WHERE name = ?2), 0)), ?7)
             ON CONFLICT (digest) DO UPDATE
                 SET removed = 0, installed_at = excluded.installed_at, component = excluded.component",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                row.digest,
                row.manifest.name,
                row.manifest.version,
                manifest,
                row.size.cast_signed(),
                row.installed_at.as_millis().cast_signed(),
                component
            ])
        })
        .map_err(failed(WHAT))?;
    Ok(())
}

const COLUMNS: &str = "SELECT digest, size, installed_at, manifest FROM plugin";

/// The newest plugin of that name, or the one whose digest it is.
pub(crate) fn find(sql: &Connection, name_or_digest: &str) -> Result<Option<PluginRow>, StoreError> {
    let by = "WHERE removed = 0 AND (name = ?1 OR digest = ?1) ORDER BY installed_at DESC LIMIT 1";
    sql.prepare_cached(&format!("{COLUMNS} {by}"))
        .and_then(|mut select| select.query_row(params![name_or_digest], row).optional())
        .map_err(failed(WHAT))?
        .transpose()
}

/// The digest of the newest plugin of that name, or of the one whose digest it is.
pub(crate) fn newest(sql: &Connection, name_or_digest: &str) -> Result<Option<String>, StoreError> {
    sql.prepare_cached(
        "SELECT digest FROM plugin WHERE removed = 0 AND (name = ?1 OR digest = ?1) ORDER BY installed_at DESC LIMIT 1",
    )
    .and_then(|mut select| select.query_row(params![name_or_digest], |row| row.get(0)).optional())
    .map_err(failed(WHAT))
}

/// The plugin of that digest, removed or not.
pub(crate) fn by_digest(sql: &Connection, digest: &str) -> Result<Option<PluginRow>, StoreError> {
    sql.prepare_cached(&format!("{COLUMNS} WHERE digest = ?1"))
        .and_then(|mut select| select.query_row(params![digest], row).optional())
        .map_err(failed(WHAT))?
        .transpose()
}

/// All that are installed, by name, newest first.
pub(crate) fn list(sql: &Connection) -> Result<Vec<PluginRow>, StoreError> {
    let mut select = sql
        .prepare_cached(&format!("{COLUMNS} WHERE removed = 0 ORDER BY name, installed_at DESC"))
        .map_err(failed(WHAT))?;
    let rows = select.query_map([], row).map_err(failed(WHAT))?;
    rows.map(|row| row.map_err(failed(WHAT))?).collect()
}

/// A plugin's file, unless it is gone.
pub(crate) fn component(sql: &Connection, digest: &str) -> Result<Option<Vec<u8>>, StoreError> {
    sql.prepare_cached("SELECT component FROM plugin WHERE digest = ?1")
        .and_then(|mut select| select.query_row(params![digest], |row| row.get(0)).optional())
        .map_err(failed(WHAT))
}

/// Removes a plugin that no unfinished task needs, nor one whose `cancel-task` is still owed (unless that was removed). Its manifest stays while an
/// ended task names it.
pub(crate) fn remove(tx: &Tx<'_>, digest: &str, name: &str) -> Result<(), Error> {
    let count = |sql: &str| -> Result<i64, StoreError> {
        tx.sql.query_row(sql, params![digest], |row| row.get(0)).map_err(failed(WHAT))
    };
    let tasks = count(
        "SELECT count(*) FROM task WHERE digest = ?1 AND removed = 0 AND (ended_at IS NULL OR ticket IS NOT NULL)",
    )?;
    if tasks > 0 {
        return Err(Error::PluginInUse { plugin: name.to_owned(), tasks: tasks.cast_unsigned() });
    }
    let sql = match count("SELECT count(*) FROM task WHERE digest = ?1")? {
        0 => "DELETE FROM plugin WHERE digest = ?1",
        _ => "UPDATE plugin SET removed = 1 WHERE digest = ?1",
    };
    tx.sql.execute(sql, params![digest]).map_err(failed(WHAT))?;
    Ok(())
}

fn row(row: &Row<'_>) -> rusqlite::Result<Result<PluginRow, StoreError>> {
    let manifest: String = row.get(3)?;
    let manifest = match Manifest::kept(&manifest) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(Err(damaged(WHAT)(error))),
    };
    Ok(Ok(PluginRow {
        digest: row.get(0)?,
        size: row.get::<_, i64>(1)?.cast_unsigned(),
        installed_at: Timestamp::from_millis(row.get::<_, i64>(2)?.max(0).cast_unsigned()),
        manifest,
    }))
}

//! Keys that all processes on one database share. None of them leaves it.

use rusqlite::{OptionalExtension as _, params};

use super::failure::failed;
use super::writer::Tx;
use crate::StoreError;
use crate::plugin::CODE_KEY;

const WHAT: &str = "a key";

/// The key of the tags on compiled code.
pub(super) const CODE: &str = "compiled-code";

/// The key of the tags on compiled code, made when it is first asked for. One that is no key is made anew: then all code
/// is compiled again.
pub(crate) fn code_key(tx: &Tx<'_>) -> Result<[u8; CODE_KEY], StoreError> {
    let found: Option<Vec<u8>> = tx
        .sql
        .query_row("SELECT bytes FROM key WHERE name = ?1", params![CODE], |row| row.get(0))
        .optional()
        .map_err(failed(WHAT))?;
    if let Some(key) = found.and_then(|bytes| bytes.try_into().ok()) {
        return Ok(key);
    }
    let mut key = [0; CODE_KEY];
    getrandom::fill(&mut key).map_err(|error| StoreError::Failed { what: WHAT, problem: error.to_string() })?;
    tx.sql
        .execute("INSERT OR REPLACE INTO key (name, bytes) VALUES (?1, ?2)", params![CODE, key])
        .map_err(failed(WHAT))?;
    Ok(key)
}

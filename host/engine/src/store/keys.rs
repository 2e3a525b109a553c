//! Keys that all processes on one database share. None of them leaves it.

use rusqlite::{OptionalExtension as _, params};

use super::failure::failed;
use super::writer::Tx;
use crate::StoreError;
use crate::plugin::CODE_KEY;

const WHAT: &str = "a key";

/// The key of the tags on compiled code.
pub(super) const CODE: &str = "compiled-code";

/// The key by which faces know again what they gave to callers to keep.
const FACES: &str = "faces";

/// The key of the tags on compiled code. One that is no key is made anew: then all code is compiled again.
pub(crate) fn code_key(tx: &Tx<'_>) -> Result<[u8; CODE_KEY], StoreError> {
    key(tx, CODE)
}

/// The key of faces. When it is made anew, what callers were given before is refused.
pub(crate) fn faces_key(tx: &Tx<'_>) -> Result<[u8; 32], StoreError> {
    key(tx, FACES)
}

/// The key of that name, made when it is first asked for.
fn key<const BYTES: usize>(tx: &Tx<'_>, name: &str) -> Result<[u8; BYTES], StoreError> {
    let found: Option<Vec<u8>> = tx
        .sql
        .query_row("SELECT bytes FROM key WHERE name = ?1", params![name], |row| row.get(0))
        .optional()
        .map_err(failed(WHAT))?;
    if let Some(key) = found.and_then(|bytes| bytes.try_into().ok()) {
        return Ok(key);
    }
    let mut key = [0; BYTES];
    getrandom::fill(&mut key).map_err(|error| StoreError::Failed { what: WHAT, problem: error.to_string() })?;
    tx.sql
        .execute("INSERT OR REPLACE INTO key (name, bytes) VALUES (?1, ?2)", params![name, key])
        .map_err(failed(WHAT))?;
    Ok(key)
}

//! The tokens' rows.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::{damaged, failed};
use super::writer::Tx;
use crate::StoreError;
use crate::clock::Timestamp;
use crate::host::Token;

const WHAT: &str = "a token";

const COLUMNS: &str = "SELECT id, namespace, scopes, name, created_at, expires_at, hash FROM token";

/// Keeps a token and the hash of its secret.
pub(crate) fn insert(tx: &Tx<'_>, token: &Token, hash: &[u8; 32]) -> Result<(), StoreError> {
    let scopes = serde_json::to_string(&token.scopes)
        .map_err(|error| StoreError::Failed { what: WHAT, problem: error.to_string() })?;
    tx.sql
        .prepare_cached(
            "INSERT INTO token (id, namespace, scopes, name, created_at, expires_at, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                token.id,
                token.namespace,
                scopes,
                token.name,
                token.created_at.as_millis().cast_signed(),
                token.expires_at.map(|at| at.as_millis().cast_signed()),
                hash,
            ])
        })
        .map_err(failed(WHAT))?;
    Ok(())
}

/// The token of that id, and the hash of its secret.
pub(crate) fn one(sql: &Connection, id: &str) -> Result<Option<(Token, [u8; 32])>, StoreError> {
    sql.prepare_cached(&format!("{COLUMNS} WHERE id = ?1"))
        .and_then(|mut select| select.query_row(params![id], token).optional())
        .map_err(failed(WHAT))?
        .transpose()
}

/// All of them, the oldest first.
pub(crate) fn all(sql: &Connection) -> Result<Vec<Token>, StoreError> {
    let mut select = sql.prepare_cached(&format!("{COLUMNS} ORDER BY created_at, id")).map_err(failed(WHAT))?;
    let rows = select.query_map([], token).map_err(failed(WHAT))?;
    rows.map(|row| Ok(row.map_err(failed(WHAT))??.0)).collect()
}

/// Removes it; says whether there was one.
pub(crate) fn remove(tx: &Tx<'_>, id: &str) -> Result<bool, StoreError> {
    let mut delete = tx.sql.prepare_cached("DELETE FROM token WHERE id = ?1").map_err(failed(WHAT))?;
    Ok(delete.execute(params![id]).map_err(failed(WHAT))? == 1)
}

fn token(row: &Row<'_>) -> rusqlite::Result<Result<(Token, [u8; 32]), StoreError>> {
    let at = |millis: i64| Timestamp::from_millis(millis.max(0).cast_unsigned());
    let scopes: String = row.get(2)?;
    let scopes = match serde_json::from_str(&scopes) {
        Ok(scopes) => scopes,
        Err(error) => return Ok(Err(damaged(WHAT)(error))),
    };
    let token = Token {
        id: row.get(0)?,
        namespace: row.get(1)?,
        scopes,
        name: row.get(3)?,
        created_at: at(row.get(4)?),
        expires_at: row.get::<_, Option<i64>>(5)?.map(at),
    };
    Ok(Ok((token, row.get(6)?)))
}

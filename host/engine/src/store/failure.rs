//! SQLite's errors in the words of an operator.

use std::path::Path;

use rusqlite::{Error, ErrorCode};

use crate::StoreError;

/// For an error while `what` was written or read.
pub(super) fn failed(what: &'static str) -> impl Fn(Error) -> StoreError {
    move |error| match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full { what },
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged(what)(error),
        _ if is_unreadable(&error) => damaged(what)(error),
        _ => StoreError::Failed { what, problem: error.to_string() },
    }
}

/// For a value that is there and can't be what was written.
pub(super) fn damaged<E: std::fmt::Display>(what: &'static str) -> impl Fn(E) -> StoreError {
    move |error| StoreError::Damaged { what, problem: error.to_string() }
}

/// Whether a column holds what this program never writes there.
fn is_unreadable(error: &Error) -> bool {
    matches!(
        error,
        Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::InvalidColumnType(..)
            | Error::Utf8Error(..)
    )
}

/// For an error while the database at `path` was opened.
pub(super) fn opening(path: &Path, error: &Error) -> StoreError {
    let path = path.to_owned();
    let problem = error.to_string();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked(path),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::ReadOnly { path, problem }
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, problem },
        Some(ErrorCode::DiskFull) => StoreError::Full { what: "a new database" },
        // A table that should be there is not, or is not what it should be.
        _ => StoreError::Corrupt { path, problem },
    }
}

//! What goes wrong: the tool's own verdict, and a wait that did not end as hoped.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::bindings::longhaul::tool::{task as wit_task, types as wit};
use crate::time::to_millis;

/// How a tool says that it did not succeed.
///
/// The kind decides what happens next: only [`unavailable`](Self::unavailable) is tried again.
///
/// ```
/// use std::time::Duration;
/// use longhaul_sdk::ToolError;
///
/// let busy = ToolError::unavailable("the archive is being rebuilt").retry_after(Duration::from_secs(60));
/// assert_eq!(busy.to_string(), "the archive is being rebuilt");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolError {
    kind: ErrorKind,
    message: String,
    retry_after: Option<Duration>,
    details: Option<serde_json::Value>,
}

/// Whose fault a [`ToolError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The caller's. Never retried.
    InvalidInput,
    /// The tool's verdict. Never retried.
    Failed,
    /// It may pass. Retried by the task's policy.
    Unavailable,
    /// The tool stopped because it was asked to.
    Cancelled,
}

impl ToolError {
    /// The caller's fault: an input that no schema could rule out. Never retried.
    pub fn invalid_input(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::InvalidInput, message)
    }

    /// The tool's verdict. Never retried. Fits `map_err`:
    ///
    /// ```
    /// use longhaul_sdk::ToolError;
    ///
    /// fn port(text: &str) -> Result<u16, ToolError> {
    ///     text.parse().map_err(ToolError::failed)
    /// }
    /// assert!(port("eighty").is_err());
    /// ```
    pub fn failed(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Failed, message)
    }

    /// Something that may pass, such as a service that is down. Retried by the task's policy.
    pub fn unavailable(message: impl fmt::Display) -> Self {
        Self::new(ErrorKind::Unavailable, message)
    }

    /// The tool stopped because it was asked to.
    pub fn cancelled() -> Self {
        Self::new(ErrorKind::Cancelled, "the task was cancelled")
    }

    fn new(kind: ErrorKind, message: impl fmt::Display) -> Self {
        Self { kind, message: message.to_string(), retry_after: None, details: None }
    }

    /// For [`unavailable`](Self::unavailable): not before this much time has passed.
    pub fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// Facts for a program to read, beside the sentence.
    ///
    /// # Panics
    /// If `details` cannot be written as JSON, as a map with keys that are not strings cannot.
    pub fn details(mut self, details: impl Serialize) -> Self {
        self.details = Some(serde_json::to_value(details).expect("error details are JSON"));
        self
    }

    /// Whose fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn into_wit(self) -> wit::ToolError {
        wit::ToolError {
            kind: match self.kind {
                ErrorKind::InvalidInput => wit::ErrorKind::InvalidInput,
                ErrorKind::Failed => wit::ErrorKind::Failed,
                ErrorKind::Unavailable => wit::ErrorKind::Unavailable,
                ErrorKind::Cancelled => wit::ErrorKind::Cancelled,
            },
            message: self.message,
            retry_after: self.retry_after.map(to_millis),
            details: self.details.map(|details| details.to_string()),
        }
    }

    pub(crate) fn from_wit(error: wit::ToolError) -> Self {
        Self {
            kind: match error.kind {
                wit::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
                wit::ErrorKind::Failed => ErrorKind::Failed,
                wit::ErrorKind::Unavailable => ErrorKind::Unavailable,
                wit::ErrorKind::Cancelled => ErrorKind::Cancelled,
            },
            message: error.message,
            retry_after: error.retry_after.map(Duration::from_millis),
            details: error.details.and_then(|text| serde_json::from_str(&text).ok()),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ToolError {}

/// Why a wait ended without what it waited for.
///
/// `?` turns it into a [`ToolError`]: `Cancelled` into [`ToolError::cancelled`], the others into [`ToolError::failed`].
/// Match on it only where there is something to clean up first.
///
/// ```no_run
/// use std::time::Duration;
/// use longhaul_sdk::{Task, ToolError, WaitError};
///
/// fn cool_down(task: &Task) -> Result<(), ToolError> {
///     match task.sleep(Duration::from_secs(3600)) {
///         Err(WaitError::Cancelled) => {
///             println!("closing the valve before stopping");
///             Err(ToolError::cancelled())
///         }
///         other => Ok(other?),
///     }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitError {
    /// The task was asked to stop before this was settled.
    Cancelled,
    /// The request, or its answer, breaks the contract; the text says how.
    Malformed(String),
    /// A limit or the operator's policy forbids it; the text names it.
    Refused(String),
}

impl WaitError {
    pub(crate) fn from_wit(error: wit_task::WaitError) -> Self {
        match error {
            wit_task::WaitError::Cancelled => Self::Cancelled,
            wit_task::WaitError::Malformed(how) => Self::Malformed(how),
            wit_task::WaitError::Refused(why) => Self::Refused(why),
        }
    }
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("the task was cancelled"),
            Self::Malformed(how) => f.write_str(how),
            Self::Refused(why) => write!(f, "refused: {why}"),
        }
    }
}

impl std::error::Error for WaitError {}

impl From<WaitError> for ToolError {
    fn from(error: WaitError) -> Self {
        match error {
            WaitError::Cancelled => Self::cancelled(),
            other => Self::failed(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_wait_is_a_cancelled_tool() {
        assert_eq!(ToolError::from(WaitError::Cancelled), ToolError::cancelled());
        assert_eq!(ToolError::from(WaitError::Refused("16 open questions".into())).kind(), ErrorKind::Failed);
    }

    #[test]
    fn an_error_survives_the_contract() {
        let error = ToolError::unavailable("down").retry_after(Duration::from_millis(1500)).details([1, 2]);
        assert_eq!(ToolError::from_wit(error.clone().into_wit()), error);
    }
}

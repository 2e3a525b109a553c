//! What the tool answers: who signed off what, and when.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

/// The signed-off record of a runbook.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Record {
    pub title: String,
    pub status: Status,
    /// In RFC 3339, UTC.
    pub started_at: String,
    /// In RFC 3339, UTC.
    pub finished_at: String,
    pub steps: Vec<StepRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every step was done or skipped.
    Completed,
    /// Somebody aborted it; the steps after that were not reached.
    Aborted,
}

/// What became of one step.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StepRecord {
    pub title: String,
    pub outcome: Outcome,
    /// The name of who settled it, if it is known.
    pub by: Option<String>,
    /// When it was settled, in RFC 3339, UTC.
    pub at: Option<String>,
    pub note: Option<String>,
    /// What was filled in, by the fields' names.
    pub values: Map<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Done,
    Skipped,
    Aborted,
    NotReached,
}

impl Outcome {
    pub fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Aborted => "aborted",
            Self::NotReached => "not reached",
        }
    }
}

impl StepRecord {
    pub fn not_reached(title: &str) -> Self {
        Self {
            title: title.to_owned(),
            outcome: Outcome::NotReached,
            by: None,
            at: None,
            note: None,
            values: Map::new(),
        }
    }

    /// For progress: `Close the valve: done by Ada`.
    pub fn sentence(&self) -> String {
        let by = self.by.as_ref().map(|name| format!(" by {name}")).unwrap_or_default();
        format!("{}: {}{by}", self.title, self.outcome.word())
    }
}

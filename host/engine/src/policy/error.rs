//! What is wrong with a policy, and where.

use std::fmt;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// Why a policy is not accepted.
///
/// ```
/// let error = longhaul::Policy::parse("[plugins.site-audit]\nhtpp = []\n").unwrap_err();
/// assert_eq!(error.line, Some(2));
/// assert_eq!(error.key.as_deref(), Some("plugins.site-audit.htpp"));
/// assert!(error.to_string().starts_with("line 2, `plugins.site-audit.htpp`: unknown field"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyError {
    /// The line, counted from 1, where the text has such a place.
    pub line: Option<usize>,
    /// The key, from the top: `plugins.site-audit.http`.
    pub key: Option<String>,
    /// What is wrong, and what is allowed. It never says the value of a secret.
    pub problem: String,
}

impl PolicyError {
    /// What the parser found in `text`.
    pub(super) fn of(text: &str, error: &toml::de::Error) -> Self {
        let problem = unquoted(&error.message().lines().collect::<Vec<_>>().join(", "));
        let Some(Range { start, .. }) = error.span() else { return Self { line: None, key: None, problem } };
        let before = text.as_bytes().get(..start).unwrap_or(text.as_bytes());
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let key = DeTable::parse(text).ok().and_then(|table| key_at(table.get_ref(), start));
        Self { line: Some(line), key, problem }
    }

    /// Something that is wrong between two places of a policy.
    pub(crate) fn at(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self { line: None, key: Some(key.into()), problem: problem.into() }
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.line, &self.key) {
            (Some(line), Some(key)) => write!(f, "line {line}, `{key}`: ")?,
            (Some(line), None) => write!(f, "line {line}: ")?,
            (None, Some(key)) => write!(f, "`{key}`: ")?,
            (None, None) => {}
        }
        f.write_str(&self.problem)
    }
}

impl std::error::Error for PolicyError {}

/// Without the text that stands where none should: it may be a secret.
fn unquoted(problem: &str) -> String {
    let wrong = problem.starts_with("invalid type: string ") || problem.starts_with("invalid value: string ");
    match problem.rsplit_once("\", expected ") {
        Some((_, expected)) if wrong => format!("here must be {expected}"),
        _ => problem.to_owned(),
    }
}

/// The key whose name or value is at that byte.
fn key_at(table: &DeTable<'_>, at: usize) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let below = match value.get_ref() {
            DeValue::Table(table) => key_at(table, at),
            DeValue::Array(items) => items.iter().find_map(|item| match item.get_ref() {
                DeValue::Table(table) => key_at(table, at),
                _ => None,
            }),
            _ => None,
        };
        match below {
            Some(below) => Some(format!("{}.{below}", key.get_ref())),
            None if key.span().contains(&at) || value.span().contains(&at) => Some(key.get_ref().to_string()),
            None => None,
        }
    })
}

//! `--json`: one object a line on standard output, and nothing else there.

use std::io::Write as _;
use std::path::Path;

use longhaul::{
    AskedQuestion, Event, Examination, Finding, Heard, NeedKind, NeedVerdict, Plugin, Replayed, Task, TaskId,
    TaskUpgrade, Token,
};
use serde::Serialize;

use crate::exit::Problem;

/// What a line can be. The field `type` says which.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum Line<'a> {
    /// An entry of a task's journal.
    Event {
        task: &'a TaskId,
        #[serde(flatten)]
        event: &'a Event,
    },
    /// A task, as of now.
    Task(&'a Task),
    /// A question that is open.
    Question(&'a AskedQuestion),
    /// A plugin.
    Plugin(&'a Plugin),
    /// A plugin, and what becomes of each of its needs.
    #[serde(rename = "plugin")]
    Inspected {
        #[serde(flatten)]
        plugin: &'a Plugin,
        namespace: &'a str,
        needs: &'a [NeedVerdict],
    },
    /// What `plugin grant` or `plugin revoke` did.
    Grant {
        done: &'static str,
        plugin: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        kind: NeedKind,
        name: &'a str,
        file: &'a Path,
    },
    /// What a replayed task says, and what came from outside.
    Replay {
        task: &'a TaskId,
        #[serde(flatten)]
        heard: &'a Heard,
    },
    /// What a replay came to.
    Replayed(&'a Replayed),
    /// What an upgrade would do to a task.
    Upgrade(&'a TaskUpgrade),
    /// Where a backup was written to.
    Backup { file: &'a Path },
    /// What the doctor found.
    Finding(&'a Finding),
    /// How much the doctor looked at, and what it comes to.
    Doctor(&'a Examination),
    /// A server listens.
    Serving {
        url: &'a str,
        /// A link that signs one browser in to the web inbox.
        #[serde(skip_serializing_if = "Option::is_none")]
        inbox: Option<&'a str>,
        /// The first token, where it was made just now.
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<&'a str>,
    },
    /// A token; with its secret when it was made just now.
    Token {
        #[serde(flatten)]
        token: &'a Token,
        #[serde(skip_serializing_if = "Option::is_none")]
        secret: Option<&'a str>,
    },
    /// What `tasks cancel` found.
    Cancel { task: &'a TaskId, found: &'a str },
    /// What `tasks rm` or `plugin rm` removed.
    Removed {
        #[serde(skip_serializing_if = "Option::is_none")]
        task: Option<&'a TaskId>,
        #[serde(skip_serializing_if = "Option::is_none")]
        plugin: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        digest: Option<&'a str>,
    },
}

/// Writes the line, at once: the reader may be waiting for it.
pub fn print(line: &Line<'_>) -> Result<(), Problem> {
    let text = serde_json::to_string(line).map_err(|e| Problem::new(format!("cannot write JSON: {e}")))?;
    self::text(&text)
}

/// Writes a line of text.
pub fn text(line: &str) -> Result<(), Problem> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| Problem::output(&e))
}

/// The place in a JSON text where it stops being JSON, for a message.
pub fn place(error: &serde_json::Error) -> String {
    let full = error.to_string();
    // serde_json says the place at the end; said first, it reads better in a longer message.
    let what = full.split(" at line ").next().unwrap_or(&full);
    format!("line {}, column {}: {what}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_line_has_the_fields_of_the_event_beside_the_task() {
        let event: Event = serde_json::from_value(json!({
            "seq": 3, "at": "2026-11-29T10:00:00.000Z", "kind": "progress", "message": "half", "done": 1.0, "total": 2.0
        }))
        .unwrap();
        let id: TaskId = serde_json::from_value(json!("01K")).unwrap();
        let line = serde_json::to_value(Line::Event { task: &id, event: &event }).unwrap();
        assert_eq!(line["type"], "event");
        assert_eq!(line["task"], "01K");
        assert_eq!(line["seq"], 3);
        assert_eq!(line["kind"], "progress");
        assert_eq!(line["done"], 1.0);
    }

    #[test]
    fn a_mistake_in_json_is_told_by_line_and_column() {
        let error = serde_json::from_str::<serde_json::Value>("{\n  \"a\": ?\n}").unwrap_err();
        assert_eq!(place(&error), "line 2, column 8: expected value");
    }
}

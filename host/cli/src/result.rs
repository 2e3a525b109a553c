//! How a task ended: its result on standard output, a failure on standard error.

use std::io::Write as _;

use longhaul::{ErrorClass, Output, Part, PartData, Task, TaskState};

use crate::exit::Problem;
use crate::text::{line, lines};
use crate::view::say;
use crate::{text, words};

/// Prints the result of an ended task.
pub fn print(task: &Task) -> Result<(), Problem> {
    match (task.state, &task.output, &task.error) {
        (TaskState::Completed, Some(output), _) => return write(output),
        (TaskState::Completed, None, _) => {}
        // What the tool has to say of it; the host has nothing to add.
        (TaskState::Cancelled, _, Some(error)) if error.class == ErrorClass::Tool => {
            say(&format!("cancelled: {}", line(&error.message)));
        }
        (TaskState::Cancelled, ..) => say("cancelled"),
        (_, _, Some(error)) => {
            say(&format!("error: {}", words::task_error(error)));
            if let Some(details) = &error.details {
                say(&format!("  details: {}", line(&details.to_string())));
            }
        }
        (state, _, None) => say(&format!("error: the task is {state}")),
    }
    Ok(())
}

fn write(output: &Output) -> Result<(), Problem> {
    let text = shown(output);
    if text.is_empty() {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|e| Problem::output(&e))
}

/// The text parts as they are; what is structured only where no text says it.
pub fn shown(output: &Output) -> String {
    let mut shown = String::new();
    for part in &output.parts {
        let text = self::part(part);
        shown.push_str(&text);
        if !text.ends_with('\n') {
            shown.push('\n');
        }
    }
    let has_text = output.parts.iter().any(|part| matches!(part.data, PartData::Text(_)));
    if let Some(structured) = output.structured.as_ref().filter(|_| !has_text) {
        shown.push_str(&lines(&serde_json::to_string_pretty(structured).unwrap_or_default()));
        shown.push('\n');
    }
    shown
}

fn part(part: &Part) -> String {
    let name = part.name.as_ref().map_or_else(String::new, |name| format!("{}, ", line(name)));
    match &part.data {
        PartData::Text(text) => lines(text),
        PartData::Bytes(bytes) => {
            format!("[{name}{}, {}]", line(&part.media_type), text::bytes(bytes.len() as u64))
        }
        PartData::Link(uri) => format!("[{name}{}: {}]", line(&part.media_type), line(uri)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(value: serde_json::Value) -> Output {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn text_is_printed_as_it_is_and_structured_json_only_without_text() {
        let both = json!({"parts": [{"mediaType": "text/markdown", "text": "# a\n| b |"}], "structured": {"n": 1}});
        assert_eq!(shown(&output(both)), "# a\n| b |\n");
        assert_eq!(shown(&output(json!({"parts": [], "structured": {"n": 1}}))), "{\n  \"n\": 1\n}\n");
        assert_eq!(shown(&output(json!({"parts": []}))), "");
    }

    #[test]
    fn what_is_no_text_is_told_by_name_type_and_size() {
        let parts = json!({"parts": [
            {"mediaType": "image/png", "name": "a\u{1b}.png", "bytes": "AAEC"},
            {"mediaType": "text/html", "link": "https://example.org/"}
        ]});
        assert_eq!(shown(&output(parts)), "[a␛.png, image/png, 3 B]\n[text/html: https://example.org/]\n");
    }

    #[test]
    fn a_result_cannot_reach_the_terminal_with_control_characters() {
        let text = json!({"parts": [{"mediaType": "text/plain", "text": "\u{1b}]0;x\u{7}\n"}], "structured": null});
        assert_eq!(shown(&output(text)), "␛]0;x␇\n");
        assert!(!shown(&output(json!({"parts": [], "structured": "\u{9b}2J"}))).contains('\u{9b}'));
    }
}

//! Between the contract's types and the host's.

use std::time::Duration;

use serde_json::{Value, json};

use crate::json;
use crate::limits::{Limit, Limits};
use crate::sandbox::bindings::exports::longhaul::tool::background_tool::{Execution, ToolError};
use crate::sandbox::bindings::longhaul::tool::types;
use crate::task::{ErrorClass, ErrorKind, Level, Output, Part, PartData, Reply, TaskError};

/// What an export of the guest returned.
#[derive(Debug)]
pub(crate) enum Returned {
    Done(Output),
    Pending {
        ticket: Vec<u8>,
        after: Option<Duration>,
    },
    Failed {
        kind: ErrorKind,
        retry_after: Option<Duration>,
        error: TaskError,
    },
    /// What it returned breaks the contract.
    Unusable(String),
}

/// Reads what `execute` or `await-task` returned.
pub(crate) fn returned(result: Result<Execution, ToolError>, limits: &Limits) -> Returned {
    let (what, size) = match &result {
        Ok(Execution::Done(output)) => ("an output", output_len(output)),
        Ok(Execution::Pending(pending)) => ("a ticket", pending.ticket.len()),
        Err(error) => ("an error", error.message.len() + error.details.as_ref().map_or(0, String::len)),
    };
    if size as u64 > limits.output {
        return Returned::Unusable(format!("{what} of {size} bytes ({})", limits.said(Limit::output)));
    }
    match result {
        Ok(Execution::Done(output)) => match output_of(output) {
            Ok(output) => Returned::Done(output),
            Err(problem) => Returned::Unusable(problem),
        },
        Ok(Execution::Pending(pending)) => {
            Returned::Pending { ticket: pending.ticket, after: pending.after.map(Duration::from_millis) }
        }
        Err(error) => {
            let kind = match error.kind {
                types::ErrorKind::InvalidInput => ErrorKind::InvalidInput,
                types::ErrorKind::Failed => ErrorKind::Failed,
                types::ErrorKind::Unavailable => ErrorKind::Unavailable,
                types::ErrorKind::Cancelled => ErrorKind::Cancelled,
            };
            // Details that are no JSON are kept as the text they are: the error itself counts.
            let details = error.details.map(|details| json::parse(&details).unwrap_or(Value::String(details)));
            let retry_after = error.retry_after.map(Duration::from_millis);
            let error =
                TaskError { class: ErrorClass::Tool, code: kind.as_str().into(), message: error.message, details };
            Returned::Failed { kind, retry_after, error }
        }
    }
}

fn output_len(output: &types::Output) -> usize {
    output.structured.as_ref().map_or(0, String::len) + output.parts.iter().map(part_len).sum::<usize>()
}

fn output_of(output: types::Output) -> Result<Output, String> {
    let structured = output.structured.map(|text| json::parse(&text)).transpose();
    let structured = structured.map_err(|error| format!("`structured` is not JSON that can be kept: {error}"))?;
    let parts = output.parts.into_iter().map(part).collect();
    Ok(Output { parts, structured })
}

fn part_len(part: &types::Part) -> usize {
    /// An empty part takes some bytes too.
    const AROUND: usize = 32;
    let data = match &part.data {
        types::PartData::Text(text) | types::PartData::Link(text) => text.len(),
        types::PartData::Bytes(bytes) => bytes.len(),
    };
    AROUND + part.media_type.len() + part.name.as_ref().map_or(0, String::len) + data
}

fn part(part: types::Part) -> Part {
    let data = match part.data {
        types::PartData::Text(text) => PartData::Text(text),
        types::PartData::Bytes(bytes) => PartData::Bytes(bytes),
        types::PartData::Link(uri) => PartData::Link(uri),
    };
    Part { media_type: part.media_type, name: part.name, data }
}

pub(super) fn level(level: types::Level) -> Level {
    match level {
        types::Level::Debug => Level::Debug,
        types::Level::Info => Level::Info,
        types::Level::Warning => Level::Warning,
        types::Level::Error => Level::Error,
    }
}

/// A question that was withdrawn, and so will never be answered, is told like one whose time was up.
pub(super) fn wit_reply(reply: Reply) -> types::Reply {
    match reply {
        Reply::Answered { value, by } => types::Reply::Answered(types::Answer { value: value.to_string(), by }),
        Reply::Declined { reason, .. } => types::Reply::Declined(reason),
        Reply::TimedOut | Reply::Closed => types::Reply::TimedOut,
    }
}

/// What became of a child. A run that broke has failed, for whoever started it; its code is in the details.
pub(super) fn wit_outcome(outcome: Result<Output, TaskError>) -> Result<types::Output, types::ToolError> {
    outcome.map(wit_output).map_err(|error| {
        let (kind, details) = match error.class {
            ErrorClass::Tool => (wit_kind(&error.code), error.details),
            ErrorClass::Run => {
                (types::ErrorKind::Failed, Some(json!({ "code": error.code, "details": error.details })))
            }
        };
        let details = details.map(|details| details.to_string());
        types::ToolError { kind, message: error.message, retry_after: None, details }
    })
}

fn wit_kind(code: &str) -> types::ErrorKind {
    match code {
        "invalid-input" => types::ErrorKind::InvalidInput,
        "unavailable" => types::ErrorKind::Unavailable,
        "cancelled" => types::ErrorKind::Cancelled,
        _ => types::ErrorKind::Failed,
    }
}

fn wit_output(output: Output) -> types::Output {
    let part = |part: Part| types::Part {
        media_type: part.media_type,
        name: part.name,
        data: match part.data {
            PartData::Text(text) => types::PartData::Text(text),
            PartData::Bytes(bytes) => types::PartData::Bytes(bytes),
            PartData::Link(uri) => types::PartData::Link(uri),
        },
    };
    let structured = output.structured.map(|structured| structured.to_string());
    types::Output { parts: output.parts.into_iter().map(part).collect(), structured }
}

//! Tools that do one plain thing.

use std::time::Duration;

use longhaul_sdk::{Output, Part, Question, Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Returns its input.
#[longhaul_sdk::tool(read_only, idempotent, open_world = false, pace = quick)]
pub fn noop(_task: &Task, input: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
    Ok(input)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    InvalidInput,
    Failed,
    Unavailable,
    Cancelled,
}

#[derive(Deserialize, JsonSchema)]
pub struct Failure {
    kind: Kind,
    #[serde(default)]
    message: String,
    retry_after_ms: Option<u64>,
    details: Option<Value>,
    /// Succeed from the attempt after this one on.
    attempts: Option<u32>,
}

/// Fails as it is told.
#[longhaul_sdk::tool]
pub fn fail(task: &Task, input: Failure) -> Result<u32, ToolError> {
    if input.attempts.is_some_and(|attempts| task.attempt() > attempts) {
        return Ok(task.attempt());
    }
    let mut error = match input.kind {
        Kind::InvalidInput => ToolError::invalid_input(input.message),
        Kind::Failed => ToolError::failed(input.message),
        Kind::Unavailable => ToolError::unavailable(input.message),
        Kind::Cancelled => ToolError::cancelled(),
    };
    if let Some(millis) = input.retry_after_ms {
        error = error.retry_after(Duration::from_millis(millis));
    }
    if let Some(details) = input.details {
        error = error.details(details);
    }
    Err(error)
}

#[derive(Deserialize, JsonSchema)]
pub struct Names {
    /// Settings to read.
    #[serde(default)]
    settings: Vec<String>,
    /// Whether to ask a person first.
    #[serde(default)]
    ask: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    task_id: String,
    attempt: u32,
    idempotency_key: String,
    session: Option<String>,
    deadline: Option<String>,
    locale: Option<String>,
    time_zone: Option<String>,
    caller: Value,
    settings: Vec<Option<String>>,
}

/// Returns what it knows about its call.
#[longhaul_sdk::tool(read_only)]
pub fn who_am_i(task: &Task, input: Names) -> Result<Identity, ToolError> {
    if input.ask {
        task.ask(Question::confirm("Now?"))?;
    }
    let context = task.context().clone();
    Ok(Identity {
        task_id: task.id().into(),
        attempt: task.attempt(),
        idempotency_key: task.idempotency_key().into(),
        session: context.session,
        deadline: context.deadline,
        locale: context.locale,
        time_zone: context.time_zone,
        caller: context.caller,
        settings: input.settings.iter().map(|name| task.setting(name)).collect(),
    })
}

/// Returns a part of every kind and no structured output.
#[longhaul_sdk::tool(read_only)]
pub fn parts(_task: &Task, _input: Map<String, Value>) -> Result<Output<()>, ToolError> {
    Ok(Output::new(())
        .text("plain")
        .markdown("*marked*")
        .part(Part::bytes("application/octet-stream", [0, 1, 255]).named("three.bin"))
        .part(Part::link("text/html", "https://example.com/").named("example")))
}

/// One pixel, green.
const PIXEL: &[u8] = include_bytes!("pixel.png");
/// Text that would run as a script wherever it is taken for a document.
const SCRIPT: &str =
    "<svg xmlns='http://www.w3.org/2000/svg' onload='globalThis.hurt=1'><script>globalThis.hurt=1</script></svg>";

/// Returns an image, a file, and what calls itself an image but would run a script.
#[longhaul_sdk::tool(read_only)]
pub fn pictures(_task: &Task, _input: Map<String, Value>) -> Result<Output<()>, ToolError> {
    Ok(Output::new(())
        .part(Part::bytes("image/png", PIXEL).named("pixel.png"))
        .part(Part::bytes("text/csv", "a,b\n1,2\n").named("table.csv"))
        .part(Part::bytes("image/svg+xml", SCRIPT).named("drawing.svg"))
        .part(Part::bytes("text/html", SCRIPT).named("page.html"))
        .part(Part::bytes("IMAGE/PNG; x=\"", SCRIPT).named("liar.png")))
}

//! Tools whose calls are tasks.

use std::time::Duration;

use longhaul_sdk::{Output, Question, Reply, Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::content::Nothing;

#[derive(Deserialize, JsonSchema)]
pub struct Name {
    name: String,
}

/// Greets.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn greet(_task: &Task, input: Name) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).text(format!("Hello, {}!", input.name)))
}

#[derive(Deserialize, JsonSchema)]
pub struct Compute {
    seconds: f64,
    label: String,
}

/// Takes so many seconds.
#[longhaul_sdk::tool(read_only)]
pub fn slow_compute(task: &Task, input: Compute) -> Result<Output<()>, ToolError> {
    let steps = 10;
    for step in 0..steps {
        task.progress(format!("computing {}", input.label)).done(step).of(steps);
        task.sleep(Duration::from_secs_f64(input.seconds / f64::from(steps)))?;
    }
    Ok(Output::new(()).text(format!("{}: done in {} s", input.label, input.seconds)))
}

/// Fails after a second.
#[longhaul_sdk::tool(read_only)]
pub fn failing_job(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    task.sleep(Duration::from_secs(1))?;
    Err(ToolError::failed("the job failed"))
}

/// Crashes.
#[longhaul_sdk::tool(read_only)]
pub fn protocol_error_job(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    panic!("the job crashed");
}

#[derive(Deserialize, JsonSchema)]
pub struct File {
    filename: String,
}

/// Deletes nothing, after a confirmation.
#[longhaul_sdk::tool(read_only)]
pub fn confirm_delete(task: &Task, input: File) -> Result<Output<()>, ToolError> {
    let schema = json!({"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]});
    let question = Question::with_schema(format!("Delete {}?", input.filename), schema);
    let said = match task.ask(question)? {
        Reply::Answered(answer) if answer.value["confirm"] == true => "deleted",
        _ => "kept",
    };
    Ok(Output::new(()).text(format!("{said} {}", input.filename)))
}

/// Asks two things at once.
#[longhaul_sdk::tool(read_only)]
pub fn multi_input(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    let schema =
        |field: &str, kind: &str| json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]});
    let name = task.open(Question::with_schema("Your name?", schema("name", "string")))?;
    let confirm = task.open(Question::with_schema("Go on?", schema("confirm", "boolean")))?;
    let mut said = Vec::new();
    for handle in [&name, &confirm] {
        task.wait_any([handle], None)?;
        said.push(match task.reply(handle)? {
            Some(Reply::Answered(answer)) => answer.value.to_string(),
            _ => "nothing".to_owned(),
        });
    }
    Ok(Output::new(()).text(said.join(", ")))
}

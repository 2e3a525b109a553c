//! A tool that starts others.

use longhaul_sdk::{Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
pub struct Children {
    /// The tool, as `plugin/tool`.
    tool: String,
    /// An input for each child.
    inputs: Vec<Value>,
    /// Whether to ask the other children to stop once one has ended.
    #[serde(default)]
    first_only: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Ended {
    /// Which input it had.
    index: usize,
    /// Its structured output.
    output: Option<Value>,
    /// Or how it failed.
    error: Option<String>,
}

/// Starts children, and returns what became of them in the order in which they ended.
#[longhaul_sdk::tool(pace = long)]
pub fn children(task: &Task, input: Children) -> Result<Vec<Ended>, ToolError> {
    let mut running = Vec::new();
    for (index, child) in input.inputs.iter().enumerate() {
        running.push((index, task.start_tool::<Value>(&input.tool, child)?));
    }
    let mut ended = Vec::new();
    while !running.is_empty() {
        let Some(at) = task.wait_any(running.iter().map(|(_, child)| child), None)? else {
            return Err(ToolError::failed("a wait without a timeout timed out"));
        };
        let (index, child) = running.remove(at);
        task.progress(format!("child {index} ended"));
        let (output, error) = match task.result_of(&child) {
            Some(Ok(output)) => (Some(output.value), None),
            Some(Err(error)) => (None, Some(format!("{:?}: {error}", error.kind()))),
            None => return Err(ToolError::failed("a child that ended has no result")),
        };
        ended.push(Ended { index, output, error });
        if input.first_only {
            running.iter().for_each(|(_, child)| task.withdraw(child));
        }
    }
    Ok(ended)
}

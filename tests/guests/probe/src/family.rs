//! A tool that starts others.

use longhaul_sdk::{Child, Handle, HandleId, Question, Task, ToolError};
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

#[derive(Deserialize, JsonSchema)]
pub struct Family {
    /// The children: a tool as `plugin/tool`, and its input.
    children: Vec<(String, Value)>,
    /// What to ask a person meanwhile, if anything.
    ask: Option<String>,
}

/// What became of all of them, whoever was first.
#[derive(Serialize, JsonSchema)]
pub struct Settled {
    /// Each child's structured output, or how it failed, in the order of the input.
    children: Vec<Value>,
    answer: Option<bool>,
}

/// Starts children and asks a question, and waits for any of them until all are settled.
#[longhaul_sdk::tool(pace = long)]
pub fn family(task: &Task, input: Family) -> Result<Settled, ToolError> {
    let mut children = Vec::new();
    for (tool, child) in &input.children {
        children.push(task.start_tool::<Value>(tool, child)?);
    }
    let question = input.ask.map(|ask| task.open(Question::confirm(ask))).transpose()?;
    let mut left: Vec<HandleId> = children.iter().map(Child::id).chain(question.as_ref().map(Handle::id)).collect();
    while !left.is_empty() {
        let at = task.wait_any(left.iter().copied(), None)?.ok_or_else(|| ToolError::failed("it timed out"))?;
        left.remove(at);
        task.progress(format!("{} left", left.len()));
    }
    let outcome = |child: &Child<Value>| match task.result_of(child) {
        Some(Ok(output)) => output.value,
        Some(Err(error)) => Value::String(format!("{:?}: {error}", error.kind())),
        None => Value::String("a child that ended has no result".into()),
    };
    let answer = match question {
        Some(question) => task.reply(&question)?.map(|reply| reply.or_fail()).transpose()?,
        None => None,
    };
    Ok(Settled { children: children.iter().map(outcome).collect(), answer })
}

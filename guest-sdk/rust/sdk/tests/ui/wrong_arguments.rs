use longhaul_sdk::{Task, ToolError};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {}

/// Greets.
#[longhaul_sdk::tool]
fn without_input(_task: &Task) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets.
#[longhaul_sdk::tool]
fn task_by_value(_task: Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets.
#[longhaul_sdk::tool]
async fn async_tool(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets.
#[longhaul_sdk::tool]
fn generic<T>(_task: &Task, _input: T) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets.
#[longhaul_sdk::tool]
fn returns_nothing(_task: &Task, _input: Input) {}

/// Greets.
#[longhaul_sdk::tool]
struct NotAFunction;

fn main() {}

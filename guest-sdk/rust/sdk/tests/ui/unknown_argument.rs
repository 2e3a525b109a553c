use longhaul_sdk::{Task, ToolError};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {}

/// Greets.
#[longhaul_sdk::tool(readonly)]
fn misspelt(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets.
#[longhaul_sdk::tool(pace = slow)]
fn unknown_pace(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets.
#[longhaul_sdk::tool(title = Greet)]
fn title_without_quotes(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets.
#[longhaul_sdk::tool(read_only, destructive)]
fn contradiction(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

fn main() {}

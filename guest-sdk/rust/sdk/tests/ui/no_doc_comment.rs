use longhaul_sdk::{Task, ToolError};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {}

#[longhaul_sdk::tool]
fn greet(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

fn main() {}

use longhaul_sdk::{Task, ToolError};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {}

/// Greets.
#[longhaul_sdk::tool]
fn greet(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

/// Greets loudly.
#[longhaul_sdk::tool(name = "greet")]
fn shout(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("HELLO".into())
}

longhaul_sdk::plugin! {
    name: "greeter",
    version: "1.0.0",
    description: "Greets.",
    tools: [greet, shout],
}

fn main() {}

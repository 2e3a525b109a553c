use longhaul_sdk::{Task, ToolError};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {}

/// Greets.
#[longhaul_sdk::tool(name = "greet-loudly")]
fn greet(_task: &Task, _input: Input) -> Result<String, ToolError> {
    Ok("Hello".into())
}

longhaul_sdk::plugin! {
    name: "Greeter",
    version: "1.0",
    description: "",
    tools: [greet],
}

fn main() {}

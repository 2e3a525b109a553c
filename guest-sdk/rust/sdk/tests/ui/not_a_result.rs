use longhaul_sdk::Task;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Input {}

/// Greets.
#[longhaul_sdk::tool]
fn greet(_task: &Task, _input: Input) -> String {
    "Hello".into()
}

fn main() {}

longhaul_sdk::plugin! {
    name: "greeter",
    version: "1.0.0",
    description: "Greets.",
    tools: [],
}

fn main() {}

struct Render;

longhaul_sdk::plugin! {
    name: "greeter",
    version: "1.0.0",
    description: "Greets.",
    tools: [Render],
}

fn main() {}

longhaul_sdk::plugin! {
    name: "greeter",
    tools: [greet],
    needs: [setting("language")],
}

longhaul_sdk::plugin! {
    name: "greeter",
    tools: [greet],
    needs: [file("/etc/passwd", why = "to read it")],
}

longhaul_sdk::plugin! {
    title: "greeter",
    tools: [greet],
}

fn main() {}

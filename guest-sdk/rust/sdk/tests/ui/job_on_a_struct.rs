/// Renders.
#[longhaul_sdk::job]
struct Render;

/// Renders.
#[longhaul_sdk::job]
impl Render {}

fn main() {}

//! What this library is made of and speaks, for whoever reports a problem.

/// The version of wasmtime, which runs guests.
pub const WASMTIME: &str = wasmtime_environ::VERSION;

/// The plugin contract: the WIT package that plugins are built for.
pub const CONTRACT: &str = "longhaul:tool@0.1.0";

/// The version of the database (`user_version`): one that is older is brought up to it, one that is newer is refused.
pub const DATABASE: usize = crate::store::SCHEMA;

#[cfg(test)]
mod tests {
    #[test]
    fn the_contract_named_is_the_one_that_plugins_are_built_for() {
        let wit = include_str!("../wit/tool.wit");
        assert!(wit.contains(&format!("package {};", super::CONTRACT)), "{}", super::CONTRACT);
    }
}

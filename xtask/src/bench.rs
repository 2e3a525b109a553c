//! Runs the benchmark of `tests/` in a release build.

use std::process::Command;

use anyhow::Result;

use crate::{guests, paths, process};

pub fn run(args: &[String]) -> Result<()> {
    let components = guests::build_all()?;
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    process::run(
        Command::new(cargo)
            .current_dir(paths::root())
            .args(["run", "--release", "--package", "longhaul-tests", "--bin", "bench", "--"])
            .args(args)
            .env("LONGHAUL_COMPONENTS", components),
    )
}

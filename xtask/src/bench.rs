//! Runs the benchmark of `tests/` in a release build.

use anyhow::Result;

use crate::{guests, process};

pub fn run(args: &[String]) -> Result<()> {
    let components = guests::build_all()?;
    process::run(
        process::cargo()
            .args(["run", "--release", "--package", "longhaul-tests", "--bin", "bench", "--"])
            .args(args)
            .env("LONGHAUL_COMPONENTS", components),
    )
}

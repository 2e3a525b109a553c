//! Runs the benchmark of `tests/` in a release build, and its peers after it.

use anyhow::Result;

use crate::{guests, peers, process};

/// The name of the peers among the groups of rows.
const PEERS: &str = "peers";

/// The groups that are named; all of them, and then the peers, if none is.
pub fn run(groups: &[String]) -> Result<()> {
    let ours: Vec<&String> = groups.iter().filter(|group| *group != PEERS).collect();
    if groups.is_empty() || !ours.is_empty() {
        let components = guests::build_all()?;
        process::run(
            process::cargo()
                .args(["run", "--release", "--package", "longhaul-tests", "--bin", "bench", "--"])
                .args(ours)
                .env("LONGHAUL_COMPONENTS", components),
        )?;
    }
    if groups.is_empty() || groups.iter().any(|group| group == PEERS) {
        peers::run();
    }
    Ok(())
}

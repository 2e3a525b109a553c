//! Compares what the crates offer with what the last release offered, so that a version says what it breaks.

use std::process::Command;

use anyhow::Result;

use crate::{paths, process};

/// The version that is installed: each one understands the output of a few compilers only.
const VERSION: &str = "0.51.0";

/// What others build on.
const CRATES: [&str; 3] = ["longhaul", "longhaul-server", "longhaul-sdk"];

/// Compares with `baseline`, anything that git knows; with the newest tag `v*` if it is left out, and with nothing before
/// there is one.
pub fn run(baseline: Option<&str>) -> Result<()> {
    let Some(baseline) = baseline.map(str::to_owned).or_else(newest_release) else {
        println!("no release is known here (a tag `v*`), and so nothing that could break");
        return Ok(());
    };
    let tools = paths::target().join("tools");
    let tool = tools.join("bin").join(format!("cargo-semver-checks{}", std::env::consts::EXE_SUFFIX));
    if !tool.exists() {
        let what = ["install", "--locked", "cargo-semver-checks", "--version", VERSION];
        process::run(process::cargo().args(what).arg("--root").arg(&tools))?;
    }
    let mut check = Command::new(tool);
    check.current_dir(paths::root()).args(["semver-checks", "--baseline-rev", &baseline]);
    for name in CRATES {
        check.args(["--package", name]);
    }
    process::run(&mut check)
}

/// The newest tag of a release before this commit. A copy without its history knows none.
fn newest_release() -> Option<String> {
    let mut git = Command::new("git");
    git.current_dir(paths::root()).args(["tag", "--list", "v[0-9]*", "--merged", "HEAD", "--sort=-version:refname"]);
    process::output(&mut git).ok()?.lines().next().map(str::to_owned)
}

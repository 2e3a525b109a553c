//! Feeds what reads a stranger's bytes with bytes: libFuzzer, for so long, target after target.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::{paths, process};

/// What there is to fuzz: a binary `fuzz_NAME` of the workspace `fuzz`, and perhaps inputs to begin with in `fuzz/seeds/NAME`.
const TARGETS: [&str; 7] = ["journal", "rule", "policy", "manifest", "answer", "component", "plugin"];

/// Runs one target, or all of them, each for that many seconds. What it finds is in `target/fuzz`.
pub fn run(target: Option<&str>, seconds: u64) -> Result<()> {
    let wanted: Vec<_> = TARGETS.iter().filter(|name| target.is_none_or(|wanted| wanted == **name)).collect();
    if wanted.is_empty() {
        bail!("no target `{}`; there are: {}", target.unwrap_or_default(), TARGETS.join(", "));
    }
    let fuzz = paths::root().join("fuzz");
    process::run(
        process::cargo()
            .current_dir(&fuzz)
            .args(["build", "--bins", "--target-dir"])
            .arg(found())
            .env("RUSTC_WRAPPER", fuzz.join("instrument")),
    )?;
    let mut failed = Vec::new();
    for name in wanted {
        println!("fuzzing {name} for {seconds} s");
        if let Err(error) = fuzz_one(name, seconds, &fuzz) {
            println!("{error:#}");
            failed.push(*name);
        }
    }
    if !failed.is_empty() {
        bail!("{} failed; what they were given is in {}", failed.join(", "), broken().display());
    }
    Ok(())
}

/// The targets as they are built, and beside them the inputs that were worth keeping.
fn found() -> PathBuf {
    paths::target().join("fuzz")
}

/// Inputs that broke something.
fn broken() -> PathBuf {
    found().join("broken")
}

fn fuzz_one(name: &str, seconds: u64, fuzz: &Path) -> Result<()> {
    let (corpus, broken) = (found().join("corpus").join(name), broken());
    for dir in [&corpus, &broken] {
        fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    }
    let mut command = Command::new(found().join("debug").join(format!("fuzz_{name}")));
    command.arg(&corpus);
    let seeds = fuzz.join("seeds").join(name);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/{name}-", broken.display()))
        // Nothing that a guest may hand over takes so long or so much.
        .args(["-timeout=20", "-rss_limit_mb=4096", "-print_final_stats=1", "-verbosity=0"]);
    if name == "component" && paths::components().is_dir() {
        // Longer than a built guest, so that those are taken whole.
        command.arg(paths::components()).arg("-max_len=1000000");
    }
    process::run(&mut command)
}

//! Builds everything and runs every test.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::runner::{self, Counts};
use crate::timing::Timings;
use crate::{guests, interop, paths, process, web};

/// The guests and the binary; returns the folder of the components.
pub fn build(timings: &mut Timings) -> Result<PathBuf> {
    let components = timings.time("build the guests", guests::build_all)?;
    // As one of the workspace: built as a package alone it would get dependencies of other features than the tests do, and
    // they would compile the engine's compiler once more.
    let longhaul = ["build", "--workspace", "--bin", "longhaul"];
    timings.time("build longhaul", || process::run(process::cargo().args(longhaul)))?;
    Ok(components)
}

/// All tests; with arguments for the runner only the host workspace's, since a filter is meant for those.
pub fn run(args: &[String]) -> Result<()> {
    let mut timings = Timings::default();
    let counts = run_parts(args, &mut timings);
    timings.print();
    let counts = counts?;
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.failed > 0 {
        bail!("tests failed");
    }
    Ok(())
}

/// The tests of the web inbox alone, with the binary as it would be built now.
pub fn web() -> Result<()> {
    let mut timings = Timings::default();
    build_with_web(&mut timings)?;
    let counts = timings.time("tests of the web inbox", web::test)?;
    timings.print();
    match counts {
        Some(Counts { passed, failed: 0 }) => println!("{passed} passed, 0 failed"),
        Some(Counts { failed, .. }) => bail!("{failed} tests failed"),
        None => {}
    }
    Ok(())
}

/// The guests, and a binary that holds the web inbox.
pub fn build_with_web(timings: &mut Timings) -> Result<PathBuf> {
    timings.time("build the web inbox", web::build)?;
    build(timings)
}

fn run_parts(args: &[String], timings: &mut Timings) -> Result<Counts> {
    // Only with all the rest: a filter is meant for the tests.
    let installing = if args.is_empty() { others()? } else { None };
    if args.is_empty() {
        timings.time("build the web inbox", web::build_if_possible)?;
    }
    let components = build(timings)?;
    let nextest = runner::has_nextest();
    if !nextest {
        println!("cargo-nextest is not installed; `cargo test` does, slower");
    }
    let mut counts = timings.time("tests of the host", || {
        let mut cargo = process::cargo();
        find_things(&mut cargo, &components);
        runner::run(cargo, &paths::root(), nextest, args)
    })?;
    if !args.is_empty() {
        return Ok(counts);
    }
    counts += timings.time("doctests", || {
        let mut cargo = process::cargo();
        find_things(&mut cargo, &components);
        cargo.args(["test", "--doc", "--workspace", "--no-fail-fast"]);
        runner::cargo_test(cargo)
    })?;
    // What a plugin computes is tested as ordinary code of this machine.
    let plugins = paths::root().join("plugins");
    if plugins.join("Cargo.toml").exists() {
        counts += timings.time("the plugins' own tests", || {
            let mut cargo = process::cargo();
            cargo.current_dir(&plugins).env("CARGO_TARGET_DIR", paths::guest_target());
            runner::run(cargo, &plugins, nextest, &[])
        })?;
    }
    counts += timings.time("tests of the web inbox", web::test)?.unwrap_or_default();
    if let Some(installing) = installing {
        let tried = timings.time("clients and suites of others", || {
            installing.end()?;
            interop::steps(&[])
        });
        // What was tested before counts, whatever comes of these.
        counts += tried.unwrap_or_else(|problem| {
            println!("the clients and suites of others could not be tried: {problem:#}");
            Counts { passed: 0, failed: 1 }
        });
    }
    Ok(counts)
}

/// Begins to install what others wrote, where that can be done.
fn others() -> Result<Option<interop::Installing>> {
    match interop::Installing::begin() {
        Ok(installing) => Ok(Some(installing)),
        Err(lacks) => {
            web::left_out(&format!("the clients and suites of others are not tried: {lacks:#}")).map(|()| None)
        }
    }
}

/// Tells the tests where the things are that they try.
fn find_things(cargo: &mut Command, components: &Path) {
    cargo.env("LONGHAUL_COMPONENTS", components).env("LONGHAUL_BIN", paths::binary());
    // What programs print on a terminal depends on it, and is tested.
    cargo.env_remove("CI");
}

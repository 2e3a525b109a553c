//! What others do beside our benchmark: DBOS and the Restate server, in the same run on the same disk.
//!
//! Their sources are in `xtask/peers`. What they need is installed once, below the target directory. `docs/benchmarks.md`
//! says what is measured, and what is not equal.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::{paths, process};

/// Measures each of them. One that cannot run here is told of, and does not stop the others.
pub fn run() {
    println!("{:<58} {:>14}", "peers", "measured");
    for (name, peer) in [("DBOS", dbos as fn() -> Result<()>), ("Restate", restate)] {
        if let Err(error) = peer() {
            println!("{name} is not measured: {error:#}");
        }
    }
}

fn dbos() -> Result<()> {
    let source = source("dbos");
    let python = venv(&home().join("dbos"), &source.join("requirements.txt"))?;
    let data = data()?;
    rows("", Command::new(python).arg(source.join("peer.py")).arg(data.path()))
}

/// A Python of its own with those requirements, installed once.
pub fn venv(home: &Path, requirements: &Path) -> Result<PathBuf> {
    let python = home.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    has_python()?;
    once(home, requirements, || {
        process::output(Command::new(PYTHON).args(["-m", "venv", "--clear"]).arg(home))?;
        let install = ["-m", "pip", "install", "--disable-pip-version-check", "--only-binary", ":all:", "-r"];
        process::output(Command::new(&python).args(install).arg(requirements))
    })?;
    Ok(python)
}

const PYTHON: &str = if cfg!(windows) { "python" } else { "python3" };

/// Says what is missing where there is no Python that makes environments.
pub fn has_python() -> Result<()> {
    needs(Command::new(PYTHON).args(["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 11)"]))
        .context("it needs Python 3.11 or newer with `venv`: on Debian `apt-get install python3-venv`, else from https://python.org")
}

/// Says what is missing where there is no npm.
pub fn has_npm() -> Result<()> {
    needs(Command::new(NPM).arg("--version"))
        .context("it needs Node's `npm`: on Debian `apt-get install npm`, else from https://nodejs.org")
}

pub const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

fn restate() -> Result<()> {
    has_npm()?;
    let source = source("restate");
    let home = home().join("restate");
    let lock = source.join("package-lock.json");
    once(&home, &lock, || {
        for name in ["package.json", "package-lock.json"] {
            fs::copy(source.join(name), home.join(name)).with_context(|| format!("cannot copy {name}"))?;
        }
        // Its packages' scripts only report the installation.
        process::output(Command::new(NPM).current_dir(&home).args([
            "ci",
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
        ]))
    })?;
    let peer = home.join("target/release").join(format!("restate-peer{}", env::consts::EXE_SUFFIX));
    if !peer.exists() {
        println!("building its service, once, for some minutes");
    }
    let build = ["build", "--quiet", "--release", "--locked"];
    process::output(process::cargo().current_dir(&source).env("CARGO_TARGET_DIR", home.join("target")).args(build))?;

    let data = data()?;
    let (fabric, ingress, admin) = (free_port()?, free_port()?, free_port()?);
    let _server = Server::start(
        Command::new(server_binary(&home)?)
            .arg("--no-logo")
            .arg("--config-file")
            .arg(source.join("restate.toml"))
            .arg("--base-dir")
            .arg(data.path())
            .env("RESTATE_BIND_PORT", fabric.to_string())
            .env("RESTATE_INGRESS__BIND_PORT", ingress.to_string())
            .env("RESTATE_ADMIN__BIND_PORT", admin.to_string()),
        &home.join("server.log"),
    )?;
    let on = |port: u16| format!("http://127.0.0.1:{port}");
    let title = format!("Restate {}, ", version(&home)?);
    rows(&title, Command::new(peer).args([on(ingress), on(admin)]))
}

/// A server that ends with this value, also when a measurement fails.
struct Server(Child);

impl Server {
    fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let log = fs::File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stderr(log.try_clone()?).stdout(log);
        Ok(Self(command.spawn().context("cannot start the server")?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its data is thrown away, so it need not end in good order.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a peer, and prints what it measures as it comes. The first row says whose the rows are.
fn rows(title: &str, command: &mut Command) -> Result<()> {
    let mut child = Server(command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("cannot start it")?);
    let out = child.0.stdout.take().context("its standard output")?;
    for (n, line) in BufReader::new(out).lines().enumerate() {
        let line = line.context("cannot read its rows")?;
        let (what, measured) = line.split_once('\t').with_context(|| format!("it says {line:?}"))?;
        let title = if n == 0 { title } else { "" };
        println!("{:<58} {measured:>14}", format!("{title}{what}"));
    }
    let status = child.0.wait().context("cannot wait for it")?;
    if !status.success() {
        bail!("it failed: {status}");
    }
    Ok(())
}

/// The way to the program itself: what npm links is a script around it, which would be killed in its place.
fn server_binary(home: &Path) -> Result<PathBuf> {
    let packages = home.join("node_modules/@restatedev");
    let found = packages.read_dir().with_context(|| format!("cannot read {}", packages.display()))?;
    let mut programs = found.flatten().map(|package| package.path().join("bin/restate-server"));
    programs.find(|program| program.exists()).context("there is no Restate server for this machine")
}

fn version(home: &Path) -> Result<String> {
    let text = process::output(Command::new(server_binary(home)?).arg("--version"))?;
    Ok(text.split_whitespace().last().unwrap_or_default().to_owned())
}

/// Does what has to be done once, and again when the file that says what to install has changed.
pub fn once(home: &Path, wanted: &Path, install: impl FnOnce() -> Result<String>) -> Result<()> {
    let wanted = fs::read(wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    let installed = home.join("installed");
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    println!("installing below {}, once", home.display());
    fs::create_dir_all(home).with_context(|| format!("cannot create {}", home.display()))?;
    install()?;
    fs::write(&installed, wanted).with_context(|| format!("cannot write {}", installed.display()))
}

fn needs(command: &mut Command) -> Result<()> {
    if !process::succeeds_within(command, Duration::from_secs(60)) {
        bail!("there is none here");
    }
    Ok(())
}

/// Where our own rows have their data too.
fn data() -> Result<TempDir> {
    tempfile::tempdir_in(paths::root()).context("a directory on the disk that is measured")
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").context("a port of this machine")?.local_addr()?.port())
}

fn source(name: &str) -> PathBuf {
    paths::root().join("xtask/peers").join(name)
}

fn home() -> PathBuf {
    paths::target().join("peers")
}

//! Calling the `longhaul` binary, and reading the lines that `--json` prints.

use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub struct Longhaul {
    binary: PathBuf,
    data: PathBuf,
}

/// As one would type it.
impl fmt::Display for Longhaul {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} --data {}", self.binary.display(), self.data.display())
    }
}

/// What one call told about its task.
#[derive(Default)]
pub struct Told {
    pub events: Vec<Value>,
    /// The task, as the last line has it.
    pub task: Value,
}

impl Longhaul {
    pub fn new(binary: PathBuf, data: PathBuf) -> Self {
        Self { binary, data }
    }

    pub fn command<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(&self.binary);
        command.arg("--data").arg(&self.data).args(args);
        command
    }

    /// Runs with this terminal.
    pub fn live<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Child> {
        self.command(args).spawn().context("cannot start longhaul")
    }

    /// Runs with `--json` and reads to the end.
    pub fn told<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Told> {
        let mut running = self.start(args)?;
        while running.next()?.is_some() {}
        let (told, status) = running.end()?;
        if !status.success() {
            bail!("longhaul did not complete: {status}; the last it said is {}", told.last());
        }
        Ok(told)
    }

    /// Starts with `--json`, to be followed line by line.
    pub fn start<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Running> {
        let mut command = self.command(args);
        let mut child = command
            .arg("--json")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start longhaul")?;
        let lines = BufReader::new(child.stdout.take().context("longhaul has no output")?);
        Ok(Running { child, lines, told: Told::default() })
    }

    /// The lines of a command that is no task's run.
    pub fn lines<S: AsRef<std::ffi::OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Result<Vec<Value>> {
        let output = crate::process::output(self.command(args).arg("--json"))?;
        output.lines().map(|line| serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))).collect()
    }
}

/// A `longhaul --json` that runs. Killed when dropped, so that a failed check leaves nothing behind.
pub struct Running {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    told: Told,
}

impl Running {
    /// Waits for the next line; none at the end.
    pub fn next(&mut self) -> Result<Option<&Value>> {
        let mut line = String::new();
        if self.lines.read_line(&mut line).context("cannot read longhaul's output")? == 0 {
            return Ok(None);
        }
        let value: Value = serde_json::from_str(&line).with_context(|| format!("longhaul printed no JSON: {line}"))?;
        if value["type"] == "event" {
            self.told.events.push(value);
            return Ok(self.told.events.last());
        }
        self.told.task = value;
        Ok(Some(&self.told.task))
    }

    /// `kill -9`.
    pub fn kill(mut self) -> Result<Told> {
        self.child.kill().context("cannot kill longhaul")?;
        // What it had written before is still in the pipe.
        while self.next()?.is_some() {}
        Ok(self.end()?.0)
    }

    pub fn end(mut self) -> Result<(Told, ExitStatus)> {
        let status = self.child.wait().context("cannot wait for longhaul")?;
        Ok((std::mem::take(&mut self.told), status))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It has usually ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Told {
    /// The last thing told, for a message.
    pub fn last(&self) -> &Value {
        if self.task.is_null() { self.events.last().unwrap_or(&Value::Null) } else { &self.task }
    }

    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a Value> {
        self.events.iter().filter(move |event| event["kind"] == kind)
    }

    /// The first part of the result of this media type.
    pub fn text(&self, media_type: &str) -> Result<&str> {
        let parts = self.task["output"]["parts"].as_array().into_iter().flatten();
        let mut texts = parts.filter(|part| part["mediaType"] == media_type).filter_map(|part| part["text"].as_str());
        texts.next().with_context(|| format!("the result has no {media_type}: {}", self.task["output"]))
    }
}

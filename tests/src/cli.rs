//! Running the `longhaul` binary as a person or a script would.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, Output, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Longer than anything takes here, and shorter than a person waits for a test that hangs.
const PATIENCE: Duration = Duration::from_secs(240);

/// The binary, on a data directory of its own.
pub struct Cli {
    dir: TempDir,
}

/// What a command that ended has left.
#[derive(Debug)]
pub struct Done {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Done {
    /// The objects of `--json`. Anything else on standard output fails the test.
    pub fn json(&self) -> Vec<Value> {
        let parse = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: `{line}`\n{self:?}"));
        self.stdout.lines().map(parse).collect()
    }

    /// The task on the last line of `--json`.
    pub fn task(&self) -> Value {
        let last = self.json().pop().unwrap_or_else(|| panic!("no JSON: {self:?}"));
        assert_eq!(last["type"], "task", "{self:?}");
        last
    }

    /// Fails the test unless the exit code is this.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    /// Fails the test unless standard error says this.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "`{text}` is not in: {}", self.stderr);
        self
    }
}

impl From<Output> for Done {
    fn from(output: Output) -> Self {
        Self {
            // As a shell has it, when a signal ended the process.
            code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Default for Cli {
    fn default() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }
}

impl Cli {
    /// A new, empty data directory.
    pub fn new() -> Self {
        Self::default()
    }

    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A file beside the data.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).expect("a file is written");
        path
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command.arg("--data").arg(self.data()).args(args);
        // Nothing of the developer's own settings.
        for name in ["LONGHAUL_DATA", "RUST_LOG", "NO_COLOR", "CLICOLOR_FORCE"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, without a terminal.
    pub fn run(&self, args: &[&str]) -> Done {
        self.command(args).output().expect("longhaul starts").into()
    }

    /// Runs a command that reads `input` from standard input.
    pub fn run_with(&self, input: &str, args: &[&str]) -> Done {
        let mut command = self.command(args);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("longhaul starts");
        // It may end without reading.
        let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
        child.wait_with_output().expect("longhaul ends").into()
    }

    /// Starts a command with `--json`, to be followed while it runs.
    pub fn start(&self, args: &[&str]) -> Running {
        let mut command = self.command(args);
        let mut child =
            command.arg("--json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("longhaul starts");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let stderr = child.stderr.take().map(read);
        Running { child, lines, stderr }
    }

    /// The only task there is.
    pub fn only_task(&self) -> Value {
        self.run(&["tasks", "show", &self.only_id(), "--json"]).exits(0).json().remove(0)
    }

    /// The id of the only task there is.
    pub fn only_id(&self) -> String {
        let tasks = self.run(&["tasks", "ls", "--json"]).exits(0).json();
        assert_eq!(tasks.len(), 1, "{tasks:?}");
        tasks[0]["id"].as_str().expect("an id").to_owned()
    }
}

/// A command that runs, and prints JSON.
pub struct Running {
    child: Child,
    lines: BufReader<ChildStdout>,
    stderr: Option<JoinHandle<String>>,
}

impl Running {
    /// Reads until an event of this kind. Fails the test when the command ends before.
    pub fn until(&mut self, kind: &str) -> Value {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("a line");
            assert!(read > 0, "it ended before `{kind}`");
            let line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: `{line}`"));
            if line["kind"] == kind {
                return line;
            }
        }
    }

    /// Sends it a signal, named as `kill` knows it.
    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Freezes it, as `freeze` does.
    pub fn freeze(&self, data: &Path) {
        freeze(&self.child, data);
    }

    /// Waits for the end; what was not read yet is in the output.
    pub fn end(mut self) -> Done {
        let mut stdout = String::new();
        self.lines.read_to_string(&mut stdout).expect("text");
        let status = self.child.wait().expect("it ends");
        let stderr = self.stderr.take().expect("it is read once").join().expect("it is read");
        Done { code: status.code().unwrap_or(-1), stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads what a process says to its end, so that it never has to wait for a reader.
pub(crate) fn read(mut pipe: ChildStderr) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut said = String::new();
        pipe.read_to_string(&mut said).expect("text");
        said
    })
}

/// Freezes a process, but not while it writes: then SQLite's lock would be held, and nobody else could write.
pub(crate) fn freeze(child: &Child, data: &Path) {
    loop {
        signal(child, "STOP");
        let sql = crate::audit::database(data);
        sql.busy_timeout(Duration::from_millis(200)).expect("it may wait");
        if sql.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
            return;
        }
        signal(child, "CONT");
    }
}

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status().expect("kill runs");
    assert!(sent.success());
}

/// Repeats until there is a result. Fails the test when it takes too long.
#[track_caller]
pub fn eventually<T>(what: impl std::fmt::Display, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it took too long until {what}");
}

/// The built program.
pub fn binary() -> PathBuf {
    // Relative to the workspace, as cargo's configuration gives it.
    workspace().join(std::env::var_os("LONGHAUL_BIN").expect("LONGHAUL_BIN: run `cargo xtask test`"))
}

/// The binary as a compiler of plugins, as it starts itself.
pub fn compiler() -> Command {
    let mut command = Command::new(binary());
    command.arg("compile-plugin");
    command
}

/// A built plugin.
pub fn component(name: &str) -> String {
    let folder = std::env::var_os("LONGHAUL_COMPONENTS").expect("LONGHAUL_COMPONENTS: run `cargo xtask test`");
    let path = workspace().join(folder).join(format!("{name}.wasm"));
    assert!(path.is_file(), "{} is not built: run `cargo xtask build`", path.display());
    path.display().to_string()
}

fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in the workspace")
}

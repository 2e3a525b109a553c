//! Hosts in processes of their own, to be killed, frozen and stopped.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::{binary, freeze, signal};

/// A process with a host that runs whatever nobody else runs. Killed when dropped.
pub struct Worker {
    child: Child,
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
}

/// How often the workers of a test show that they are not frozen: often enough that nobody waits for long, and so seldom
/// that a loaded machine does not look frozen.
pub const HEARTBEAT: Duration = Duration::from_millis(500);

impl Worker {
    /// Starts one, and waits until it has opened the data.
    pub fn new(data: &Path) -> Self {
        Self::start_with(data, &mut |command| command)
    }

    /// Starts one that is set up further.
    pub fn start_with(data: &Path, set_up: &mut dyn FnMut(&mut Command) -> &mut Command) -> Self {
        let mut worker = Self::spawn(data, set_up);
        assert_eq!(worker.hear().expect("it opens the data")["ready"], true);
        worker
    }

    /// Starts one that may end before it has opened anything.
    pub fn spawn(data: &Path, set_up: &mut dyn FnMut(&mut Command) -> &mut Command) -> Self {
        let mut command = Command::new(binary().with_file_name("worker"));
        command.arg(data).arg(HEARTBEAT.as_millis().to_string()).env_remove("RUST_LOG");
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = set_up(&mut command).spawn().expect("the worker starts; run `cargo xtask test`");
        let input = child.stdin.take().expect("a pipe");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, lines }
    }

    /// Asks it to start a task of the probe.
    pub fn ask(&mut self, key: &str, tool: &str, input: &Value) {
        // It may have died.
        let _ = writeln!(self.input, "{}", json!({ "key": key, "tool": tool, "input": input }));
    }

    /// Starts a task of the probe, and gives its id.
    pub fn start(&mut self, key: &str, tool: &str, input: &Value) -> String {
        self.ask(key, tool, input);
        let told = self.hear().expect("it tells of the task");
        assert_eq!(told["key"], key, "{told}");
        told["id"].as_str().unwrap_or_else(|| panic!("{told}")).to_owned()
    }

    /// Asks it to deliver to a subscription. How: `takes` what it is told, and tells when that is on disk; or `hangs`.
    pub fn subscribe(&mut self, name: &str, how: &str) {
        writeln!(self.input, "{}", json!({ "subscribe": name, "how": how })).expect("it listens");
    }

    /// What it tells next; none: it has ended.
    pub fn hear(&mut self) -> Option<Value> {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).expect("a line");
        // The last one may have been cut by its end.
        if read > 0 { serde_json::from_str(&line).ok() } else { None }
    }

    /// Sends it a signal, named as `kill` knows it.
    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Freezes it, as `freeze` does.
    pub fn freeze(&self, data: &Path) {
        freeze(&self.child, data);
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
    }

    /// Whether it has come to its end, by whatever means.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a process of ours").is_some()
    }

    /// Waits for its end.
    pub fn end(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

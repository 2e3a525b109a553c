//! The crate's examples, run as a reader of them would.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::cli::{binary, signal};

/// An example that runs. Killed when dropped.
pub struct Example {
    child: Child,
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
    /// What it has said so far.
    said: Vec<String>,
}

impl Example {
    /// Starts one that `cargo build --workspace --all-targets` has built.
    pub fn start(name: &str, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        let mut command = Command::new(binary().with_file_name("examples").join(name));
        command.args(args).env_remove("RUST_LOG").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{name}: {error}; run `cargo xtask test`"));
        let input = child.stdin.take().expect("a pipe");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        Self { child, input, lines, said: Vec::new() }
    }

    /// Reads until a line that begins so, and gives the rest of it. Fails the test when it ends before.
    pub fn until(&mut self, beginning: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("a line");
            assert!(read > 0, "it ended before `{beginning}`: {:?}", self.said);
            let line = line.trim_end().to_owned();
            self.said.push(line.clone());
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.to_owned();
            }
        }
    }

    /// A line of its standard input.
    pub fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").expect("it listens");
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("it is killed");
        self.child.wait().expect("it ends");
    }

    /// Ctrl-C.
    pub fn interrupt(&self) {
        signal(&self.child, "INT");
    }

    /// Waits for its end, which must be a good one, and gives all that it has said.
    pub fn end(mut self) -> Vec<String> {
        let rest = self.lines.by_ref().lines().map(|line| line.expect("a line"));
        let said: Vec<_> = std::mem::take(&mut self.said).into_iter().chain(rest).collect();
        let status = self.child.wait().expect("it ends");
        assert!(status.success(), "{status}: {said:?}");
        said
    }
}

impl Drop for Example {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

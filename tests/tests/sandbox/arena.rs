//! A host with a well-behaved task beside a hostile one.

use longhaul::{ErrorClass, Host, HostBuilder, Limits, NewTask, Task, TaskState};
use longhaul_tests::cli::compiler;
use longhaul_tests::{embedded, hostile};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host that compiles as the binary does, with the probe installed.
pub struct Arena {
    pub host: Host,
    dir: TempDir,
}

/// Less than the default, so that a test does not take minutes, and more than any of them needs by the way.
pub fn little() -> Limits {
    Limits { fuel: 3_000_000_000, ..Limits::default() }
}

impl Arena {
    pub async fn open() -> Self {
        Self::open_with(|builder| builder).await
    }

    pub async fn open_with(with: impl FnOnce(HostBuilder) -> HostBuilder) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        embedded::with_probe(dir.path()).await;
        let builder = Host::builder().data_dir(dir.path()).compile_with(compiler);
        let host = with(builder).open().await.expect("the host opens");
        Self { host, dir }
    }

    /// Runs a guest of `tests/hostile`.
    pub async fn run(&self, name: &str) -> Task {
        self.run_as(name, 0).await
    }

    /// As [`run`](Self::run), with what its file calls `which`.
    pub async fn run_as(&self, name: &str, which: u8) -> Task {
        self.run_file(hostile::guest(name), json!({ "which": which })).await
    }

    pub async fn run_file(&self, component: Vec<u8>, input: Value) -> Task {
        let plugin = self.host.install(component).await.expect("the guest is a plugin");
        let task = NewTask::new(plugin.digest, "run").input(input).limits(little()).grant_tool("probe/noop");
        self.beside(task).await
    }

    /// Runs a task to its end, and a well-behaved one that begins after it and does not wait for it.
    pub async fn beside(&self, hostile: NewTask) -> Task {
        let hostile = self.host.start(hostile).await.expect("the task is taken").id;
        self.witness().await;
        let ended = self.host.wait(&hostile).await.expect("the task ends");
        self.witness().await;
        ended
    }

    /// A task that does some of everything, and must complete.
    pub async fn witness(&self) {
        let steps = NewTask::new("probe", "steps").input(json!({ "steps": 5, "sleep_ms": 1 }));
        let id = self.host.start(steps).await.expect("the witness is taken").id;
        let task = self.host.wait(&id).await.expect("the witness ends");
        assert_eq!(task.state, TaskState::Completed, "the witness: {:?}", task.error);
    }

    /// Whether everything is as it should be on disk.
    pub async fn close(self) {
        self.host.shutdown().await;
        embedded::sound(self.dir.path());
    }
}

/// Fails unless the task completed.
#[track_caller]
pub fn completed(task: &Task) {
    assert_eq!(task.state, TaskState::Completed, "{:?}", task.error);
}

/// Fails unless the run broke, and the message names this.
#[track_caller]
pub fn broke(task: &Task, code: &str, named: &str) {
    let error = task.error.as_ref().unwrap_or_else(|| panic!("it has no error: {task:?}"));
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Run, code), "{}", error.message);
    assert!(error.message.contains(named), "`{named}` is not in: {}", error.message);
}

/// Fails unless the run broke by that limit of a task, and the message says what it allows and what raises it.
#[track_caller]
pub fn limited(task: &Task, code: &str, limit: &str, value: &str) {
    broke(task, code, &said(limit, value));
}

/// How a limit of a task is named where it was reached.
pub fn said(limit: &str, value: &str) -> String {
    format!("limit `{limit}` = {value}; `--limit {limit}=…` raises it, up to `limits.{limit}` in longhaul.toml")
}

/// How a limit of the host is.
pub fn said_of_host(limit: &str, value: &str) -> String {
    format!("limit `{limit}` = {value}; `limits.{limit}` in longhaul.toml raises it")
}

//! Driving a host inside the test, with built plugins.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use longhaul::{Event, EventKind, Host, Reply, Task, TaskId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;

/// A built component.
pub fn component(name: &str) -> Vec<u8> {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    let dir = DIR.get_or_init(|| match std::env::var_os("LONGHAUL_COMPONENTS") {
        Some(dir) => dir.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests/components"),
    });
    let path = dir.join(name).with_extension("wasm");
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `cargo xtask test`", path.display()))
}

/// Fills a new data directory with the probe, installed and compiled: compiling it once is enough for a test that needs
/// many directories.
pub async fn with_probe(data: &Path) {
    static PREPARED: OnceCell<TempDir> = OnceCell::const_new();
    let prepared = PREPARED.get_or_init(async || {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let host = Host::builder().data_dir(dir.path()).open().await.expect("a new host opens");
        host.install(component("probe")).await.expect("the probe is a plugin");
        host.shutdown().await;
        dir
    });
    copy(prepared.await.path(), data);
}

/// Copies a directory.
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.file_type().expect("a type").is_dir() {
            true => copy(&entry.path(), &to),
            false => drop(std::fs::copy(entry.path(), to).expect("a file")),
        }
    }
}

/// Looks at a task until it is so.
pub async fn until(host: &Host, task: &TaskId, is: impl Fn(&Task) -> bool) -> Task {
    loop {
        let found = host.task(task).await.expect("the task is there");
        if is(&found) {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Answers each question of a task and of its children as it comes, by its schema, until the task has ended.
pub async fn answer_all(host: &Host, task: &TaskId) {
    use futures_util::TryStreamExt as _;
    let mut events = std::pin::pin!(host.events(task, 0));
    while let Some(event) = events.try_next().await.expect("the events go on") {
        let (asker, kind) = match event.kind {
            EventKind::Child { child, event } => (child, *event),
            own => (task.clone(), own),
        };
        if let EventKind::Question(question) = kind {
            let value = fitting(&question.answer);
            let reply = Reply::Answered { value, by: Some("the test".into()) };
            // An earlier host may have been told, or the tool may have withdrawn it.
            let _ = host.answer(&asker, question.question, reply).await;
        }
    }
}

/// An answer that fits a schema.
pub fn fitting(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("boolean") => json!(true),
        Some("string") => json!("an answer"),
        other => panic!("the tests know no answer to {other:?}"),
    }
}

/// Fails unless the data is whole, as the doctor sees it.
pub fn sound(data: &Path) {
    let found = longhaul::examine(data).expect("the data can be examined");
    assert!(found.is_sound(), "{:#?}", found.findings);
}

/// All public events of a task that there are.
pub async fn journal(host: &Host, task: &TaskId) -> Vec<Event> {
    host.journal(task, 0, usize::MAX).await.expect("the task is there")
}

/// The number that the probe gives for its first `upto` values: FNV-1a over each value and a zero byte.
pub fn probe_hash(values: &[String]) -> String {
    let bytes = values.iter().flat_map(|value| value.bytes().chain([0]));
    let hash =
        bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    format!("{hash:016x}")
}

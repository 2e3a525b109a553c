//! What guests send, and what comes back: by real guests, over real sockets.

mod exchange;
mod limits;
mod misuse;
mod once;
mod plugins;

use longhaul::{Host, NewTask, Task, TaskId};
use longhaul_tests::embedded::with_probe;
use longhaul_tests::peer::Peer;
use serde_json::Value;
use tempfile::TempDir;

/// A host that has the probe, and a peer for it.
async fn host_and_peer() -> (TempDir, Host, Peer) {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    (dir, host, Peer::start().await)
}

/// Starts a tool of the probe that may send requests to the peer.
async fn start(host: &Host, peer: &Peer, tool: &str, input: Value) -> TaskId {
    host.start(NewTask::new("probe", tool).input(input).grant_http(peer.rule())).await.unwrap().id
}

/// What the probe has noted.
fn values(task: &Task) -> Vec<&str> {
    let output = task.output.as_ref().unwrap_or_else(|| panic!("{:?}", task.error));
    let values = output.structured.as_ref().and_then(|it| it["values"].as_array()).expect("the probe's trace");
    values.iter().filter_map(Value::as_str).collect()
}

//! What the sandbox and the journal cost a guest.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use longhaul::{Host, NewTask, TaskState};
use longhaul_tests::embedded::component;
use serde_json::json;

use crate::{ROUNDS, finish, median, micros, row};

pub async fn rows(dir: &Path) -> Result<()> {
    let host = Host::builder().data_dir(dir.join("data")).open().await?;
    let plugin = host.install(component("probe")).await?;
    let progress = |n: u64| NewTask::new("probe", "many_progress").input(json!({ "n": n }));
    let (few, many) = (timed(&host, || progress(0)).await?, timed(&host, || progress(200_000)).await?);
    row("one report-progress", &format!("{:.2} us", (many - few).as_secs_f64() * 1e6 / 200_000.0), "<= 1 us");

    let calls = |n: u64| NewTask::new("probe", "many_calls").input(json!({ "n": n }));
    let (few, many) = (timed(&host, || calls(0)).await?, timed(&host, || calls(1_000_000)).await?);
    let each = format!("{:.0} ns", (many - few).as_secs_f64() * 1e9 / 1_000_000.0);
    row("one cheap call of the host (is-cancelled), limits on", &each, "");

    let instantiate = longhaul::testing::instantiate(&host, &plugin.digest, 1_000).await?;
    row("instance from a warm plugin", &micros(instantiate), "<= 50 us");
    let start = longhaul::testing::load(&host, &plugin.digest, 50).await?;
    row("plugin start from cached code", &micros(start), "<= 1000 us");

    let steps = 20_000;
    let task = NewTask::new("probe", "steps").input(json!({ "steps": steps }));
    let id = host.start(task).await?.id;
    anyhow::ensure!(host.wait(&id).await?.state == TaskState::Completed);
    let mut replays = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        host.replay(&id, Default::default(), |_| {}).await?;
        replays.push(start.elapsed());
    }
    // Each step reads the clock and reports progress.
    let rate = 2.0 * f64::from(steps) / median(&mut replays).as_secs_f64();
    row("replay, entries/s (a clock reading and a progress a step)", &format!("{rate:.0}"), ">= 500000");
    host.shutdown().await;
    Ok(())
}

async fn timed(host: &Host, task: impl Fn() -> NewTask) -> Result<Duration> {
    let mut each = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        finish(host, task()).await?;
        each.push(start.elapsed());
    }
    Ok(median(&mut each))
}

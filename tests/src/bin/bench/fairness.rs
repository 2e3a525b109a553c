//! A well-behaved task beside twenty that compute for ever.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use longhaul::{Host, NewTask, TaskId};
use longhaul_tests::embedded::component;
use serde_json::json;

use crate::{finish, micros, row};

/// Tasks that compute for ever meanwhile.
const CROWD: usize = 20;

/// Well-behaved tasks, one after the other.
const RUNS: usize = 300;

type Make = fn() -> NewTask;

pub async fn rows(dir: &Path) -> Result<()> {
    let host = Host::builder().data_dir(dir.join("data")).open().await?;
    host.install(component("probe")).await?;
    let cores = std::thread::available_parallelism()?.get();
    // All of them want to compute at once: so much of what the task needs is its share of the machine.
    let share = ((CROWD + 1) as f64 / cores as f64).max(1.0);
    let tasks: [(&str, Make); 3] = [
        ("no-op", || NewTask::new("probe", "noop")),
        ("20 steps of clock and progress", || NewTask::new("probe", "steps").input(json!({ "steps": 20 }))),
        ("some 20 ms of computing", || NewTask::new("probe", "spin").input(json!({ "rounds": 10_000_000 }))),
    ];
    for (what, task) in tasks {
        let alone = p99(&host, task).await?;
        let crowd = crowd(&host).await?;
        let beside = p99(&host, task).await?;
        for id in crowd {
            host.cancel(&id).await?;
            host.wait(&id).await?;
        }
        row(&format!("{what}, p99 alone"), &micros(alone), "");
        row(&format!("  beside {CROWD} that compute for ever"), &micros(beside), "");
        let ratio = beside.as_secs_f64() / alone.as_secs_f64() / share;
        row("  in units of its share of the CPU", &format!("{ratio:.2}"), "<= 2");
    }
    host.shutdown().await;
    Ok(())
}

async fn crowd(host: &Host) -> Result<Vec<TaskId>> {
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        crowd.push(host.start(NewTask::new("probe", "spin")).await?.id);
    }
    Ok(crowd)
}

async fn p99(host: &Host, task: Make) -> Result<Duration> {
    let mut each = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let start = Instant::now();
        finish(host, task()).await?;
        each.push(start.elapsed());
    }
    each.sort_unstable();
    Ok(each[RUNS * 99 / 100])
}

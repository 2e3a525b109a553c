//! The numbers of the design, measured side by side in one run on one disk. Machines are noisy: read the ratios.

mod faces;
mod fairness;
mod guest;
mod tasks;
mod waiting;

use std::time::Duration;

use anyhow::{Context, Result};
use longhaul::{Host, NewTask, TaskState};

/// Rounds of a measurement; the median counts.
const ROUNDS: usize = 5;

/// The groups of rows, in the order in which they are measured.
const GROUPS: &[&str] = &["tasks", "guest", "waiting", "fairness", "faces"];

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let [hold, dir] = wanted.as_slice()
        && hold == waiting::HOLD
    {
        return waiting::hold(dir.as_ref());
    }
    if let Some(unknown) = wanted.iter().find(|name| !GROUPS.contains(&name.as_str())) {
        anyhow::bail!("no rows `{unknown}`; there are: {}", GROUPS.join(", "));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("{:<58} {:>14}   goal", "what", "measured");
    for group in GROUPS {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == group) {
            continue;
        }
        // Here, not where the system keeps what is temporary: that may be memory.
        let dir = tempfile::tempdir_in(std::env::current_dir()?).context("a directory on the disk that is measured")?;
        match *group {
            "tasks" => runtime.block_on(tasks::rows(dir.path()))?,
            "guest" => runtime.block_on(guest::rows(dir.path()))?,
            "faces" => runtime.block_on(faces::rows(dir.path()))?,
            "fairness" => runtime.block_on(fairness::rows(dir.path()))?,
            _ => runtime.block_on(waiting::rows(dir.path()))?,
        }
    }
    Ok(())
}

fn row(what: &str, measured: &str, goal: &str) {
    println!("{what:<58} {measured:>14}   {goal}");
}

fn micros(duration: Duration) -> String {
    format!("{:.0} us", duration.as_secs_f64() * 1e6)
}

fn median<T: Ord + Copy>(values: &mut [T]) -> T {
    values.sort_unstable();
    values[values.len() / 2]
}

async fn finish(host: &Host, task: NewTask) -> Result<()> {
    let id = host.start(task).await?.id;
    let task = host.wait(&id).await?;
    anyhow::ensure!(task.state == TaskState::Completed, "{:?}", task.error);
    Ok(())
}

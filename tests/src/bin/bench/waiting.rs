//! Tasks that wait: what they cost, how soon an answer reaches one of many, and how soon all are owned again after a kill.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use longhaul::{Host, NewTask, Reply, TaskId, TaskState};
use longhaul_tests::embedded::component;
use serde_json::json;
use tokio::task::JoinSet;

use crate::{median, row};

/// Tasks that wait. The goals are for this many.
const MANY: usize = 100_000;

/// Tasks that are started, and answered, to be timed.
const SOME: usize = 10_000;

/// Answers timed one after the other.
const ANSWERS: usize = 500;

/// The argument with which this program only opens a directory, and holds it until it is killed.
pub const HOLD: &str = "--hold";

pub async fn rows(dir: &Path) -> Result<()> {
    let data = dir.join("data");
    let host = Host::builder().data_dir(&data).open().await?;
    host.install(component("probe")).await?;
    // What the first tasks cost once is no cost of waiting.
    start(&host, 500).await?;
    waiting(&data, 500).await?;
    let (memory, disk) = (resident()?, size(&data)?);

    let began = Instant::now();
    start(&host, SOME).await?;
    row(&format!("{SOME} tasks started"), &seconds(began.elapsed()), "<= 2 s");
    let ids = start(&host, MANY - SOME).await?;
    waiting(&data, MANY + 500).await?;
    let each = |bytes: u64| format!("{} B", bytes / MANY as u64);
    row(&format!("one waiting task of {MANY}: memory"), &each(resident()?.saturating_sub(memory)), "<= 1024 B");
    row("  bytes of instances kept", &longhaul::testing::warm_bytes(&host).to_string(), "0");
    row("  disk", &each(size(&data)?.saturating_sub(disk)), "<= 2048 B");

    let mut answers = Vec::new();
    for id in ids.iter().step_by(ids.len() / ANSWERS) {
        let began = Instant::now();
        host.answer(id, 1, yes()).await?;
        anyhow::ensure!(host.wait(id).await?.state == TaskState::Completed);
        answers.push(began.elapsed());
    }
    let p50 = median(&mut answers);
    let p99 = answers[answers.len() * 99 / 100];
    row("answer to the task's end, p50", &millis(p50), "<= 2 ms");
    row("  p99", &millis(p99), "<= 10 ms");
    let left: Vec<TaskId> =
        ids.iter().enumerate().filter(|(n, _)| n % (ids.len() / ANSWERS) != 0).map(|(_, id)| id.clone()).collect();
    host.shutdown().await;
    recovery(&data, &left).await
}

/// A process that owns all of it is killed. Answers that came meanwhile are found by the next one.
async fn recovery(data: &Path, ids: &[TaskId]) -> Result<()> {
    let mut holder = holder(data)?;
    holder.kill()?;
    holder.wait()?;
    let bystander = Host::builder().data_dir(data).take_over(false).open().await?;
    let mut set = JoinSet::new();
    for id in ids.iter().take(SOME) {
        let (host, id) = (bystander.clone(), id.clone());
        set.spawn(async move { host.answer(&id, 1, yes()).await });
    }
    while let Some(answered) = set.join_next().await {
        answered??;
    }
    bystander.shutdown().await;
    let began = Instant::now();
    let host = Host::builder().data_dir(data).open().await?;
    let opened = began.elapsed();
    let sql = rusqlite::Connection::open(data.join("longhaul.db"))?;
    let count = |what: &str| -> Result<i64> { Ok(sql.query_row(what, [], |row| row.get(0))?) };
    let (mut first, mut owned) = (None, None);
    let before: i64 = count("SELECT count(*) FROM task WHERE ended_at IS NOT NULL")?;
    loop {
        if first.is_none() && count("SELECT count(*) FROM task WHERE ended_at IS NOT NULL")? > before {
            first = Some(began.elapsed());
        }
        let orphans = "SELECT count(*) FROM task WHERE ended_at IS NULL AND owner IS NOT (SELECT max(id) FROM owner)";
        if owned.is_none() && count(orphans)? == 0 {
            owned = Some(began.elapsed());
        }
        if let (Some(first), Some(owned)) = (first, owned) {
            row(&format!("after kill -9 with {MANY} waiting: host open"), &seconds(opened), "");
            row("  first task ended again", &seconds(first), "<= 1 s");
            row("  all owned again", &seconds(owned), "<= 10 s");
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for id in ids.iter().take(SOME) {
        anyhow::ensure!(host.wait(id).await?.state == TaskState::Completed);
    }
    row(&format!("  {SOME} that were answered while it was down: ended"), &seconds(began.elapsed()), "<= 2 s");
    host.shutdown().await;
    Ok(())
}

/// Opens a directory, says so, and waits to be killed.
pub fn hold(data: &Path) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = Host::builder().data_dir(data).open().await?;
        let database = data.to_owned();
        owned(&database).await?;
        println!("holding");
        std::future::pending::<()>().await;
        host.shutdown().await;
        Ok(())
    })
}

async fn owned(data: &Path) -> Result<()> {
    let sql = rusqlite::Connection::open(data.join("longhaul.db"))?;
    loop {
        let orphans = "SELECT count(*) FROM task WHERE ended_at IS NULL AND owner IS NOT (SELECT max(id) FROM owner)";
        let orphans: i64 = sql.query_row(orphans, [], |row| row.get(0))?;
        if orphans == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn holder(data: &Path) -> Result<Child> {
    let mut holder = Command::new(std::env::current_exe()?).arg(HOLD).arg(data).stdout(Stdio::piped()).spawn()?;
    let out = holder.stdout.take().context("its standard output")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    anyhow::ensure!(line.trim() == "holding", "the process that was to be killed says {line:?}");
    Ok(holder)
}

async fn start(host: &Host, n: usize) -> Result<Vec<TaskId>> {
    const CLIENTS: usize = 50;
    let mut set = JoinSet::new();
    for client in 0..CLIENTS {
        let (host, mine) = (host.clone(), n / CLIENTS + usize::from(client < n % CLIENTS));
        set.spawn(async move {
            let mut ids = Vec::new();
            for _ in 0..mine {
                let input = json!({ "prompt": "Go on?", "schema": { "type": "boolean" } });
                ids.push(host.start(NewTask::new("probe", "ask").input(input)).await?.id);
            }
            anyhow::Ok(ids)
        });
    }
    let mut all = Vec::new();
    while let Some(ids) = set.join_next().await {
        all.extend(ids??);
    }
    Ok(all)
}

/// Returns when `n` tasks wait, and none else is live.
async fn waiting(data: &Path, n: usize) -> Result<()> {
    let sql = rusqlite::Connection::open(data.join("longhaul.db"))?;
    loop {
        let found: i64 = sql.query_row("SELECT count(*) FROM task WHERE state = 'waiting'", [], |row| row.get(0))?;
        if usize::try_from(found)? >= n {
            // The last ones are kept warm for a while.
            tokio::time::sleep(Duration::from_secs(3)).await;
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn yes() -> Reply {
    Reply::Answered { value: json!(true), by: None }
}

/// Bytes of this process that are in memory.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status").context("memory is only read on Linux")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("VmRSS")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib << 10)
}

/// Bytes of the database, what is still in its log included.
fn size(data: &Path) -> Result<u64> {
    let sql = rusqlite::Connection::open(data.join("longhaul.db"))?;
    let pages: i64 = sql.query_row("PRAGMA page_count", [], |row| row.get(0))?;
    let page: i64 = sql.query_row("PRAGMA page_size", [], |row| row.get(0))?;
    Ok(u64::try_from(pages * page)?)
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

fn millis(duration: Duration) -> String {
    format!("{:.2} ms", duration.as_secs_f64() * 1e3)
}

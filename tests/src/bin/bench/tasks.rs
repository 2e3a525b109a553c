//! What a durable task costs, beside what the disk costs by itself.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use longhaul::{EventKind, Host, NewTask, Reply};
use longhaul_tests::embedded::component;
use serde_json::json;

use crate::{ROUNDS, finish, median, micros, row};

pub async fn rows(dir: &Path) -> Result<()> {
    let host = Host::builder().data_dir(dir.join("data")).open().await?;
    host.install(component("probe")).await?;
    let (raw_p50, raw_rate) = raw_commits(&dir.join("raw.db"))?;
    row("raw SQLite, one row a commit, WAL, FULL: commits/s", &format!("{raw_rate:.0}"), "");
    row("raw SQLite commit, p50", &micros(raw_p50), "");

    let noop = || NewTask::new("probe", "noop");
    let mut alone = Vec::new();
    for _ in 0..500 {
        let start = Instant::now();
        finish(&host, noop()).await?;
        alone.push(start.elapsed());
    }
    let p50 = median(&mut alone);
    row("durable no-op task, one at a time, p50", &micros(p50), "");
    let ratio = p50.as_secs_f64() / (2.0 * raw_p50.as_secs_f64());
    row("  in units of two raw commits", &format!("{ratio:.2}"), "<= 2");

    let rate = at_once(&host, 50, 200, noop).await?;
    row("durable no-op tasks/s, 50 at once", &format!("{rate:.0}"), ">= 10000");
    let sleep = || NewTask::new("probe", "sleepy").input(json!({ "ms": 0 }));
    let rate = at_once(&host, 50, 100, sleep).await?;
    row("  with one durable step (a sleep of 0)", &format!("{rate:.0}"), ">= 8000");
    let rate = questions(&host, 50, 50).await?;
    row("  with one question answered at once", &format!("{rate:.0}"), ">= 8000");
    host.shutdown().await;
    Ok(())
}

/// What the disk does by itself: p50 of one commit, and commits a second.
fn raw_commits(path: &Path) -> Result<(Duration, f64)> {
    let sql = rusqlite::Connection::open(path)?;
    sql.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE t (n INTEGER, text TEXT);")?;
    let mut insert =
        sql.prepare("INSERT INTO t VALUES (?1, 'some hundred bytes, about as much as one entry of a journal has')")?;
    let start = Instant::now();
    let mut each = Vec::new();
    for n in 0..3_000 {
        let start = Instant::now();
        insert.execute([n])?;
        each.push(start.elapsed());
    }
    let rate = each.len() as f64 / start.elapsed().as_secs_f64();
    Ok((median(&mut each), rate))
}
/// Tasks a second with `clients` that start one after the other, `each` a client; the median of the rounds.
async fn at_once(host: &Host, clients: usize, each: usize, task: impl Fn() -> NewTask + Copy) -> Result<f64> {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut set = tokio::task::JoinSet::new();
        for _ in 0..clients {
            let host = host.clone();
            let tasks: Vec<NewTask> = (0..each).map(|_| task()).collect();
            set.spawn(async move {
                for task in tasks {
                    finish(&host, task).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = set.join_next().await {
            done??;
        }
        rates.push((1e6 * (clients * each) as f64 / start.elapsed().as_secs_f64()) as u64);
    }
    Ok(median(&mut rates) as f64 / 1e6)
}

/// As [`at_once`], each task asking one question that is answered as soon as it is seen.
async fn questions(host: &Host, clients: usize, each: usize) -> Result<f64> {
    use futures_util::TryStreamExt as _;
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut set = tokio::task::JoinSet::new();
        for _ in 0..clients {
            let host = host.clone();
            set.spawn(async move {
                for _ in 0..each {
                    let input = json!({ "prompt": "Go on?", "schema": { "type": "boolean" } });
                    let id = host.start(NewTask::new("probe", "ask").input(input)).await?.id;
                    let mut events = std::pin::pin!(host.events(&id, 0));
                    while let Some(event) = events.try_next().await? {
                        if let EventKind::Question(question) = event.kind {
                            let reply = Reply::Answered { value: json!(true), by: None };
                            host.answer(&id, question.question, reply).await?;
                        }
                    }
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = set.join_next().await {
            done??;
        }
        rates.push((1e6 * (clients * each) as f64 / start.elapsed().as_secs_f64()) as u64);
    }
    Ok(median(&mut rates) as f64 / 1e6)
}

//! A host in a process of its own, for tests that kill, freeze and stop it.
//!
//! `worker DATA [HEARTBEAT_MS]` runs everything that no other host runs, until SIGTERM or SIGINT. Each line of its standard
//! input, `{"key": …, "tool": …, "input": …}`, starts a task of the probe; when it is taken, that is told on standard
//! output as `{"key": …, "id": …}`. A line `{"subscribe": …, "how": "takes" | "hangs"}` delivers to a subscription: each item is
//! told as `{"delivered": TASK}`, and where it is taken, `{"cursor": …}` when that is on disk.

use std::io::Write as _;
use std::time::Duration;

use anyhow::{Context, Result};
use longhaul::testing::CrashPlan;
use longhaul::{Host, NewTask, Subscription};
use serde_json::{Value, json};
use tokio::sync::mpsc;

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut host = Host::builder().data_dir(args.next().context("worker DATA [HEARTBEAT_MS]")?);
    if let Some(millis) = args.next() {
        host = host.heartbeat(Duration::from_millis(millis.parse()?));
    }
    if let Ok(plan) = std::env::var("LONGHAUL_CRASH_AT") {
        host = host.crash(plan.parse::<CrashPlan>().map_err(anyhow::Error::msg)?);
    }
    let host = host.open().await?;
    tell(&json!({ "ready": true }));
    let mut lines = lines();
    let stopped = stopped()?;
    tokio::pin!(stopped);
    loop {
        tokio::select! {
            () = &mut stopped => break,
            Some(line) = lines.recv() => {
                let host = host.clone();
                tokio::spawn(async move {
                    let asked: Value = serde_json::from_str(&line).unwrap_or_default();
                    match asked["subscribe"].as_str() {
                        Some(name) => subscribe(&host, name, asked["how"] == "takes").await,
                        None => tell(&start(&host, &asked).await),
                    }
                });
            }
        }
    }
    host.shutdown().await;
    Ok(())
}

/// Standard input, line by line. A thread of its own reads it, and ends with the process.
fn lines() -> mpsc::UnboundedReceiver<String> {
    let (send, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

async fn start(host: &Host, asked: &Value) -> Value {
    let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
    let task = NewTask::new("probe", text("tool")).input(asked["input"].clone()).idempotency_key(text("key"));
    match host.start(task).await {
        Ok(started) => json!({ "key": asked["key"], "id": started.id.to_string() }),
        Err(error) => json!({ "key": asked["key"], "error": error.to_string() }),
    }
}

/// Delivers until the process ends.
async fn subscribe(host: &Host, name: &str, takes: bool) {
    let subscription = host.subscription(name);
    let delivered = subscription.deliver(async |item| {
        tell(&json!({ "delivered": item.task.to_string(), "kind": item.event.kind.name() }));
        if !takes {
            std::future::pending::<()>().await;
        }
        tokio::spawn(on_disk(subscription.clone(), item.cursor));
        Ok::<_, longhaul::Error>(())
    });
    if let Err(error) = delivered.await {
        tell(&json!({ "error": error.to_string() }));
    }
}

/// Tells when an item counts as delivered.
async fn on_disk(subscription: Subscription, cursor: u64) {
    while subscription.cursor().await.is_ok_and(|there| there < Some(cursor)) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tell(&json!({ "cursor": cursor }));
}

fn tell(line: &Value) {
    let mut out = std::io::stdout().lock();
    // Whoever started it may have stopped to listen.
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

#[cfg(unix)]
fn stopped() -> Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    })
}

#[cfg(not(unix))]
fn stopped() -> Result<impl Future<Output = ()>> {
    Ok(async {
        let _ = tokio::signal::ctrl_c().await;
    })
}

//! What the faces of a server add to a task, and what egress adds to a request: all on loopback, in one process.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use longhaul::{Host, NewTask, NewToken};
use longhaul_server::{Config, Server};
use longhaul_tests::embedded::component;
use longhaul_tests::peer::Peer;
use longhaul_tests::server::{Agent, Answer, client, json as with_body, send};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::{ROUNDS, finish, median, micros, row};

/// Tasks that are timed one after the other.
const ALONE: usize = 500;

/// Callers at once, and the tasks of each.
const CALLERS: usize = 50;
const EACH: usize = 100;

/// Readers of the namespace's feed.
const READERS: usize = 100;

/// Streams, and as many long polls, that are open while nothing happens.
const IDLE: usize = 1_000;

/// Requests that are timed for their slowest.
const ASKED: usize = 2_000;

/// Requests of a guest to a peer.
const REQUESTS: u32 = 500;

pub async fn rows(dir: &Path) -> Result<()> {
    let host = Host::builder().data_dir(dir.join("data")).open().await?;
    host.install(component("probe")).await?;
    let mut config = Config::default();
    // What is measured is not how much one token may ask for.
    config.requests_per_second = 1_000_000;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    let token = host.create_token(NewToken::new("bench")).await?.secret;
    let agent = Agent::new(&url, &token);
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = Server::new(host.clone(), config);
    let serving = tokio::spawn(server.serve(listener, async { drop(stopped.await) }));

    starts(&host, &agent).await?;
    rates(&agent).await?;
    readers(&host, &agent).await?;
    crowded(&host, &agent).await?;
    requests(&host).await?;
    let _ = stop.send(());
    serving.await??;
    host.shutdown().await;
    Ok(())
}

/// From the call that starts a no-op until its result is there, one at a time.
async fn starts(host: &Host, agent: &Agent) -> Result<()> {
    let (mut direct, mut http, mut mcp) = (Vec::new(), Vec::new(), Vec::new());
    // In turns, so that all meet the same machine.
    for _ in 0..ALONE {
        let start = Instant::now();
        finish(host, NewTask::new("probe", "noop")).await?;
        direct.push(start.elapsed());
        let start = Instant::now();
        through_http(agent).await?;
        http.push(start.elapsed());
        let start = Instant::now();
        through_mcp(agent).await?;
        mcp.push(start.elapsed());
    }
    let direct = median(&mut direct);
    row("durable no-op, start to result, p50: in process", &micros(direct), "");
    for (face, times) in [("HTTP (start, then wait)", &mut http), ("MCP (one call)", &mut mcp)] {
        let p50 = median(times);
        row(&format!("  through {face}"), &micros(p50), "");
        row("    times in process", &format!("{:.2}", p50.as_secs_f64() / direct.as_secs_f64()), "");
    }
    Ok(())
}

async fn rates(agent: &Agent) -> Result<()> {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let mut callers = JoinSet::new();
        for _ in 0..CALLERS {
            let agent = agent.clone();
            callers.spawn(async move {
                for _ in 0..EACH {
                    through_http(&agent).await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = callers.join_next().await {
            done??;
        }
        rates.push(((CALLERS * EACH) as f64 / start.elapsed().as_secs_f64()) as u64);
    }
    row("durable no-ops/s through HTTP, 50 at once", &median(&mut rates).to_string(), ">= 5000");
    Ok(())
}

/// Every reader of the feed is told of the end of every task.
async fn readers(host: &Host, agent: &Agent) -> Result<()> {
    let mut readers = JoinSet::new();
    for _ in 0..READERS {
        let mut events = agent.stream("/v1/feed?after=latest", None).await;
        readers.spawn(async move {
            for _ in 0..CALLERS * EACH {
                events.next().await.context("the stream goes on")?;
            }
            anyhow::Ok(())
        });
    }
    let start = Instant::now();
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let host = host.clone();
        callers.spawn(async move {
            for _ in 0..EACH {
                finish(&host, NewTask::new("probe", "noop")).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = callers.join_next().await {
        done??;
    }
    while let Some(done) = readers.join_next().await {
        done??;
    }
    let rate = (READERS * CALLERS * EACH) as f64 / start.elapsed().as_secs_f64();
    row(&format!("events/s to {READERS} readers of a feed, as tasks end"), &format!("{rate:.0}"), "");
    Ok(())
}

/// What streams and long polls in which nothing happens cost the others.
async fn crowded(host: &Host, agent: &Agent) -> Result<()> {
    let question = json!({ "prompt": "Go on?", "schema": { "type": "boolean" } });
    let id = host.start(NewTask::new("probe", "ask").input(question)).await?.id;
    let asked = agent.settled(id.as_str()).await;
    let after = asked["last_seq"].as_u64().context("the journal has a length")?;
    let alone = slowest(agent, id.as_str()).await?;
    let mut idle = JoinSet::new();
    for _ in 0..IDLE {
        let mut events = agent.stream("/v1/feed?after=latest", None).await;
        idle.spawn(async move { drop(events.next().await) });
        let (agent, path) = (agent.clone(), format!("/v1/tasks/{id}?wait=60s&after={after}"));
        idle.spawn(async move { drop(agent.get(path).await) });
    }
    let beside = slowest(agent, id.as_str()).await?;
    row("a request over HTTP, p99", &micros(alone), "");
    row(&format!("  beside {IDLE} idle streams and {IDLE} long polls"), &micros(beside), "");
    row("    times alone", &format!("{:.2}", beside.as_secs_f64() / alone.as_secs_f64()), "<= 2");
    ensure!(idle.try_join_next().is_none(), "something has happened in one of them");
    Ok(())
}

async fn slowest(agent: &Agent, id: &str) -> Result<Duration> {
    let mut each = Vec::with_capacity(ASKED);
    for _ in 0..ASKED {
        let start = Instant::now();
        text(&agent.get(format!("/v1/tasks/{id}")).await, 200)?;
        each.push(start.elapsed());
    }
    each.sort_unstable();
    Ok(each[ASKED * 99 / 100])
}

/// What rights, limits, address checks and the journal cost a request.
async fn requests(host: &Host) -> Result<()> {
    let peer = Peer::start().await;
    let (url, plain) = (peer.url("/"), client());
    let mut direct = Vec::new();
    for _ in 0..REQUESTS {
        let start = Instant::now();
        ensure!(send(plain.get(&url)).await.status == 200);
        direct.push(start.elapsed());
    }
    let fetch = |times: u32| {
        let input = json!({ "url": url, "times": times });
        NewTask::new("probe", "fetch").input(input).grant_http(peer.rule())
    };
    let mut each = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        finish(host, fetch(0)).await?;
        let begun = start.elapsed();
        finish(host, fetch(REQUESTS)).await?;
        let all = start.elapsed().saturating_sub(begun).saturating_sub(begun);
        each.push(all / REQUESTS);
    }
    row("one GET on loopback by a client of the host, p50", &micros(median(&mut direct)), "");
    row("  by a guest: judged, sent, journaled", &micros(median(&mut each)), "");
    Ok(())
}

async fn through_http(agent: &Agent) -> Result<()> {
    let started = agent.post("/v1/tasks", json!({ "plugin": "probe", "tool": "noop" })).await;
    let id = text(&started, 202)?["id"].as_str().context("an id")?.to_owned();
    let ended = agent.get(format!("/v1/tasks/{id}?wait=60s")).await;
    ensure!(text(&ended, 200)?["state"] == "completed", "{}", ended.text);
    Ok(())
}

async fn through_mcp(agent: &Agent) -> Result<()> {
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "noop", "arguments": {}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
        } },
    });
    let request = agent
        .request(Method::POST, "/mcp")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "noop");
    let answer = send(with_body(request, &call)).await;
    ensure!(answer.status == 200 && answer.text.contains("\"structuredContent\""), "{answer:?}");
    Ok(())
}

fn text(answer: &Answer, status: u16) -> Result<Value> {
    ensure!(answer.status == status, "{answer:?}");
    Ok(answer.json())
}

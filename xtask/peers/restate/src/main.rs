//! What Restate does beside Longhaul: a durable no-op, and a handler that waits for one answer.
//!
//! Called with the addresses of a server's ingress and of its admin port; prints one line a measurement, its name and its
//! value with a tab between. The service and its callers are in this one process; all between them goes through the server.

use std::collections::HashMap;
use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use reqwest::{Client, Response};
use restate_sdk::prelude::*;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

const CLIENTS: usize = 50;
const EACH: usize = 40;
const ROUNDS: usize = 5;
const ALONE: usize = 500;
const WAITING: usize = 1_000;
const ANSWERS: usize = 500;

/// The whole of it; what hangs is not waited for.
const LIMIT: Duration = Duration::from_secs(600);

/// Callers that want to know by which name a handler can be answered.
type Askers = Arc<Mutex<HashMap<u64, oneshot::Sender<String>>>>;

struct Peer {
    askers: Askers,
}

// Two seconds, as Longhaul keeps an instance that waits: after that the handler is gone until it is answered.
#[restate_sdk::service(inactivity_timeout = "2s")]
impl Peer {
    #[handler]
    async fn noop(&self, _context: Context<'_>) -> Result<(), HandlerError> {
        Ok(())
    }

    #[handler]
    async fn ask(&self, context: Context<'_>, asker: u64) -> Result<bool, HandlerError> {
        let (name, answer) = context.awakeable::<bool>();
        // The first time only. The name is the same when the handler is run again.
        if let Some(asker) = self.askers.lock().ok().and_then(|mut askers| askers.remove(&asker)) {
            let _ = asker.send(name);
        }
        Ok(answer.await?)
    }
}

#[derive(Clone)]
struct Caller {
    http: Client,
    ingress: String,
    askers: Askers,
    next: Arc<AtomicU64>,
}

impl Caller {
    async fn noop(self) -> Result<()> {
        ok(self.http.post(format!("{}/Peer/noop", self.ingress)).send().await?).await?;
        Ok(())
    }

    async fn answered_at_once(self) -> Result<()> {
        let (asker, name) = self.asker()?;
        let ask = async {
            let called = self.http.post(format!("{}/Peer/ask", self.ingress)).json(&asker).send().await?;
            ensure!(ok(called).await?.json::<bool>().await?);
            Ok(())
        };
        let answer = async { self.answer(&name.await?).await };
        tokio::try_join!(ask, answer)?;
        Ok(())
    }

    /// Starts one that waits; returns the invocation, and the name by which it is answered.
    async fn wait(self) -> Result<(String, String)> {
        let (asker, name) = self.asker()?;
        let sent = self.http.post(format!("{}/Peer/ask/send", self.ingress)).json(&asker).send().await?;
        let sent: Value = ok(sent).await?.json().await?;
        let invocation = sent["invocationId"].as_str().context("an invocation's id")?.to_owned();
        Ok((invocation, name.await?))
    }

    fn asker(&self) -> Result<(u64, oneshot::Receiver<String>)> {
        let (asker, (sender, name)) = (self.next.fetch_add(1, Ordering::Relaxed), oneshot::channel());
        self.askers.lock().ok().context("the callers' lock")?.insert(asker, sender);
        Ok((asker, name))
    }

    async fn answer(&self, name: &str) -> Result<()> {
        let url = format!("{}/restate/awakeables/{name}/resolve", self.ingress);
        ok(self.http.post(url).json(&true).send().await?).await?;
        Ok(())
    }

    async fn end(&self, invocation: &str) -> Result<bool> {
        let url = format!("{}/restate/invocation/{invocation}/attach", self.ingress);
        Ok(ok(self.http.get(url).send().await?).await?.json().await?)
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let ingress = args.next().context("the ingress' address")?;
    let admin = args.next().context("the admin port's address")?;
    timeout(LIMIT, measure(ingress, &admin)).await.context("it takes too long")?
}

async fn measure(ingress: String, admin: &str) -> Result<()> {
    let askers = Askers::default();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let service = format!("http://{}", listener.local_addr()?);
    let endpoint = Endpoint::builder().bind(Peer { askers: askers.clone() }).build();
    tokio::spawn(HttpServer::new(endpoint).serve(listener));
    let http = Client::new();
    register(&http, admin, &service).await?;
    let caller = Caller { http, ingress, askers, next: Arc::default() };

    at_once(|| caller.clone().noop()).await?;
    let mut alone = Vec::new();
    for _ in 0..ALONE {
        let began = Instant::now();
        caller.clone().noop().await?;
        alone.push(began.elapsed());
    }
    alone.sort_unstable();
    row("durable no-op, one at a time, p50", &format!("{:.0} us", alone[ALONE / 2].as_secs_f64() * 1e6));
    row("  durable no-ops/s, 50 at once", &format!("{:.0}", at_once(|| caller.clone().noop()).await?));
    let rate = at_once(|| caller.clone().answered_at_once()).await?;
    row("  with one awakeable answered at once", &format!("{rate:.0}"));
    waiting(&caller, admin).await
}

/// From the answer to the invocation's end, one after the other, while the others wait.
async fn waiting(caller: &Caller, admin: &str) -> Result<()> {
    let mut set = JoinSet::new();
    for _ in 0..WAITING {
        set.spawn(caller.clone().wait());
    }
    let mut waiting = Vec::new();
    while let Some(one) = set.join_next().await {
        waiting.push(one??);
    }
    let query = json!({ "query": "SELECT count(*) AS n FROM sys_invocation WHERE status = 'suspended'" });
    loop {
        let asked = caller.http.post(format!("{admin}/query")).header("accept", "application/json").json(&query);
        let found: Value = ok(asked.send().await?).await?.json().await?;
        if found["rows"][0]["n"].as_u64().context("a count")? >= WAITING as u64 {
            break;
        }
        sleep(Duration::from_millis(200)).await;
    }
    let mut answers = Vec::new();
    for (invocation, name) in waiting.iter().step_by(WAITING / ANSWERS) {
        let began = Instant::now();
        caller.answer(name).await?;
        ensure!(caller.end(invocation).await?);
        answers.push(began.elapsed());
    }
    answers.sort_unstable();
    let millis = |answer: Duration| format!("{:.2} ms", answer.as_secs_f64() * 1e3);
    row(&format!("  answer to the end, {WAITING} waiting, p50"), &millis(answers[answers.len() / 2]));
    row("    p99", &millis(answers[answers.len() * 99 / 100]));
    Ok(())
}

/// Tells the server of the service, as soon as it listens and is ready for work.
async fn register(http: &Client, admin: &str, service: &str) -> Result<()> {
    for _ in 0..300 {
        let sent = http.post(format!("{admin}/deployments")).json(&json!({ "uri": service })).send().await;
        if sent.is_ok_and(|answer| answer.status().is_success()) {
            return Ok(());
        }
        sleep(Duration::from_millis(200)).await;
    }
    anyhow::bail!("the server at {admin} does not take the service")
}

/// How many a second, with clients that do one after the other; the median of the rounds.
async fn at_once<F: Future<Output = Result<()>> + Send + 'static>(once: impl Fn() -> F) -> Result<f64> {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let began = Instant::now();
        let mut set = JoinSet::new();
        for _ in 0..CLIENTS {
            let mine: Vec<F> = (0..EACH).map(|_| once()).collect();
            set.spawn(async move {
                for one in mine {
                    one.await?;
                }
                anyhow::Ok(())
            });
        }
        while let Some(done) = set.join_next().await {
            done??;
        }
        rates.push((CLIENTS * EACH) as f64 / began.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates[ROUNDS / 2])
}

async fn ok(answer: Response) -> Result<Response> {
    let (status, url) = (answer.status(), answer.url().clone());
    if status.is_success() {
        return Ok(answer);
    }
    anyhow::bail!("{url}: {status}: {}", answer.text().await?)
}

fn row(what: &str, measured: &str) {
    println!("{what}\t{measured}");
}

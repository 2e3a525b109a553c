//! A server on this machine that guests send requests to, and that counts what arrives.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::response::Response;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A server of `http`. It ends when it is dropped.
///
/// | path | response |
/// |---|---|
/// | `/echo` | the request's body, in a header its `x-client` |
/// | `/status/N` | that status |
/// | `/bytes/N` | so many bytes |
/// | `/held/…` | the path, once [`Peer::release`] was called |
/// | `/to/PATH` | a redirect to `/PATH` |
/// | anything else | the path |
pub struct Peer {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    released: watch::Sender<bool>,
    server: JoinHandle<()>,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub key: Option<String>,
    /// Its header `x-client`.
    pub client: Option<String>,
    pub traceparent: Option<String>,
    pub body: Bytes,
}

/// Bytes of a body that the peer reads at most.
const BODY: usize = 64 << 20;

impl Peer {
    /// Starts one on a port that is free.
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let released = watch::Sender::new(false);
        let (noted, gate) = (seen.clone(), released.clone());
        let answer = move |request: Request| answer(request, noted.clone(), gate.subscribe());
        let app = Router::new().fallback(answer);
        let server = tokio::spawn(async move { axum::serve(listener, app).await.expect("it serves") });
        Self { address, seen, released, server }
    }

    /// Where it is.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Host and port.
    pub fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The rule that allows requests to it.
    pub fn rule(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What arrived, in its order.
    pub fn seen(&self) -> Vec<Seen> {
        lock(&self.seen).clone()
    }

    /// The keys of what arrived, each once.
    pub fn keys(&self) -> BTreeSet<String> {
        self.seen().into_iter().filter_map(|seen| seen.key).collect()
    }

    /// Waits until so many requests have arrived.
    pub async fn has_seen(&self, requests: usize) {
        while lock(&self.seen).len() < requests {
            tokio::task::yield_now().await;
        }
    }

    /// Answers what is held, now and later.
    pub fn release(&self) {
        self.released.send_replace(true);
    }

    /// Is gone: nothing is answered any more.
    pub async fn stop(self) {
        self.server.abort();
        while !self.server.is_finished() {
            tokio::task::yield_now().await;
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn lock(seen: &Mutex<Vec<Seen>>) -> MutexGuard<'_, Vec<Seen>> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(request: Request, seen: Arc<Mutex<Vec<Seen>>>, mut released: watch::Receiver<bool>) -> Response {
    let (head, body) = request.into_parts();
    let body = to_bytes(body, BODY).await.expect("a body");
    let header = |name: &str| head.headers.get(name).map(|value| value.to_str().expect("text").to_owned());
    let path = head.uri.path().to_owned();
    let (method, key, client) = (head.method.to_string(), header("idempotency-key"), header("x-client"));
    let traceparent = header("traceparent");
    lock(&seen).push(Seen { method, path: path.clone(), key, client, traceparent, body: body.clone() });
    if path.starts_with("/held/") {
        // The sender lives as long as the peer.
        let _ = released.wait_for(|released| *released).await;
    }
    let response = Response::builder().header("content-type", "text/plain");
    let number = || path.rsplit('/').next().and_then(|number| number.parse().ok()).unwrap_or(0);
    let response = match path.split('/').nth(1).unwrap_or_default() {
        "echo" => {
            let client = header("x-client").unwrap_or_default();
            response.header("x-client", client).body(Body::from(body))
        }
        "status" => response.status(u16::try_from(number()).unwrap_or(500)).body(Body::empty()),
        "bytes" => response.body(Body::from(vec![b'x'; number()])),
        "to" => response.status(302).header("location", &path[3..]).body(Body::empty()),
        _ => response.body(Body::from(path)),
    };
    response.expect("a response")
}

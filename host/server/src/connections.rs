//! Connections: accepted, answered, and dropped when they take too long over it or another one needs the place.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutStream;

use crate::{Config, Problem};

/// Connections beyond the limit that are told so. Those beyond these are closed without a word.
const TOLD: usize = 64;

/// Bytes of what a client has sent and nobody has taken, beyond which no more is read: about as long as the head of a request
/// may be. Anybody may send one.
const BUFFER: usize = 64 << 10;

/// Files that a process opens for other things than connections.
const OTHER_FILES: u64 = 128;

/// Answers what comes, until `closing` turns true and what is under way has ended. Dropped before, it drops connections.
///
/// `axum::serve` would do, but lets a client that never finishes its headers, or never takes its answer, keep its connection
/// for ever, and takes connections for as long as there are files.
pub(crate) async fn serve(mut listener: TcpListener, router: Router, config: &Config, closing: watch::Receiver<bool>) {
    let mut http = http1::Builder::new();
    // It also ends a connection that is kept open without a further request.
    http.timer(TokioTimer::new()).header_read_timeout(config.headers).max_buf_size(BUFFER);
    let most = at_most(config.connections);
    let full = Router::new().fallback(move || async move { too_many(most) });
    let quiet = Arc::new(Quiet::default());
    let mut connections = JoinSet::new();
    let mut told = closing.clone();
    loop {
        tokio::select! {
            // Waits where accepting fails.
            (stream, _) = axum::serve::Listener::accept(&mut listener) => {
                let (router, quiet) = if connections.len() < most || quiet.drop_first() {
                    (router.clone(), quiet.clone())
                } else if connections.len() < most + TOLD {
                    // Nobody gets a place by its leaving.
                    (full.clone(), Arc::default())
                } else {
                    continue;
                };
                let (stream, seat) = (patient(stream, config.body), Arc::new(Seat::take(quiet)));
                connections.spawn(answer(http.clone(), stream, router, seat, closing.clone()));
            }
            Some(_) = connections.join_next() => {}
            _ = told.wait_for(|closing| *closing) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

type Stream = std::pin::Pin<Box<TimeoutStream<TcpStream>>>;

/// A client that takes nothing of its answer for so long is gone.
fn patient(stream: TcpStream, time: Duration) -> Stream {
    // An event is small, and is not to wait until the one before it was received. Where that can't be had, it waits.
    let _ = stream.set_nodelay(true);
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(time));
    Box::pin(stream)
}

/// One connection, to its end. What goes wrong with it is the client's to see.
async fn answer(
    http: http1::Builder,
    stream: Stream,
    router: Router,
    seat: Arc<Seat>,
    mut closing: watch::Receiver<bool>,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(seat.clone());
        router.call(request)
    });
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service));
    tokio::select! {
        _ = connection.as_mut() => return,
        () = seat.leave.notified() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// As many as the operator says, and as the process may open files for.
fn at_most(said: usize) -> usize {
    #[cfg(unix)]
    if let Some(files) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
        let room = usize::try_from(files.saturating_sub(OTHER_FILES).max(1)).unwrap_or(usize::MAX);
        if room < said {
            tracing::info!(
                "of {said} connections (limit `connections`) {room} are taken: the process may open {files} files"
            );
        }
        return said.min(room);
    }
    said
}

fn too_many(most: usize) -> Problem {
    let detail = format!("this server has {most} connections, all of them at work (limit `connections` in [server])");
    let busy = Problem::new(http::StatusCode::SERVICE_UNAVAILABLE, "too-many-connections", "Too much at once", detail);
    busy.retry_after(Duration::from_secs(5)).last()
}

/// The connections on which nobody is served who has shown a token, by how long that is so. When there is no room for another
/// one, the first of them has to go: so whoever opens many, and says nothing or next to nothing, keeps nobody out.
#[derive(Default)]
struct Quiet(Mutex<Turns>);

#[derive(Default)]
struct Turns {
    next: u64,
    all: BTreeMap<u64, Arc<Notify>>,
}

impl Quiet {
    fn turns(&self) -> MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(&self, leave: &Arc<Notify>) -> u64 {
        let mut turns = self.turns();
        let turn = turns.next;
        turns.next += 1;
        turns.all.insert(turn, leave.clone());
        turn
    }

    /// Says whether there was one.
    fn drop_first(&self) -> bool {
        let first = self.turns().all.pop_first();
        first.is_some_and(|(_, leave)| {
            leave.notify_one();
            true
        })
    }
}

/// The place of one connection. Requests have it among their extensions.
pub(crate) struct Seat {
    quiet: Arc<Quiet>,
    leave: Arc<Notify>,
    held: Mutex<Hold>,
}

struct Hold {
    requests: usize,
    /// Since when it is quiet.
    turn: u64,
}

/// What keeps a connection its place: a request of somebody who is known, until it is answered.
pub(crate) struct Held(Arc<Seat>);

impl Seat {
    fn take(quiet: Arc<Quiet>) -> Self {
        let leave = Arc::default();
        let held = Mutex::new(Hold { requests: 0, turn: quiet.join(&leave) });
        Self { quiet, leave, held }
    }

    fn held(&self) -> MutexGuard<'_, Hold> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on it is not quiet.
    pub fn hold(self: &Arc<Self>) -> Held {
        let mut held = self.held();
        held.requests += 1;
        self.quiet.turns().all.remove(&held.turn);
        drop(held);
        Held(self.clone())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.0.held();
        held.requests -= 1;
        if held.requests == 0 {
            held.turn = self.0.quiet.join(&self.0.leave);
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let turn = self.held().turn;
        self.quiet.turns().all.remove(&turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_quiet_for_longest_leaves_first_and_whoever_is_served_stays() {
        let quiet = Arc::new(Quiet::default());
        let seats = [(); 3].map(|()| Arc::new(Seat::take(quiet.clone())));
        let is_told = |seat: &Seat| futures_util::FutureExt::now_or_never(seat.leave.notified()).is_some();
        let held = seats[0].hold();
        assert!(quiet.drop_first());
        assert_eq!(seats.each_ref().map(|seat| is_told(seat)), [false, true, false]);
        drop(held);
        assert!(quiet.drop_first());
        assert_eq!(seats.each_ref().map(|seat| is_told(seat)), [false, false, true], "the first was served since");
        assert!(quiet.drop_first());
        assert_eq!(seats.each_ref().map(|seat| is_told(seat)), [true, false, false]);
        assert!(!quiet.drop_first(), "each is told once");
        let gone = Seat::take(quiet.clone());
        drop(gone);
        assert!(!quiet.drop_first());
    }
}

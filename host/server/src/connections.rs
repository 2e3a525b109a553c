//! Connections: accepted, answered, and dropped when they take too long to say what they want.

use std::pin::pin;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Answers what comes, until `closing` turns true and what is under way has ended. Dropped before, it drops connections.
///
/// `axum::serve` would do, but lets a client that never finishes its headers keep its connection for ever.
pub(crate) async fn serve(
    mut listener: TcpListener,
    router: Router,
    headers: Duration,
    closing: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    // It also ends a connection that is kept open without a further request.
    http.timer(TokioTimer::new()).header_read_timeout(headers);
    let mut connections = JoinSet::new();
    let mut told = closing.clone();
    loop {
        tokio::select! {
            // Waits where accepting fails.
            (stream, _) = axum::serve::Listener::accept(&mut listener) => {
                connections.spawn(answer(http.clone(), stream, router.clone(), closing.clone()));
            }
            Some(_) = connections.join_next() => {}
            _ = told.wait_for(|closing| *closing) => break,
        }
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

/// One connection, to its end. What goes wrong with it is the client's to see.
async fn answer(http: http1::Builder, stream: TcpStream, router: Router, mut closing: watch::Receiver<bool>) {
    let mut connection = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = closing.wait_for(|closing| *closing) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

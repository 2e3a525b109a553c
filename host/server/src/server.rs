//! The server: what its handlers share, its routes, its beginning and its end.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use longhaul::Host;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::codes::Codes;
use crate::rates::Rates;
use crate::{Config, connections, http, mcp, origin, pace, principal};

/// How long requests that are under way may take to end once the server is told to stop.
const GRACE: Duration = Duration::from_secs(5);

/// A server for agents, on a [`Host`]. It keeps nothing of a task: whatever it says, it reads from the host.
///
/// ```no_run
/// # async fn doc(host: longhaul::Host) -> std::io::Result<()> {
/// use longhaul_server::{Config, Server};
///
/// let config = Config::default();
/// let listener = tokio::net::TcpListener::bind(config.listen).await?;
/// let server = Server::new(host.clone(), config);
/// server.serve(listener, async { tokio::signal::ctrl_c().await.unwrap_or_default() }).await?;
/// host.shutdown().await;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Server {
    shared: Arc<Shared>,
}

/// What handlers share.
pub(crate) struct Shared {
    /// As the default namespace sees it: handlers have the caller's from their [`Principal`](crate::Principal).
    pub host: Host,
    pub config: Config,
    pub rates: Rates,
    pub codes: Codes,
    /// Turns true when the server is told to stop: streams and long polls end.
    closing: watch::Sender<bool>,
}

impl Shared {
    /// Resolves when the server is told to stop.
    pub async fn closed(&self) {
        // An error would mean that the sender is gone, and `self` holds it.
        let _ = self.closing.subscribe().wait_for(|closing| *closing).await;
    }

    pub fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Turns true when the server is told to stop. Does not keep the server.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }
}

impl Server {
    /// A server on that host. `config.listen` says what its own name is; it does not listen yet.
    pub fn new(host: Host, config: Config) -> Self {
        let rates = Rates::new(&config);
        Self {
            shared: Arc::new(Shared {
                host,
                config,
                rates,
                codes: Codes::default(),
                closing: watch::Sender::new(false),
            }),
        }
    }

    /// Whether the web inbox was built in: a build without Node is without it, and says so at its address.
    pub fn has_inbox(&self) -> bool {
        crate::web::is_built()
    }

    /// A code that signs a browser in to the web inbox, once, within ten minutes: the inbox takes it from `/#code=CODE`. What
    /// is behind `#` is sent to nobody and logged nowhere. `None`: the system has no random numbers.
    pub fn sign_in_code(&self) -> Option<String> {
        self.shared.codes.issue()
    }

    /// All routes, with authentication, the checks of `Host` and `Origin`, and the limits on bodies, for an application that
    /// has routes of its own: make this their `fallback_service`, since paths are what the API says they are. To be called
    /// within a tokio runtime. What limits connections is [`serve`](Self::serve); whoever serves the routes otherwise says
    /// [`close`](Self::close) when it stops, so that streams end.
    pub fn router(&self) -> Router {
        let shared = &self.shared;
        let (open, closed) = http::routes(shared);
        let closed = closed.layer(from_fn_with_state(shared.clone(), principal::authenticate));
        open.merge(closed)
            .merge(mcp::http::routes(shared))
            .fallback(http::unknown_route)
            .method_not_allowed_fallback(http::unknown_method)
            .layer(from_fn_with_state(shared.clone(), pace::watch))
            .layer(from_fn_with_state(shared.clone(), origin::check))
            .layer(from_fn(http::observe))
    }

    /// From now on streams and long polls end where they stand, and `/readyz` says that nothing new is taken.
    pub fn close(&self) {
        self.shared.closing.send_replace(true);
    }

    /// Answers requests until `shutdown` resolves; then it is [closed](Self::close), and what is under way may finish, for 5 s
    /// at most. A connection that takes longer than [`Config::headers`] to say what it wants is dropped, as is one that takes
    /// nothing of its answer; there are [`Config::connections`] at most. The host is not shut down.
    ///
    /// # Errors
    ///
    /// None by now: what goes wrong with a connection ends that connection, and accepting is tried again.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let serving = connections::serve(listener, self.router(), &self.shared.config, self.shared.closing());
        let patience = async {
            shutdown.await;
            self.close();
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            () = serving => {}
            () = patience => {}
        }
        Ok(())
    }
}

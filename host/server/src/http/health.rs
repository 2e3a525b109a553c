//! Whether the process lives, and whether it does its work.

use std::sync::Arc;

use ::http::StatusCode;
use axum::extract::State;

use crate::Problem;
use crate::server::Shared;

/// The process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// The database can be read, and the server is not about to stop.
pub(super) async fn ready(State(shared): State<Arc<Shared>>) -> Result<&'static str, Problem> {
    if shared.is_closing() {
        return Err(longhaul::Error::ShuttingDown.into());
    }
    match shared.host.feed_end().await {
        Ok(_) => Ok("ready\n"),
        Err(error) => {
            tracing::error!("not ready: {error}");
            let detail = "the database can't be read; the host's log says why";
            Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "not-ready", "The host does not work", detail))
        }
    }
}

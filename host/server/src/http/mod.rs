//! HTTP: `/v1`, its description, and what a machine's keeper asks.

mod answer;
mod document;
mod events;
pub(crate) mod extract;
mod feed;
mod health;
mod inbox;
mod key;
mod live;
mod metrics;
mod session;
mod start;
mod tasks;
mod tools;
mod wait;
mod webhooks;

use std::sync::Arc;

use ::http::StatusCode;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Request};
use axum::middleware::Next;
use axum::response::Response;
use axum::routing::get;
use tracing::Instrument as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::server::Shared;
use crate::{Problem, web};

/// The routes that anybody may call, and those that need a token.
pub(crate) fn routes(shared: &Arc<Shared>) -> (Router, Router) {
    let sign_in = OpenApiRouter::new().routes(routes!(session::sign_in));
    let (sign_in, described) = sign_in.split_for_parts();
    let (v1, mut document) = v1(shared).split_for_parts();
    document.merge(described);
    let open = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .merge(sign_in.layer(DefaultBodyLimit::max(session::BYTES)))
        .with_state(shared.clone())
        .merge(document::routes(document))
        .merge(web::routes());
    (open, v1.with_state(shared.clone()))
}

fn v1(shared: &Shared) -> OpenApiRouter<Arc<Shared>> {
    let plugins = OpenApiRouter::new()
        .routes(routes!(tools::plugins, tools::install))
        .layer(DefaultBodyLimit::max(usize::try_from(shared.host.host_limits().component).unwrap_or(usize::MAX)));
    let rest = OpenApiRouter::new()
        .routes(routes!(tools::tools))
        .routes(routes!(tools::plugin, tools::remove))
        .routes(routes!(tasks::list, start::start))
        .routes(routes!(tasks::show, tasks::remove))
        .routes(routes!(events::of_task))
        .routes(routes!(tasks::cancel))
        .routes(routes!(answer::answer, inbox::question))
        .routes(routes!(wait::several))
        .routes(routes!(feed::feed))
        .routes(routes!(webhooks::list, webhooks::add))
        .routes(routes!(webhooks::remove))
        .routes(routes!(webhooks::enable))
        .routes(routes!(webhooks::callback_secret))
        .routes(routes!(webhooks::deliveries))
        .routes(routes!(webhooks::redeliver))
        .routes(routes!(metrics::metrics))
        .routes(routes!(inbox::questions))
        .routes(routes!(inbox::input))
        .routes(routes!(inbox::needs))
        .routes(routes!(session::who))
        .layer(DefaultBodyLimit::max(shared.config.body_bytes));
    plugins.merge(rest)
}

pub(crate) async fn unknown_route(request: Request) -> Problem {
    Problem::not_found(format!("there is no {}; /openapi.json says what there is", request.uri().path()))
}

pub(crate) async fn unknown_method(request: Request) -> Problem {
    let detail =
        format!("{} has no method {}; /openapi.json says what there is", request.uri().path(), request.method());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, "unknown-method", "There is no such method here", detail)
}

/// One span a request, and one line when it is answered.
pub(crate) async fn observe(request: Request, next: Next) -> Response {
    let span = tracing::info_span!("request", method = %request.method(), path = request.uri().path());
    async {
        let start = std::time::Instant::now();
        let response = next.run(request).await;
        tracing::debug!(status = response.status().as_u16(), took = ?start.elapsed(), "answered");
        response
    }
    .instrument(span)
    .await
}

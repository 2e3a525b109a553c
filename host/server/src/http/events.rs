//! Streams of server-sent events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use ::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::extract::State;
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _};
use longhaul::TaskId;
use serde::Deserialize;
use utoipa::IntoParams;

use super::document::shapes;
use super::extract::{Path, Query};
use super::wait;
use crate::rates::Open;
use crate::server::Shared;
use crate::{Principal, Problem};

/// Often enough for proxies that cut what is silent.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Where to go on.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct After {
    /// The `seq` of the last event that was seen. `Last-Event-ID` says the same, and is what counts.
    after: Option<u64>,
}

/// Follows a task: its events so far, and those that come, until it has ended.
///
/// Each has its `seq` as `id`, its `kind` as `event`, and is one line of JSON. A reader that drops off goes on from
/// `Last-Event-ID` and misses nothing.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/events", tag = "tasks",
    params(
        ("id" = String, Path, description = "The task"), After,
        ("Last-Event-ID" = Option<u64>, Header, description = "The `id` of the last event that was seen"),
    ),
    responses(
        (status = 200, description = "A stream of events", content_type = "text/event-stream", body = shapes::ServerEvent),
        (status = 204, description = "The task has ended, and there are no events after that one"),
        (status = 404, description = "Refused: there is no such task"),
        (status = 422, description = "Refused: the task does not have that event"),
    ),
)]
pub(super) async fn of_task(
    State(shared): State<Arc<Shared>>,
    caller: Principal,
    Path(id): Path<TaskId>,
    Query(query): Query<After>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let host = caller.to_look()?;
    let after = match last_event_id(&headers)? {
        Some(id) => id.parse().map_err(|_| Problem::invalid("`Last-Event-ID` must be a `seq` of this task"))?,
        None => query.after.unwrap_or(0),
    };
    let open = shared.rates.stream(&caller.token().id)?;
    let task = host.task(&id).await?;
    wait::has_happened(&task, after)?;
    if task.state.is_terminal() && after >= task.last_seq {
        // A browser asks again for ever after a stream that ended, unless it is told this.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let events = host.events(&id, after).map(|event| {
        let event = event.ok()?;
        let data = serde_json::to_string(&event).ok()?;
        Some(sse::Event::default().id(event.seq.to_string()).event(event.kind.name()).data(data))
    });
    Ok(stream(shared, open, events))
}

/// The id of the last event that the reader has seen.
pub(super) fn last_event_id(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(id) = headers.get("last-event-id") else { return Ok(None) };
    id.to_str().map(Some).map_err(|_| Problem::invalid("`Last-Event-ID` must be the id of an event"))
}

/// Whether the caller asks for a stream where there is a page too.
pub(super) fn wants_a_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|accept| accept.to_str().ok());
    accepted.into_iter().any(|accept| accept.contains("text/event-stream"))
}

/// A stream that ends with its events, with the first that is none, or with the server.
pub(super) fn stream(
    shared: Arc<Shared>,
    open: Open,
    events: impl Stream<Item = Option<sse::Event>> + Send + 'static,
) -> Response {
    let events = events
        .take_while(|event| std::future::ready(event.is_some()))
        .filter_map(std::future::ready)
        .map(Ok::<_, Infallible>)
        .take_until(async move { shared.closed().await })
        // While it is read, it counts as one that is open.
        .map(move |event| {
            let _ = &open;
            event
        });
    let mut response = Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

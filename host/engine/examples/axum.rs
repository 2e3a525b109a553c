//! A small web server around a host: `axum DATA PLUGIN…`. It says on standard output where it listens, and stops at Ctrl-C.
//!
//! ```text
//! POST /tasks                      {"plugin", "tool", "input"}: starts a task
//! GET  /tasks/{id}                 a task
//! GET  /tasks/{id}/events          its events as they come (server-sent events), from `Last-Event-ID` on
//! POST /tasks/{id}/answers/{n}     the answer to a question, as JSON
//! ```
//!
//! The crate `longhaul-server` has all of this with tokens, long polls and MCP. This is for a server that has its own.

use std::convert::Infallible;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{Stream, StreamExt as _};
use longhaul::{Error, Host, NewTask, Reply, Task, TaskId};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct Start {
    plugin: String,
    tool: String,
    input: Value,
}

async fn start(State(host): State<Host>, Json(start): Json<Start>) -> Result<(StatusCode, Json<Task>), Refused> {
    let started = host.start(NewTask::new(start.plugin, start.tool).input(start.input)).await?;
    Ok((StatusCode::ACCEPTED, Json(host.task(&started.id).await?)))
}

async fn look(State(host): State<Host>, Path(id): Path<TaskId>) -> Result<Json<Task>, Refused> {
    Ok(Json(host.task(&id).await?))
}

async fn events(
    State(host): State<Host>,
    Path(id): Path<TaskId>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    // Before the stream begins: within it there is no status.
    host.task(&id).await?;
    let seen = headers.get("last-event-id").and_then(|seq| seq.to_str().ok()?.parse().ok()).unwrap_or(0);
    let events = host.events(&id, seen).filter_map(|event| std::future::ready(event.ok())).map(|event| {
        let sse = Event::default().id(event.seq.to_string()).event(event.kind.name());
        Ok(sse.json_data(&event).unwrap_or_default())
    });
    Ok(Sse::new(events))
}

async fn answer(
    State(host): State<Host>,
    Path((id, question)): Path<(TaskId, u32)>,
    Json(value): Json<Value>,
) -> Result<StatusCode, Refused> {
    host.answer(&id, question, Reply::Answered { value, by: None }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What the host refused, as a response.
struct Refused(Error);

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let status = match &self.0 {
            Error::UnknownTask(_) | Error::UnknownQuestion { .. } => StatusCode::NOT_FOUND,
            Error::AlreadySettled { .. } => StatusCode::CONFLICT,
            Error::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            Error::ShuttingDown | Error::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::Fault(_) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        (status, Json(json!({ "error": self.0.to_string() }))).into_response()
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let Some(data) = args.next() else { return Err("axum DATA PLUGIN…".into()) };
    let host = Host::builder().data_dir(data).open().await?;
    for plugin in args {
        host.install_file(plugin).await?;
    }
    let app = Router::new()
        .route("/tasks", post(start))
        .route("/tasks/{id}", get(look))
        .route("/tasks/{id}/events", get(events))
        .route("/tasks/{id}/answers/{question}", post(answer))
        .with_state(host.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}", listener.local_addr()?);
    let stop = async move {
        // Streams of events end with the host, and so do not keep the server from ending.
        let _ = tokio::signal::ctrl_c().await;
        host.shutdown().await;
    };
    axum::serve(listener, app).with_graceful_shutdown(stop).await?;
    println!("stopped");
    Ok(())
}

//! Starting a task.

use std::time::Duration;

use ::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use longhaul::Error;
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::document::shapes;
use super::extract::Json;
use super::key::idempotency_key;
use crate::{Principal, Problem};

/// A task to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewTask {
    /// The plugin: its name or alias (the newest of that name is run) or its digest.
    plugin: String,
    /// One of the plugin's tools.
    tool: String,
    /// Valid against the tool's schema. `{}` if left out.
    #[schema(value_type = Object)]
    input: Option<Value>,
    /// The conversation that the task is started from, whatever the caller calls it.
    session: Option<String>,
    /// Anything that the caller wants back with the completion. The tool sees it too.
    #[serde(default)]
    context: Value,
    /// The language of the person the task works for (BCP 47), such as `de-CH`.
    locale: Option<String>,
    /// The time zone of that person, by its IANA name: `Europe/Zurich`.
    time_zone: Option<String>,
    /// How long the task may live, from now: 90 days at most and if left out.
    deadline_seconds: Option<u64>,
    /// Where to send word of what happens to the task: questions, replies, the end. Messages are as Standard Webhooks has it.
    callback_url: Option<String>,
    /// What they are signed with: `whsec_` and 24 to 64 bytes in Base64. Left out: the secret of the namespace, which
    /// `/v1/callback-secret` shows.
    callback_secret: Option<String>,
}

/// Starts a task. When the answer comes it is on disk, and outlives the process and the power.
#[utoipa::path(
    post, path = "/v1/tasks", tag = "tasks", request_body = NewTask,
    params(
        ("traceparent" = Option<String>, Header, description = "The trace that the task belongs to (W3C Trace Context)"),
        ("Idempotency-Key" = Option<String>, Header,
         description = "The same key and body again give the same task. Good for as long as the task is kept"),
    ),
    responses(
        (status = 202, description = "The task was taken, or had been with the same key", body = shapes::Task,
         headers(("Location" = String, description = "Where it is looked at"))),
        (status = 403, description = "Refused: the operator does not grant what the plugin needs"),
        (status = 422, description = "Refused: there is no such plugin or tool, it does not accept the input, a value is out \
                                      of its range, or the key was used with another body"),
        (status = 429, description = "Refused: the host takes no more tasks for now; `Retry-After` says when to come again"),
    ),
)]
pub(super) async fn start(
    caller: Principal,
    headers: HeaderMap,
    Json(wanted): Json<NewTask>,
) -> Result<Response, Problem> {
    let host = caller.to_act()?;
    let mut new = longhaul::NewTask::new(wanted.plugin, wanted.tool).context(wanted.context);
    if let Some(input) = wanted.input {
        new = new.input(input);
    }
    if let Some(session) = wanted.session {
        new = new.session(session);
    }
    if let Some(locale) = wanted.locale {
        new = new.locale(locale);
    }
    if let Some(zone) = wanted.time_zone {
        new = new.time_zone(zone);
    }
    if let Some(seconds) = wanted.deadline_seconds {
        new = new.deadline(Duration::from_secs(seconds));
    }
    match (wanted.callback_url, wanted.callback_secret) {
        (Some(url), secret) => new = new.callback(url, secret),
        (None, Some(_)) => return Err(Problem::invalid("`callback_secret` needs a `callback_url`")),
        (None, None) => {}
    }
    if let Some(trace) = traceparent(&headers) {
        new = new.traceparent(trace);
    }
    if let Some(key) = idempotency_key(&headers)? {
        new = new.idempotency_key(key);
    }
    let started = host.start(new).await.map_err(|error| match error {
        // It is the body that names it, not the path.
        Error::UnknownPlugin(_) => Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "unknown-plugin",
            "There is no such plugin",
            format!("{error}; `GET /v1/tools` lists what there is"),
        ),
        error => error.into(),
    })?;
    let task = host.task(&started.id).await?;
    let location = HeaderValue::try_from(format!("/v1/tasks/{}", started.id));
    let location = location.map_err(|_| Problem::from(Error::Fault("a task's id is no header".into())))?;
    Ok((StatusCode::ACCEPTED, [(header::LOCATION, location)], axum::Json(task)).into_response())
}

/// The trace that the caller is in. One that is none is not the caller's mistake alone, and no reason to refuse a task: as the
/// standard says, it is as if there were none.
fn traceparent(headers: &HeaderMap) -> Option<String> {
    let given = headers.get("traceparent")?.to_str().ok()?;
    longhaul::is_traceparent(given).then(|| given.to_owned())
}

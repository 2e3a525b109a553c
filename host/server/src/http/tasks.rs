//! Tasks: looking at them, stopping and removing them.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use longhaul::{Task, TaskFilter, TaskId, TaskState};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use utoipa::IntoParams;

use super::document::shapes;
use super::events::wants_a_stream;
use super::extract::{Path, Query, limit};
use super::{live, wait};
use crate::server::Shared;
use crate::{Principal, Problem};

/// Tasks of one page.
const PAGE: usize = 100;

/// Tasks of one page at most.
const MOST: usize = 1_000;

/// Which tasks.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Filter {
    /// Only those in this state.
    #[param(value_type = Option<String>, pattern = "^(queued|running|waiting|completed|failed|cancelled)$")]
    state: Option<TaskState>,
    /// Only those of this session.
    session: Option<String>,
    /// Only those of the plugin of this name or alias, or of this digest.
    plugin: Option<String>,
    /// Only those of a tool of this name.
    tool: Option<String>,
    /// Only those with this in their id, plugin, tool, session, last progress or error.
    text: Option<String>,
    /// Say in `counts` how many there are in all, by state.
    #[serde(default)]
    counts: bool,
    /// `next` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<TaskId>,
    /// Tasks of a page: 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Lists tasks, the newest first, without their outputs.
///
/// With `Accept: text/event-stream` it is a stream: the page, and then what changes in it. Each message has `ids`, which tasks
/// the page holds now, and `tasks`, those of them that are new or have changed. The first message holds them all, so whoever
/// drops off asks again and has missed nothing.
#[utoipa::path(
    get, path = "/v1/tasks", tag = "tasks", operation_id = "list_tasks", params(Filter),
    responses((status = 200, description = "A page of tasks, or a stream of what changes in it", content(
        (shapes::TaskList = "application/json"), (String = "text/event-stream")))),
)]
pub(super) async fn list(
    State(shared): State<Arc<Shared>>,
    caller: Principal,
    Query(filter): Query<Filter>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let host = caller.to_look()?;
    let limit = limit(filter.limit, PAGE, MOST)?;
    let Filter { state, session, plugin, tool, text, counts, cursor: after, .. } = filter;
    // One more than is shown: whether there is another page.
    let wanted = TaskFilter { state, session, plugin, tool, text, after, limit: limit + 1 };
    if wants_a_stream(&headers) {
        let open = shared.rates.stream(&caller.token().id)?;
        return Ok(live::page(shared, open, host, wanted));
    }
    let counts = match counts {
        true => Some(host.count_tasks(wanted.clone()).await?),
        false => None,
    };
    let (tasks, next) = cut(host.tasks(wanted).await?, limit);
    let mut page = json!({ "tasks": tasks });
    if let Some(next) = next {
        page["next"] = next.as_str().into();
    }
    if let Some(counts) = counts {
        page["counts"] = counts.into_iter().map(|(state, count)| (state.as_str(), Value::from(count))).collect();
    }
    Ok(axum::Json(page).into_response())
}

/// A page, and its last task if there is another page.
pub(super) fn cut(mut tasks: Vec<Task>, limit: usize) -> (Vec<Task>, Option<TaskId>) {
    let more = tasks.len() > limit;
    tasks.truncate(limit);
    let next = tasks.last().filter(|_| more).map(|last| last.id.clone());
    (tasks, next)
}

/// What to wait for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Wait {
    /// Wait so long at most before answering: `30s`, `500ms`; 60 s at most. Until something happens after `after`; without
    /// `after`, until the task has ended or asks something.
    #[param(pattern = r"^[0-9]{1,5}(s|ms)?$")]
    wait: Option<String>,
    /// The `seq` of the last event that was seen, 0 if none: the answer holds `events`, those that came after it.
    after: Option<u64>,
}

/// Shows a task: where it stands, what it asks, how it ended.
#[utoipa::path(
    get, path = "/v1/tasks/{id}", tag = "tasks", params(("id" = String, Path, description = "The task"), Wait),
    responses(
        (status = 200, description = "The task as it stands now", body = shapes::TaskAndEvents),
        (status = 404, description = "Refused: there is no such task"),
        (status = 422, description = "Refused: `after` is an event that the task does not have"),
    ),
)]
pub(super) async fn show(
    State(shared): State<Arc<Shared>>,
    caller: Principal,
    Path(id): Path<TaskId>,
    Query(query): Query<Wait>,
) -> Result<axum::Json<Value>, Problem> {
    let host = caller.to_look()?;
    let time = wait::duration(query.wait.as_deref())?;
    let _open = match time.is_zero() {
        true => None,
        false => Some(shared.rates.stream(&caller.token().id)?),
    };
    let Some(after) = query.after else {
        let task = host.task(&id).await?;
        if time.is_zero() {
            return Ok(axum::Json(json!(task)));
        }
        let task = match wait::needs_somebody(&shared, host, task, Instant::now() + time).await? {
            Some(task) => task,
            None => host.task(&id).await?,
        };
        return Ok(axum::Json(json!(task)));
    };
    wait::has_happened(&host.task(&id).await?, after)?;
    let events = wait::news(&shared, host, &id, after, time).await?;
    // Read after its events: it is not behind them.
    let mut task = json!(host.task(&id).await?);
    task["events"] = json!(events);
    Ok(axum::Json(task))
}

/// Asks a task to stop, and says where it stood. Asking again, or for one that has ended, changes nothing.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/cancel", tag = "tasks", params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "It is asked to stop, unless it had ended", body = shapes::Cancelled),
        (status = 404, description = "Refused: there is no such task"),
    ),
)]
pub(super) async fn cancel(caller: Principal, Path(id): Path<TaskId>) -> Result<axum::Json<Value>, Problem> {
    let found = caller.to_act()?.cancel(&id).await?;
    Ok(axum::Json(json!({ "task": id, "found": found })))
}

/// Removes an ended task, its journal and its children.
#[utoipa::path(
    delete, path = "/v1/tasks/{id}", tag = "tasks", operation_id = "remove_task", params(("id" = String, Path, description = "The task")),
    responses(
        (status = 204, description = "It does not exist any more"),
        (status = 404, description = "Refused: there is no such task"),
        (status = 409, description = "Refused: it has not ended, or is a child"),
    ),
)]
pub(super) async fn remove(caller: Principal, Path(id): Path<TaskId>) -> Result<StatusCode, Problem> {
    caller.to_act()?.remove(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

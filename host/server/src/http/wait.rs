//! Long polls: how long to wait, and waiting for one task or several.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use futures_util::TryStreamExt as _;
use futures_util::future::{join_all, select_all};
use longhaul::{Event, EventKind, Host, Task, TaskId};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::document::shapes;
use super::extract::Json;
use crate::server::Shared;
use crate::{Principal, Problem};

/// No connection is kept for longer without an answer: proxies cut those that are.
const LONGEST: Duration = Duration::from_secs(60);

/// Tasks that one request may wait for.
const TASKS: usize = 100;

/// How long to wait: `30s`, `30` (seconds) or `500ms`.
pub(super) fn duration(text: Option<&str>) -> Result<Duration, Problem> {
    let Some(text) = text else { return Ok(Duration::ZERO) };
    let (number, unit): (&str, fn(u64) -> Duration) = match text.strip_suffix("ms") {
        Some(number) => (number, Duration::from_millis),
        None => (text.strip_suffix('s').unwrap_or(text), Duration::from_secs),
    };
    let time = Some(number).filter(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    match time.and_then(|number| number.parse().ok()).map(unit) {
        Some(time) if time <= LONGEST => Ok(time),
        Some(_) => Err(Problem::invalid("`wait` may be 60 s at most; ask again to go on waiting")),
        None => Err(Problem::invalid("`wait` must be a time such as 30s or 500ms, 60 s at most")),
    }
}

/// Refuses to go on behind what has not happened yet: nobody can have seen it, so it is of another task, or from before a backup
/// was restored; and whoever waited for what comes behind it would miss what comes before.
pub(super) fn has_happened(task: &Task, after: u64) -> Result<(), Problem> {
    if after <= task.last_seq {
        return Ok(());
    }
    let (value, allowed) = (after.to_string(), format!("the last event of this task is {}", task.last_seq));
    Err(longhaul::Error::OutOfRange { what: "the `seq` of the last event that was seen", value, allowed }.into())
}

/// Waits until something happened after `after`, or the time is up; says what. Empty: nothing, or the task has ended.
pub(super) async fn news(
    shared: &Shared,
    host: &Host,
    id: &TaskId,
    after: u64,
    time: Duration,
) -> Result<Vec<Event>, Problem> {
    /// Events of one answer.
    const PAGE: usize = 256;
    if !time.is_zero() {
        let mut events = std::pin::pin!(host.events(id, after));
        tokio::select! {
            first = events.try_next() => drop(going_on(first)?),
            () = tokio::time::sleep(time) => {}
            () = shared.closed() => {}
        }
    }
    Ok(host.journal(id, after, PAGE).await?)
}

/// Waits until a task needs somebody: it has ended, or it asks. `None`: the time is up.
pub(super) async fn needs_somebody(
    shared: &Shared,
    host: &Host,
    task: Task,
    until: Instant,
) -> Result<Option<Task>, Problem> {
    if wants(&task) {
        return Ok(Some(task));
    }
    let id = task.id;
    let mut events = std::pin::pin!(host.events(&id, task.last_seq));
    loop {
        let event = tokio::select! {
            event = events.try_next() => going_on(event)?,
            () = tokio::time::sleep_until(until) => return Ok(None),
            () = shared.closed() => return Ok(None),
        };
        let tells = event.is_none_or(|event| match event.kind {
            EventKind::Question(_) | EventKind::Ended { .. } => true,
            EventKind::Child { event, .. } => matches!(*event, EventKind::Question(_)),
            _ => false,
        });
        if tells {
            let task = host.task(&id).await?;
            // It may have been answered already.
            if wants(&task) {
                return Ok(Some(task));
            }
        }
    }
}

/// A host that stops is no reason not to answer with what is known.
fn going_on<T>(step: Result<Option<T>, longhaul::Error>) -> Result<Option<T>, Problem> {
    match step {
        Err(longhaul::Error::ShuttingDown) => Ok(None),
        step => Ok(step?),
    }
}

/// Several tasks to wait for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Several {
    /// Their ids: 1 to 100.
    #[schema(min_items = 1, max_items = 100, value_type = Vec<String>)]
    tasks: Vec<TaskId>,
    /// Wait until one of them needs somebody, or all of them have ended.
    #[serde(rename = "for", default)]
    which: Which,
    /// How long at most: `30s`, `500ms`; 60 s at most. Left out: do not wait.
    #[schema(value_type = Option<String>, pattern = r"^[0-9]{1,5}(s|ms)?$")]
    wait: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
enum Which {
    /// One of them has ended, or asks something.
    #[default]
    Any,
    /// All of them have ended.
    All,
}

/// It has ended, or asks something.
fn wants(task: &Task) -> bool {
    task.state.is_terminal() || !task.questions.is_empty()
}

/// Waits for one of several tasks, or for all of them.
#[utoipa::path(
    post, path = "/v1/wait", tag = "tasks", request_body = Several,
    responses(
        (status = 200, description = "The tasks as they stand now", body = shapes::Waited),
        (status = 404, description = "Refused: one of them does not exist"),
    ),
)]
pub(super) async fn several(
    State(shared): State<Arc<Shared>>,
    caller: Principal,
    Json(several): Json<Several>,
) -> Result<axum::Json<Value>, Problem> {
    let host = caller.to_look()?;
    let until = Instant::now() + duration(several.wait.as_deref())?;
    if several.tasks.is_empty() || several.tasks.len() > TASKS {
        return Err(Problem::invalid(format!("`tasks` must name 1 to {TASKS} tasks")));
    }
    let _open = shared.rates.stream(&caller.token().id)?;
    let tasks = all(host, &several.tasks).await?;
    let came = match several.which {
        Which::Any if tasks.iter().any(wants) => true,
        Which::Any => {
            let waits = tasks.into_iter().map(|task| Box::pin(needs_somebody(&shared, host, task, until)));
            let (first, ..) = select_all(waits).await;
            first?.is_some()
        }
        Which::All => {
            let each = several.tasks.iter().map(|id| host.wait(id));
            tokio::select! {
                all = join_all(each) => match all.into_iter().collect::<Result<Vec<_>, _>>() {
                    Ok(_) => true,
                    Err(longhaul::Error::ShuttingDown) => false,
                    Err(error) => return Err(error.into()),
                },
                () = tokio::time::sleep_until(until) => false,
                () = shared.closed() => false,
            }
        }
    };
    let tasks = all(host, &several.tasks).await?;
    // What it was waited for may have come with the last moment.
    let done = came
        || match several.which {
            Which::Any => tasks.iter().any(wants),
            Which::All => tasks.iter().all(|task| task.state.is_terminal()),
        };
    Ok(axum::Json(json!({ "done": done, "tasks": tasks })))
}

async fn all(host: &Host, ids: &[TaskId]) -> Result<Vec<Task>, Problem> {
    let mut tasks = Vec::with_capacity(ids.len());
    for id in ids {
        tasks.push(host.task(id).await?);
    }
    Ok(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_a_time_of_a_minute_at_most() {
        assert_eq!(duration(None), Ok(Duration::ZERO));
        assert_eq!(duration(Some("30s")), Ok(Duration::from_secs(30)));
        assert_eq!(duration(Some("60")), Ok(Duration::from_secs(60)));
        assert_eq!(duration(Some("500ms")), Ok(Duration::from_millis(500)));
        for wrong in ["61s", "60001ms", "1m", "", "s", "-1s", "+1s", "1.5s", "99999999999999999999"] {
            assert!(duration(Some(wrong)).is_err(), "{wrong}");
        }
    }
}

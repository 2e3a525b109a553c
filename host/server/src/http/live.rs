//! A page of the list of tasks, as it changes.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use axum::response::sse;
use futures_util::StreamExt as _;
use longhaul::{Host, Task, TaskFilter, TaskId};
use serde_json::{Value, json};

use super::events::stream;
use super::tasks::cut;
use crate::rates::Open;
use crate::server::Shared;

/// Between two messages: what happens meanwhile is told together.
const PAUSE: Duration = Duration::from_millis(250);

/// The page that `wanted`, which asks for one task more than the page has, gives now and from now on.
pub(super) fn page(shared: Arc<Shared>, open: Open, host: &Host, wanted: TaskFilter) -> Response {
    let limit = wanted.limit.saturating_sub(1);
    let messages = host.watch_tasks(wanted, PAUSE).scan(None, move |told: &mut Option<Told>, tasks| {
        // An error ends the stream: whoever reads it asks again, and hears what it was.
        ready(tasks.ok().map(|tasks| Told::next(told, cut(tasks, limit))))
    });
    let events =
        messages.filter_map(ready).map(|message| Some(sse::Event::default().event("tasks").data(message.to_string())));
    stream(shared, open, events)
}

/// What the reader knows.
struct Told {
    ids: Vec<TaskId>,
    tasks: BTreeMap<TaskId, Value>,
    next: Option<TaskId>,
}

impl Told {
    /// The message that brings the reader up to date, if there is anything to say.
    fn next(told: &mut Option<Self>, (tasks, next): (Vec<Task>, Option<TaskId>)) -> Option<Value> {
        let ids: Vec<_> = tasks.iter().map(|task| task.id.clone()).collect();
        let tasks: BTreeMap<_, _> = tasks.iter().map(|task| (task.id.clone(), json!(task))).collect();
        let known = |id| told.as_ref().and_then(|told| told.tasks.get(id));
        let changed: Vec<_> =
            ids.iter().filter_map(|id| tasks.get(id).filter(|task| known(id) != Some(*task))).collect();
        let same = told.as_ref().is_some_and(|told| told.ids == ids && told.next == next);
        let message = (!same || !changed.is_empty()).then(|| {
            let mut message = json!({ "ids": ids, "tasks": changed });
            if let Some(next) = &next {
                message["next"] = next.as_str().into();
            }
            message
        });
        *told = Some(Self { ids, tasks, next });
        message
    }
}

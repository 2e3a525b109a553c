//! A task as the tasks extension shows it (SEP-2663).

use std::time::Duration;

use longhaul::{ErrorClass, Task, TaskState, WaitingOn};
use rmcp::model::{DetailedTask, ErrorCode, JsonObject, MetaObject, Task as TaskFields, TaskPayload, TaskStatus};
use serde_json::{Value, json};

use super::client::Client;
use super::{content, meta, question};

/// How often to look: a tenth of the task's age, within these.
const OFTEN: Duration = Duration::from_millis(500);
const SELDOM: Duration = Duration::from_secs(5);

/// The task with what its status goes with.
///
/// The tool's own failure is a completed call that says so; `failed` is for a run that broke. What a client cannot be
/// asked is no `input_required` of its: the status message says who is waited for.
pub fn detailed(task: &Task, client: &Client, retention: Duration) -> DetailedTask {
    DetailedTask::new(fields(task, retention), payload(task, client))
}

/// The task without it, and with its status left to be set.
pub fn fields(task: &Task, retention: Duration) -> TaskFields {
    let age = task.updated_at.since(task.created_at);
    let poll = (age / 10).clamp(OFTEN, SELDOM);
    // It is kept for so long after its end, and has not ended before its last entry.
    let kept = task.ended_at.unwrap_or(task.updated_at).since(task.created_at) + retention;
    let fields = TaskFields::new(
        task.id.as_str(),
        TaskStatus::Working,
        task.created_at.to_string(),
        task.updated_at.to_string(),
    )
    .with_ttl_ms(millis(kept))
    .with_poll_interval_ms(millis(poll));
    match status_message(task) {
        Some(message) => fields.with_status_message(message),
        None => fields,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn payload(task: &Task, client: &Client) -> TaskPayload {
    match (task.state, &task.error) {
        (TaskState::Cancelled, _) => TaskPayload::Cancelled,
        (TaskState::Failed, Some(error)) if error.class == ErrorClass::Run => {
            let mut data = json!({"class": error.class, "code": error.code});
            if let Some(details) = &error.details {
                data["details"] = details.clone();
            }
            let error = json!({"code": ErrorCode::INTERNAL_ERROR, "message": error.message, "data": data});
            TaskPayload::Failed { error: object(error) }
        }
        (TaskState::Completed | TaskState::Failed, _) => {
            let result = serde_json::to_value(content::result(task)).unwrap_or_default();
            TaskPayload::Completed { result: object(result) }
        }
        (TaskState::Queued | TaskState::Running | TaskState::Waiting, _) => {
            let input_requests = match client.elicits {
                true => question::input_requests(task, |_| None),
                false => Default::default(),
            };
            match input_requests.is_empty() {
                true => TaskPayload::Working,
                false => TaskPayload::InputRequired { input_requests },
            }
        }
    }
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Where it stands, in a few words.
pub fn status_message(task: &Task) -> Option<String> {
    if let Some(error) = &task.error {
        return Some(error.message.clone());
    }
    if task.state.is_terminal() {
        return None;
    }
    if task.stalled {
        return Some("nobody is running it; it goes on when a host does".into());
    }
    if task.cancel_requested {
        return Some("it was asked to stop".into());
    }
    if let Some(question) = task.questions.first() {
        return Some(format!("it waits for an answer: {}", question.prompt));
    }
    if let Some(progress) = &task.progress {
        return Some(progress.message.clone());
    }
    match (task.state, task.waiting.as_ref().map(|waiting| waiting.on)) {
        (TaskState::Queued, _) => Some("it is queued".into()),
        (_, Some(WaitingOn::Retry)) => Some("it will be tried again".into()),
        _ => None,
    }
}

/// What of it the protocol has no place for.
pub fn extra(task: &Task) -> Option<MetaObject> {
    let progress = serde_json::to_value(task.progress.as_ref()?).ok()?;
    Some(MetaObject([(meta::PROGRESS.to_owned(), progress)].into_iter().collect()))
}

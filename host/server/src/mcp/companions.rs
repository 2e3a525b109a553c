//! The tools by which a model looks after tasks where its client knows nothing of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use longhaul::{Error, OpenQuestion, Reply, TaskFilter, TaskId, TaskState};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ContentBlock, ErrorData, Tool, ToolAnnotations};
use rmcp::service::RequestContext;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::Client;
use super::content::{result, said_error};
use super::handle::{handle, status, structure};
use super::wait::{Came, Reporter, Wait};
use super::{Caller, Session, fault, question};

/// Their names, which no plugin's tool gets.
pub const NAMES: [&str; 4] = ["task_wait", "task_answer", "task_cancel", "task_list"];

/// How long `task_wait` waits at most: less than what clients wait for an answer.
const LONGEST: Duration = Duration::from_secs(45);
/// Tasks listed if nothing else is asked for, and at most.
const LISTED: usize = 20;
const MOST: usize = 100;

/// One of the four.
#[derive(Clone, Copy)]
pub enum Companion {
    Wait,
    Answer,
    Cancel,
    List,
}

pub fn named(name: &str) -> Option<Companion> {
    use Companion::{Answer, Cancel, List, Wait};
    let all = [Wait, Answer, Cancel, List];
    NAMES.iter().zip(all).find(|(known, _)| **known == name).map(|(_, companion)| companion)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitFor {
    task_id: TaskId,
    timeout_s: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerTo {
    task_id: TaskId,
    question: Option<u32>,
    answer: Option<Value>,
    #[serde(default)]
    decline: bool,
    reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    task_id: TaskId,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Which {
    state: Option<TaskState>,
    limit: Option<usize>,
}

impl Companion {
    pub async fn call(
        self,
        session: &Session,
        caller: &Caller,
        client: &Client,
        arguments: Value,
        cx: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let done = match self {
            Self::Wait => wait(session, caller, arguments, cx).await,
            Self::Answer => answer(caller, client, arguments).await,
            Self::Cancel => cancel(caller, arguments).await,
            Self::List => list_tasks(caller, arguments).await,
        };
        match done {
            Ok(result) => Ok(result),
            Err(Refused::Said(message)) => Ok(said_error(message)),
            Err(Refused::Fault(error)) => Err(error),
        }
    }
}

/// Why nothing was done: something that the model can mend, or not.
enum Refused {
    Said(String),
    Fault(ErrorData),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error {
            Error::Store(_) | Error::ShuttingDown | Error::Fault(_) => Self::Fault(fault(error)),
            Error::UnknownTask(id) => Self::Said(format!("there is no task \"{id}\"; task_list lists the tasks")),
            error => Self::Said(error.to_string()),
        }
    }
}

fn read<T: DeserializeOwned>(arguments: Value) -> Result<T, Refused> {
    serde_json::from_value(arguments).map_err(|error| Refused::Said(format!("the arguments are not accepted: {error}")))
}

async fn wait(
    session: &Session,
    caller: &Caller,
    arguments: Value,
    cx: &RequestContext<RoleServer>,
) -> Result<CallToolResult, Refused> {
    caller.may_look().map_err(Refused::Fault)?;
    let WaitFor { task_id, timeout_s } = read(arguments)?;
    let time = timeout_s.map_or(session.face.config.wait, Duration::from_secs).min(LONGEST);
    let reporter = cx.meta.get_progress_token().map(|token| Reporter::new(cx.peer.clone(), token));
    let mut following = Wait::on(&caller.host, &task_id, reporter).await?;
    // Whoever asks for a task that waits for an answer is told what it asks, and not kept waiting.
    let asked = BTreeSet::new();
    let came = tokio::select! {
        came = following.until(Instant::now() + time, &asked) => came?,
        () = cx.ct.cancelled() => Came::TimeUp,
    };
    if !matches!(came, Came::Ended) {
        following.look().await?;
    }
    Ok(match following.task.state.is_terminal() {
        true => result(&following.task),
        false => handle(&following.task),
    })
}

async fn answer(caller: &Caller, client: &Client, arguments: Value) -> Result<CallToolResult, Refused> {
    caller.may_answer().map_err(Refused::Fault)?;
    let AnswerTo { task_id, question, answer, decline, reason } = read(arguments)?;
    let by = caller.by(client).map(str::to_owned);
    let reply = match (answer, decline) {
        (Some(value), false) => Reply::Answered { value, by },
        (None, true) => Reply::Declined { reason, by },
        _ => return Err(Refused::Said("give either `answer` or `\"decline\": true`".into())),
    };
    let task = caller.host.task(&task_id).await?;
    let asking = task.questions.iter().find(|open| match question {
        // A child is answered by its own id, or through its parent where that has only one question in all.
        Some(number) => open.question == number && open.task.is_none(),
        None => true,
    });
    let of = |open: &OpenQuestion| format!("{} of task {}", open.question, open.task.as_ref().unwrap_or(&task_id));
    let (asker, number) = match (asking, question) {
        (Some(_), None) if task.questions.len() > 1 => {
            let open: Vec<_> = task.questions.iter().map(of).collect();
            return Err(Refused::Said(format!("several questions are open: {}; say which", open.join(", "))));
        }
        (Some(open), _) => (open.task.clone().unwrap_or_else(|| task_id.clone()), open.question),
        // It may be settled, and then the host knows how.
        (None, Some(number)) => (task_id.clone(), number),
        (None, None) => return Err(Refused::Said(format!("task {task_id} asks nothing"))),
    };
    if asking.is_some_and(|open| !question::is_askable(open)) {
        let message = "this answer is confidential; the person gives it to the host themselves";
        return Err(Refused::Said(message.into()));
    }
    caller.host.answer(&asker, number, reply).await?;
    let mut taken = CallToolResult::success(vec![ContentBlock::text(format!(
        "The answer counts. Call task_wait with task_id \"{task_id}\" for the result."
    ))]);
    taken.structured_content = Some(json!({"task_id": task_id, "status": "working", "next": "task_wait"}));
    Ok(taken)
}

async fn cancel(caller: &Caller, arguments: Value) -> Result<CallToolResult, Refused> {
    caller.may_act().map_err(Refused::Fault)?;
    let One { task_id } = read(arguments)?;
    let found = caller.host.cancel(&task_id).await?;
    let said = match found.is_terminal() {
        true => format!("Task {task_id} had ended already: {found}."),
        false => format!("Task {task_id} was asked to stop; it cleans up first. task_wait tells how it ended."),
    };
    let mut asked = CallToolResult::success(vec![ContentBlock::text(said)]);
    asked.structured_content = Some(json!({"task_id": task_id, "found": found}));
    Ok(asked)
}

async fn list_tasks(caller: &Caller, arguments: Value) -> Result<CallToolResult, Refused> {
    caller.may_look().map_err(Refused::Fault)?;
    let Which { state, limit } = read(arguments)?;
    let limit = limit.unwrap_or(LISTED).min(MOST);
    let filter = TaskFilter { state, limit, ..TaskFilter::default() };
    let tasks = caller.host.tasks(filter).await?;
    let lines = tasks.iter().map(|task| {
        format!("{} {}/{} {} (started {})", task.id, task.plugin, task.tool, status(task), task.created_at)
    });
    let text = match tasks.is_empty() {
        true => "There are no tasks.".to_owned(),
        false => lines.collect::<Vec<_>>().join("\n"),
    };
    let mut listed = CallToolResult::success(vec![ContentBlock::text(text)]);
    listed.structured_content = Some(json!({"tasks": tasks.iter().map(structure).collect::<Vec<_>>()}));
    Ok(listed)
}

/// What a client is told of them. The descriptions are for models.
pub fn list() -> Vec<Tool> {
    let id = json!({"type": "string", "description": "The task's id, as the call that started it gave it."});
    let schemas = [
        json!({
            "type": "object", "required": ["task_id"], "additionalProperties": false,
            "properties": {"task_id": id, "timeout_s": {
                "type": "integer", "minimum": 0, "maximum": LONGEST.as_secs(), "description": "How many seconds to wait at most."
            }}
        }),
        json!({
            "type": "object", "required": ["task_id"], "additionalProperties": false,
            "properties": {
                "task_id": {"type": "string", "description": "The id of the task that asks, as it stands with the question."},
                "question": {"type": "integer", "minimum": 1,
                    "description": "The question's number. May be left out where only one is open."},
                "answer": {"description": "What the user said, as JSON that fits the question's answer_schema."},
                "decline": {"type": "boolean", "description": "True if the user refuses to answer; then without `answer`."},
                "reason": {"type": "string", "description": "Why the user refuses, if they said so."}
            }
        }),
        json!({
            "type": "object", "required": ["task_id"], "additionalProperties": false, "properties": {"task_id": id}
        }),
        json!({
            "type": "object", "additionalProperties": false,
            "properties": {
                "state": {"type": "string", "enum": ["queued", "running", "waiting", "completed", "failed", "cancelled"]},
                "limit": {"type": "integer", "minimum": 1, "maximum": MOST}
            }
        }),
    ];
    let about = [
        (
            "Wait for a task",
            "Waits for a background task that another tool started, and returns that tool's result when it is done. If it is not \
             done in time, or asks something, returns how it stands: call task_wait again, or task_answer. A task goes on \
             whether or not anybody waits for it.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        (
            "Answer a task's question",
            "Answers a question that a background task asks a person. Ask your user first and pass on what they said; never make \
             up an answer. Each question is answered once. Then call task_wait for the result.",
            ToolAnnotations::new().read_only(false).destructive(false).open_world(false),
        ),
        (
            "Stop a task",
            "Asks a background task to stop, when its result is no longer wanted. Asking again changes nothing.",
            ToolAnnotations::new().read_only(false).destructive(true).idempotent(true).open_world(false),
        ),
        (
            "List tasks",
            "Lists background tasks, the newest first, with where they stand: to find one whose id is not at hand, or that was \
             started in an earlier conversation.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
    ];
    let tools = NAMES.into_iter().zip(schemas).zip(about).map(|((name, schema), (title, description, hints))| {
        let schema = Arc::new(schema.as_object().cloned().unwrap_or_default());
        Tool::new(name, description, schema).with_title(title).with_annotations(hints)
    });
    tools.collect()
}

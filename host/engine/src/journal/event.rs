//! The entries of a journal that readers see.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::LimitUse;
use crate::clock::Timestamp;
use crate::task::{OpenQuestion, Output, Progress, Reply, TaskError, TaskId, TaskState};

/// One public entry of a task's journal. Ordered by `seq`, which is the cursor to read on from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the task's journal. Grows; not every number is a public entry.
    pub seq: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened. In JSON, `kind` names it and the fields stand beside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum EventKind {
    /// The task was taken.
    Started {
        /// The plugin's name.
        plugin: String,
        /// Its version.
        version: String,
        /// Its digest.
        digest: String,
        /// The tool that runs.
        tool: String,
        /// When the task is stopped if it has not ended.
        deadline: Timestamp,
    },
    /// A try begins.
    Attempt {
        /// Counted from 1.
        attempt: u32,
    },
    /// The tool says how far it is.
    Progress(Progress),
    /// The tool wrote to its standard output or error.
    Log {
        /// Which of the two.
        stream: LogStream,
        /// What it wrote: whole lines where possible. Bytes that are no UTF-8 are replaced.
        text: String,
    },
    /// The tool asks a person.
    Question(OpenQuestion),
    /// A question is settled.
    Reply {
        /// The question's number.
        question: u32,
        /// How.
        #[serde(flatten)]
        reply: Reply,
    },
    /// The tool sleeps.
    Sleep {
        /// When it goes on.
        until: Timestamp,
    },
    /// The tool starts another one as a child.
    ChildStarted {
        /// What the task knows it by. Children and questions of a task share their numbers.
        handle: u32,
        /// The child.
        child: TaskId,
        /// The name of its plugin.
        plugin: String,
        /// The tool that it runs.
        tool: String,
    },
    /// A child ended. Its result is the child's own.
    ChildEnded {
        /// What the task knows it by.
        handle: u32,
        /// The child.
        child: TaskId,
        /// `completed`, `failed` or `cancelled`.
        state: TaskState,
        /// Why it did not complete, without details.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<TaskError>,
    },
    /// The tool sent an HTTP request, and has seen what became of it.
    Http {
        /// Such as `GET`.
        method: String,
        /// Where to, as the tool said it; shortened if it is very long.
        url: String,
        /// The response's status, if there was a response.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        /// Why there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
        /// Bytes of the request's body.
        sent: u64,
        /// Bytes of the response's body.
        received: u64,
        /// Milliseconds until the response was there as a whole.
        millis: u64,
        /// The `Idempotency-Key` that the host has put in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    /// A child did something, or a child of a child, that whoever follows this task is to see: progress, a question, a
    /// reply, a refusal, another attempt, the start and end of its own children.
    Child {
        /// Whose journal it is from.
        child: TaskId,
        /// What happened there.
        event: Box<EventKind>,
    },
    /// Somebody asked the task to stop.
    CancelRequested,
    /// The host refused what the tool asked for.
    Refused {
        /// What it wanted.
        what: String,
        /// Why not.
        why: String,
    },
    /// Four fifths of a limit are used. Said once for each.
    LimitNear(LimitUse),
    /// The tool left work pending outside, and will be asked about it again.
    Checkpoint {
        /// Counted from 1: the segment that begins with it.
        segment: u32,
        /// When the tool is asked again.
        until: Timestamp,
    },
    /// The attempt failed in a way that may pass; another follows.
    Retry {
        /// The attempt that follows.
        attempt: u32,
        /// When.
        until: Timestamp,
        /// Why the attempt before failed.
        error: TaskError,
    },
    /// The task ended.
    Ended {
        /// `completed`, `failed` or `cancelled`.
        state: TaskState,
        /// The result of a completed task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Output>,
        /// Why it did not complete.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<TaskError>,
        /// Instructions executed (wasmtime's fuel), over all attempts.
        fuel: u64,
    },
    /// An entry of a kind that this version does not know.
    #[serde(untagged)]
    Unknown(Value),
}

impl EventKind {
    /// The name that stands as `kind` in JSON.
    pub fn name(&self) -> &str {
        match self {
            Self::Started { .. } => "started",
            Self::Attempt { .. } => "attempt",
            Self::Progress(_) => "progress",
            Self::Log { .. } => "log",
            Self::Question(_) => "question",
            Self::Reply { .. } => "reply",
            Self::Sleep { .. } => "sleep",
            Self::ChildStarted { .. } => "child-started",
            Self::ChildEnded { .. } => "child-ended",
            Self::Http { .. } => "http",
            Self::Child { .. } => "child",
            Self::CancelRequested => "cancel-requested",
            Self::Refused { .. } => "refused",
            Self::LimitNear(_) => "limit-near",
            Self::Checkpoint { .. } => "checkpoint",
            Self::Retry { .. } => "retry",
            Self::Ended { .. } => "ended",
            Self::Unknown(value) => value.get("kind").and_then(Value::as_str).unwrap_or("unknown"),
        }
    }

    /// Whether those who follow a parent of the task see it there too. What a task prints, and its result, are its own.
    pub(crate) fn is_shown_above(&self) -> bool {
        matches!(
            self,
            Self::Progress(_)
                | Self::Question(_)
                | Self::Reply { .. }
                | Self::Refused { .. }
                | Self::Retry { .. }
                | Self::ChildStarted { .. }
                | Self::ChildEnded { .. }
        )
    }
}

/// Where a guest's text came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LogStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

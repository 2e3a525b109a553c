//! A task as the outside sees it: its state, its questions, its result.

use std::fmt;
use std::str::FromStr;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Ending;
use crate::clock::Timestamp;
use crate::{Error, LimitUse};

/// The name of a task: 26 characters, unguessable, later ones sort after earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskId(pub(crate) String);

impl TaskId {
    /// A new one. The first ten characters are the time, the others 80 random bits.
    pub(crate) fn random(now: Timestamp) -> Self {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_millis(now.as_millis());
        Self(ulid::Ulid::from_datetime(time).to_string().to_ascii_lowercase())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Where a task stands. Stored; `stalled` is not a state but a fact about its owner, see [`Task::stalled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskState {
    /// Taken, and not yet run.
    Queued,
    /// A guest is running, or about to.
    Running,
    /// Nothing to compute until something happens, see [`Waiting`].
    Waiting,
    /// The tool returned a result.
    Completed,
    /// The tool said that it failed, or the run broke, see [`TaskError`].
    Failed,
    /// Stopped because it was asked to.
    Cancelled,
}

impl TaskState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Queued, Self::Running, Self::Waiting, Self::Completed, Self::Failed, Self::Cancelled];

    /// Whether nothing can follow.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }

    /// The name used in JSON, in the database and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TaskState {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == s)
            .ok_or_else(|| format!("`{s}` is no task state; there are: {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

/// What a waiting task waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitingOn {
    /// A person's answer.
    Human,
    /// A moment in time.
    Timer,
    /// The end of a child.
    Child,
    /// The next look at external work, see `await-task` in the contract.
    Ticket,
    /// The next attempt.
    Retry,
}

impl WaitingOn {
    /// The name used in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Timer => "timer",
            Self::Child => "child",
            Self::Ticket => "ticket",
            Self::Retry => "retry",
        }
    }

    pub(crate) fn parse(s: &str) -> Option<Self> {
        [Self::Human, Self::Timer, Self::Child, Self::Ticket, Self::Retry].into_iter().find(|on| on.as_str() == s)
    }
}

/// What a waiting task waits for, and until when at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// What it waits for.
    pub on: WaitingOn,
    /// When it goes on by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// A task, as of one moment.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Task {
    /// Its name.
    pub id: TaskId,
    /// The tenant it belongs to.
    pub namespace: String,
    /// The conversation it was started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The plugin's name.
    pub plugin: String,
    /// The plugin's version.
    pub version: String,
    /// The plugin's digest: what is run until the task ends, whatever is installed later.
    pub digest: String,
    /// The tool's name.
    pub tool: String,
    /// The task that started it, if it is a child.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<TaskId>,
    /// The tasks that it started, in the order of their handles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Child>,
    /// Where it stands.
    pub state: TaskState,
    /// There is something to do for it now, and no living host that does. The next one takes it over.
    pub stalled: bool,
    /// What it waits for, when [`TaskState::Waiting`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// The try it is on, counted from 1; 0 before the first.
    pub attempt: u32,
    /// It has been asked to stop.
    pub cancel_requested: bool,
    /// When it was taken.
    pub created_at: Timestamp,
    /// When its last entry was written.
    pub updated_at: Timestamp,
    /// When it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// When it is stopped if it has not ended.
    pub deadline: Timestamp,
    /// The `seq` of its last public entry.
    pub last_seq: u64,
    /// What it said last about how far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The questions that may be answered, oldest first: its own, and then those of its children and theirs, each with
    /// the task that is to be answered.
    pub questions: Vec<OpenQuestion>,
    /// What the caller attached at the start.
    pub context: Value,
    /// Instructions executed so far, about (wasmtime's fuel), over all attempts; of a guest that runs, as of its last commit, to
    /// some millions.
    pub fuel_used: u64,
    /// What it has used of the limits on what it uses in its life, or has at once; as of its last commit.
    pub usage: Vec<LimitUse>,
    /// The result of a completed task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Output>,
    /// Why a failed or cancelled task ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
}

impl Task {
    /// The structured output of a completed task as a type of yours.
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host, id: longhaul::TaskId) -> Result<(), longhaul::Error> {
    /// #[derive(serde::Deserialize)]
    /// struct Profile {
    ///     rows: u64,
    /// }
    ///
    /// let profile: Profile = host.wait(&id).await?.output_as()?;
    /// println!("{} rows", profile.rows);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoResult`], with why, if the task did not complete or has not ended; [`Error::Output`] if what it returned is
    /// of another shape.
    pub fn output_as<T: DeserializeOwned>(&self) -> Result<T, Error> {
        match &self.output {
            Some(output) => output.structured_as(),
            None => {
                let error = self.error.clone().map(Box::new);
                Err(Error::NoResult { task: self.id.clone(), state: self.state, error })
            }
        }
    }
}

/// A task that another one started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Child {
    /// What its parent knows it by. Children and questions of a task share their numbers.
    pub handle: u32,
    /// Its name.
    pub task: TaskId,
    /// The plugin's name.
    pub plugin: String,
    /// The tool's name.
    pub tool: String,
    /// Where it stands.
    pub state: TaskState,
}

/// How far a task is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// For a person to read.
    pub message: String,
    /// Done so far, in the tool's own unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<f64>,
    /// What there is to do, in the same unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
    /// How much it matters.
    #[serde(default)]
    pub level: Level,
}

/// How much a message matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// For the tool's author.
    Debug,
    /// The ordinary one.
    #[default]
    Info,
    /// Something is off, and the work goes on.
    Warning,
    /// Something failed, and the work may go on.
    Error,
}

/// A question that may be answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// Its number within the task, counted from 1.
    pub question: u32,
    /// The task to answer to, where that is another one than the one that was looked at: a child of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskId>,
    /// One sentence.
    pub prompt: String,
    /// Markdown shown under the prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// A JSON Schema that an answer must satisfy, within MCP's elicitation subset.
    pub answer: Value,
    /// When nobody can answer any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// Hints: `audience`, `default`, `sensitive`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
}

/// How a question was settled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Reply {
    /// Somebody answered.
    Answered {
        /// Valid against the question's schema.
        value: Value,
        /// A name of the person within this task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Somebody refused to answer.
    Declined {
        /// Why, if they said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// A name of the person within this task.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// Nobody answered in time.
    TimedOut,
    /// The tool no longer needs an answer, or the task ended.
    Closed,
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered { value, by: None } => write!(f, "answered with {value}"),
            Self::Answered { value, by: Some(by) } => write!(f, "answered with {value} by {by}"),
            Self::Declined { reason: None, .. } => f.write_str("declined"),
            Self::Declined { reason: Some(reason), .. } => write!(f, "declined: {reason}"),
            Self::TimedOut => f.write_str("nobody answered in time"),
            Self::Closed => f.write_str("the task no longer needs an answer"),
        }
    }
}

/// What a tool returns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Output {
    /// For a model or a person to read, in order.
    pub parts: Vec<Part>,
    /// Valid against the tool's output schema, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
}

impl Output {
    /// The structured output as a type of yours.
    ///
    /// # Errors
    ///
    /// [`Error::Output`] if there is none, or it is of another shape: what is wrong, and where.
    pub fn structured_as<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let Some(structured) = &self.structured else {
            return Err(Error::Output { problem: "it has parts to read, and no structured output".into() });
        };
        serde_path_to_error::deserialize(structured).map_err(|error| {
            let at = error.path().to_string();
            let problem = match at.as_str() {
                "." => error.into_inner().to_string(),
                at => format!("at `{at}`: {}", error.into_inner()),
            };
            Error::Output { problem }
        })
    }
}

/// One piece of an [`Output`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part {
    /// Such as `text/markdown`: how the part is shown.
    pub media_type: String,
    /// A file name or title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The piece itself.
    #[serde(flatten)]
    pub data: PartData,
}

/// The content of a [`Part`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartData {
    /// UTF-8 text.
    Text(String),
    /// Bytes, Base64 in JSON.
    #[serde(with = "crate::task::base64_bytes")]
    Bytes(Vec<u8>),
    /// An absolute URI of something kept elsewhere.
    Link(String),
}

/// Why a task ended without a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskError {
    /// Whose verdict it is.
    pub class: ErrorClass,
    /// What happened: of a tool `invalid-input`, `failed`, `unavailable`, `cancelled`; of the run a [`Broke`] by name.
    pub code: String,
    /// One or a few sentences.
    pub message: String,
    /// What the tool attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl TaskError {
    /// What an ending is reported as, given what was said about it.
    pub(crate) fn of_ending(ending: Ending, given: Option<&Self>) -> Option<Self> {
        let (class, code) = (ending.class()?, ending.code()?);
        let (message, details) = match (ending, given) {
            (_, Some(error)) => (error.message.clone(), error.details.clone()),
            (Ending::Run(Broke::Deadline), None) => ("it was not done by its deadline".into(), None),
            (Ending::Cancelled, None) => ("it was stopped, as it was asked to".into(), None),
            (_, None) => (code.to_owned(), None),
        };
        Some(Self { class, code: code.to_owned(), message, details })
    }
}

/// Two of the three failures that stay apart. The third, that nobody is running the task, is [`Task::stalled`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorClass {
    /// The tool said that it failed.
    Tool,
    /// The run broke: a trap, a limit, a fault of the host.
    Run,
}

/// How a run breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Broke {
    /// The guest crashed, by its own panic or otherwise.
    Trap,
    /// It used up its instructions.
    Fuel,
    /// It wanted more memory than it may have, and crashed for it.
    Memory,
    /// It computed for longer than it may.
    RunTime,
    /// It was not done by its deadline.
    Deadline,
    /// It broke another limit, or the contract.
    Limit,
    /// On replay it did something else than what was recorded.
    ReplayDiverged,
    /// The host or the machine is at fault.
    Host,
}

impl Broke {
    /// The name used in [`TaskError::code`].
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trap => "trap",
            Self::Fuel => "fuel",
            Self::Memory => "memory",
            Self::RunTime => "run-time",
            Self::Deadline => "deadline",
            Self::Limit => "limit",
            Self::ReplayDiverged => "replay-diverged",
            Self::Host => "host",
        }
    }
}

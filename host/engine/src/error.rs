//! What can go wrong for an embedder, with the facts in fields.

use std::path::PathBuf;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::limits::HostLimit;
use crate::plugin::NeedKind;
use crate::policy::PolicyError;
use crate::task::{Reply, TaskError, TaskId, TaskState};

/// Why the host did not do what it was asked.
///
/// A failed *task* is not an error of the host: it is an ended task with a [`TaskError`](crate::TaskError). What is
/// here was refused, and nothing was taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is no plugin this host can load.
    #[error("{0}")]
    Plugin(#[from] PluginError),
    /// No plugin of that name or digest is installed.
    #[error("no plugin `{0}` is installed")]
    UnknownPlugin(String),
    /// The plugin has no such tool.
    #[error("plugin `{plugin}` has no tool `{tool}`; it has: {}", .has.join(", "))]
    UnknownTool {
        /// The plugin that was asked.
        plugin: String,
        /// The tool that it lacks.
        tool: String,
        /// The tools that it has.
        has: Vec<String>,
    },
    /// The input is not JSON, too large, or not valid against the tool's schema.
    #[error("the input of `{tool}` is not accepted: {problem}")]
    Input {
        /// The tool that was to run.
        tool: String,
        /// What is wrong and where (a JSON pointer).
        problem: String,
    },
    /// The plugin needs something that is not granted.
    #[error("`{plugin}` needs {kind} `{name}`, which is not granted ({why}); {}", remedy(plugin, *kind, name))]
    MissingGrant {
        /// The plugin that needs it.
        plugin: String,
        /// What kind of thing it is.
        kind: NeedKind,
        /// What of that kind.
        name: String,
        /// The plugin's reason.
        why: String,
    },
    /// A secret that the plugin needs is granted, and not where the operator says.
    #[error("`{plugin}` can't do without secret `{name}`: {problem}")]
    Secret {
        /// The plugin that needs it.
        plugin: String,
        /// What the plugin calls it.
        name: String,
        /// What is wrong with its source. Nothing of the secret is in it.
        problem: String,
    },
    /// The operator has pinned the plugin to another digest.
    #[error("`{plugin}` is pinned to {pinned} in longhaul.toml, and this is {found}; change its `digest` to allow it")]
    Pinned {
        /// The plugin.
        plugin: String,
        /// The digest that is allowed.
        pinned: String,
        /// The digest that was to be installed or started.
        found: String,
    },
    /// What the operator allows can't be read, or is wrong.
    #[error("{}: {error}", .path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and where.
        #[source]
        error: PolicyError,
    },
    /// A setting was given that the plugin does not declare.
    #[error("`{plugin}` declares no setting `{name}`")]
    UndeclaredSetting {
        /// The plugin.
        plugin: String,
        /// The setting.
        name: String,
    },
    /// Something was granted that neither the plugin declares, nor one that it may start.
    #[error("`{plugin}` declares no need of {kind} `{name}`, nor does a tool that it may start; it was not granted")]
    UndeclaredGrant {
        /// The plugin.
        plugin: String,
        /// What kind of thing it is.
        kind: NeedKind,
        /// What of that kind.
        name: String,
    },
    /// A value given with the start or the configuration is out of its range.
    #[error("{what} is {value}; {allowed}")]
    OutOfRange {
        /// The name of the value.
        what: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// There is no limit of that name.
    #[error("there is no limit `{name}`; is it `{nearest}`?")]
    UnknownLimit {
        /// What was named.
        name: String,
        /// The limit whose name is most like it.
        nearest: &'static str,
    },
    /// The idempotency key was used before, with another request.
    #[error("idempotency key `{key}` was used for another request (task {task}); use a new key")]
    IdempotencyMismatch {
        /// The key.
        key: String,
        /// The task that was started with it.
        task: TaskId,
    },
    /// More work than the host takes at once, from this namespace, for this plugin or in all.
    #[error("the queue is full: {whose} may have {value} (limit `{limit}`); try again in {}", brief(.retry_after))]
    QueueFull {
        /// `namespace ..`, `plugin ..` or `this host`.
        whose: String,
        /// The limit that was reached, by its name in [`QueueLimits`](crate::QueueLimits).
        limit: &'static str,
        /// What it allows.
        value: usize,
        /// When to come again.
        retry_after: Duration,
    },
    /// There is no such task in this namespace.
    #[error("no task `{0}`")]
    UnknownTask(String),
    /// The ids of several tasks begin or end with what was given.
    #[error("`{given}` could be several tasks ({}); give more of it", ids(.tasks))]
    AmbiguousTask {
        /// What was given.
        given: String,
        /// The tasks that it could be, the newest first: some of them, if they are many.
        tasks: Vec<TaskId>,
    },
    /// The task has no such question.
    #[error("task {task} has no question {question}; open: {}", list(.open))]
    UnknownQuestion {
        /// The task.
        task: TaskId,
        /// The question that was named.
        question: u32,
        /// The questions that may be answered.
        open: Vec<u32>,
    },
    /// The question was settled before; this is what counts.
    #[error("question {question} of task {task} is settled already, since {at}: {reply}")]
    AlreadySettled {
        /// The task.
        task: TaskId,
        /// The question.
        question: u32,
        /// When it was settled.
        at: Timestamp,
        /// The reply that was first.
        reply: Box<Reply>,
    },
    /// The answer does not fit what the question asks for.
    #[error("the answer to question {question} is not accepted: {problem}")]
    Answer {
        /// The question.
        question: u32,
        /// What is wrong and where (a JSON pointer).
        problem: String,
    },
    /// The task has not ended, so it can't be removed.
    #[error("task {task} is {state}; cancel it first")]
    NotEnded {
        /// The task.
        task: TaskId,
        /// Its state.
        state: TaskState,
    },
    /// A child goes when its root goes.
    #[error("task {task} is a child of task {root} and goes with it; remove that one")]
    ChildOf {
        /// The child.
        task: TaskId,
        /// The root.
        root: TaskId,
    },
    /// Another living host runs the task.
    #[error("task {0} is run by another process")]
    OwnedElsewhere(TaskId),
    /// The cursor is older than what is kept: there may have been news that nobody can tell any more.
    #[error("the feed is kept from {oldest} on, and the cursor is {cursor}; read on from there, and list the tasks")]
    FeedExpired {
        /// The cursor that was given.
        cursor: u64,
        /// The oldest that is good.
        oldest: u64,
    },
    /// This process delivers to the subscription of that name already.
    #[error("subscription `{0}` is being delivered to by this process already; deliver to each name once")]
    AlreadyDelivering(String),
    /// The task has no result to read: it has not ended, or it did not complete.
    #[error("task {task} has no result: {}", no_result(*state, error.as_deref()))]
    NoResult {
        /// The task.
        task: TaskId,
        /// Its state.
        state: TaskState,
        /// Why it ended without one.
        error: Option<Box<TaskError>>,
    },
    /// What the tool returned is not of the type that was asked for.
    #[error("the output of the task is not what was expected: {problem}")]
    Output {
        /// What is wrong, and where.
        problem: String,
    },
    /// There is no such webhook in this namespace.
    #[error("no webhook `{0}`")]
    UnknownWebhook(String),
    /// There is no such message in this namespace.
    #[error("no delivery `{0}`")]
    UnknownDelivery(String),
    /// There is no such token.
    #[error("no token `{0}`; `longhaul token ls` lists them")]
    UnknownToken(String),
    /// A plugin can't be removed while tasks need it.
    #[error("plugin `{plugin}` is needed by {tasks} unfinished task(s); cancel them or wait")]
    PluginInUse {
        /// The plugin.
        plugin: String,
        /// How many tasks need it.
        tasks: u64,
    },
    /// The task can't be run again from its journal.
    #[error("task {task} can't be replayed: {problem}")]
    Replay {
        /// The task.
        task: TaskId,
        /// What is missing.
        problem: String,
    },
    /// The backup was not made, and there is nothing of it.
    #[error("no backup was made at {}: {problem}", .path.display())]
    Backup {
        /// Where it was to be.
        path: PathBuf,
        /// Why not.
        problem: String,
    },
    /// The database can't be used.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// The host is stopping and takes nothing new.
    #[error("the host is shutting down")]
    ShuttingDown,
    /// A fault of the host or the machine.
    #[error("host fault: {0}")]
    Fault(String),
}

/// What to add, and where, so that a need is met.
pub(crate) fn remedy(plugin: &str, kind: NeedKind, name: &str) -> String {
    let (line, section) = match kind {
        NeedKind::Http => (format!("http = [\"{name}\"]"), ""),
        NeedKind::Tool => (format!("tools = [\"{name}\"]"), ""),
        NeedKind::Setting => (format!("{} = \"VALUE\"", toml_key(name)), ".settings"),
        NeedKind::Secret => (format!("{} = {{ … }}", toml_key(name)), ".secrets"),
    };
    format!("add `{line}` to `[plugins.{plugin}{section}]` in longhaul.toml")
}

fn toml_key(name: &str) -> String {
    if name.contains('.') { format!("\"{name}\"") } else { name.to_owned() }
}

fn no_result(state: TaskState, error: Option<&TaskError>) -> String {
    match error {
        Some(error) => format!("it is {state} ({}): {}", error.code, error.message),
        None => format!("it is {state}"),
    }
}

fn brief(time: &Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn ids(tasks: &[TaskId]) -> String {
    tasks.iter().map(TaskId::as_str).collect::<Vec<_>>().join(", ")
}

fn list(questions: &[u32]) -> String {
    if questions.is_empty() {
        return "none".into();
    }
    let names: Vec<_> = questions.iter().map(u32::to_string).collect();
    names.join(", ")
}

/// Why a file is not a plugin that this host can load.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PluginError {
    /// The file can't be read.
    #[error("cannot read {}: {problem}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// The file is larger than a component may be.
    #[error("the file has {bytes} bytes ({})", HostLimit::component.said(*limit))]
    TooLarge {
        /// Its size in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Not WebAssembly at all.
    #[error("not WebAssembly: the file begins with {found}, not with `\\0asm`")]
    NotWasm {
        /// The first bytes.
        found: String,
    },
    /// WebAssembly, but a core module.
    #[error(
        "a core WebAssembly module, not a component; build it for the target wasm32-wasip2, or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// Compiling it took more than it may.
    #[error("compiling it took more than it may ({said})")]
    CompileLimit {
        /// `compile_memory` or `compile_time`.
        limit: &'static str,
        /// The limit with what it allows, and what raises it.
        said: String,
    },
    /// It was compiled, and can't be instantiated here.
    #[error("an instance of it needs more than it may have: {0}")]
    TooDemanding(String),
    /// The compiler failed, which says nothing about the component.
    #[error("the compiler failed: {0}")]
    Compiler(String),
    /// A component that the engine refuses.
    #[error("not a valid component: {0}")]
    Invalid(String),
    /// A component that does not offer the contract's interface.
    #[error(
        "the component does not export `{wanted}`; it exports: {}",
        if .exports.is_empty() { "nothing".into() } else { .exports.join(", ") }
    )]
    NoInterface {
        /// The export that a plugin must have.
        wanted: &'static str,
        /// What it exports.
        exports: Vec<String>,
    },
    /// A component for another version of the contract.
    #[error("the component is built for `{found}`; this host speaks `{wanted}`")]
    OtherVersion {
        /// What the component exports.
        found: String,
        /// What this host knows.
        wanted: &'static str,
    },
    /// The component needs something that this host does not link.
    #[error("the component imports `{0}`, which this host does not provide")]
    UnknownImport(String),
    /// `describe` did not return.
    #[error("`describe` did not return a manifest: {0}")]
    Describe(String),
    /// The manifest breaks a rule.
    #[error("the manifest is not accepted: {problem} (at `{at}`)")]
    Manifest {
        /// A JSON pointer into the manifest; empty for the whole.
        at: String,
        /// What is wrong.
        problem: String,
    },
    /// The file kept for an installed plugin is gone or changed.
    #[error("the stored component {digest} is {problem}; add the plugin again with `longhaul plugin add FILE`")]
    Damaged {
        /// The digest it must have.
        digest: String,
        /// `missing` or `changed`.
        problem: &'static str,
    },
}

/// Why the database can't be used.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process keeps it locked.
    #[error("the database {} is locked by another process; nothing was taken", .0.display())]
    Locked(PathBuf),
    /// The file or its directory can't be written.
    #[error("the database {} can't be written: {problem}; nothing was taken", .path.display())]
    ReadOnly {
        /// The database.
        path: PathBuf,
        /// What the system said.
        problem: String,
    },
    /// Written by a newer version.
    #[error(
        "the database {} has schema version {found}; this version of longhaul knows {known}: use a newer longhaul",
        .path.display()
    )]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest that this build knows.
        known: i64,
    },
    /// Not a database, or a damaged one.
    #[error("the database {} is damaged or no longhaul database: {problem}", .path.display())]
    Corrupt {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        problem: String,
    },
    /// It was opened, and a part of it can't be read.
    #[error("the database is damaged, at {what}: {problem}; `longhaul doctor` says what is wrong, a backup mends it")]
    Damaged {
        /// What was to be read or written.
        what: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// The disk is full.
    #[error("the disk is full: {what} was not taken")]
    Full {
        /// What was to be written.
        what: &'static str,
    },
    /// Anything else that SQLite or the system reports.
    #[error("the database could not read or write {what}: {problem}")]
    Failed {
        /// What was to be written or read.
        what: &'static str,
        /// What SQLite said.
        problem: String,
    },
    /// The task's journal has no room for what its guest did. The task ends with that.
    #[error("its journal would have {entries} entries and {bytes} bytes ({limit})")]
    JournalFull {
        /// The entries that it would have.
        entries: u64,
        /// The bytes that they would have.
        bytes: u64,
        /// The limit that this is beyond, and what raises it.
        limit: String,
    },
    /// This host no longer owns the task, so its write was refused.
    #[error("this host no longer owns the task")]
    NotOwner,
}

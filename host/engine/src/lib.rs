//! Longhaul runs the long jobs of AI agents.
//!
//! A *tool* is a WebAssembly component that somebody else wrote and nobody has to trust. An agent starts it and goes on;
//! the tool works for seconds or weeks, reports progress, asks people questions and finishes. A [`Host`] keeps the tool in
//! a sandbox, and keeps its task alive through crashes and restarts: a task is an append-only journal in SQLite, and a
//! tool that was dropped, or died with its process, is rebuilt from it.
//!
//! This page is the whole of it in five minutes. `docs/embedding.md` has each part at length, and `examples/` has programs.
//!
//! # Start a tool
//!
//! ```no_run
//! use longhaul::{Host, NewTask};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Serialize)]
//! struct Input {
//!     csv: String,
//! }
//!
//! #[derive(Debug, Deserialize)]
//! struct Profile {
//!     rows: u64,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), longhaul::Error> {
//!     let host = Host::builder().data_dir("data").open().await?;
//!     host.install_file("csv-profile.wasm").await?;
//!     let call = NewTask::new("csv-profile", "profile_csv").input(Input { csv: "a,b\n1,2\n".into() });
//!     let profile: Profile = host.run(call).await?;
//!     println!("{profile:?}");
//!     host.shutdown().await;
//!     Ok(())
//! }
//! ```
//!
//! A `Host` is cheap to clone, and nothing is global: a process may have several. It runs on the tokio runtime in which it was
//! opened, of many threads or of one; with one, tools share that thread with you.
//!
//! # A task outlives its caller
//!
//! [`Host::run`] waits. What may take long is *started*: when [`Host::start`] returns, the task is on disk, and goes on whatever
//! happens to the process. What would keep it from being done refuses it there. The session and the context that you attach come
//! back with what is heard of the task; with an idempotency key a start that is said twice is one.
//!
//! ```no_run
//! # use longhaul::{Error, Host, NewTask, TaskId};
//! # use serde_json::json;
//! async fn start(host: &Host, call: &str) -> Result<TaskId, Error> {
//!     let new = NewTask::new("site-audit", "audit_site")
//!         .input(json!({ "url": "https://www.example.com/" }))
//!         .grant_http("www.example.com")
//!         .session("thread-7")
//!         .context(json!({ "reply_to": "message-42" }))
//!         .idempotency_key(call);
//!     Ok(host.start(new).await?.id)
//! }
//! ```
//!
//! # Hear of it
//!
//! What a task does is a stream of [`Event`]s ([`Host::events`]), for whoever looks on. Each has a `seq`, the cursor to go on
//! from: nothing is lost and nothing comes twice. An event is on disk before anybody sees it.
//!
//! What a *session* should hear of (questions, replies, ends, of all tasks of a namespace) is the [feed](Host::feed). A
//! [`Subscription`] brings it to a function of yours, at least once, whatever crashes: a completion is new input for the
//! conversation that the task was started from.
//!
//! ```no_run
//! # use longhaul::{EventKind, FeedItem, Host};
//! async fn tell_session(item: FeedItem) -> Result<(), std::io::Error> {
//!     match item.event.kind {
//!         EventKind::Question(asked) => println!("{:?} is asked: {}", item.session, asked.prompt),
//!         EventKind::Ended { state, output, .. } => println!("{:?} hears: {state}, {output:?}", item.session),
//!         _ => {}
//!     }
//!     Ok(()) // Until this is said, and on disk, the item comes again.
//! }
//!
//! async fn serve(host: Host) -> Result<(), longhaul::Error> {
//!     host.subscription("agent").deliver(tell_session).await
//! }
//! ```
//!
//! # Answer
//!
//! A question is in the events, in the feed, in [`Host::questions`] and in [`Task::questions`]. It has a JSON Schema for its
//! answer ([`AnswerSchema`] reads it, to draw a form), and is answered once: the second answer gets
//! [`Error::AlreadySettled`] with the first.
//!
//! ```no_run
//! # use longhaul::{Error, Host, Reply, TaskId};
//! async fn yes(host: &Host, task: &TaskId, question: u32) -> Result<(), Error> {
//!     let reply = Reply::Answered { value: true.into(), by: Some("ann".into()) };
//!     host.answer(task, question, reply).await
//! }
//! ```
//!
//! # How it ends
//!
//! A task that ended is [`Completed`](TaskState::Completed) with an [`Output`], or has a [`TaskError`]: the tool said that it
//! failed, or the run broke (a trap, a limit, a fault of the host). What the *host* refuses is an [`Error`]. [`Host::cancel`] asks
//! a task to stop.
//!
//! # What it may do
//!
//! A plugin reaches what it declares *and* you grant: hosts, other tools, settings, secrets. That is a [`Policy`], from
//! `longhaul.toml` in the data directory or given in code ([`HostBuilder::policy`]); a start may grant more to one task
//! ([`NewTask::grant_http`]). What it may use has [`Limits`], all of them with a default, and [`QueueLimits`] for namespaces.
//!
//! # Try it
//!
//! [`testing`] has a person who answers by a script, and crashes at places of your choice; with a [`SimulatedClock`] a week
//! passes in a call.

#![deny(missing_docs)]
#![deny(unsafe_code)]

/// The guide's code is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
mod guide {}

mod clock;
mod egress;
mod error;
mod host;
mod journal;
mod json;
mod limits;
mod plugin;
mod policy;
mod runner;
mod sandbox;
mod store;
mod task;
pub mod testing;
pub mod versions;

pub use clock::{Clock, RealClock, SimulatedClock, Timestamp};
pub use error::{Error, PluginError, StoreError};
pub use host::{
    AskedQuestion, DEFAULT_NAMESPACE, Delivery, DeliveryState, FeedItem, FeedPage, Histogram, Host, HostBuilder,
    IssuedToken, Metrics, NewTask, NewToken, NewWebhook, ReplayOptions, Scope, Started, Subscription, TaskFilter,
    TaskUpgrade, Token, ToolMetrics, Upgrade, UpgradeCheck, Webhook, WebhookEvent, is_traceparent,
};
pub use journal::{Diverged, Event, EventKind, Heard, LogStream};
pub use limits::{HostLimits, LIFE, LimitUnit, LimitUse, Limits, QueueLimits};
pub use plugin::{Hints, Manifest, Need, NeedKind, Pace, Plugin, Tool, compile_child};
pub use policy::{NeedVerdict, Policy, PolicyError, Verdict};
pub use runner::Replayed;
pub use store::{Examination, Finding, NamedPlugin, NamedTask, Names, examine, names};
pub use task::{
    AnswerSchema, Broke, Child, Choice, ErrorClass, Field, FieldKind, Form, FormField, Level, OpenQuestion, Output,
    Part, PartData, Progress, Reply, RetryPolicy, Task, TaskError, TaskId, TaskState, TextFormat, Waiting, WaitingOn,
};

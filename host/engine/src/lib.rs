//! Longhaul runs the long jobs of AI agents.
//!
//! A *tool* is a WebAssembly component that somebody else wrote and nobody has to trust. An agent starts it and goes on;
//! the tool works for seconds or weeks, reports progress, asks people questions and finishes. A [`Host`] keeps the tool in
//! a sandbox, and keeps its task alive through crashes and restarts: a task is an append-only journal in SQLite, and a
//! tool that was dropped, or died with its process, is rebuilt from it.
//!
//! ```no_run
//! use longhaul::{Host, NewTask};
//! use serde_json::json;
//!
//! # #[tokio::main] async fn main() -> Result<(), longhaul::Error> {
//! let host = Host::builder().data_dir("data").open().await?;
//! host.install_file("csv-profile.wasm").await?;
//! let task = host.start(NewTask::new("csv-profile", "profile_csv").input(json!({ "csv": "a,b\n1,2\n" }))).await?;
//! let done = host.wait(&task.id).await?;
//! println!("{}: {:?}", done.state, done.output);
//! host.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! What happens meanwhile is a stream of [`Event`]s ([`Host::events`]); questions among them are answered by
//! [`Host::answer`].

#![deny(missing_docs)]
#![deny(unsafe_code)]

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
#[doc(hidden)]
pub mod testing;

pub use clock::{Clock, RealClock, SimulatedClock, Timestamp};
pub use error::{Error, PluginError, StoreError};
pub use host::{
    AskedQuestion, DEFAULT_NAMESPACE, Delivery, DeliveryState, FeedItem, FeedPage, Histogram, Host, HostBuilder,
    IssuedToken, Metrics, NewTask, NewToken, NewWebhook, ReplayOptions, Scope, Started, TaskFilter, TaskUpgrade, Token,
    ToolMetrics, Upgrade, UpgradeCheck, Webhook, WebhookEvent, is_traceparent,
};
pub use journal::{Diverged, Event, EventKind, Heard, LogStream};
pub use limits::{HostLimits, LIFE, LimitUnit, LimitUse, Limits, QueueLimits};
pub use plugin::{Hints, Manifest, Need, NeedKind, Pace, Plugin, Tool, compile_child};
pub use policy::{NeedVerdict, Policy, PolicyError, Verdict};
pub use runner::Replayed;
pub use store::{Examination, Finding, examine};
pub use task::{
    AnswerSchema, Broke, Child, Choice, ErrorClass, Field, FieldKind, Form, FormField, Level, OpenQuestion, Output,
    Part, PartData, Progress, Reply, RetryPolicy, Task, TaskError, TaskId, TaskState, TextFormat, Waiting, WaitingOn,
};

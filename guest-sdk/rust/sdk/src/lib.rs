//! Write tools for [Longhaul](https://github.com/longhaul/longhaul): long jobs for AI agents, which report progress,
//! ask people questions and outlive the process that runs them.
//!
//! A tool is a function. Its input and output are structs, from which the schemas come; its doc comment is what a model
//! reads to decide whether to call it.
//!
//! ```
//! use std::time::Duration;
//! use longhaul_sdk::{Question, Task, ToolError};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize, JsonSchema)]
//! struct Draft {
//!     /// The text to publish.
//!     text: String,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Published {
//!     words: usize,
//!     approved_by: Option<String>,
//! }
//!
//! /// Publishes a text once an editor has agreed, on the next full hour.
//! #[longhaul_sdk::tool(title = "Publish a text", idempotent, pace = long)]
//! fn publish(task: &Task, draft: Draft) -> Result<Published, ToolError> {
//!     let words = draft.text.split_whitespace().count();
//!     task.progress("read the draft").done(words).of(words);
//!     let question = Question::confirm("Publish this text?").detail(draft.text).audience("editors");
//!     let approved_by = match task.ask(question)? {
//!         longhaul_sdk::Reply::Answered(answer) if answer.value => answer.by,
//!         _ => return Err(ToolError::failed("the editor said no")),
//!     };
//!     task.sleep(Duration::from_secs(3600))?;
//!     Ok(Published { words, approved_by })
//! }
//!
//! longhaul_sdk::plugin! {
//!     name: "publisher",
//!     version: "0.1.0",
//!     description: "Publishes texts.",
//!     tools: [publish],
//! }
//! # fn main() { assert_eq!(Plugin::manifest().tools[0].name, "publish"); }
//! ```
//!
//! The crate is a `cdylib` with `longhaul-sdk`, `serde` (with `derive`) and `schemars` 1 as dependencies, built with
//! `cargo build --release --target wasm32-wasip2`. What needs no host can be tested as usual with `cargo test`, the
//! manifest too: `plugin!` declares a type `Plugin`, and `Plugin::manifest()` is what the host gets. What calls the
//! host, such as [`Task::ask`], panics outside of a component.
//!
//! Work that is done elsewhere is a [`Job`]. A function's panic fails the task with the panic's message.
#![deny(missing_docs)]

extern crate self as longhaul_sdk;

#[doc(hidden)]
pub mod bindings;
mod concurrent;
mod context;
mod error;
mod export;
mod http;
mod job;
mod macros;
mod manifest;
mod output;
mod progress;
mod question;
mod rules;
mod schema;
mod task;
mod time;
mod tool;

pub use concurrent::{Child, Handle, HandleId};
pub use context::Context;
pub use error::{ErrorKind, ToolError, WaitError};
pub use http::{Http, HttpError, HttpErrorKind, PendingResponse, Request, Response};
pub use job::{Execution, Job};
pub use macros::{job, plugin, tool};
pub use manifest::{Hints, Manifest, Need, NeedKind, Pace, ToolSpec};
pub use output::{IntoOutput, Output, Part, PartData};
pub use progress::{Amount, Progress};
pub use question::{Answer, Question, Reply};
pub use task::Task;

/// What the macros write; not for authors, and not stable.
#[doc(hidden)]
pub mod __private {
    pub use crate::bindings::exports::longhaul::tool::background_tool::Execution as WitExecution;
    pub use crate::export::{Plugin, manifest};
    pub use crate::job::{cancel, check, start};
    pub use crate::manifest::need;
    pub use crate::manifest::new as new_manifest;
    pub use crate::rules::{are_different, is_plugin_name, is_said, is_tool_name, is_version};
    pub use crate::tool::{About, Returned, Tool, ToolEntry, run, spec};
}

/// The README's example is held to compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

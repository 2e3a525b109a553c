//! The task at hand.

use std::cell::OnceCell;
use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::bindings::longhaul::tool::{task as wit_task, types as wit};
use crate::context::Context;
use crate::error::{ToolError, WaitError};
use crate::progress::Progress;
use crate::question::{Question, Reply};
use crate::time::to_millis;

/// The task that a tool carries out, and what the tool may ask of the host meanwhile.
///
/// Whatever a tool gets from here, and from clocks, random numbers and hash maps too, is recorded. After a crash or a
/// long wait the tool is run again from its start and given the same results, so that its variables are as they were;
/// nothing is sent or asked twice. `println!` and `eprintln!` go to the task's log.
#[derive(Debug)]
pub struct Task {
    call: wit::Call,
    context: OnceCell<Context>,
}

impl Task {
    pub(crate) fn new(call: wit::Call) -> Self {
        Self { call, context: OnceCell::new() }
    }

    pub(crate) fn tool(&self) -> &str {
        &self.call.tool
    }

    /// The task's id, the same on every attempt.
    pub fn id(&self) -> &str {
        &self.call.task_id
    }

    /// Counts the tries of this task, from 1.
    pub fn attempt(&self) -> u32 {
        self.call.attempt
    }

    /// The same on every attempt: hand it to an external service to make a submission idempotent.
    pub fn idempotency_key(&self) -> &str {
        &self.call.idempotency_key
    }

    /// Who called and from where, as far as the caller said.
    pub fn context(&self) -> &Context {
        self.context.get_or_init(|| Context::from_json(&self.call.context))
    }

    /// The input, for a [`Job`](crate::Job) that needs it again when it checks or cancels. A tool gets it as its
    /// argument.
    ///
    /// # Errors
    /// [`ToolError::invalid_input`] if it is no `T`.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        serde_json::from_str(&self.call.input).map_err(|problem| {
            ToolError::invalid_input(format!("the input of {} does not fit: {problem}", self.tool()))
        })
    }

    /// Publishes progress when the statement ends, and goes on at once. Reports are ordered, and durable before
    /// anything that follows them leaves the host; those that come faster than anyone reads are merged.
    ///
    /// ```no_run
    /// # use longhaul_sdk::Task;
    /// # fn example(task: &Task) {
    /// task.progress("looking for the file");
    /// task.progress("read").done(3).of(7);
    /// task.progress("line 12 is not UTF-8").warning();
    /// # }
    /// ```
    pub fn progress(&self, message: impl Into<String>) -> Progress {
        Progress::new(message.into())
    }

    /// Asks a person and waits. The wait costs no memory and outlives the host process.
    ///
    /// # Errors
    /// [`WaitError::Cancelled`] if the task was asked to stop meanwhile; [`WaitError::Malformed`] if the question
    /// cannot be asked, see [`Question::check`]; [`WaitError::Refused`] beyond the limits on questions.
    pub fn ask<T: DeserializeOwned>(&self, question: Question<T>) -> Result<Reply<T>, WaitError> {
        let reply = wit_task::ask_human(&question.to_wit()?).map_err(WaitError::from_wit)?;
        Reply::from_wit(reply)
    }

    /// Waits, to the millisecond. It survives restarts: the deadline is fixed when the wait begins.
    ///
    /// # Errors
    /// [`WaitError::Cancelled`] if the task was asked to stop meanwhile; [`WaitError::Refused`] if it would last
    /// longer than the task may live.
    pub fn sleep(&self, duration: Duration) -> Result<(), WaitError> {
        wit_task::sleep(to_millis(duration)).map_err(WaitError::from_wit)
    }

    /// Whether the task has been asked to stop. A tool that sees `true` cleans up and returns
    /// [`ToolError::cancelled`]. Waits notice by themselves; a tool that computes for long should look now and then.
    ///
    /// ```no_run
    /// # use longhaul_sdk::{Task, ToolError};
    /// # fn example(task: &Task, chunks: &[&[u8]]) -> Result<(), ToolError> {
    /// for chunk in chunks {
    ///     if task.is_cancelled() {
    ///         return Err(ToolError::cancelled());
    ///     }
    ///     // …
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_cancelled(&self) -> bool {
        wit_task::is_cancelled()
    }

    /// The value of a setting that the plugin [needs](crate::plugin) and the operator granted.
    pub fn setting(&self, name: &str) -> Option<String> {
        wit_task::setting(name)
    }
}

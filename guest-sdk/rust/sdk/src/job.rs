//! Work that is done elsewhere, and that a tool starts and looks after.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::exports::longhaul::tool::background_tool::{Execution as WitExecution, Pending as WitPending};
use crate::error::ToolError;
use crate::output::{self, IntoOutput};
use crate::task::Task;
use crate::time::to_millis;

/// A tool whose work is done by somebody else: a build server, a batch queue, a printer.
///
/// It starts the work and returns a *ticket*, with which the work is found again. Between two checks the plugin is not
/// in memory at all, and the ticket is all that is kept. [`job`](macro@crate::job) on the implementation makes it a
/// tool.
///
/// ```no_run
/// use std::time::Duration;
/// use longhaul_sdk::{Execution, Job, Task, ToolError};
/// use schemars::JsonSchema;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Film { url: String }
///
/// #[derive(Serialize, JsonSchema)]
/// struct Rendered { url: String }
///
/// #[derive(Serialize, Deserialize)]
/// struct Ticket { job: String }
///
/// struct RenderFilm;
///
/// /// Renders a film. It takes hours.
/// #[longhaul_sdk::job(title = "Render a film", idempotent)]
/// impl Job for RenderFilm {
///     type Input = Film;
///     type Output = Rendered;
///     type Ticket = Ticket;
///
///     fn start(task: &Task, input: Film) -> Result<Execution<Ticket, Rendered>, ToolError> {
///         let job = farm::submit(&input.url, task.idempotency_key())?;
///         Ok(Execution::pending(Ticket { job }))
///     }
///
///     fn check(task: &Task, ticket: Ticket) -> Result<Execution<Ticket, Rendered>, ToolError> {
///         let (frames, total) = farm::rendered(&ticket.job)?;
///         task.progress("rendering").done(frames).of(total);
///         Ok(if frames < total {
///             Execution::pending(ticket).after(Duration::from_secs(60))
///         } else {
///             Execution::Done(Rendered { url: farm::address(&ticket.job) })
///         })
///     }
///
///     fn cancel(_task: &Task, ticket: Ticket) -> Result<(), ToolError> {
///         farm::stop(&ticket.job)
///     }
/// }
/// # mod farm {
/// #     use longhaul_sdk::ToolError;
/// #     pub fn submit(_: &str, _: &str) -> Result<String, ToolError> { todo!() }
/// #     pub fn rendered(_: &str) -> Result<(u32, u32), ToolError> { todo!() }
/// #     pub fn address(_: &str) -> String { todo!() }
/// #     pub fn stop(_: &str) -> Result<(), ToolError> { todo!() }
/// # }
/// ```
pub trait Job {
    /// What the caller sends: a struct.
    type Input: DeserializeOwned + JsonSchema;
    /// What the work comes to, as a tool's output.
    type Output: IntoOutput;
    /// Enough to find the work again. It is kept as JSON, and read by later versions of the plugin too.
    type Ticket: Serialize + DeserializeOwned;

    /// Starts the work, or does all of it.
    ///
    /// It may be called again after a crash, so hand [`Task::idempotency_key`] to whoever does the work.
    ///
    /// # Errors
    /// As any tool.
    fn start(task: &Task, input: Self::Input) -> Result<Execution<Self::Ticket, Self::Output>, ToolError>;

    /// Looks after the work. [`Task::input`] has the input once more.
    ///
    /// # Errors
    /// As any tool; [`ToolError::unavailable`] where it is only the looking that failed.
    fn check(task: &Task, ticket: Self::Ticket) -> Result<Execution<Self::Ticket, Self::Output>, ToolError>;

    /// Stops the work: after a cancellation, a deadline or a limit. It may be called more than once, also for work that is
    /// stopped already.
    ///
    /// # Errors
    /// [`ToolError::unavailable`] where the work may still be going on: it is called again, ever more rarely, until it returns
    /// anything else. Another error is the last word, and stands in the host's log.
    fn cancel(task: &Task, ticket: Self::Ticket) -> Result<(), ToolError>;
}

/// How far a [`Job`] is.
#[derive(Debug, Clone, PartialEq)]
pub enum Execution<K, O> {
    /// It is done.
    Done(O),
    /// It goes on elsewhere.
    Pending {
        /// With what the work is found again.
        ticket: K,
        /// When to look again. None: 1 s, doubled while the ticket stays the same, 30 s at most.
        after: Option<Duration>,
    },
}

impl<K, O> Execution<K, O> {
    /// It goes on elsewhere, and this is with what it is found again.
    pub fn pending(ticket: K) -> Self {
        Self::Pending { ticket, after: None }
    }

    /// When to look again; nothing if it is done.
    pub fn after(self, wait: Duration) -> Self {
        match self {
            Self::Pending { ticket, .. } => Self::Pending { ticket, after: Some(wait) },
            done => done,
        }
    }
}

/// Runs [`Job::start`], for `#[job]`.
pub fn start<J: Job>(task: &Task) -> Result<WitExecution, ToolError> {
    to_wit::<J>(J::start(task, task.input()?)?)
}

/// Runs [`Job::check`], for `#[job]`.
pub fn check<J: Job>(task: &Task, ticket: &[u8]) -> Result<WitExecution, ToolError> {
    to_wit::<J>(J::check(task, read::<J>(ticket)?)?)
}

/// Runs [`Job::cancel`], for `#[job]`.
pub fn cancel<J: Job>(task: &Task, ticket: &[u8]) -> Result<(), ToolError> {
    J::cancel(task, read::<J>(ticket)?)
}

fn read<J: Job>(ticket: &[u8]) -> Result<J::Ticket, ToolError> {
    serde_json::from_slice(ticket)
        .map_err(|problem| ToolError::failed(format!("this version of the plugin cannot read the ticket: {problem}")))
}

fn to_wit<J: Job>(execution: Execution<J::Ticket, J::Output>) -> Result<WitExecution, ToolError> {
    Ok(match execution {
        Execution::Done(value) => WitExecution::Done(output::to_wit(value)?),
        Execution::Pending { ticket, after } => WitExecution::Pending(WitPending {
            ticket: serde_json::to_vec(&ticket)
                .map_err(|problem| ToolError::failed(format!("the ticket is not JSON: {problem}")))?,
            after: after.map(to_millis),
        }),
    })
}

//! A tool as the plugin's exports see it. [`tool`](macro@crate::tool) and [`job`](macro@crate::job) write these.
#![allow(missing_docs, reason = "only the macros see what is in here")]

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use crate::bindings::exports::longhaul::tool::background_tool::Execution as WitExecution;
use crate::error::ToolError;
use crate::manifest::{Hints, Pace, ToolSpec};
use crate::output::{self, IntoOutput};
use crate::schema;
use crate::task::Task;

/// What `plugin!` accepts in `tools`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "put `#[longhaul_sdk::tool]` on the function, or `#[longhaul_sdk::job]` on `impl Job for {Self}`"
)]
pub trait Tool {
    const NAME: &'static str;

    fn spec() -> ToolSpec;

    fn execute(task: &Task) -> Result<WitExecution, ToolError>;

    fn await_task(task: &Task, _ticket: &[u8]) -> Result<WitExecution, ToolError> {
        Err(ToolError::failed(format!("{} hands out no tickets, so there is none to look after", task.tool())))
    }

    fn cancel_task(_task: &Task, _ticket: &[u8]) -> Result<(), ToolError> {
        Ok(())
    }
}

/// What a tool's function may return.
#[diagnostic::on_unimplemented(
    message = "a tool returns `Result<_, ToolError>`, not `{Self}`",
    note = "with a value that is `Serialize` and `JsonSchema`, or such a value in an `Output`"
)]
pub trait Returned {
    type Output;
}

impl<O> Returned for Result<O, ToolError> {
    type Output = O;
}

/// What the attribute says about a tool, beside its types.
pub struct About {
    pub name: &'static str,
    pub title: Option<&'static str>,
    pub description: &'static str,
    pub hints: Hints,
    pub pace: Pace,
}

pub fn spec<I, O>(about: About) -> ToolSpec
where
    I: DeserializeOwned + JsonSchema,
    O: IntoOutput,
{
    ToolSpec {
        name: about.name.to_owned(),
        title: about.title.map(str::to_owned),
        description: about.description.to_owned(),
        input_schema: schema::of_input::<I>(),
        output_schema: output::output_schema::<O>(),
        hints: about.hints,
        pace: about.pace,
    }
}

/// Runs a tool that is a function.
pub fn run<I, O>(task: &Task, function: fn(&Task, I) -> Result<O, ToolError>) -> Result<WitExecution, ToolError>
where
    I: DeserializeOwned,
    O: IntoOutput,
{
    let output = function(task, task.input()?)?;
    Ok(WitExecution::Done(output::to_wit(output)?))
}

/// A [`Tool`] without its type, to be found by its name.
pub struct ToolEntry {
    pub(crate) name: &'static str,
    pub(crate) spec: fn() -> ToolSpec,
    pub(crate) execute: fn(&Task) -> Result<WitExecution, ToolError>,
    pub(crate) await_task: fn(&Task, &[u8]) -> Result<WitExecution, ToolError>,
    pub(crate) cancel_task: fn(&Task, &[u8]) -> Result<(), ToolError>,
}

impl ToolEntry {
    pub const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            spec: T::spec,
            execute: T::execute,
            await_task: T::await_task,
            cancel_task: T::cancel_task,
        }
    }
}

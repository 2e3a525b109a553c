//! Several things at once: questions that are open together, and other tools as children.

use std::marker::PhantomData;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bindings::longhaul::tool::{concurrent as wit_concurrent, types as wit};
use crate::error::{ToolError, WaitError};
use crate::output::{Output, Part};
use crate::question::{Question, Reply};
use crate::task::Task;
use crate::time::to_millis;

/// What [`Task::wait_any`] can wait for, without its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HandleId(u32);

/// An open question whose answer is a `T`.
#[derive(Debug)]
pub struct Handle<T> {
    id: HandleId,
    answer: PhantomData<fn() -> T>,
}

/// Another tool that runs as a child of this task, and whose structured output is a `T`.
#[derive(Debug)]
pub struct Child<T> {
    id: HandleId,
    output: PhantomData<fn() -> T>,
}

impl<T> Handle<T> {
    /// The handle without its type, to wait for handles of several types together.
    pub fn id(&self) -> HandleId {
        self.id
    }
}

impl<T> Child<T> {
    /// The handle without its type, to wait for handles of several types together.
    pub fn id(&self) -> HandleId {
        self.id
    }
}

impl<T> From<&Handle<T>> for HandleId {
    fn from(handle: &Handle<T>) -> Self {
        handle.id
    }
}

impl<T> From<&Child<T>> for HandleId {
    fn from(child: &Child<T>) -> Self {
        child.id
    }
}

impl Task {
    /// Opens a question and goes on. What is still open when the task ends is closed.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use longhaul_sdk::{Question, Task, ToolError};
    ///
    /// fn approve(task: &Task) -> Result<bool, ToolError> {
    ///     let people = ["finance", "legal"];
    ///     let mut open = Vec::new();
    ///     for who in people {
    ///         open.push(task.open(Question::confirm("Sign the contract?").audience(who))?);
    ///     }
    ///     let day = Duration::from_secs(24 * 3600);
    ///     let Some(first) = task.wait_any(&open, Some(day))? else { return Ok(false) };
    ///     println!("{} was the first", people[first]);
    ///     match task.reply(&open[first])? {
    ///         Some(reply) => reply.or_fail(),
    ///         None => Ok(false),
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Task::ask`].
    pub fn open<T>(&self, question: Question<T>) -> Result<Handle<T>, WaitError> {
        let id = wit_concurrent::ask(&question.to_wit()?).map_err(WaitError::from_wit)?;
        Ok(Handle { id: HandleId(id), answer: PhantomData })
    }

    /// Starts another tool, named `plugin/tool`, as a child of this task. The plugin must [need](crate::plugin) it
    /// and the operator grant it. The child's progress and questions appear under this task; cancelling this task
    /// cancels it.
    ///
    /// ```no_run
    /// # use longhaul_sdk::{Task, ToolError};
    /// #[derive(serde::Serialize)]
    /// struct Csv { csv: String }
    ///
    /// fn rows(task: &Task, tables: [String; 2]) -> Result<u64, ToolError> {
    ///     let [one, other] = tables.map(|csv| task.start_tool::<serde_json::Value>("csv-profile/profile_csv", &Csv { csv }));
    ///     let (one, other) = (one?, other?);
    ///     // Both work meanwhile.
    ///     let rows = |profile: serde_json::Value| profile["rows"].as_u64().unwrap_or(0);
    ///     Ok(rows(task.outcome(&one)?.value) + rows(task.outcome(&other)?.value))
    /// }
    /// ```
    ///
    /// # Errors
    /// [`WaitError::Refused`] if the tool is unknown, was not granted, or would be one child too many;
    /// [`WaitError::Malformed`] if the input does not fit its schema.
    pub fn start_tool<T: DeserializeOwned>(&self, tool: &str, input: &impl Serialize) -> Result<Child<T>, WaitError> {
        let input = serde_json::to_string(input)
            .map_err(|problem| WaitError::Malformed(format!("the input for {tool} is not JSON: {problem}")))?;
        let id = wit_concurrent::start_tool(tool, &input).map_err(WaitError::from_wit)?;
        Ok(Child { id: HandleId(id), output: PhantomData })
    }

    /// [Starts](Self::start_tool) another tool and waits for its result.
    ///
    /// ```no_run
    /// # use longhaul_sdk::{Task, ToolError};
    /// # #[derive(serde::Serialize)] struct Csv { csv: String }
    /// #[derive(serde::Deserialize)]
    /// struct Profile { rows: u64 }
    ///
    /// fn rows(task: &Task, csv: String) -> Result<u64, ToolError> {
    ///     let profile = task.call_tool::<Profile>("csv-profile/profile_csv", &Csv { csv })?;
    ///     Ok(profile.value.rows)
    /// }
    /// ```
    ///
    /// # Errors
    /// The child's own error; and, as this tool's failure, what kept it from being started.
    pub fn call_tool<T: DeserializeOwned>(&self, tool: &str, input: &impl Serialize) -> Result<Output<T>, ToolError> {
        let child = self.start_tool(tool, input)?;
        self.outcome(&child)
    }

    /// Waits for a child's result. One that has ended already has it at once.
    ///
    /// # Errors
    /// The child's own error; [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled) too if this task is asked to stop
    /// meanwhile.
    pub fn outcome<T: DeserializeOwned>(&self, child: &Child<T>) -> Result<Output<T>, ToolError> {
        self.wait_any([child], None)?;
        self.result_of(child).unwrap_or_else(|| Err(ToolError::failed("a child that was waited for has not ended")))
    }

    /// Waits until one of them is settled: the answer is its place in `on`. None if the time is up first.
    ///
    /// # Errors
    /// [`WaitError::Cancelled`] if the task was asked to stop meanwhile.
    pub fn wait_any<H: Into<HandleId>>(
        &self,
        on: impl IntoIterator<Item = H>,
        timeout: Option<Duration>,
    ) -> Result<Option<usize>, WaitError> {
        let on: Vec<u32> = on.into_iter().map(|handle| handle.into().0).collect();
        let settled = wit_concurrent::wait_any(&on, timeout.map(to_millis)).map_err(WaitError::from_wit)?;
        Ok(settled.map(|index| index as usize))
    }

    /// What became of a question; none while it is open.
    ///
    /// # Errors
    /// [`WaitError::Malformed`] if the answer is no `T`, which happens only where `T` is stricter than its schema.
    pub fn reply<T: DeserializeOwned>(&self, question: &Handle<T>) -> Result<Option<Reply<T>>, WaitError> {
        wit_concurrent::reply_to(question.id.0).map(Reply::from_wit).transpose()
    }

    /// What became of a child; none while it runs. A child without structured output gives a `()`.
    pub fn result_of<T: DeserializeOwned>(&self, child: &Child<T>) -> Option<Result<Output<T>, ToolError>> {
        let result = wit_concurrent::result_of(child.id.0)?;
        Some(result.map_err(ToolError::from_wit).and_then(output))
    }

    /// Closes a question that nobody needs to answer any more, or asks a child to stop. Nothing happens to what is
    /// settled.
    pub fn withdraw(&self, handle: impl Into<HandleId>) {
        wit_concurrent::withdraw(handle.into().0);
    }
}

fn output<T: DeserializeOwned>(output: wit::Output) -> Result<Output<T>, ToolError> {
    let value = serde_json::from_str(output.structured.as_deref().unwrap_or("null"))
        .map_err(|problem| ToolError::failed(format!("a child's output is not what was expected: {problem}")))?;
    Ok(Output { value, parts: output.parts.into_iter().map(Part::from_wit).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_childs_output_is_typed() {
        let from = |structured: Option<&str>| wit::Output { parts: vec![], structured: structured.map(str::to_owned) };
        assert_eq!(output::<Vec<u8>>(from(Some("[1]"))).unwrap().value, [1]);
        assert_eq!(output::<()>(from(None)).unwrap(), Output::new(()));
        assert!(output::<u8>(from(None)).unwrap_err().to_string().starts_with("a child's output is not"));
    }
}

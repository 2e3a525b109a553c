//! Tools that wait: for people, for time, for the end.

use std::thread;
use std::time::{Duration, Instant};

use longhaul_sdk::bindings::longhaul::tool::{task as raw, types};
use longhaul_sdk::{Question, Reply, Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[derive(Deserialize, JsonSchema)]
pub struct Asked {
    prompt: String,
    detail: Option<String>,
    /// The answer's schema, handed to the host as it is.
    schema: Value,
    timeout_ms: Option<u64>,
    options: Option<Value>,
}

#[derive(Serialize, JsonSchema, Default)]
pub struct Replied {
    /// `answered`, `declined` or `timed-out`.
    reply: &'static str,
    value: Option<Value>,
    by: Option<String>,
    reason: Option<String>,
}

impl From<Reply<Value>> for Replied {
    fn from(reply: Reply<Value>) -> Self {
        match reply {
            Reply::Answered(answer) => {
                Self { reply: "answered", value: Some(answer.value), by: answer.by, reason: None }
            }
            Reply::Declined(reason) => Self { reply: "declined", reason, ..Self::default() },
            Reply::TimedOut => Self { reply: "timed-out", ..Self::default() },
        }
    }
}

/// Asks one question, unchecked, and returns the reply.
#[longhaul_sdk::tool(pace = long)]
pub fn ask(_task: &Task, input: Asked) -> Result<Replied, ToolError> {
    let question = types::Question {
        prompt: input.prompt,
        detail: input.detail,
        answer: input.schema.to_string(),
        timeout: input.timeout_ms,
        options: input.options.map(|options| options.to_string()),
    };
    match raw::ask_human(&question) {
        Ok(types::Reply::Answered(answer)) => {
            let value = serde_json::from_str(&answer.value).map_err(ToolError::failed)?;
            Ok(Replied { reply: "answered", value: Some(value), by: answer.by, reason: None })
        }
        Ok(types::Reply::Declined(reason)) => Ok(Reply::Declined(reason).into()),
        Ok(types::Reply::TimedOut) => Ok(Reply::TimedOut.into()),
        Err(raw::WaitError::Cancelled) => Err(ToolError::cancelled()),
        Err(raw::WaitError::Malformed(how)) => Err(ToolError::failed(format!("malformed: {how}"))),
        Err(raw::WaitError::Refused(why)) => Err(ToolError::failed(format!("refused: {why}"))),
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct Many {
    /// How many questions to have open together.
    n: u32,
    /// How many answers to wait for; the other questions are withdrawn.
    wait_for: u32,
    timeout_ms: Option<u64>,
}

/// Opens many text questions at once and returns the first replies, each with its question's number.
#[longhaul_sdk::tool(pace = long)]
pub fn ask_many(task: &Task, input: Many) -> Result<Vec<(u32, Replied)>, ToolError> {
    let mut open = Vec::new();
    for number in 0..input.n {
        let question = Question::with_schema(format!("Question {number}?"), serde_json::json!({ "type": "string" }));
        open.push((number, task.open(question)?));
    }
    let mut replies = Vec::new();
    for _ in 0..input.wait_for {
        let timeout = input.timeout_ms.map(Duration::from_millis);
        let Some(at) = task.wait_any(open.iter().map(|(_, handle)| handle), timeout)? else {
            break;
        };
        let (number, handle) = open.remove(at);
        let reply = task.reply(&handle)?.ok_or_else(|| ToolError::failed("a settled question has no reply"))?;
        replies.push((number, reply.into()));
    }
    open.iter().for_each(|(_, handle)| task.withdraw(handle));
    Ok(replies)
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Clock {
    /// The contract's `sleep`.
    Task,
    /// WASI's timer.
    Thread,
}

#[derive(Deserialize, JsonSchema)]
pub struct Nap {
    ms: u64,
    #[serde(default = "by_task")]
    by: Clock,
}

fn by_task() -> Clock {
    Clock::Task
}

/// Sleeps, and returns how many milliseconds passed on its clock.
#[longhaul_sdk::tool]
pub fn sleepy(task: &Task, input: Nap) -> Result<u64, ToolError> {
    let start = Instant::now();
    let nap = Duration::from_millis(input.ms);
    match input.by {
        Clock::Task => task.sleep(nap)?,
        Clock::Thread => thread::sleep(nap),
    }
    Ok(start.elapsed().as_millis() as u64)
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Manners {
    /// Returns `cancelled` when a wait says so.
    Obey,
    /// Looks at the flag between waits of WASI, which do not say so.
    Look,
    /// Is done when it sees the flag.
    Finish,
    /// Fails when it sees the flag.
    Fail,
    /// Goes on for ever.
    Ignore,
}

#[derive(Deserialize, JsonSchema)]
pub struct Cancelled {
    manners: Manners,
}

/// Goes on until it is cancelled, and then behaves as it is told.
#[longhaul_sdk::tool(pace = long)]
pub fn cancel_me(task: &Task, input: Cancelled) -> Result<u32, ToolError> {
    let mut rounds = 0;
    task.progress("waiting to be cancelled");
    loop {
        rounds += 1;
        let cancelled = match input.manners {
            Manners::Look => {
                thread::sleep(Duration::from_millis(20));
                task.is_cancelled()
            }
            _ => task.sleep(Duration::from_millis(20)).is_err(),
        };
        match input.manners {
            _ if !cancelled => {}
            Manners::Obey | Manners::Look => {
                task.progress("cleaning up");
                return Err(ToolError::cancelled());
            }
            Manners::Finish => return Ok(rounds),
            Manners::Fail => return Err(ToolError::failed("gave up when it was cancelled")),
            // Waits return at once now: only WASI's timer keeps this from spinning.
            Manners::Ignore => thread::sleep(Duration::from_millis(20)),
        }
    }
}

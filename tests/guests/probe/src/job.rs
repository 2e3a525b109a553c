//! A tool whose work is done elsewhere, or so it says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use longhaul_sdk::{Execution, Job, Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, JsonSchema)]
pub struct Input {
    /// How many checks it takes. At 0 the job is done when it starts.
    checks: u32,
    /// When to look again; none for the host's own backoff.
    after_ms: Option<u64>,
    /// Whether the ticket stays the same, so that the job goes on for ever.
    #[serde(default)]
    stuck: bool,
    /// At which check to fail with `unavailable`, once.
    unavailable_at: Option<u32>,
    /// Whether cancelling fails.
    #[serde(default)]
    cannot_cancel: bool,
}

#[derive(Serialize, Deserialize)]
pub struct Ticket {
    checked: u32,
    /// The clock at the start and at each check: milliseconds since 1970.
    clocks: Vec<u64>,
}

#[derive(Serialize, JsonSchema)]
pub struct Checked {
    checked: u32,
    /// The clock at the start and at each check: milliseconds since 1970.
    clocks: Vec<u64>,
}

pub struct ExternalJob;

/// Starts work elsewhere and looks after it.
#[longhaul_sdk::job(name = "job")]
impl Job for ExternalJob {
    type Input = Input;
    type Output = Checked;
    type Ticket = Ticket;

    fn start(task: &Task, input: Input) -> Result<Execution<Ticket, Checked>, ToolError> {
        task.progress("submitted").done(0).of(input.checks);
        println!("submitted with the key {}", task.idempotency_key());
        step(&input, Ticket { checked: 0, clocks: vec![now()] })
    }

    fn check(task: &Task, mut ticket: Ticket) -> Result<Execution<Ticket, Checked>, ToolError> {
        let input: Input = task.input()?;
        if input.unavailable_at == Some(ticket.checked + 1) && task.attempt() == 1 {
            return Err(ToolError::unavailable("the other side is down"));
        }
        if !input.stuck {
            ticket.checked += 1;
            ticket.clocks.push(now());
            task.progress("checked").done(ticket.checked).of(input.checks);
        }
        step(&input, ticket)
    }

    fn cancel(task: &Task, ticket: Ticket) -> Result<(), ToolError> {
        println!("asked to cancel after {} checks", ticket.checked);
        match task.input::<Input>()?.cannot_cancel {
            true => Err(ToolError::unavailable("the other side is down")),
            false => Ok(()),
        }
    }
}

fn step(input: &Input, ticket: Ticket) -> Result<Execution<Ticket, Checked>, ToolError> {
    if ticket.checked >= input.checks {
        return Ok(Execution::Done(Checked { checked: ticket.checked, clocks: ticket.clocks }));
    }
    let pending = Execution::pending(ticket);
    Ok(match input.after_ms {
        Some(millis) => pending.after(Duration::from_millis(millis)),
        None => pending,
    })
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

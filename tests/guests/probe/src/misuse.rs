//! Tools that break, or that want more than they may have.

use longhaul_sdk::{Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

#[derive(Deserialize, JsonSchema)]
pub struct Message {
    #[serde(default = "on_purpose")]
    message: String,
}

fn on_purpose() -> String {
    "on purpose".into()
}

/// Panics.
#[longhaul_sdk::tool]
pub fn panics(task: &Task, input: Message) -> Result<(), ToolError> {
    task.progress("about to panic");
    println!("about to panic");
    panic!("{}", input.message)
}

#[derive(Deserialize, JsonSchema)]
pub struct Spin {
    /// Report progress after every so many rounds; never if 0.
    #[serde(default)]
    progress_every: u64,
    /// Stop after so many rounds; never if 0.
    #[serde(default)]
    rounds: u64,
}

/// Computes for ever.
#[longhaul_sdk::tool]
pub fn spin(task: &Task, input: Spin) -> Result<u64, ToolError> {
    let mut state = 1_u64;
    let mut round = 0_u64;
    while input.rounds == 0 || round < input.rounds {
        round = round.wrapping_add(1);
        state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round));
        if input.progress_every > 0 && round.is_multiple_of(input.progress_every) {
            task.progress("spinning").done(round);
        }
    }
    Ok(state)
}

#[derive(Deserialize, JsonSchema)]
pub struct Memory {
    /// How much to take, in MiB.
    mib: usize,
    /// Whether to go on with what there is when there is no more, instead of aborting.
    #[serde(default)]
    politely: bool,
}

/// Takes memory, and returns how many MiB it got.
#[longhaul_sdk::tool]
pub fn eat_memory(_task: &Task, input: Memory) -> Result<usize, ToolError> {
    const MIB: usize = 1 << 20;
    let mut eaten: Vec<Vec<u8>> = Vec::new();
    for _ in 0..input.mib {
        let mut chunk = Vec::new();
        if input.politely {
            if chunk.try_reserve_exact(MIB).is_err() {
                break;
            }
        } else {
            chunk.reserve_exact(MIB);
        }
        chunk.resize(MIB, 1);
        eaten.push(std::hint::black_box(chunk));
    }
    Ok(eaten.len())
}

#[derive(Deserialize, JsonSchema)]
pub struct Reports {
    n: u64,
    #[serde(default = "on_purpose")]
    message: String,
}

/// Reports progress many times.
#[longhaul_sdk::tool]
pub fn many_progress(task: &Task, input: Reports) -> Result<u64, ToolError> {
    for done in 1..=input.n {
        task.progress(input.message.as_str()).done(done).of(input.n);
    }
    Ok(input.n)
}

#[derive(Deserialize, JsonSchema)]
pub struct Calls {
    n: u64,
}

/// Asks many times whether it is to stop: the cheapest call of the host that there is.
#[longhaul_sdk::tool]
pub fn many_calls(task: &Task, input: Calls) -> Result<u64, ToolError> {
    Ok((0..input.n).filter(|_| !task.is_cancelled()).count() as u64)
}

#[derive(Deserialize, JsonSchema)]
pub struct Lines {
    lines: u64,
    /// How long a line is, in bytes.
    #[serde(default)]
    width: usize,
    #[serde(default)]
    stderr: bool,
}

/// Prints many lines.
#[longhaul_sdk::tool]
pub fn chatty(_task: &Task, input: Lines) -> Result<u64, ToolError> {
    for line in 1..=input.lines {
        let text = format!("line {line} {}", "x".repeat(input.width));
        match input.stderr {
            true => eprintln!("{text}"),
            false => println!("{text}"),
        }
    }
    Ok(input.lines)
}

#[derive(Deserialize, JsonSchema)]
pub struct Size {
    bytes: usize,
}

/// Returns a long text.
#[longhaul_sdk::tool]
pub fn big_output(_task: &Task, input: Size) -> Result<String, ToolError> {
    Ok("x".repeat(input.bytes))
}

/// Takes many random bytes in one call, and returns the sum of them.
#[longhaul_sdk::tool]
pub fn big_random(_task: &Task, input: Size) -> Result<u64, ToolError> {
    let bytes = wasip2::random::random::get_random_bytes(input.bytes as u64);
    Ok(bytes.into_iter().map(u64::from).sum())
}

//! Tools that take in whatever the sandbox lets in.

use std::collections::HashMap;
use std::io::Read;
use std::net::{TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use longhaul_sdk::{Question, Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::trace::{Recorder, Trace};

#[derive(Deserialize, JsonSchema)]
pub struct Rounds {
    /// How often to go through all of it.
    #[serde(default = "one")]
    rounds: u32,
    /// Whether to ask questions too: in each round a confirmation, then a text and a confirmation together.
    #[serde(default)]
    ask: bool,
}

fn one() -> u32 {
    1
}

/// Calls every import in a mixed order, and returns a hash of all results beside the results.
#[longhaul_sdk::tool]
pub fn hash_imports(task: &Task, input: Rounds) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    for round in 0..input.rounds {
        seen.add("wall", SystemTime::now());
        seen.add("order", iteration_order());
        let start = Instant::now();
        task.progress(format!("round {round}")).done(round).of(input.rounds);
        println!("round {round} on stdout");
        thread::sleep(Duration::from_millis(3));
        seen.add("slept", start.elapsed());
        seen.add("random", random_bytes());
        seen.add("setting", task.setting("greeting"));
        eprintln!("round {round} on stderr");
        seen.add("insecure", wasip2::random::insecure::get_insecure_random_u64());
        seen.add("cancelled", task.is_cancelled());
        if input.ask {
            ask(task, round, &mut seen)?;
        }
        seen.add("monotonic", start.elapsed());
        task.sleep(Duration::from_millis(20))?;
        seen.add("no setting", task.setting("absent"));
        two_timers(&mut seen);
        seen.add("order", iteration_order());
        seen.add("wall", SystemTime::now());
        // What has been published binds what was given: a rerun that was given something else would publish another
        // number.
        println!("round {round} done: {}", seen.so_far());
    }
    Ok(seen.finish())
}

fn ask(task: &Task, round: u32, seen: &mut Recorder) -> Result<(), ToolError> {
    seen.add("confirmed", task.ask(Question::confirm(format!("Go on with round {round}?")))?);
    let name = task.open(Question::text(format!("What is round {round} called?")))?;
    let sure = task.open(Question::confirm(format!("Is round {round} of use?")))?;
    let mut open = vec![name.id(), sure.id()];
    let at_once = task.wait_any(open.iter().copied(), Some(Duration::ZERO))?;
    seen.add("at once", at_once);
    while !open.is_empty() {
        let settled = task.wait_any(open.iter().copied(), None)?;
        seen.add("settled", settled);
        open.remove(settled.expect("a wait without a timeout ends with something settled"));
    }
    seen.add("name", task.reply(&name)?);
    seen.add("sure", task.reply(&sure)?);
    task.withdraw(&name);
    Ok(())
}

/// The order in which a map is iterated depends on the seed that the host gives.
fn iteration_order() -> Vec<u32> {
    (0..8).map(|key| (key, ())).collect::<HashMap<u32, ()>>().into_keys().collect()
}

fn random_bytes() -> [u8; 8] {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the host gives random bytes");
    bytes
}

/// Waits for two timers in one `poll`, the later one first in the list.
fn two_timers(seen: &mut Recorder) {
    use wasip2::clocks::monotonic_clock::{now, subscribe_duration, subscribe_instant};
    let late = subscribe_duration(50_000_000);
    let soon = subscribe_instant(now() + 2_000_000);
    seen.add("ready at once", (late.ready(), soon.ready()));
    seen.add("poll", wasip2::io::poll::poll(&[&late, &soon]));
}

#[derive(Deserialize, JsonSchema)]
pub struct Steps {
    /// How many steps.
    steps: u32,
    /// Ask a question in every so many steps; never if 0.
    #[serde(default)]
    ask_every: u32,
    /// How long to wait in each step.
    #[serde(default)]
    sleep_ms: u64,
}

/// Alternates clock readings, progress and questions.
#[longhaul_sdk::tool]
pub fn steps(task: &Task, input: Steps) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    for step in 1..=input.steps {
        seen.add("wall", SystemTime::now());
        task.progress(format!("step {step}")).done(step).of(input.steps);
        if input.ask_every > 0 && step % input.ask_every == 0 {
            let question = Question::confirm(format!("Go on after step {step}?")).default(true);
            seen.add("answer", task.ask(question)?);
        }
        if input.sleep_ms > 0 {
            task.sleep(Duration::from_millis(input.sleep_ms))?;
        }
    }
    Ok(seen.finish())
}

#[derive(Deserialize, JsonSchema)]
pub struct Nothing {}

/// Tries to reach what a sandbox has not: files, the network, names, the environment, arguments, stdin.
#[longhaul_sdk::tool]
pub fn outside(_task: &Task, _input: Nothing) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    let mut add = |what: &str, reached: bool| seen.add(what, if reached { "reached" } else { "denied" });
    add("read /etc/passwd", std::fs::read("/etc/passwd").is_ok());
    add("list /", std::fs::read_dir("/").is_ok());
    add("write a file", std::fs::write("left-behind", "x").is_ok());
    add("connect", TcpStream::connect("127.0.0.1:80").is_ok());
    add("listen", std::net::TcpListener::bind("127.0.0.1:0").is_ok());
    add("send", std::net::UdpSocket::bind("127.0.0.1:0").is_ok());
    add("look up a name", ("localhost", 80).to_socket_addrs().is_ok());
    add("environment", std::env::vars().next().is_some());
    add("arguments", std::env::args().next().is_some());
    let mut text = String::new();
    add("stdin", std::io::stdin().read_to_string(&mut text).is_ok() && !text.is_empty());
    answers(&mut seen);
    Ok(seen.finish())
}

/// What WASI itself answers, where the standard library makes something of it.
fn answers(seen: &mut Recorder) {
    use wasip2::cli::{environment, terminal_stderr, terminal_stdin, terminal_stdout};
    use wasip2::sockets::network::IpAddressFamily::{Ipv4, Ipv6};
    use wasip2::sockets::{instance_network, ip_name_lookup, tcp_create_socket, udp_create_socket};
    seen.add("tcp", tcp_create_socket::create_tcp_socket(Ipv4).err());
    seen.add("tcp 6", tcp_create_socket::create_tcp_socket(Ipv6).err());
    seen.add("udp", udp_create_socket::create_udp_socket(Ipv4).err());
    let network = instance_network::instance_network();
    for name in ["localhost", "127.0.0.1", "::1", "example.com", "no name at all"] {
        seen.add(name, ip_name_lookup::resolve_addresses(&network, name).err());
    }
    seen.add("directories", wasip2::filesystem::preopens::get_directories().len());
    seen.add("variables", environment::get_environment());
    seen.add("words", environment::get_arguments());
    seen.add("directory", environment::initial_cwd());
    let terminals = (
        terminal_stdin::get_terminal_stdin().is_some(),
        terminal_stdout::get_terminal_stdout().is_some(),
        terminal_stderr::get_terminal_stderr().is_some(),
    );
    seen.add("terminals", terminals);
}

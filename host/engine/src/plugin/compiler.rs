//! Making code of a component: here, or in a process of its own that may take so much and no more.
//!
//! The host writes to the process's standard input how much it may take (memory in bytes and computing time in seconds,
//! each a little-endian `u64`), then the component. It answers on standard output with a [`CODE`] or a [`REFUSED`], the
//! length of what follows as such a number, and that.

use std::fmt::Display;
use std::io::{Read as _, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, PoisonError};

use crate::limits::HostLimit;
use crate::{HostLimits, PluginError, sandbox};

const CODE: u8 = b'C';
const REFUSED: u8 = b'R';
const OUT_OF_MEMORY: u8 = b'M';

/// Bytes of an answer. The code of the largest component has some hundred MB.
const ANSWER: u64 = 1 << 30;

/// Bytes of the last words of a compiler that died.
const LAST_WORDS: usize = 4 << 10;

/// How many times its computing time a compiler may take, by the clock: on a machine that is busy the one is not the other, and
/// one that was stopped computes nothing, for ever.
const WAITS: u32 = 10;

/// Starts a process that compiles.
pub(crate) type Starter = Box<dyn Fn() -> Command + Send + Sync>;

/// A compiler in processes of its own.
pub(crate) struct Compiler {
    start: Starter,
    limits: HostLimits,
    /// One at a time: each may take as much as the limits say.
    turn: Mutex<()>,
}

impl Compiler {
    pub fn new(start: Starter, limits: HostLimits) -> Self {
        Self { start, limits, turn: Mutex::default() }
    }

    /// Compiles a component. Takes long: not for an async thread.
    pub fn compile(&self, component: &[u8]) -> Result<Vec<u8>, PluginError> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |problem: &dyn Display| PluginError::Compiler(problem.to_string());
        let mut child = (self.start)()
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(&format_args!("it does not start: {error}")))?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (mut answer, mut words) = (Vec::new(), Vec::new());
        let longest = WAITS * self.limits.compile_time;
        let (said_all, is_over) = channel::<()>();
        let watched = &mut child;
        let (read, overdue) = std::thread::scope(|scope| {
            let watch = scope.spawn(move || {
                let overdue = is_over.recv_timeout(longest) == Err(RecvTimeoutError::Timeout);
                if overdue {
                    let _ = watched.kill();
                }
                overdue
            });
            scope.spawn(|| {
                let Some(mut stdin) = stdin else { return };
                let bounds = [self.limits.compile_memory.to_le_bytes(), self.seconds().to_le_bytes()];
                // One that has died reads no more; how it died is told below.
                let _ = stdin.write_all(&bounds.concat()).and_then(|()| stdin.write_all(component));
            });
            // What it says goes on being read, or it would wait for ever for room to say more.
            scope.spawn(|| stderr.map(|mut stderr| stderr.read_to_end(&mut words)));
            let read = stdout.map_or(Ok(0), |stdout| stdout.take(ANSWER).read_to_end(&mut answer));
            drop(said_all);
            (read, watch.join().unwrap_or_default())
        });
        if read.is_err() {
            let _ = child.kill();
        }
        let status = child.wait().map_err(|error| failed(&error))?;
        match answered(&answer) {
            Some((CODE, code)) if status.success() => Ok(code.to_vec()),
            Some((REFUSED, why)) => Err(PluginError::Invalid(String::from_utf8_lossy(why).into_owned())),
            Some((OUT_OF_MEMORY, _)) => Err(self.beyond(HostLimit::compile_memory)),
            _ if overdue => {
                let may = HostLimit::compile_time.said(self.limits.get(HostLimit::compile_time));
                Err(failed(&format_args!(
                    "it had not ended after {longest:?}, {WAITS} times what it may compute ({may})"
                )))
            }
            _ => {
                let words = String::from_utf8_lossy(&words[words.len().saturating_sub(LAST_WORDS)..]);
                if out_of_time(status) {
                    return Err(self.beyond(HostLimit::compile_time));
                }
                // The words of Rust's allocator, before it aborts.
                if words.contains("memory allocation of ") {
                    return Err(self.beyond(HostLimit::compile_memory));
                }
                let killed = match was_killed(status) {
                    true => ", as the system does it where no memory is left",
                    false => "",
                };
                Err(failed(&format_args!("it ended with {status}{killed}; it said: {}", words.trim())))
            }
        }
    }

    /// As the system counts: parts of a second are one.
    fn seconds(&self) -> u64 {
        let time = self.limits.compile_time;
        time.as_secs() + u64::from(time.subsec_nanos() > 0)
    }

    fn beyond(&self, limit: HostLimit) -> PluginError {
        PluginError::CompileLimit { limit: limit.row().name, said: limit.said(self.limits.get(limit)) }
    }
}

/// The kind of an answer, and what it holds, if it is whole.
fn answered(answer: &[u8]) -> Option<(u8, &[u8])> {
    let (&kind, rest) = answer.split_first()?;
    let (length, content) = rest.split_first_chunk()?;
    (u64::from_le_bytes(*length) == content.len() as u64).then_some((kind, content))
}

fn out_of_time(status: std::process::ExitStatus) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        status.signal() == Some(rustix::process::Signal::XCPU.as_raw())
    }
    #[cfg(not(unix))]
    {
        let _ = status;
        false
    }
}

fn was_killed(status: std::process::ExitStatus) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        status.signal() == Some(rustix::process::Signal::KILL.as_raw())
    }
    #[cfg(not(unix))]
    {
        let _ = status;
        false
    }
}

/// The other end of [`HostBuilder::compile_with`](crate::HostBuilder::compile_with): compiles one component, from standard
/// input to standard output, and is what a program does when it was started for that.
///
/// It limits its own process first, so the process must do nothing else. Memory and computing time are limited on Unix
/// (memory on Linux alone); elsewhere it is only a process of its own.
///
/// ```no_run
/// fn main() -> std::process::ExitCode {
///     if std::env::args().nth(1).as_deref() == Some("compile") {
///         return longhaul::compile_child();
///     }
///     // …
/// # std::process::ExitCode::SUCCESS
/// }
/// ```
pub fn compile_child() -> ExitCode {
    match compile_stdin() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn compile_stdin() -> std::io::Result<()> {
    let mut stdin = std::io::stdin().lock();
    let (mut memory, mut seconds) = ([0; 8], [0; 8]);
    stdin.read_exact(&mut memory)?;
    stdin.read_exact(&mut seconds)?;
    confine(u64::from_le_bytes(memory), u64::from_le_bytes(seconds))?;
    let mut component = Vec::new();
    stdin.read_to_end(&mut component)?;
    let compiled = sandbox::compiling_engine().and_then(|engine| engine.precompile_component(&component));
    let (kind, content) = match compiled {
        Ok(code) => (CODE, code),
        Err(error) if is_out_of_memory(&error) => (OUT_OF_MEMORY, Vec::new()),
        Err(error) => (REFUSED, sandbox::chain(&error).into_bytes()),
    };
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(&[kind])?;
    stdout.write_all(&(content.len() as u64).to_le_bytes())?;
    stdout.write_all(&content)?;
    stdout.flush()
}

fn is_out_of_memory(error: &wasmtime::Error) -> bool {
    let io = |cause: &std::io::Error| cause.kind() == std::io::ErrorKind::OutOfMemory;
    error.is::<wasmtime::OutOfMemory>() || error.chain().filter_map(|cause| cause.downcast_ref()).any(io)
}

/// Bounds what this process may take from here on.
fn confine(memory: u64, seconds: u64) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, setrlimit};
        let at_most = |soft, hard| Rlimit { current: Some(soft), maximum: Some(hard) };
        // Its memory is nobody's to look at when it dies of a limit.
        setrlimit(Resource::Core, at_most(0, 0))?;
        // A second more until what can't be caught, for one that was told to ignore the first. Who kills so is not to be told
        // apart, and mostly it is the system, that has no memory left: it is said to be that.
        setrlimit(Resource::Cpu, at_most(seconds, seconds.saturating_add(1)))?;
        // What can be written, not the address space: of that, threads reserve far more than they use.
        #[cfg(target_os = "linux")]
        setrlimit(Resource::Data, at_most(memory, memory))?;
        // Nobody waits for it any more when the host is gone.
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    let _ = (memory, seconds);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(script: &'static str) -> Compiler {
        let start = move || {
            let mut command = Command::new("/bin/sh");
            command.args(["-c", script]);
            command
        };
        Compiler::new(Box::new(start), HostLimits::default())
    }

    #[test]
    fn an_answer_counts_only_if_it_is_whole() {
        let code = r"cat >/dev/null; printf 'C\002\000\000\000\000\000\000\000";
        assert_eq!(by(&*format!("{code}ok'").leak()).compile(b"x").unwrap(), b"ok");
        for (cut, exit) in [("o'", ""), ("okk'", ""), ("ok'", "; exit 1")] {
            let error = by(&*format!("{code}{cut}{exit}").leak()).compile(b"x").unwrap_err();
            assert!(matches!(error, PluginError::Compiler(_)), "{error}");
        }
    }

    #[test]
    fn a_compiler_that_dies_is_told_from_a_component_that_is_refused() {
        let refused = by(r"cat >/dev/null; printf 'R\002\000\000\000\000\000\000\000no'").compile(b"x").unwrap_err();
        assert!(matches!(&refused, PluginError::Invalid(why) if why == "no"), "{refused}");
        // It reads nothing, which is more than a pipe holds.
        let died = by("echo help >&2; kill -SEGV $$").compile(&vec![0; 1 << 20]).unwrap_err();
        assert!(died.to_string().contains("it said: help"), "{died}");
        let none = Compiler::new(Box::new(|| Command::new("/no/such/program")), HostLimits::default());
        assert!(none.compile(b"x").unwrap_err().to_string().contains("it does not start"));
    }

    #[test]
    fn a_compiler_that_the_system_kills_was_not_out_of_time() {
        let killed = by("kill -KILL $$").compile(b"x").unwrap_err();
        assert!(matches!(killed, PluginError::Compiler(_)), "{killed}");
        assert!(killed.to_string().contains("as the system does it where no memory is left"), "{killed}");
        let expired = by("kill -XCPU $$").compile(b"x").unwrap_err();
        assert!(matches!(expired, PluginError::CompileLimit { limit: "compile_time", .. }), "{expired}");
    }

    #[test]
    fn promise_6_a_compiler_that_stands_still_is_ended_and_the_next_has_its_turn() {
        let mut compiler = by("cat >/dev/null; exec sleep 100000");
        compiler.limits.compile_time = std::time::Duration::from_millis(20);
        for _ in 0..2 {
            let error = compiler.compile(b"x").unwrap_err().to_string();
            assert!(error.contains("it had not ended after 200ms, 10 times what it may compute ("), "{error}");
        }
    }

    #[test]
    fn a_compiler_has_no_environment() {
        let script = r#"cat >/dev/null; n=$(env | grep -vc '^PWD=\|^_=\|^SHLVL='); printf 'R\001\000\000\000\000\000\000\000%s' "$n""#;
        let error = by(script).compile(b"x").unwrap_err();
        assert!(matches!(&error, PluginError::Invalid(n) if n == "0"), "{error}");
    }
}

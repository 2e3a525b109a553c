//! Guests written in WebAssembly text, so that the engine's own tests need no other compiler.

use std::path::Path;
use std::time::Duration;

use futures_util::TryStreamExt;
use longhaul::{ErrorClass, Event, EventKind, Host, NewTask, Reply, SimulatedClock, TaskId, TaskState, Timestamp};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// Memory that every guest has: the result of an export at 1024, zeroed; the manifest from 4096; memory that is handed out
/// from 65536 on. 1024 zeroed is `ok(done({parts: [], structured: none}))`.
const SHELL: &str = r#"
(module
  $IMPORTS
  (memory (export "memory") 64)
  (global $free (mut i32) (i32.const 65536))
  (data (i32.const 4096) "$MANIFEST")
  (data (i32.const 16) "\00\10\00\00$LENGTH")
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
    (local $at i32)
    (local.set $at (i32.and (i32.add (global.get $free) (i32.const 7)) (i32.const -8)))
    (global.set $free (i32.add (local.get $at) (local.get 3)))
    (if (i32.gt_u (global.get $free) (i32.mul (memory.size) (i32.const 65536)))
      (then (drop (memory.grow (i32.add (i32.const 1) (i32.shr_u (local.get 3) (i32.const 16)))))))
    (local.get $at))
  (func (export "longhaul:tool/background-tool@0.1.0#describe") (result i32)
    $DESCRIBE
    (i32.const 16))
  (func (export "longhaul:tool/background-tool@0.1.0#execute")
    (param $id i32) (param $id_len i32) (param $tool i32) (param $tool_len i32)
    (param $input i32) (param $input_len i32) (param $attempt i32)
    (param $key i32) (param $key_len i32) (param $context i32) (param $context_len i32) (result i32)
    (local $i i32) (local $n i64) (local $f f64)
    $EXECUTE
    (i32.const 1024))
  (func (export "longhaul:tool/background-tool@0.1.0#await-task")
    (param $id i32) (param $id_len i32) (param $tool i32) (param $tool_len i32)
    (param $input i32) (param $input_len i32) (param $attempt i32)
    (param $key i32) (param $key_len i32) (param $context i32) (param $context_len i32)
    (param $ticket i32) (param $ticket_len i32) (result i32)
    $AWAIT
    (i32.const 1024))
  (func (export "longhaul:tool/background-tool@0.1.0#cancel-task")
    (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
    $CANCEL
    (i32.const 1024))
  $MORE
)
"#;

/// Imports by the names that bodies use.
const IMPORTS: &[(&str, &str)] = &[
    (
        "$progress",
        r#"(import "longhaul:tool/task@0.1.0" "report-progress" (func $progress (param i32 i32 i32 f64 i32 f64 i32)))"#,
    ),
    (
        "$ask",
        r#"(import "longhaul:tool/task@0.1.0" "ask-human" (func $ask (param i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32)))"#,
    ),
    ("$sleep", r#"(import "longhaul:tool/task@0.1.0" "sleep" (func $sleep (param i64 i32)))"#),
    ("$is_cancelled", r#"(import "longhaul:tool/task@0.1.0" "is-cancelled" (func $is_cancelled (result i32)))"#),
    ("$now", r#"(import "wasi:clocks/monotonic-clock@0.2.0" "now" (func $now (result i64)))"#),
    ("$random", r#"(import "wasi:random/random@0.2.0" "get-random-u64" (func $random (result i64)))"#),
    ("$random_bytes", r#"(import "wasi:random/random@0.2.0" "get-random-bytes" (func $random_bytes (param i64 i32)))"#),
    (
        "$subscribe",
        r#"(import "wasi:clocks/monotonic-clock@0.2.0" "subscribe-duration" (func $subscribe (param i64) (result i32)))"#,
    ),
    ("$block", r#"(import "wasi:io/poll@0.2.0" "[method]pollable.block" (func $block (param i32)))"#),
    ("$stdout", r#"(import "wasi:cli/stdout@0.2.0" "get-stdout" (func $stdout (result i32)))"#),
    ("$stderr", r#"(import "wasi:cli/stderr@0.2.0" "get-stderr" (func $stderr (result i32)))"#),
    (
        "$write",
        r#"(import "wasi:io/streams@0.2.0" "[method]output-stream.write" (func $write (param i32 i32 i32 i32)))"#,
    ),
    ("$setting", r#"(import "longhaul:tool/task@0.1.0" "setting" (func $setting (param i32 i32 i32)))"#),
    (
        "$open",
        r#"(import "longhaul:tool/concurrent@0.1.0" "ask" (func $open (param i32 i32 i32 i32 i32 i32 i32 i32 i64 i32 i32 i32 i32)))"#,
    ),
    (
        "$wait_any",
        r#"(import "longhaul:tool/concurrent@0.1.0" "wait-any" (func $wait_any (param i32 i32 i32 i64 i32)))"#,
    ),
    ("$reply_to", r#"(import "longhaul:tool/concurrent@0.1.0" "reply-to" (func $reply_to (param i32 i32)))"#),
    ("$withdraw", r#"(import "longhaul:tool/concurrent@0.1.0" "withdraw" (func $withdraw (param i32)))"#),
    (
        "$start_tool",
        r#"(import "longhaul:tool/concurrent@0.1.0" "start-tool" (func $start_tool (param i32 i32 i32 i32 i32)))"#,
    ),
    ("$result_of", r#"(import "longhaul:tool/concurrent@0.1.0" "result-of" (func $result_of (param i32 i32)))"#),
];

/// A guest in the making: what each export does before it returns.
#[derive(Clone, Default)]
pub struct Guest {
    pub manifest: String,
    pub describe: String,
    pub execute: String,
    pub await_task: String,
    pub cancel: String,
    pub more: String,
}

impl Guest {
    /// A plugin `test` with one tool `run` that takes any object.
    pub fn new(execute: &str) -> Self {
        Self { manifest: manifest("test", "run"), execute: execute.into(), ..Self::default() }
    }

    /// With a text in its memory.
    pub fn text(mut self, at: u32, text: &str) -> Self {
        let escaped: String = text.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        self.more.push_str(&format!("(data (i32.const {at}) \"{escaped}\")\n"));
        self
    }

    /// With what [`ask`] and [`open`] ask.
    pub fn with_question(self) -> Self {
        self.text(2048, "go on?").text(2100, r#"{"type":"boolean"}"#)
    }

    /// The component.
    pub fn build(&self) -> Vec<u8> {
        let bodies = [&self.describe, &self.execute, &self.await_task, &self.cancel, &self.more];
        let used = |name: &str| bodies.iter().any(|body| body.contains(&format!("(call {name}")));
        let imports: Vec<&str> = IMPORTS.iter().filter(|(name, _)| used(name)).map(|(_, import)| *import).collect();
        let escaped: String = self.manifest.bytes().map(|byte| format!("\\{byte:02x}")).collect();
        let length: String =
            (self.manifest.len() as u32).to_le_bytes().iter().map(|byte| format!("\\{byte:02x}")).collect();
        let text = SHELL
            .replace("$IMPORTS", &imports.join("\n"))
            .replace("$MANIFEST", &escaped)
            .replace("$LENGTH", &length)
            .replace("$DESCRIBE", &self.describe)
            .replace("$EXECUTE", &self.execute)
            .replace("$AWAIT", &self.await_task)
            .replace("$CANCEL", &self.cancel)
            .replace("$MORE", &self.more);
        encode(&text)
    }
}

/// Makes a component of a core module in text.
pub fn encode(text: &str) -> Vec<u8> {
    let mut module = wat::parse_str(text).expect("the test's text is WebAssembly");
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("wit")).expect("wit/ is readable");
    for package in [WASI_IO, WASI_CLOCKS, WASI_RANDOM, WASI_CLI] {
        resolve.push_str("wasi.wit", package).expect("wasi is readable");
    }
    let tests = resolve.push_str("test.wit", WORLD).expect("the world is readable");
    let world = resolve.select_world(&[tests], Some("test")).expect("the world is there");
    let _ = package;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the module can be a plugin");
    ComponentEncoder::default().module(&module).expect("the module is a plugin").encode().expect("it is a component")
}

const WASI_IO: &str = "package wasi:io@0.2.0;
interface error { resource error; }
interface poll { resource pollable { block: func(); } }
interface streams {
    use error.{error};
    variant stream-error { last-operation-failed(error), closed }
    resource output-stream { write: func(contents: list<u8>) -> result<_, stream-error>; }
}";
const WASI_CLOCKS: &str = "package wasi:clocks@0.2.0;
interface monotonic-clock {
    use wasi:io/poll@0.2.0.{pollable};
    now: func() -> u64;
    subscribe-duration: func(when: u64) -> pollable;
}";
const WASI_RANDOM: &str = "package wasi:random@0.2.0;
interface random { get-random-u64: func() -> u64; get-random-bytes: func(len: u64) -> list<u8>; }";
const WASI_CLI: &str = "package wasi:cli@0.2.0;
interface stdout { use wasi:io/streams@0.2.0.{output-stream}; get-stdout: func() -> output-stream; }
interface stderr { use wasi:io/streams@0.2.0.{output-stream}; get-stderr: func() -> output-stream; }";
const WORLD: &str = "package longhaul:tests@0.1.0; world test {
    include longhaul:tool/plugin@0.1.0;
    import wasi:clocks/monotonic-clock@0.2.0;
    import wasi:random/random@0.2.0;
    import wasi:io/poll@0.2.0;
    import wasi:io/streams@0.2.0;
    import wasi:cli/stdout@0.2.0;
    import wasi:cli/stderr@0.2.0;
}";

/// The component with another core module in it, that does nothing but have a memory of so many pages.
pub fn with_another_memory(mut component: Vec<u8>, pages: u32) -> Vec<u8> {
    const CORE_MODULE: u8 = 1;
    const CORE_INSTANCE: u8 = 2;
    let mut modules = 0;
    let mut at = 8;
    while at < component.len() {
        let id = component[at];
        let (mut length, mut shift) = (0, 0);
        loop {
            at += 1;
            length |= usize::from(component[at] & 0x7f) << shift;
            shift += 7;
            if component[at] < 0x80 {
                break;
            }
        }
        modules += u8::from(id == CORE_MODULE);
        at += 1 + length;
    }
    let module = wat::parse_str(format!("(module (memory {pages}))")).expect("it is a module");
    component.extend([CORE_MODULE, u8::try_from(module.len()).expect("it is short")]);
    component.extend(module);
    // One instance, of that module, with no arguments.
    component.extend([CORE_INSTANCE, 4, 1, 0, modules, 0]);
    component
}

/// The smallest manifest.
pub fn manifest(plugin: &str, tool: &str) -> String {
    format!(
        r#"{{"manifest":1,"name":"{plugin}","version":"1.0.0","description":"A test.","tools":[{{"name":"{tool}","description":"A test.","inputSchema":{{"type":"object"}}}}]}}"#
    )
}

/// Asks [`Guest::with_question`]'s question and waits; the outcome lies at 3000: `ok` 0, and then a reply at 3004.
pub fn ask(timeout: Option<u64>) -> String {
    question("$ask", timeout)
}

/// Opens the same question and goes on; the handle is at 3004.
pub fn open(timeout: Option<u64>) -> String {
    question("$open", timeout)
}

fn question(import: &str, timeout: Option<u64>) -> String {
    let (there, timeout) = (i32::from(timeout.is_some()), timeout.unwrap_or(0));
    format!(
        "(call {import} (i32.const 2048) (i32.const 6) (i32.const 0) (i32.const 0) (i32.const 0)
           (i32.const 2100) (i32.const 18) (i32.const {there}) (i64.const {timeout})
           (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3000))"
    )
}

/// Starts `kid/run` with `{}`, of a guest made by [`parent`]; the handle is at 3004, after `ok` 0 at 3000.
pub const START: &str =
    "(call $start_tool (i32.const 2200) (i32.const 7) (i32.const 2220) (i32.const 2) (i32.const 3000))";

/// A plugin `test` whose tool `run` may start `kid/run`.
pub fn parent(execute: &str) -> Guest {
    let manifest = needing("test", &["kid/run"]);
    Guest { manifest, ..Guest::new(execute) }.text(2200, "kid/run").text(2220, "{}").with_question()
}

/// A plugin `kid` with a tool `run`.
pub fn kid(execute: &str) -> Guest {
    Guest { manifest: manifest("kid", "run"), ..Guest::new(execute) }.with_question()
}

/// The smallest manifest of a plugin that may start other tools, and can do without.
pub fn needing(plugin: &str, tools: &[&str]) -> String {
    let needs: Vec<_> = tools
        .iter()
        .map(|tool| format!(r#"{{"kind":"tool","name":"{tool}","why":"A test.","required":false}}"#))
        .collect();
    manifest(plugin, "run").replace(r#""tools":"#, &format!(r#""needs":[{}],"tools":"#, needs.join(",")))
}

/// Waits for any of these handles; the outcome is at 3100: `ok` 0, then at 3104 whether there is one, and its place at 3108.
pub fn wait_any(on: &[u32], timeout: Option<u64>) -> String {
    let stores: String =
        (0..).zip(on).map(|(i, it)| format!("(i32.store (i32.const {}) (i32.const {it}))", 3200 + 4 * i)).collect();
    let (there, timeout, length) = (i32::from(timeout.is_some()), timeout.unwrap_or(0), on.len());
    format!(
        "{stores} (call $wait_any (i32.const 3200) (i32.const {length}) (i32.const {there}) (i64.const {timeout})
           (i32.const 3100))"
    )
}

/// The result of a child is at 3400: whether there is one, then at 3408 `ok` 0, then at 3416 an output or an error.
pub fn result_of(child: u32) -> String {
    format!("(call $result_of (i32.const {child}) (i32.const 3400))")
}

/// Reports a number as progress, without a message.
pub fn say(number: &str) -> String {
    format!(
        "(call $progress (i32.const 2048) (i32.const 0) (i32.const 1) (f64.convert_i32_s {number})
           (i32.const 0) (f64.const 0) (i32.const 1))"
    )
}

/// Returns `pending` with the ticket at `ticket`, `length` bytes of it.
pub fn pending(ticket: u32, length: u32, after: Option<u64>) -> String {
    let (there, after) = (i32::from(after.is_some()), after.unwrap_or(0));
    format!(
        "(i32.store8 (i32.const 1032) (i32.const 1)) (i32.store (i32.const 1040) (i32.const {ticket}))
         (i32.store (i32.const 1044) (i32.const {length}))
         (i32.store8 (i32.const 1048) (i32.const {there})) (i64.store (i32.const 1056) (i64.const {after}))"
    )
}

pub const INVALID_INPUT: u32 = 0;
pub const FAILED: u32 = 1;
pub const UNAVAILABLE: u32 = 2;
pub const CANCELLED: u32 = 3;

/// Returns a `tool-error` without a message.
pub fn error(kind: u32, retry_after: Option<u64>) -> String {
    let (there, after) = (i32::from(retry_after.is_some()), retry_after.unwrap_or(0));
    format!(
        "(i32.store8 (i32.const 1024) (i32.const 1)) (i32.store8 (i32.const 1032) (i32.const {kind}))
         (i32.store8 (i32.const 1048) (i32.const {there})) (i64.store (i32.const 1056) (i64.const {after}))"
    )
}

/// Returns `done` with what lies at `at` as its structured output.
pub fn structured(at: u32, length: u32) -> String {
    format!(
        "(i32.store8 (i32.const 1048) (i32.const 1)) (i32.store (i32.const 1052) (i32.const {at}))
         (i32.store (i32.const 1056) (i32.const {length}))"
    )
}

/// Computes for `n` turns of a loop, some fuel each.
pub fn spin(n: u64) -> String {
    format!(
        "(local.set $n (i64.const {n}))
         (loop $spin (local.set $n (i64.sub (local.get $n) (i64.const 1))) (br_if $spin (i64.gt_s (local.get $n) (i64.const 0))))"
    )
}

/// Computes for ever.
pub const FOR_EVER: &str = "(loop $ever (br $ever))";

/// A clock that a test moves, in the year 2027.
pub fn clock() -> SimulatedClock {
    SimulatedClock::at(Timestamp::from_millis(1_800_000_000_000))
}

/// A host over a directory, on a clock that a test moves.
pub async fn host_at(dir: &Path, clock: &SimulatedClock) -> Host {
    Host::builder().data_dir(dir).clock(clock.clone()).open().await.expect("a host opens")
}

/// A host that keeps no instance while its task waits.
pub async fn cold_host_at(dir: &Path, clock: &SimulatedClock) -> Host {
    Host::builder().data_dir(dir).clock(clock.clone()).warm(Duration::ZERO).open().await.expect("a host opens")
}

/// Installs a guest and starts its tool.
pub async fn begin(host: &Host, guest: &Guest) -> TaskId {
    let plugin = host.install(guest.build()).await.expect("the guest is a plugin");
    host.start(NewTask::new(plugin.digest, "run")).await.expect("the task is taken").id
}

/// The first event of that name after `after`, waiting for it.
pub async fn event(host: &Host, task: &TaskId, name: &str, after: u64) -> Event {
    find(host, task, after, |event| event.kind.name() == name).await.unwrap_or_else(|| panic!("no {name} came"))
}

/// The first event that `is` likes, waiting for it; `None` if the task ends without one.
pub async fn find(host: &Host, task: &TaskId, after: u64, is: impl Fn(&Event) -> bool) -> Option<Event> {
    let mut events = std::pin::pin!(host.events(task, after));
    while let Some(event) = events.try_next().await.expect("the events can be read") {
        if is(&event) {
            return Some(event);
        }
    }
    None
}

/// The names of all events so far.
pub async fn names(host: &Host, task: &TaskId) -> Vec<String> {
    let events = host.journal(task, 0, usize::MAX >> 1).await.expect("the journal can be read");
    events.iter().map(|event| event.kind.name().to_owned()).collect()
}

/// The numbers that the guest [said](say).
pub async fn said(host: &Host, task: &TaskId) -> Vec<f64> {
    let events = host.journal(task, 0, usize::MAX >> 1).await.expect("the journal can be read");
    let number = |event: &Event| match &event.kind {
        EventKind::Progress(progress) => progress.done,
        _ => None,
    };
    events.iter().filter_map(number).collect()
}

/// Waits for the task's end, which must have an error: its class, code and message.
pub async fn failure(host: &Host, task: &TaskId) -> (ErrorClass, String, String) {
    let done = host.wait(task).await.expect("the task ends");
    assert_eq!(done.state, TaskState::Failed, "{done:?}");
    let error = done.error.expect("a failed task has an error");
    (error.class, error.code, error.message)
}

/// Moves the clock on by `step` again and again, until what is awaited is there.
pub async fn advancing<T>(clock: &SimulatedClock, step: Duration, awaited: impl Future<Output = T>) -> T {
    let mut awaited = std::pin::pin!(awaited);
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    // On a machine that is late the steps that were missed do not come all at once.
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            it = &mut awaited => return it,
            _ = tick.tick() => clock.advance(step),
        }
    }
}

/// Looks until it is so. What is looked for comes by itself, and nothing tells of it.
pub async fn eventually<T>(mut look: impl AsyncFnMut() -> Option<T>) -> T {
    loop {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A yes by nobody in particular.
pub fn yes() -> Reply {
    Reply::Answered { value: true.into(), by: None }
}

/// The database, for what only a hand could do to it.
pub fn database(dir: &Path) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(dir.join("longhaul.db")).expect("the database opens");
    database.busy_timeout(Duration::from_secs(5)).expect("it may wait");
    database
}

/// A host over a directory of its own.
pub async fn host(dir: &Path) -> longhaul::Host {
    longhaul::Host::builder().data_dir(dir).open().await.expect("a new host opens")
}

/// Entries that stand after the end of their task: a journal has none.
pub fn after_the_end(dir: &Path) -> i64 {
    let late = "SELECT count(*) FROM entry JOIN task ON task.n = entry.task WHERE entry.seq > task.ended_seq";
    database(dir).query_row(late, [], |row| row.get(0)).unwrap()
}

/// A host on data of its own that keeps no instance warm, and the clock that it goes by.
pub async fn cold_host() -> (tempfile::TempDir, SimulatedClock, Host) {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    (dir, clock, host)
}

/// Starts a parent that may start the tool of the plugin `kid`.
pub async fn start_parent(host: &Host, parent: &Guest) -> TaskId {
    let plugin = host.install(parent.build()).await.unwrap();
    host.start(NewTask::new(plugin.digest, "run").grant_tool("kid/run")).await.unwrap().id
}

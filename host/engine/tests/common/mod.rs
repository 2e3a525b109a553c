//! Guests written in WebAssembly text, so that the engine's own tests need no other compiler.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::path::Path;

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
    let wasi = resolve.push_str("wasi.wit", WASI_CLOCKS).expect("wasi is readable");
    let random = resolve.push_str("random.wit", WASI_RANDOM).expect("wasi is readable");
    let _ = (wasi, random);
    let tests = resolve.push_str("test.wit", WORLD).expect("the world is readable");
    let world = resolve.select_world(&[tests], Some("test")).expect("the world is there");
    let _ = package;
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the module can be a plugin");
    ComponentEncoder::default().module(&module).expect("the module is a plugin").encode().expect("it is a component")
}

const WASI_CLOCKS: &str = "package wasi:clocks@0.2.0; interface monotonic-clock { now: func() -> u64; }";
const WASI_RANDOM: &str = "package wasi:random@0.2.0; interface random { get-random-u64: func() -> u64; }";
const WORLD: &str = "package longhaul:tests@0.1.0; world test {
    include longhaul:tool/plugin@0.1.0;
    import wasi:clocks/monotonic-clock@0.2.0;
    import wasi:random/random@0.2.0;
}";

/// The smallest manifest.
pub fn manifest(plugin: &str, tool: &str) -> String {
    format!(
        r#"{{"manifest":1,"name":"{plugin}","version":"1.0.0","description":"A test.","tools":[{{"name":"{tool}","description":"A test.","inputSchema":{{"type":"object"}}}}]}}"#
    )
}

/// A host over a directory of its own.
pub async fn host(dir: &Path) -> longhaul::Host {
    longhaul::Host::builder().data_dir(dir).open().await.expect("a new host opens")
}

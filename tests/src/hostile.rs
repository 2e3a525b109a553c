//! Guests that are out for trouble: `tests/hostile/*.wat`, each around one idea.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::Resolve;

/// What a file may leave out.
const EMPTY: [&str; 3] = ["$describe", "$execute", "$cancel"];

/// A component of the file of that name, a plugin `NAME` with a tool `run` that takes any object.
pub fn guest(name: &str) -> Vec<u8> {
    with_manifest(name, &manifest(name, r#"{"type":"object"}"#))
}

/// The smallest manifest of a plugin with a tool `run`, and an input schema.
pub fn manifest(plugin: &str, schema: &str) -> String {
    format!(
        r#"{{"manifest":1,"name":"{plugin}","version":"1.0.0","description":"A test.","tools":[{{"name":"run","description":"A test.","inputSchema":{schema}}}],"needs":[{{"kind":"tool","name":"probe/noop","why":"A test.","required":false}}]}}"#
    )
}

/// As [`guest`], of a plugin that declares something else.
pub fn with_manifest(name: &str, manifest: &str) -> Vec<u8> {
    encode(&text(name, manifest))
}

/// One that loops, with more in its module.
pub fn with_more(more: &str) -> Vec<u8> {
    let shell = text("loop", &manifest("bomb", r#"{"type":"object"}"#));
    let (module, _) = shell.rsplit_once(')').expect("it is a module");
    encode(&format!("{module}{more})"))
}

/// One with a function of a million instructions, and jumps between them all.
pub fn enormous() -> Vec<u8> {
    let step = "(block $b (br_if $b (local.get 0)) (local.set 1 (i32.mul (local.get 1) (i32.add (local.get 0) (local.get 1)))))";
    with_more(&format!("(func (param i32) (result i32) (local i32) {} (local.get 1))", step.repeat(150_000)))
}

/// A core module with a shell around it, in text.
pub fn text(name: &str, manifest: &str) -> String {
    let mut body = read(name);
    for function in EMPTY {
        if !body.contains(&format!("(func {function}")) {
            let _ = write!(body, "\n(func {function})");
        }
    }
    read("shell")
        .replace("$MANIFEST", &escaped(manifest.as_bytes()))
        .replace("$LENGTH", &escaped(&(manifest.len() as u32).to_le_bytes()))
        .replace("$GUEST", &body)
}

fn read(name: &str) -> String {
    let path = dir().join(name).with_extension("wat");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("hostile")
}

/// The names of all of them.
pub fn all() -> Vec<String> {
    let files = std::fs::read_dir(dir()).expect("the guests are there");
    let names = files.map(|file| file.expect("a file").path().file_stem().expect("a name").display().to_string());
    names.filter(|name| name != "shell").collect()
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:02x}")).collect()
}

/// A component of a core module in text.
pub fn encode(text: &str) -> Vec<u8> {
    let module = wat::parse_str(text).unwrap_or_else(|error| panic!("{error}"));
    component(module)
}

/// A component of a core module.
pub fn component(mut module: Vec<u8>) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit");
    resolve.push_path(contract).expect("the contract is readable");
    for package in WASI {
        resolve.push_str("wasi.wit", package).expect("wasi is readable");
    }
    let tests = resolve.push_str("tests.wit", WORLD).expect("the world is readable");
    let world = resolve.select_world(&[tests], Some("hostile")).expect("the world is there");
    embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8).expect("the module can be a plugin");
    ComponentEncoder::default().module(&module).expect("the module is a plugin").encode().expect("it is a component")
}

const WASI: [&str; 4] = [
    "package wasi:io@0.2.0;
    interface error { resource error; }
    interface poll {
        resource pollable { block: func(); }
        poll: func(in: list<borrow<pollable>>) -> list<u32>;
    }
    interface streams {
        use error.{error};
        variant stream-error { last-operation-failed(error), closed }
        resource output-stream { write: func(contents: list<u8>) -> result<_, stream-error>; }
    }",
    "package wasi:clocks@0.2.0;
    interface monotonic-clock {
        use wasi:io/poll@0.2.0.{pollable};
        now: func() -> u64;
        subscribe-instant: func(when: u64) -> pollable;
        subscribe-duration: func(when: u64) -> pollable;
    }
    interface wall-clock {
        record datetime { seconds: u64, nanoseconds: u32 }
        now: func() -> datetime;
    }",
    "package wasi:random@0.2.0;
    interface random { get-random-bytes: func(len: u64) -> list<u8>; get-random-u64: func() -> u64; }",
    "package wasi:cli@0.2.0;
    interface stdout { use wasi:io/streams@0.2.0.{output-stream}; get-stdout: func() -> output-stream; }",
];

const WORLD: &str = "package longhaul:tests@0.1.0;
    interface things { resource thing { constructor(); } }
    world hostile {
        include longhaul:tool/plugin@0.1.0;
        import wasi:clocks/monotonic-clock@0.2.0;
        import wasi:clocks/wall-clock@0.2.0;
        import wasi:random/random@0.2.0;
        import wasi:io/poll@0.2.0;
        import wasi:io/streams@0.2.0;
        import wasi:cli/stdout@0.2.0;
        export things;
    }";

/// The component with so many more core modules in it, each with an instance that does nothing but have a memory of one page.
pub fn with_instances(mut component: Vec<u8>, instances: u32) -> Vec<u8> {
    const CORE_MODULE: u8 = 1;
    const CORE_INSTANCE: u8 = 2;
    let module = wat::parse_str("(module (memory 1))").expect("it is a module");
    let module_index = modules(&component);
    section(&mut component, CORE_MODULE, &module);
    for _ in 0..instances {
        // One instance, of that module, with no arguments.
        let mut body = vec![1, 0];
        leb(&mut body, module_index);
        body.push(0);
        section(&mut component, CORE_INSTANCE, &body);
    }
    component
}

/// How many core modules a component has.
fn modules(component: &[u8]) -> u32 {
    const CORE_MODULE: u8 = 1;
    let (mut at, mut modules) = (8, 0);
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
        modules += u32::from(id == CORE_MODULE);
        at += 1 + length;
    }
    modules
}

fn section(component: &mut Vec<u8>, id: u8, body: &[u8]) {
    component.push(id);
    leb(component, body.len() as u32);
    component.extend(body);
}

fn leb(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

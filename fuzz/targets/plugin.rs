//! A plugin whose exports are there, and do what wasm-smith makes them do: it is compiled, and asked what it is.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::arbitrary::Unstructured;
use wasm_smith::{Config, Module};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};
use wit_parser::{Resolve, WorldId};

/// The exports that a plugin has.
const EXPORTS: &str = r#"(module
    (memory (export "memory") 1)
    (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
    (func (export "longhaul:tool/background-tool@0.1.0#describe") (result i32) unreachable)
    (func (export "longhaul:tool/background-tool@0.1.0#execute") (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32)
        unreachable)
    (func (export "longhaul:tool/background-tool@0.1.0#await-task")
        (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
    (func (export "longhaul:tool/background-tool@0.1.0#cancel-task")
        (param i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))"#;

/// The imports that it may have.
const IMPORTS: &str = r#"(module
    (import "longhaul:tool/task@0.1.0" "report-progress" (func (param i32 i32 i32 f64 i32 f64 i32)))
    (import "longhaul:tool/task@0.1.0" "sleep" (func (param i64 i32)))
    (import "longhaul:tool/task@0.1.0" "is-cancelled" (func (result i32)))
    (import "longhaul:tool/task@0.1.0" "setting" (func (param i32 i32 i32))))"#;

static CONTRACT: LazyLock<(Resolve, WorldId)> = LazyLock::new(|| {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit")).expect("the contract");
    let world = resolve.select_world(&[package], Some("plugin")).expect("the world");
    (resolve, world)
});

fn module(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut choices = Unstructured::new(bytes);
    let config = Config {
        exports: Some(wat::parse_str(EXPORTS).ok()?),
        available_imports: Some(wat::parse_str(IMPORTS).ok()?),
        // What the engine has off, or a component's module can't have.
        threads_enabled: false,
        gc_enabled: false,
        exceptions_enabled: false,
        memory64_enabled: false,
        custom_page_sizes_enabled: false,
        wide_arithmetic_enabled: false,
        allow_start_export: true,
        ..Config::default()
    };
    Some(Module::new(config, &mut choices).ok()?.to_bytes())
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some(mut module) = module(bytes) else { return };
    let (resolve, world) = &*CONTRACT;
    let embedded = embed_component_metadata(&mut module, resolve, *world, StringEncoding::UTF8);
    let encoder = embedded.and_then(|()| ComponentEncoder::default().module(&module));
    if let Ok(component) = encoder.and_then(|mut encoder| encoder.encode()) {
        longhaul::testing::fuzz::component(&component);
    }
});

//! From a file to something that can be instantiated.

use std::hash::{DefaultHasher, Hash, Hasher};

use wasmtime::Engine;
use wasmtime::component::Component;

use super::bindings::PluginPre;
use super::engine::Sandbox;
use super::guest::Guest;
use crate::PluginError;
use crate::limits::{HostLimit, Limit};

/// The export that makes a component a plugin.
const CONTRACT: &str = "longhaul:tool/background-tool@0.1.0";

/// What this host links. Anything else that a component imports is refused when it is installed.
const PROVIDED: &[&str] = &[
    "wasi:cli/",
    "wasi:clocks/",
    "wasi:filesystem/",
    "wasi:http/outgoing-handler@",
    "wasi:http/types@",
    "wasi:io/",
    "wasi:random/",
    "wasi:sockets/",
    "longhaul:tool/",
];

/// A component, ready to be instantiated.
#[derive(Clone)]
pub(crate) struct Loaded {
    pub(super) pre: PluginPre<Guest>,
    pub(super) engine: Engine,
    /// Bytes of its guest's stack.
    pub(super) wasm_stack: u64,
}

/// Refuses what is no component, before anything is compiled. It may have `most` bytes.
pub(crate) fn check(bytes: &[u8], most: u64) -> Result<(), PluginError> {
    if bytes.len() as u64 > most {
        return Err(PluginError::TooLarge { bytes: bytes.len() as u64, limit: most });
    }
    // The preamble: magic, then version and layer <https://github.com/WebAssembly/component-model/blob/main/design/mvp/Binary.md>.
    match bytes {
        [0, b'a', b's', b'm', _, _, 0, 0, ..] => Err(PluginError::CoreModule),
        [0, b'a', b's', b'm', ..] => Ok(()),
        _ => {
            let found = bytes.get(..bytes.len().min(8)).unwrap_or_default().escape_ascii().to_string();
            Err(PluginError::NotWasm { found: if found.is_empty() { "nothing".into() } else { format!("`{found}`") } })
        }
    }
}

/// Compiles a component. Takes long: not for an async thread.
pub(crate) fn compile(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, PluginError> {
    engine.precompile_component(bytes).map_err(|error| PluginError::Invalid(chain(&error)))
}

/// Makes of compiled code what can be instantiated. Code of this engine is refused only if the pool has no room for it.
pub(crate) fn load(sandbox: &Sandbox, code: &[u8]) -> Result<Loaded, PluginError> {
    // SAFETY: compiled code is trusted as this process's own code is. It was made just now, here or by the compiler that
    // was started for it, or it was read from the cache, whose tag says that a host on this data wrote it; wasmtime copies
    // it, and checks that version, configuration and target are its own.
    #[expect(unsafe_code, reason = "the only way to load compiled code, see above")]
    let component = unsafe { Component::deserialize(&sandbox.engine, code) };
    link(sandbox, &component.map_err(|error| too_demanding(sandbox, &chain(&error)))?)
}

/// The pool of instances has no room for it. It has no types for why, so a test for each holds its words.
fn too_demanding(sandbox: &Sandbox, why: &str) -> PluginError {
    let each = HostLimit::core_instances.said(sandbox.host.core_instances);
    let words = [
        ("core module instances", each.clone()),
        ("linear memories", each.clone()),
        (" tables, which", each),
        ("minimum byte size", Limit::memory.row().said(sandbox.most.memory)),
        ("minimum element size", Limit::table_elements.row().said(sandbox.most.table_elements)),
    ];
    let said = words.into_iter().find(|(words, _)| why.contains(words));
    PluginError::TooDemanding(said.map_or_else(|| why.to_owned(), |(_, said)| format!("{why} ({said})")))
}

/// Distinguishes compiled code of engines that could not run each other's.
pub(crate) fn engine_key(engine: &Engine) -> String {
    let mut hasher = DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn link(sandbox: &Sandbox, component: &Component) -> Result<Loaded, PluginError> {
    let engine = &sandbox.engine;
    let ty = component.component_type();
    let exports: Vec<String> = ty.exports(engine).map(|(name, _)| name.to_owned()).collect();
    if !exports.iter().any(|name| name == CONTRACT) {
        let interface = CONTRACT.split('@').next().unwrap_or_default();
        let other = exports.iter().find(|name| name.split('@').next() == Some(interface));
        return Err(match other {
            Some(found) => PluginError::OtherVersion { found: found.clone(), wanted: CONTRACT },
            None => PluginError::NoInterface { wanted: CONTRACT, exports },
        });
    }
    if let Some((name, _)) =
        ty.imports(engine).find(|(name, _)| !PROVIDED.iter().any(|provided| name.starts_with(provided)))
    {
        return Err(PluginError::UnknownImport(name.to_owned()));
    }
    let invalid = |error: wasmtime::Error| PluginError::Invalid(chain(&error));
    let pre = sandbox.linker.instantiate_pre(component).map_err(invalid)?;
    let pre = PluginPre::new(pre).map_err(invalid)?;
    Ok(Loaded { pre, engine: engine.clone(), wasm_stack: sandbox.host.wasm_stack })
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &wasmtime::Error) -> String {
    let causes: Vec<String> = error.chain().map(ToString::to_string).collect();
    causes.join(": ")
}

//! Where things lie in the source tree and in the target directory.

use std::env;
use std::path::{Path, PathBuf};

/// The root of the source tree.
pub fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the one of compile time serves a binary that is called directly.
    let xtask =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    xtask.parent().map(Path::to_path_buf).unwrap_or(xtask)
}

/// Cargo's target directory of the host workspace.
pub fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The one target directory of all guest workspaces, so that what they share is built once.
pub fn guest_target() -> PathBuf {
    target().join("guests")
}

/// The built components, `<package>.wasm`.
pub fn components() -> PathBuf {
    guest_target().join("components")
}

/// The `longhaul` binary of the dev profile.
pub fn binary() -> PathBuf {
    target().join("debug").join(format!("longhaul{}", env::consts::EXE_SUFFIX))
}

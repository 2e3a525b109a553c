//! Builds the standard library for the guests' target into the unpacked compiler's sysroot.
//!
//! Once there, guests are built by a plain `cargo build --target wasm32-wasip2`: every workspace and profile shares the
//! one library, as with a toolchain that was shipped with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;
use crate::rustup::Host;
use crate::toolchain::TARGET;

/// What the target's linking wants beside the library, from Debian's wasi-libc.
const C_LIBRARY: [&str; 3] = ["crt1-command.o", "crt1-reactor.o", "libc.a"];

const MANIFEST: &str = r#"
[package]
name = "stdlib"
version = "0.0.0"
edition = "2024"
[lib]
path = "lib.rs"
[workspace]
[profile.release]
debug = false
"#;

pub fn build(work: &Path, root: &Path, rustc: &Path, host: &Host) -> Result<()> {
    let libc = root.join("usr/lib").join(TARGET);
    if !libc.join("libc.a").exists() {
        bail!("Debian's wasi-libc here is too old: it has no library for {TARGET}");
    }
    // An empty package, so that cargo has something to build the library for.
    let package = work.join("stdlib");
    fs::create_dir_all(&package).with_context(|| format!("cannot create {}", package.display()))?;
    fs::write(package.join("Cargo.toml"), MANIFEST).context("cannot write the package for the standard library")?;
    fs::write(package.join("lib.rs"), "#![no_std]\n").context("cannot write the package for the standard library")?;

    let mut cargo = Command::new(host.cargo());
    cargo
        .current_dir(&package)
        .args(["build", "--release", "-Zbuild-std=std,panic_abort", "--target", TARGET])
        .env("CARGO_TARGET_DIR", package.join("target"))
        .env("RUSTC", rustc)
        // Both are for nightly compilers only, unless this is set.
        .env("RUSTC_BOOTSTRAP", "1")
        // As the library is built for release: guests see no unstable crate in it, and may be linked by LTO.
        .env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", "-Zforce-unstable-if-unmarked -Cembed-bitcode=yes")
        // Keeps its crates apart from those of the same name and version that a guest depends on.
        .env("__CARGO_DEFAULT_LIB_METADATA", "longhaul-stdlib")
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER");
    process::output(&mut cargo).context("the standard library could not be built")?;

    let built = package.join("target").join(TARGET).join("release/deps");
    let lib = root.join("usr/lib/rustlib").join(TARGET).join("lib");
    let objects = lib.join("self-contained");
    fs::create_dir_all(&objects).with_context(|| format!("cannot create {}", objects.display()))?;
    for file in built.read_dir().with_context(|| format!("cannot read {}", built.display()))?.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(".rlib") && !name.starts_with("libstdlib-") {
            copy(&file.path(), &lib.join(name))?;
        }
    }
    for name in C_LIBRARY {
        copy(&libc.join(name), &objects.join(name))?;
    }
    fs::remove_dir_all(&package).with_context(|| format!("cannot remove {}", package.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

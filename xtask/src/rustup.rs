//! The toolchain that builds the host: what it has, and whether rustup can add a target to it.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::process;

pub struct Host {
    pub sysroot: PathBuf,
    /// Such as `x86_64-unknown-linux-gnu`.
    triple: String,
}

pub fn host() -> Result<Host> {
    let rustc = || Command::new("rustc");
    let sysroot =
        process::output(rustc().args(["--print", "sysroot"])).context("is Rust installed? See https://rustup.rs")?;
    let version = process::output(rustc().arg("-vV"))?;
    let triple = version.lines().find_map(|line| line.strip_prefix("host: ")).context("`rustc -vV` names no host")?;
    Ok(Host { sysroot: sysroot.trim().into(), triple: triple.to_owned() })
}

impl Host {
    pub fn has_target(&self, target: &str) -> bool {
        let lib = self.sysroot.join("lib/rustlib").join(target).join("lib");
        lib.read_dir()
            .is_ok_and(|files| files.flatten().any(|file| file.file_name().to_string_lossy().starts_with("libstd-")))
    }

    pub fn cargo(&self) -> PathBuf {
        self.sysroot.join("bin/cargo")
    }

    /// Makes a component of what `wasm-ld` linked.
    pub fn component_linker(&self) -> PathBuf {
        self.tools().join("wasm-component-ld")
    }

    pub fn wasm_linker(&self) -> PathBuf {
        self.tools().join("gcc-ld/wasm-ld")
    }

    fn tools(&self) -> PathBuf {
        self.sysroot.join("lib/rustlib").join(&self.triple).join("bin")
    }
}

/// Asks rustup for the target. A machine without its download server answers late or never, hence the limit.
pub fn add_target(target: &str, host: &Host) -> bool {
    println!("{target}: asking rustup for it");
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add", target]).env("RUSTUP_MAX_RETRIES", "0");
    process::succeeds_within(&mut rustup, Duration::from_secs(60)) && host.has_target(target)
}

//! Builds the guest workspaces into components.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::components::{self, Component};
use crate::{paths, process, toolchain};

/// The guest workspaces, as far as they exist.
pub fn workspaces() -> Vec<PathBuf> {
    ["plugins", "tests/guests"]
        .map(|dir| paths::root().join(dir))
        .into_iter()
        .filter(|dir| dir.join("Cargo.toml").exists())
        .collect()
}

/// Builds all of them and returns the folder of the components.
pub fn build_all() -> Result<PathBuf> {
    println!("{}", toolchain::ensure()?);
    let mut built: BTreeMap<String, Component> = BTreeMap::new();
    for workspace in workspaces() {
        println!("building the guests of {}", workspace.display());
        for component in build(&workspace)? {
            if let Some(other) = built.insert(component.name.clone(), component) {
                bail!("two guests are called `{}`; one is {}", other.name, other.file.display());
            }
        }
    }
    let dir = paths::components();
    components::collect(&dir, built.values())?;
    for component in built.values() {
        let size = fs::metadata(&component.file).map_or(0, |data| data.len());
        println!("{:>8} KiB  {}", size.div_ceil(1024), dir.join(format!("{}.wasm", component.name)).display());
    }
    Ok(dir)
}

/// Builds one workspace; what the compiler says goes to our stderr.
fn build(workspace: &Path) -> Result<Vec<Component>> {
    let mut command = toolchain::guest_command(workspace)?;
    let mut child = command
        .args(["--workspace", "--message-format=json-render-diagnostics"])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start cargo")?;
    let stdout = child.stdout.take().context("cargo has no output")?;
    let mut built = Vec::new();
    for line in BufReader::new(stdout).lines() {
        built.extend(Component::from_cargo(&line.context("cannot read cargo's output")?));
    }
    let status = child.wait().context("cannot wait for cargo")?;
    if !status.success() {
        bail!("the guests in {} do not build ({status}); the compiler's messages are above", workspace.display());
    }
    Ok(built)
}

/// Runs cargo in one guest workspace.
pub fn cargo(dir: &Path, args: &[String]) -> Result<()> {
    let mut cargo = toolchain::ensure()?.cargo();
    cargo.current_dir(dir).env("CARGO_TARGET_DIR", paths::guest_target());
    if args.is_empty() {
        cargo.args(["build", "--release"]);
    }
    process::run(cargo.args(args))
}

//! A browser for the tests of the web inbox: the machine's, or Debian's, unpacked below the target directory.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::{debian, paths, process};

/// Names that it goes by.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// What starts it. `None`: the machine has none, and is no Debian to take one from.
pub fn find() -> Result<Option<Command>> {
    if let Some(given) = std::env::var_os("CHROMIUM") {
        return Ok(Some(Command::new(given)));
    }
    if let Some(name) = NAMES.iter().find(|name| process::output(Command::new(name).arg("--version")).is_ok()) {
        return Ok(Some(Command::new(name_of(name))));
    }
    if !debian::is_here() {
        return Ok(None);
    }
    let home = paths::target().join("chromium");
    let program = home.join("root/usr/lib/chromium/chromium");
    if !program.exists() {
        println!("chromium: downloading Debian's (once)");
        debian::unpack_with_dependencies(&home, &["chromium", "fonts-dejavu-core"])?;
    }
    Ok(Some(unpacked(&home.join("root"), &program)))
}

/// As playwright wants it: a path.
fn name_of(name: &str) -> PathBuf {
    let found = std::env::var_os("PATH")
        .and_then(|path| std::env::split_paths(&path).map(|dir| dir.join(name)).find(|candidate| candidate.exists()));
    found.unwrap_or_else(|| name.into())
}

/// With the libraries and fonts that were unpacked beside it.
fn unpacked(root: &Path, program: &Path) -> Command {
    let mut command = Command::new(program);
    let libraries = debian::libraries(root);
    command.env("LD_LIBRARY_PATH", libraries);
    if !Path::new("/etc/fonts/fonts.conf").exists() {
        command.env("FONTCONFIG_SYSROOT", root);
    }
    command
}

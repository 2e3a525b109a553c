//! A compiler for wasm32-wasip2, the target of the guests.
//!
//! On most machines that is rustup's own with the target added. Where rustup cannot download, a compiler from Debian's
//! archive together with a standard library that we build does the same. The choice is remembered under the target
//! directory, so that asking again costs milliseconds.

use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::{debian, paths, process, rustup};

pub const TARGET: &str = "wasm32-wasip2";

/// Raised when the way the toolchain is put together changes, so that older ones are built anew.
const LAYOUT: u32 = 1;

pub enum Toolchain {
    /// The toolchain that builds the host has the target too.
    Rustup { sysroot: PathBuf },
    /// A compiler of its own, linking with what rustup's toolchain ships.
    Debian(Debian),
}

pub struct Debian {
    /// Runs the unpacked compiler with its libraries.
    pub rustc: PathBuf,
    /// The host toolchain, whose cargo and linkers are used.
    pub host: rustup::Host,
}

impl Toolchain {
    /// A cargo that builds guests: its arguments are the caller's, the target is set.
    pub fn cargo(&self) -> Command {
        match self {
            Self::Rustup { .. } => {
                let mut cargo = process::cargo();
                cargo.env("CARGO_BUILD_TARGET", TARGET);
                cargo
            }
            Self::Debian(debian) => {
                // rustup's proxy would put its own compiler's libraries in front, so its cargo is called directly.
                let mut cargo = Command::new(debian.host.cargo());
                cargo
                    .env("CARGO_BUILD_TARGET", TARGET)
                    .env("RUSTC", &debian.rustc)
                    .env("CARGO_TARGET_WASM32_WASIP2_LINKER", debian.host.component_linker())
                    .env("CARGO_TARGET_WASM32_WASIP2_RUSTFLAGS", debian::rustflags(&debian.host))
                    // These would override what is set above.
                    .env_remove("RUSTFLAGS")
                    .env_remove("CARGO_ENCODED_RUSTFLAGS")
                    .env_remove("RUSTC_WRAPPER")
                    .env_remove("RUSTC_WORKSPACE_WRAPPER");
                cargo
            }
        }
    }
}

/// What builds the guest workspace or package in a folder into components, in the shared target directory.
pub fn guest_command(dir: &Path) -> Result<Command> {
    let mut cargo = ensure()?.cargo();
    cargo.current_dir(dir).env("CARGO_TARGET_DIR", paths::guest_target()).args(["build", "--release"]);
    Ok(cargo)
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rustup { sysroot } => {
                write!(f, "{TARGET}: the standard library in {}", sysroot.display())
            }
            Self::Debian(debian) => write!(
                f,
                "{TARGET}: Debian's compiler {} with a standard library of our build; cargo and linkers of {}",
                debian.rustc.display(),
                debian.host.sysroot.display()
            ),
        }
    }
}

/// Everything of ours: the record of the choice, and what was unpacked and built for it.
fn home() -> PathBuf {
    paths::target().join("wasm-toolchain")
}

fn record() -> PathBuf {
    home().join("toolchain.json")
}

pub fn forget() -> Result<()> {
    match fs::remove_dir_all(home()) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", home().display()))
        }
        _ => Ok(()),
    }
}

/// From now on Debian's compiler is used, also where rustup's toolchain has the target.
pub fn prefer_debian() -> Result<()> {
    let _lock = lock()?;
    let mut choice = read_record(&rustup::host()?);
    choice["rustup"] = json!("not wanted");
    write_record(&choice)
}

/// Finds the toolchain, or sets it up.
pub fn ensure() -> Result<Toolchain> {
    let host = rustup::host()?;
    let _lock = lock()?;
    let mut choice = read_record(&host);
    let unwanted = choice["rustup"] == "not wanted";
    if host.has_target(TARGET) && !unwanted {
        return Ok(Toolchain::Rustup { sysroot: host.sysroot });
    }
    if let Some(rustc) = choice["rustc"].as_str().map(PathBuf::from).filter(|rustc| rustc.exists()) {
        return Ok(Toolchain::Debian(Debian { rustc, host }));
    }
    if choice["rustup"].is_null() {
        if rustup::add_target(TARGET, &host) {
            return Ok(Toolchain::Rustup { sysroot: host.sysroot });
        }
        // Remembered, since a failing download may take its time to fail.
        choice["rustup"] = json!("could not add the target");
        write_record(&choice)?;
    }
    let rustc = match debian::set_up(&home(), &host) {
        Ok(rustc) => rustc,
        Err(error) => bail!(
            "there is no compiler for {TARGET}, and none could be set up.\n\
             Install the target: `rustup target add {TARGET}`, then run this again.\n\
             `rustup` could not add it here (`cargo xtask wasm-toolchain --fresh` tries again), and the way over \
             Debian's packages failed:\n{error:#}"
        ),
    };
    choice["rustc"] = json!(rustc);
    write_record(&choice)?;
    Ok(Toolchain::Debian(Debian { rustc, host }))
}

/// Two builds at once must not unpack over each other.
fn lock() -> Result<File> {
    let home = home();
    fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    let path = home.join("lock");
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// What was chosen for this host toolchain. A record that is missing, damaged or of another one counts as none.
fn read_record(host: &rustup::Host) -> Value {
    let none = json!({ "layout": LAYOUT, "sysroot": host.sysroot });
    let read = fs::read(record()).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    read.filter(|old| old["layout"] == none["layout"] && old["sysroot"] == none["sysroot"]).unwrap_or(none)
}

fn write_record(choice: &Value) -> Result<()> {
    let path = record();
    fs::write(&path, format!("{choice:#}\n")).with_context(|| format!("cannot write {}", path.display()))
}

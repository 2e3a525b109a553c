//! A compiler for the guests out of Debian's archive.
//!
//! Debian ships the library's source with its compiler, which rustup's does only as a download, and the C library that
//! the target needs. The packages are unpacked below the target directory, not installed: that takes no root, leaves the
//! system's package sources as they are, and does not push aside a compiler the machine already has.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process::{self, output};
use crate::rustup::Host;
use crate::stdlib;

/// `rustc-web` is the compiler Debian keeps recent, for its browsers.
const COMPILER: [&str; 2] = ["rustc-web", "rust-web-src"];
const MIRROR: &str = "http://deb.debian.org";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Rustup's linkers stand in for the ones that Debian's compiler looks for.
pub fn rustflags(host: &Host) -> String {
    format!("-C link-self-contained=yes -C link-arg=--wasm-ld-path={}", host.wasm_linker().display())
}

/// Downloads, unpacks and completes the compiler; returns the path to call it by.
pub fn set_up(home: &Path, host: &Host) -> Result<PathBuf> {
    if !host.component_linker().exists() {
        bail!("{} has no wasm-component-ld; a toolchain of rustup's has", host.sysroot.display());
    }
    let work = home.join("debian");
    // Left over from a set-up that did not finish.
    if work.exists() {
        fs::remove_dir_all(&work).with_context(|| format!("cannot remove {}", work.display()))?;
    }
    let root = work.join("root");
    fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;

    let apt = Apt::new(&work)?;
    println!("wasm32-wasip2: downloading Debian's {} and wasi-libc", COMPILER[0]);
    let packages = apt.download(&COMPILER, &["wasi-libc"])?;
    println!("wasm32-wasip2: unpacking {} packages", packages.len());
    for package in &packages {
        unpack(package, &root)?;
    }
    fs::remove_dir_all(&apt.dir).with_context(|| format!("cannot remove {}", apt.dir.display()))?;
    let rustc = wrapper(&work, &root)?;
    println!("wasm32-wasip2: building the standard library (once, about a minute)");
    stdlib::build(&work, &root, &rustc, host)?;
    Ok(rustc)
}

/// Whether there are packages for this machine.
pub fn is_here() -> bool {
    Path::new("/etc/debian_version").exists() && Path::new(KEYRING).exists()
}

/// Unpacks packages, with what they need and the machine does not have, into `home`/root.
pub fn unpack_with_dependencies(home: &Path, packages: &[&str]) -> Result<()> {
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("cannot remove {}", home.display()))?;
    }
    let root = home.join("root");
    fs::create_dir_all(&root).with_context(|| format!("cannot create {}", root.display()))?;
    let apt = Apt::new(home)?;
    for package in apt.download(packages, &[])? {
        unpack(&package, &root)?;
    }
    fs::remove_dir_all(&apt.dir).with_context(|| format!("cannot remove {}", apt.dir.display()))
}

/// Where the libraries lie that were unpacked, for the loader.
pub fn libraries(root: &Path) -> OsString {
    let below = ["usr/lib", "lib"].map(|lib| root.join(lib));
    let multiarch = below.iter().filter_map(|lib| lib.read_dir().ok()).flatten().flatten().map(|entry| entry.path());
    let named = multiarch.filter(|path| path.to_string_lossy().ends_with("-linux-gnu")).flat_map(|path| {
        // Some keep theirs one folder further down.
        [path.clone(), path.join("pulseaudio")]
    });
    std::env::join_paths(named.chain(below.clone())).unwrap_or_default()
}

/// apt with sources, lists and cache of its own.
struct Apt {
    dir: PathBuf,
    codename: String,
}

impl Apt {
    fn new(work: &Path) -> Result<Self> {
        let os = fs::read_to_string("/etc/os-release").unwrap_or_default();
        let field = |name: &str| {
            os.lines().find_map(|line| line.strip_prefix(name)).map(|value| value.trim_matches('"').to_owned())
        };
        let codename = field("VERSION_CODENAME=").filter(|_| field("ID=").as_deref() == Some("debian"));
        let Some(codename) = codename else { bail!("this is not a Debian release") };

        let dir = work.join("apt");
        for part in ["lists/partial", "cache/archives/partial", "packages"] {
            fs::create_dir_all(dir.join(part)).with_context(|| format!("cannot create {part} in {}", dir.display()))?;
        }
        let source =
            |archive: &str, suite: &str| format!("deb [signed-by={KEYRING}] {MIRROR}/{archive} {suite} main\n");
        let sources = [
            source("debian", &codename),
            source("debian-security", &format!("{codename}-security")),
            // Bookworm's own wasi-libc is of 2022 and knows only preview 1.
            source("debian", &format!("{codename}-backports")),
        ];
        fs::write(dir.join("sources.list"), sources.concat()).context("cannot write the list of package sources")?;
        Ok(Self { dir, codename })
    }

    fn apt_get(&self) -> Command {
        let path = |name: &str| self.dir.join(name).display().to_string();
        let options = [
            format!("Dir::Etc::sourcelist={}", path("sources.list")),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            format!("Dir::State::lists={}", path("lists")),
            format!("Dir::Cache={}", path("cache")),
            // Without these only root may do it.
            "APT::Sandbox::User=".to_owned(),
            "Debug::NoLocking=1".to_owned(),
        ];
        let mut apt = Command::new("apt-get");
        apt.env("LC_ALL", "C").current_dir(self.dir.join("packages"));
        for option in options {
            apt.args(["-o", &option]);
        }
        apt
    }

    /// Packages with what they depend on and the machine does not have; and some of the backports, alone.
    fn download(&self, wanted: &[&str], backports: &[&str]) -> Result<Vec<PathBuf>> {
        output(self.apt_get().arg("update"))?;
        let plan = output(self.apt_get().args(["install", "--simulate", "--no-install-recommends"]).args(wanted))?;
        let missing: BTreeSet<&str> = plan
            .lines()
            .filter_map(|line| line.strip_prefix("Inst ")?.split_whitespace().next())
            .chain(wanted.iter().copied())
            .collect();
        output(self.apt_get().arg("download").args(&missing))?;
        if !backports.is_empty() {
            let release = format!("{}-backports", self.codename);
            output(self.apt_get().args(["--target-release", &release, "download"]).args(backports))?;
        }

        let packages = self.dir.join("packages");
        let files = packages.read_dir().with_context(|| format!("cannot read {}", packages.display()))?;
        Ok(files
            .flatten()
            .map(|file| file.path())
            .filter(|path| path.extension().is_some_and(|e| e == "deb"))
            .collect())
    }
}

/// Unpacks a package without the bulk that nobody here reads: the compiler's own source, documentation.
fn unpack(package: &Path, root: &Path) -> Result<()> {
    let archive = package.with_extension("tar");
    process::run(
        Command::new("sh")
            .args(["-c", "dpkg-deb --fsys-tarfile \"$1\" > \"$2\"", "sh"])
            .args([package, archive.as_path()]),
    )?;
    let skip = ["./usr/share/doc", "./usr/share/man", "./usr/src/*/compiler", "./usr/src/*/src"];
    let mut tar = Command::new("tar");
    // Else the `*` reaches the standard library's own `src` folders.
    tar.arg("--no-wildcards-match-slash")
        .args(skip.map(|path| format!("--exclude={path}")))
        .arg("-xf")
        .arg(&archive)
        .arg("-C")
        .arg(root);
    process::output(&mut tar)?;
    fs::remove_file(&archive).with_context(|| format!("cannot remove {}", archive.display()))
}

/// A script that runs the unpacked compiler with the libraries unpacked beside it.
fn wrapper(work: &Path, root: &Path) -> Result<PathBuf> {
    let lib = root.join("usr/lib");
    let multiarch = lib
        .read_dir()
        .with_context(|| format!("cannot read {}", lib.display()))?
        .flatten()
        .find(|entry| entry.file_name().to_string_lossy().ends_with("-linux-gnu"))
        .context("the compiler's package holds no libraries")?;
    let path = work.join("rustc");
    let script = format!(
        "#!/bin/sh\nLD_LIBRARY_PATH='{}' exec '{}' \"$@\"\n",
        multiarch.path().display(),
        root.join("usr/bin/rustc").display()
    );
    fs::write(&path, script).with_context(|| format!("cannot write {}", path.display()))?;
    process::run(Command::new("chmod").arg("+x").arg(&path))?;
    output(Command::new(&path).arg("--version")).context("the unpacked compiler does not run")?;
    Ok(path)
}

//! What a developer of Longhaul runs: `cargo xtask <command>`.
//!
//! Each command is a module of its own; this file only says which there are.

mod bench;
mod browser;
mod components;
mod debian;
mod demo;
mod fuzz;
mod guests;
mod interop;
mod paths;
mod peers;
mod process;
mod runner;
mod rustup;
mod semver;
mod soak;
mod stdlib;
mod test;
mod timing;
mod toolchain;
mod web;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Tasks of a developer of Longhaul")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Find or set up a compiler for wasm32-wasip2, and say which it is
    WasmToolchain {
        /// Forget the earlier choice and look again
        #[arg(long)]
        fresh: bool,
        /// Take Debian's compiler even if rustup would do, to try that way (until `--fresh`)
        #[arg(long)]
        debian: bool,
    },
    /// Build the guests and the `longhaul` binary
    Build,
    /// Build the guests only (plugins/ and tests/guests/) and copy the components together
    Guests,
    /// Run cargo in a guest workspace with the guests' compiler: `cargo xtask guest plugins build -p checklist`
    Guest {
        /// The folder of the workspace
        dir: std::path::PathBuf,
        /// What cargo is given; `build --release` when left out
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Build everything and run every test
    Test {
        /// Passed on to the test runner: a filter, options
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Clients and suites that others wrote, against what is built; installs them once, below the target directory
    Interop {
        /// Which ones; all of them when left out
        names: Vec<String>,
    },
    /// Build the web inbox, if anything has changed: `longhaul serve` holds it once it is built again
    Web,
    /// Try the web inbox of the built binary in Chromium
    WebTest,
    /// Write down the API's types for the web inbox, as the built server describes them
    WebTypes,
    /// Photograph the pages of the web inbox into docs/images
    Screenshots,
    /// Two plugins run, get killed, and go on where they were
    Demo(demo::Options),
    /// Kill, freeze and stop hosts at random while they run many tasks, and say what was lost
    Soak {
        /// How long
        #[arg(long, default_value_t = 10)]
        minutes: u64,
        /// Which plan of faults to begin with; the next rounds have the next ones
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Feed what reads a stranger's bytes with bytes (libFuzzer), and say what broke
    Fuzz {
        /// One of journal, rule, policy, manifest, answer, component, plugin; all of them when left out
        target: Option<String>,
        /// How long each
        #[arg(long, default_value_t = 60)]
        seconds: u64,
    },
    /// Compare what the crates offer with the last release, and say what would break those who build on them
    Semver {
        /// What to compare with, as git names it; the newest tag `v*` when left out
        baseline: Option<String>,
    },
    /// Measure a release build, and DBOS and Restate beside it
    Bench {
        /// The groups of rows: tasks, guest, waiting, peers; all of them when left out
        groups: Vec<String>,
    },
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Not through `main`'s result: that would add a backtrace, which explains nothing here.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::WasmToolchain { fresh, debian } => {
            if fresh {
                toolchain::forget()?;
            }
            if debian {
                toolchain::prefer_debian()?;
            }
            println!("{}", toolchain::ensure()?);
            Ok(())
        }
        Command::Build => test::build(&mut timing::Timings::default()).map(drop),
        Command::Guests => guests::build_all().map(drop),
        Command::Guest { dir, args } => guests::cargo(&dir, &args),
        Command::Test { args } => test::run(&args),
        Command::Interop { names } => interop::run(&names),
        Command::Web => web::build(),
        Command::WebTest => test::web(),
        Command::WebTypes => test::build_with_web(&mut timing::Timings::default()).and_then(|_| web::types()),
        Command::Screenshots => test::build_with_web(&mut timing::Timings::default()).and_then(|_| web::screenshots()),
        Command::Demo(options) => demo::run(&options),
        Command::Soak { minutes, seed } => soak::run(minutes, seed),
        Command::Fuzz { target, seconds } => fuzz::run(target.as_deref(), seconds),
        Command::Semver { baseline } => semver::run(baseline.as_deref()),
        Command::Bench { groups } => bench::run(&groups),
    }
}

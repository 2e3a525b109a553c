//! The demo: two plugins do a person's work; one is killed in the middle of it and goes on where it was.
//!
//! It checks itself against the events that `longhaul --json` prints. With a terminal one sees the bars and answers the
//! questions; without one the answers come from `demo/answers.json`.

mod checklist;
mod checks;
mod csv;
mod longhaul;

use std::fs;
use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use crate::timing::Timings;
use crate::{paths, test};
use longhaul::Longhaul;

#[derive(clap::Args)]
pub struct Options {
    /// Answer by itself, as without a terminal
    #[arg(long)]
    no_input: bool,
}

/// What the demo runs with, and how.
struct Stage {
    longhaul: Longhaul,
    components: PathBuf,
    /// Somebody watches, and answers.
    live: bool,
}

impl Stage {
    fn plugin(&self, name: &str) -> Result<PathBuf> {
        let file = self.components.join(format!("{name}.wasm"));
        if !file.exists() {
            bail!("there is no plugin `{name}`: {} is missing", file.display());
        }
        Ok(file)
    }
}

pub fn run(options: &Options) -> Result<()> {
    let mut timings = Timings::default();
    let result = run_parts(options, &mut timings);
    timings.print();
    let stage = result.context("the demo went wrong")?;
    println!("\nall checks passed. The tasks are still there to look at:");
    println!("  {} tasks ls", stage.longhaul);
    Ok(())
}

fn run_parts(options: &Options, timings: &mut Timings) -> Result<Stage> {
    let components = test::build(timings)?;
    let data = paths::target().join("demo");
    // The tasks of an earlier demo would only be in the way.
    if data.exists() {
        fs::remove_dir_all(&data).with_context(|| format!("cannot remove {}", data.display()))?;
    }
    let live = !options.no_input && std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let stage = Stage { longhaul: Longhaul::new(paths::binary(), data), components, live };
    csv::run(&stage, timings)?;
    checklist::run(&stage, timings)?;
    Ok(stage)
}

/// A file of the demo's own.
fn sample(name: &str) -> PathBuf {
    paths::root().join("xtask/demo").join(name)
}

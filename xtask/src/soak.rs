//! Runs many tasks on hosts that are killed, frozen and stopped at random moments, and tells what was lost.

use anyhow::Result;

use crate::timing::Timings;
use crate::{paths, process, test};

pub fn run(minutes: u64, seed: u64) -> Result<()> {
    let components = test::build(&mut Timings::default())?;
    let binary = paths::binary();
    process::run(
        std::process::Command::new(binary.with_file_name("soak"))
            .args([(minutes * 60).to_string(), seed.to_string()])
            .env("LONGHAUL_COMPONENTS", components)
            .env("LONGHAUL_BIN", &binary),
    )
}

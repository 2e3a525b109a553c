//! A longer run of random faults: `soak SECONDS [SEED]`. Run by `cargo xtask soak`.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use longhaul_tests::soak::Soak;

/// One data directory is used for so long at most; then a new one begins.
const ROUND: Duration = Duration::from_secs(120);

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut left = Duration::from_secs(args.next().context("soak SECONDS [SEED]")?.parse()?);
    let mut seed: u64 = args.next().map_or(Ok(1), |seed| seed.parse())?;
    let mut losses = 0;
    while !left.is_zero() {
        let time = left.min(ROUND);
        let report = Soak { seed, time }.run();
        println!("seed {seed}, {} s: {report}", time.as_secs());
        losses += report.losses.len();
        (left, seed) = (left - time, seed + 1);
    }
    ensure!(losses == 0, "{losses} losses");
    Ok(())
}

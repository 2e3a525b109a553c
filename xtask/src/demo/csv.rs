//! `profile_csv` on a table of orders: a quick tool, run to its end.

use anyhow::{Result, ensure};

use super::{Stage, checks, sample};
use crate::process;
use crate::timing::Timings;

pub fn run(stage: &Stage, timings: &mut Timings) -> Result<()> {
    let plugin = stage.plugin("csv-profile")?.display().to_string();
    let input = format!("csv=@{}", sample("orders.csv").display());
    let args = ["run", &plugin, "profile_csv", &input];
    timings.time("profile_csv: a table of orders", || {
        if stage.live {
            return process::run(&mut stage.longhaul.command(args));
        }
        let told = stage.longhaul.told(args)?;
        checks::in_order(&told.events)?;
        checks::one_attempt(&told.events)?;
        let table = told.text("text/markdown")?;
        ensure!(
            table.contains("amount"),
            "the profile does not name the column `amount`:\n{table}"
        );
        println!("{table}");
        Ok(())
    })
}

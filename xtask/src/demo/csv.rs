//! `profile_csv` on a table of orders: quick, but for one thing that only a person can tell.

use anyhow::{Result, ensure};

use super::{Stage, checks, sample};
use crate::process;
use crate::timing::Timings;

/// Its weights, such as 1.095, are of a person who may have meant grams or kilograms.
const TABLE: &str = "orders.csv";
const ANSWER: &str = "\"comma\"";

pub fn run(stage: &Stage, timings: &mut Timings) -> Result<()> {
    let plugin = stage.plugin("csv-profile")?.display().to_string();
    let input = format!("csv=@{}", sample(TABLE).display());
    let args = ["run", &plugin, "profile_csv", &input];
    timings.time("profile_csv: a table of orders", || {
        if stage.live {
            return process::run(&mut stage.longhaul.command(args));
        }
        let told = stage.longhaul.told(args.into_iter().chain(["--answer", ANSWER]))?;
        println!("{}", told.text("text/markdown")?);
        checks::in_order(&told.events)?;
        checks::one_attempt(&told.events)?;
        ensure!(checks::asked_once(&told.events)? == 1, "the number format was not asked for");
        let columns = &told.task["output"]["structured"]["columns"];
        let weight = columns.as_array().into_iter().flatten().find(|column| column["name"] == "weight");
        let least = weight.and_then(|column| column["min"].as_f64());
        // Read with a comma before the fraction, these numbers are in the thousands.
        ensure!(least >= Some(1000.0), "the answer was not heeded: the least weight is {least:?}");
        Ok(())
    })
}

use anyhow::Result;
#[derive(clap::Args)]
pub struct Options {}
pub fn run(_: &Options) -> Result<()> {
    Ok(())
}

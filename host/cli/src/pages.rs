//! `longhaul completions` and `longhaul man`: what a package installs beside the program.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::app::App;
use crate::args::Cli;
use crate::exit::{Exit, Problem};
use crate::view::say;

pub fn completions(shell: Shell) -> Result<Exit, Problem> {
    let mut text = Vec::new();
    // Into memory: into a pipe that is closed it would panic.
    clap_complete::generate(shell, &mut Cli::command(), "longhaul", &mut text);
    print(&text)
}

/// One page on standard output, or each command's as a file.
pub fn man(app: &App, dir: Option<&Path>) -> Result<Exit, Problem> {
    let Some(dir) = dir else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Cli::command()).render(&mut page);
        rendered.map_err(|e| Problem::new(format!("cannot write the page: {e}")))?;
        return print(&page);
    };
    let written = fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir));
    written.map_err(|e| Problem::new(format!("cannot write man pages into {}: {e}", dir.display())))?;
    if !app.json {
        say(&format!("wrote man pages into {}", dir.display()));
    }
    Ok(Exit::Done)
}

fn print(text: &[u8]) -> Result<Exit, Problem> {
    let mut out = std::io::stdout().lock();
    out.write_all(text).and_then(|()| out.flush()).map_err(|e| Problem::output(&e))?;
    Ok(Exit::Done)
}

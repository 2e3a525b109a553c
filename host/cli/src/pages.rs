//! `longhaul completions` and `longhaul man`: what a package installs beside the program.

use std::io::Write as _;
use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::app::App;
use crate::args::Cli;
use crate::exit::{Exit, Problem};
use crate::view::say;
use crate::{complete, man};

pub fn completions(shell: Shell) -> Result<Exit, Problem> {
    let script = complete::script(&shell.to_string());
    print(&script.map_err(|e| Problem::new(format!("cannot write the script: {e}")))?)
}

/// One page on standard output, or each command's as a file.
pub fn man(app: &App, dir: Option<&Path>) -> Result<Exit, Problem> {
    let Some(dir) = dir else {
        let page = man::page(&Cli::command()).map_err(|e| Problem::new(format!("cannot write the page: {e}")))?;
        return print(page.as_bytes());
    };
    man::pages(Cli::command(), dir)
        .map_err(|e| Problem::new(format!("cannot write man pages into {}: {e}", dir.display())))?;
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

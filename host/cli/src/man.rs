//! Man pages, as clap_mangen writes them, but for what stands at the end of help pages: there it knows one section `EXTRA`.

use std::fs;
use std::io;
use std::path::Path;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

/// The headings at the end of a help page, and the sections that they are of a man page.
const SECTIONS: [(&str, &str); 2] = [("Examples:", "EXAMPLES"), ("Exit codes:", "EXIT STATUS")];

/// The page of a command.
pub fn page(command: &Command) -> io::Result<String> {
    let man = Man::new(command.clone());
    let help = command.get_after_long_help().or_else(|| command.get_after_help()).map(ToString::to_string);
    let (about, sections) = taken_apart(help.as_deref().unwrap_or_default());
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    about.to_writer(&mut page)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|sub| !sub.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    sections.to_writer(&mut page)?;
    if command.get_version().is_some() {
        man.render_version_section(&mut page)?;
    }
    // Each part begins as if it were a page of its own.
    let preamble = Roff::new().render();
    Ok(format!("{preamble}{}", String::from_utf8_lossy(&page).replace(&preamble, "")))
}

/// Writes the pages of a command and of all below it.
pub fn pages(command: Command, dir: &Path) -> io::Result<()> {
    fn each(command: &Command, dir: &Path) -> io::Result<()> {
        for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
            each(sub, dir)?;
        }
        fs::write(dir.join(Man::new(command.clone()).get_filename()), page(command)?)
    }
    let mut command = command.disable_help_subcommand(true);
    command.build();
    fs::create_dir_all(dir).and_then(|()| each(&command, dir))
}

/// What belongs to the description, and the sections behind it, whose lines stay as they are.
fn taken_apart(help: &str) -> (Roff, Roff) {
    let (mut about, mut sections) = (Roff::new(), Roff::new());
    let mut within = None;
    for paragraph in help.split("\n\n") {
        let heading = SECTIONS.iter().find_map(|(heading, name)| Some((name, paragraph.strip_prefix(heading)?)));
        let lines = heading.map_or(paragraph, |(_, rest)| rest.trim_start_matches('\n'));
        within = heading.map(|(name, _)| name).or(within);
        let (part, kept) = match heading {
            Some((name, _)) => (sections.control("SH", [*name]), true),
            None if within.is_some() => (sections.control("PP", []), true),
            None => (about.control("PP", []), false),
        };
        if kept {
            part.control("nf", []);
        }
        for line in lines.lines() {
            part.text([roman(line)]);
        }
        if kept {
            part.control("fi", []);
        }
    }
    (about, sections)
}

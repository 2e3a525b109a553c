//! What a shell offers while a command is typed: commands and options, and the names of what there is in the data directory. Without
//! that directory, or when it is busy, there are no such names, and nothing is said.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::CommandFactory as _;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::{CompleteEnv, Shells};
use longhaul::{NamedTask, Names, TaskState};

use crate::app::App;
use crate::args::{Cli, Global};
use crate::show;

/// Set by the scripts that [`script`] makes, when they want to be told what to offer.
const ASKED: &str = "LONGHAUL_COMPLETE";

/// Nobody picks one of more.
const TASKS: usize = 50;

/// Answers a shell that asks what to offer, and ends the process; does nothing if none asks.
pub fn if_asked() {
    CompleteEnv::with_factory(Cli::command).var(ASKED).complete();
}

/// What a shell has to be told once, so that it asks.
pub fn script(shell: &str) -> std::io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| std::io::Error::other(format!("no shell `{shell}` is known")))?;
    shell.write_registration(ASKED, "longhaul", "longhaul", "longhaul", &mut script)?;
    Ok(script)
}

/// Tasks: all of them.
pub fn tasks() -> ArgValueCompleter {
    those(|_| true)
}

/// Tasks that ask something.
pub fn asking() -> ArgValueCompleter {
    those(|task| !task.questions.is_empty())
}

/// Tasks that may be asked to stop.
pub fn unfinished() -> ArgValueCompleter {
    those(|task| !task.state.is_terminal())
}

/// Tasks that may be removed.
pub fn ended() -> ArgValueCompleter {
    those(|task| task.state.is_terminal())
}

fn those(which: fn(&NamedTask) -> bool) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let names = names();
        let ids: Vec<_> = names.tasks.iter().map(|task| &task.id).collect();
        let length = show::ending(&ids);
        let mut offered = match names.tasks.iter().find(|task| which(task)) {
            Some(_) => vec![CompletionCandidate::new("@last")],
            None => Vec::new(),
        };
        for task in names.tasks.iter().filter(|task| which(task)) {
            let (_, ending) = show::split(&task.id, length);
            // By the short name, unless a whole id is being typed.
            let name = match begins(ending, typed) {
                true => ending,
                false => task.id.as_str(),
            };
            let about = format!("{} {}", show::tool(&task.plugin, &task.tool), task.state);
            offered.push(CompletionCandidate::new(name).help(Some(about.into())));
        }
        kept(offered, typed)
    })
}

/// The numbers of the questions that may be answered.
pub fn questions() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let (names, words) = (names(), words());
        let named = |task: &&NamedTask| {
            let id = task.id.as_str();
            words.iter().any(|word| word.len() >= 4 && (id.starts_with(word.as_str()) || id.ends_with(word.as_str())))
        };
        let last = names.tasks.first().filter(|_| words.iter().any(|word| word == "@last"));
        let task = names.tasks.iter().find(named).or(last);
        let asked = task.into_iter().flat_map(|task| &task.questions);
        let offered = asked.map(|(number, prompt)| {
            CompletionCandidate::new(number.to_string()).help(Some(crate::text::line(prompt).into()))
        });
        kept(offered.collect(), typed)
    })
}

/// States of tasks.
pub fn states() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| kept(TaskState::ALL.map(|state| state.as_str().into()).into(), typed))
}

/// Names of installed plugins.
pub fn plugins() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| kept(installed(), typed))
}

/// Names of installed plugins, and component files.
pub fn plugins_and_files() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let mut offered = kept(installed(), typed);
        offered.extend(PathCompleter::file().complete(typed));
        offered
    })
}

fn installed() -> Vec<CompletionCandidate> {
    names().plugins.into_iter().map(|plugin| plugin.name.into()).collect()
}

/// What follows a plugin: its tools, and behind the tool the members of its input.
pub fn tools() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let (names, words) = (names(), words());
        let plugin = words.iter().find_map(|word| names.plugins.iter().find(|plugin| plugin.name == *word));
        let Some(plugin) = plugin else { return Vec::new() };
        let named = plugin.tools.iter().find(|tool| words.contains(&tool.name) && typed != tool.name.as_str());
        let only = plugin.tools.first().filter(|_| plugin.tools.len() == 1);
        let mut offered = Vec::new();
        if named.is_none() {
            offered.extend(plugin.tools.iter().map(|tool| {
                CompletionCandidate::new(&tool.name)
                    .help(tool.title.as_ref().map(|title| crate::text::line(title).into()))
            }));
        }
        if let Some(tool) = named.or(only) {
            let members = crate::schema::properties(&tool.input_schema);
            let given =
                |name: &&String| words.iter().any(|word| word.split_once('=').is_some_and(|(key, _)| key == *name));
            offered.extend(
                members.keys().filter(|name| is_plain(name) && !given(name)).map(|name| format!("{name}=").into()),
            );
        }
        kept(offered, typed)
    })
}

/// Whether a name is a word to a shell, which puts it into a line that it will run: a plugin calls its members what it likes.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
}

fn kept(mut offered: Vec<CompletionCandidate>, typed: &OsStr) -> Vec<CompletionCandidate> {
    offered.retain(|candidate| candidate.get_value().to_str().is_some_and(|name| begins(name, typed)));
    offered
}

fn begins(name: &str, typed: &OsStr) -> bool {
    typed.to_str().is_some_and(|typed| name.starts_with(typed))
}

/// The words of the command that is typed, the program's name left out: they stand behind `--`.
fn words() -> Vec<String> {
    let typed = std::env::args_os().skip_while(|word| word != "--").skip(2);
    typed.filter_map(|word| word.into_string().ok()).collect()
}

/// The value of an option, as it is typed.
fn option(words: &[String], name: &str) -> Option<String> {
    let at = |(i, word): (usize, &String)| match word.strip_prefix(name) {
        Some("") => words.get(i + 1).cloned(),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    };
    words.iter().enumerate().find_map(at)
}

/// What there is in the data directory that the command would use.
fn names() -> Names {
    let words = words();
    let given = option(&words, "--data").or_else(|| std::env::var("LONGHAUL_DATA").ok());
    let app = App::new(Global { data: given.map(PathBuf::from), json: false, verbose: false });
    let namespace = option(&words, "--namespace").unwrap_or_else(|| longhaul::DEFAULT_NAMESPACE.to_owned());
    let names = app.data_dir().ok().and_then(|dir| longhaul::names(dir, &namespace, TASKS).ok());
    names.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_a_shell_would_run_is_not_offered() {
        assert!(is_plain("wait_seconds") && is_plain("a.b-C1"));
        for name in ["$(reboot)", "a b", "a;b", "`b`", "a\nb", "\u{1b}[2J", "größe", "a|b", "a&", "~", "a/b"] {
            assert!(!is_plain(name), "{name}");
        }
    }

    #[test]
    fn an_option_is_found_as_it_may_be_typed() {
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(option(&words("tasks --data /a show"), "--data").as_deref(), Some("/a"));
        assert_eq!(option(&words("--data=/a tasks"), "--data").as_deref(), Some("/a"));
        assert_eq!(option(&words("tasks --database /a"), "--data"), None);
    }
}

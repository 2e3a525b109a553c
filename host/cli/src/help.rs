//! The ends of help pages: examples, and what the options do not say. Each example is parsed by a test.

use crate::exit::EXIT_CODES;

pub const LONGHAUL: &str = "\
Examples:
  longhaul run csv-profile.wasm csv=@orders.csv   run a tool here, with progress
  longhaul serve --plugin csv-profile.wasm        serve agents over HTTP
  longhaul inbox                                  answer what tasks ask, here
  longhaul tasks ls --state waiting               what waits
  longhaul completions bash                       completions for a shell";

pub const RUN: &str = "\
Examples:
  longhaul run csv-profile.wasm csv=@orders.csv
  longhaul run checklist title=Release 'steps=[{\"title\": \"Tag it\"}]'
  longhaul run checklist --input @release.json --answer '{\"outcome\": \"done\"}'
  longhaul run site-audit url=https://example.com/ --grant http:example.com
  longhaul run csv-profile csv=@orders.csv --limit run_time=10min --no-input
  longhaul run csv-profile --input - --json";

pub const RUN_MORE: &str = "\
KEY=VALUE takes the type that the tool's schema gives KEY: text as it is, numbers, true or false, JSON for \
arrays and objects. KEY=@FILE reads the value from a file; KEY=@@x is the text `@x`.

Ctrl-C asks the tool to stop; a second one leaves at once, and `longhaul tasks watch ID` takes the task up again.";

pub const INBOX: &str = "\
It stays, and shows what is asked anew and what others have settled, whichever process runs the tasks. Enter opens a question, \
Esc offers to decline it or to leave it. Without a terminal it lists what is open, and says how to answer.

Examples:
  longhaul inbox --by ana
  longhaul inbox --namespace acme
  longhaul inbox --json";

pub const TASKS: &str = "\
An ID is a task's whole id, a beginning of it or an ending of 4 characters or more that no other task has, or @last: the newest \
task that was not started by another one. `tasks ls` shows at a terminal how each id ends. Tasks of a namespace other than \
`default` are reached with --namespace.

Examples:
  longhaul tasks ls
  longhaul tasks watch @last
  longhaul tasks show x1p9vn --namespace acme";

pub const LS: &str = "\
Examples:
  longhaul tasks ls --state waiting
  longhaul tasks ls --session thread-7 --limit 10 --json";

pub const SHOW: &str = "\
Examples:
  longhaul tasks show x1p9vn
  longhaul tasks show x1p9vn --json";

pub const WATCH: &str = "\
Examples:
  longhaul tasks watch x1p9vn
  longhaul tasks watch x1p9vn --answer true --by ana
  longhaul tasks watch x1p9vn --no-input --json";

pub const ANSWER: &str = "\
An answer is read as what is asked for: yes or no, a number, a text as it is, a choice by its value or title, several choices with \
commas between them; JSON always, and for a form.

Examples:
  longhaul tasks answer x1p9vn
  longhaul tasks answer x1p9vn yes --by ana
  longhaul tasks answer x1p9vn 'version 1.4' --question 2
  longhaul tasks answer x1p9vn '{\"name\": \"Ana\"}' --question 3
  longhaul tasks answer x1p9vn --decline 'not mine to say'";

pub const CANCEL: &str = "\
It may be asked more than once. The tool has ten seconds to clean up; a result that comes meanwhile counts.

Examples:
  longhaul tasks cancel x1p9vn";

pub const REPLAY: &str = "\
Examples:
  longhaul tasks replay x1p9vn
  longhaul tasks replay x1p9vn --until 40
  longhaul tasks replay x1p9vn --plugin new/checklist.wasm";

pub const REPLAY_MORE: &str = "\
Nothing is sent, asked, charged or written, and it does not matter who runs the task or whether it has ended. What the \
guest says is shown as it is replayed, each line after the number of the entry that records it; a line without a number was \
merged into a later entry. A task that has not ended is replayed to the end of its journal, and that is a match.";

pub const RM: &str = "\
Its journal goes with it, and its children with theirs.

Examples:
  longhaul tasks rm x1p9vn";

pub const PLUGIN: &str = "\
Examples:
  longhaul plugin add checklist.wasm
  longhaul plugin inspect checklist
  longhaul plugin check-upgrade new/checklist.wasm";

pub const ADD: &str = "\
It is compiled once, in a process of its own with limits on memory and time. A second build of a name becomes the one that new \
tasks get; tasks that run go on with theirs.

Examples:
  longhaul plugin add checklist.wasm";

pub const PLUGINS: &str = "\
Examples:
  longhaul plugin ls
  longhaul plugin ls --json";

pub const INSPECT: &str = "\
Examples:
  longhaul plugin inspect remote-job.wasm
  longhaul plugin inspect remote-job --namespace acme";

pub const GRANT: &str = "\
It counts at once, for tasks that run too. Secrets are named, never given.

Examples:
  longhaul plugin grant site-audit http:www.example.com
  longhaul plugin grant remote-job setting:language=de --namespace acme
  longhaul plugin grant jobs secret:key --from env:KEY --to a.test --as bearer";

pub const REVOKE: &str = "\
It counts at once. What a task was given before stays in its journal.

Examples:
  longhaul plugin revoke site-audit http:www.example.com
  longhaul plugin revoke remote-job setting:language --namespace acme";

pub const CHECK_UPGRADE: &str = "\
Examples:
  longhaul plugin check-upgrade new/checklist.wasm
  longhaul plugin check-upgrade new/checklist.wasm --json";

pub const PLUGIN_RM: &str = "\
A plugin that a task needs stays, ended tasks included: they can be replayed as long as they are kept.

Examples:
  longhaul plugin rm checklist";

pub const MCP: &str = "\
Every installed plugin's tools are offered. A task goes on when the client has gone: while this or any other process serves the \
same data directory, or when one does again. Several may, and `longhaul serve` beside them.

Examples:
  longhaul mcp --plugin csv-profile.wasm
  longhaul mcp --print-config claude-code
  longhaul mcp --namespace acme --wait 40s";

pub const SERVE: &str = "\
The section [server] of `longhaul.toml` says more, such as the names that the server is called by. On loopback a first token \
is made, which may do everything and does not expire, and shown with a link to the inbox: on a terminal, or with --json as one line. \
Where neither is, as in a unit of systemd, nothing secret is written, and `longhaul token create` makes the first. On any other \
address there must be one, and a proxy that speaks TLS in front. SIGTERM or Ctrl-C stops it: tasks go on when it starts again.

Examples:
  longhaul serve --plugin csv-profile.wasm
  longhaul serve --config /etc/longhaul.toml --data /var/lib/longhaul
  longhaul serve --listen 0.0.0.0:7420 --log-format json";

pub const TOKEN: &str = "\
Examples:
  longhaul token create desk --scope answer
  longhaul token ls";

pub const TOKEN_CREATE: &str = "\
The token is all that is written to standard output, this once; only a hash of it is kept.

Examples:
  longhaul token create agent
  longhaul token create desk --namespace acme --scope answer --expires 90days";

pub const TOKEN_LS: &str = "\
Examples:
  longhaul token ls --json";

pub const TOKEN_REVOKE: &str = "\
It counts at once, for servers that run too.

Examples:
  longhaul token revoke 9f2c41d07be35a68";

pub const BACKUP: &str = "\
To restore: copy the file into an empty directory as `longhaul.db`, and open that with `--data DIR`. Nobody owns the tasks \
in a backup; whoever opens it takes them over. Stop every process on the old data first: a task must not go on in both.

Examples:
  longhaul backup /backups/longhaul-2026-11-30.db";

pub const DOCTOR: &str = "\
Examples:
  longhaul doctor
  longhaul doctor --data /var/lib/longhaul --json";

pub const COMPLETIONS: &str = "\
They offer what there is, too: tasks by the ends of their ids, plugins, tools, the members of their inputs. They ask the program for \
that, so make them again after an upgrade.

Examples:
  longhaul completions bash > /etc/bash_completion.d/longhaul
  longhaul completions zsh > ~/.zfunc/_longhaul
  longhaul completions fish > ~/.config/fish/completions/longhaul.fish";

pub const MAN: &str = "\
Examples:
  longhaul man | man -l -
  longhaul man --dir ~/.local/share/man/man1";

/// With what a command's exit code says.
pub fn and_exit_codes(help: &str) -> String {
    format!("{help}\n\n{EXIT_CODES}")
}

#[cfg(test)]
mod tests {
    use clap::{Command, CommandFactory as _, Parser as _};

    use crate::args::Cli;

    /// As a shell takes a line apart, as far as examples need it.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut quote) = (vec![String::new()], None);
        for c in line.chars() {
            match (quote, c) {
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                (None, ' ') => words.push(String::new()),
                (None, '|' | '>') => break,
                (_, c) => words.last_mut().unwrap().push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    fn every(command: &Command, name: &str, look: &mut impl FnMut(&str, &Command)) {
        look(name, command);
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            every(sub, &format!("{name} {}", sub.get_name()), look);
        }
    }

    #[test]
    fn every_command_has_examples_and_they_are_understood() {
        let mut command = Cli::command();
        command.build();
        every(&command, "longhaul", &mut |name, command| {
            let help = command.clone().render_long_help().to_string();
            let (_, examples) = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{name} has no examples"));
            let examples: Vec<_> = examples.lines().take_while(|line| line.starts_with("  ")).collect();
            assert!(!examples.is_empty(), "{name}");
            for example in examples {
                // What it does may stand behind it.
                let example = example.trim_start().split("   ").next().unwrap();
                assert!(example.starts_with(name), "of {name}: {example}");
                if let Err(error) = Cli::try_parse_from(words(example)) {
                    panic!("{example}\n{error}");
                }
            }
        });
    }

    #[test]
    fn help_fits_a_terminal_of_80_columns_and_no_example_is_broken() {
        let mut command = Cli::command().term_width(80);
        command.build();
        every(&command, "longhaul", &mut |name, command| {
            let mut command = command.clone();
            let written: String = command.get_after_long_help().or(command.get_after_help()).unwrap().to_string();
            let (_, examples) = written.split_once("Examples:\n").unwrap();
            let help = command.render_long_help().to_string();
            for line in help.lines() {
                assert!(line.chars().count() <= 80 || line.starts_with("Usage:"), "{name}: {line}");
            }
            for example in examples.lines().take_while(|line| !line.is_empty()) {
                assert!(help.contains(example), "{name}: {example}");
            }
        });
    }

    #[test]
    fn what_a_command_is_for_is_said_in_a_line() {
        let mut command = Cli::command();
        command.build();
        every(&command, "longhaul", &mut |name, command| {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && !about.contains('\n'), "{name}: {about:?}");
        });
    }
}

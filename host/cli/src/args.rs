//! The command line: its words, and the help that explains them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use longhaul::{Limits, Scope, TaskState};

use crate::complete;
use crate::grant::{From, Grant};
use crate::help::{self, and_exit_codes};
use crate::version::VERSION;

/// Runs the long jobs of AI agents: sandboxed WebAssembly tools as background tasks that survive crashes.
#[derive(Debug, Parser)]
#[command(name = "longhaul", version, long_version = VERSION.as_str(), after_help = and_exit_codes(help::LONGHAUL))]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub struct Global {
    /// Where plugins and tasks are kept [default: the platform's data directory]
    #[arg(long, global = true, value_name = "DIR", env = "LONGHAUL_DATA", hide_env_values = true)]
    pub data: Option<PathBuf>,
    /// One JSON object a line on standard output, nothing else; asks nothing at the prompt
    #[arg(long, global = true)]
    pub json: bool,
    /// Debug messages on standard error; RUST_LOG says which, in detail
    #[arg(short, long, global = true)]
    pub verbose: bool,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a tool, show its progress, ask its questions, print its result
    Run(Run),
    /// Tasks: list, show, watch, answer, cancel, replay, remove
    #[command(after_help = help::TASKS)]
    Tasks {
        /// The tenant whose tasks they are [default: default]
        #[arg(long, global = true, value_name = "NS")]
        namespace: Option<String>,
        #[command(subcommand)]
        command: Tasks,
    },
    /// Answer what tasks ask, as it comes, whichever process runs them
    #[command(after_help = help::INBOX)]
    Inbox(Inbox),
    /// Plugins: add, list, inspect, remove, check an upgrade
    #[command(subcommand, after_help = help::PLUGIN)]
    Plugin(Plugin),
    /// Speak MCP on standard input and output, for an agent's client that starts this
    #[command(after_help = help::MCP)]
    Mcp(Mcp),
    /// Serve agents over HTTP, and run whatever there is to run
    #[command(after_help = help::SERVE)]
    Serve(Serve),
    /// Tokens that agents call a server with: create, list, revoke
    #[command(subcommand, after_help = help::TOKEN)]
    Token(Token),
    /// Write everything, as of one moment, to a new file, while other processes go on
    #[command(after_help = help::BACKUP)]
    Backup {
        /// Where to; there must be no file yet
        file: PathBuf,
    },
    /// Check the data directory: the database, journals, plugin files; changes nothing
    #[command(after_help = and_exit_codes(help::DOCTOR))]
    Doctor,
    /// Print completions for a shell
    #[command(after_help = help::COMPLETIONS)]
    Completions {
        /// Which one
        shell: Shell,
    },
    /// Print the man page, or write one for each command
    #[command(after_help = help::MAN)]
    Man {
        /// Write them all into this directory, made if it is not there
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: Option<PathBuf>,
    },
}

#[derive(Debug, Args)]
pub struct Inbox {
    /// The tenant whose tasks ask [default: default]
    #[arg(long, value_name = "NS")]
    pub namespace: Option<String>,
    /// Who answers
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
}

#[derive(Debug, Args)]
pub struct Mcp {
    /// The tenant that tasks belong to
    #[arg(long, value_name = "NAME", default_value = longhaul::DEFAULT_NAMESPACE)]
    pub namespace: String,
    /// A component file to install first; may be given several times
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// How long a call waits for its result where the client cannot follow tasks [default: 25s]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub wait: Option<Duration>,
    /// A tool that only clients which follow tasks may call; may be given several times
    #[arg(long = "require-tasks", value_name = "PLUGIN/TOOL")]
    pub require_tasks: Vec<String>,
    /// Print what this client's configuration needs to start this command with these options, and do nothing else
    #[arg(long, value_name = "CLIENT", value_enum)]
    pub print_config: Option<McpClient>,
}

/// A program that starts MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum McpClient {
    ClaudeCode,
    #[value(name = "vscode")]
    VsCode,
    Cursor,
    Codex,
}

#[derive(Debug, Args)]
pub struct Serve {
    /// What the operator allows and how it serves, read from this file instead of `longhaul.toml` in the data directory
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where to listen [default: 127.0.0.1:7420]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// A component file to install first; may be given several times
    #[arg(long = "plugin", value_name = "FILE")]
    pub plugins: Vec<PathBuf>,
    /// How messages on standard error are written
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Debug, Subcommand)]
pub enum Token {
    /// Make a token and print it, this once
    #[command(after_help = help::TOKEN_CREATE)]
    Create(CreateToken),
    /// List tokens, without their secrets
    #[command(after_help = help::TOKEN_LS)]
    Ls,
    /// Let nobody in by a token any more
    #[command(after_help = help::TOKEN_REVOKE)]
    Revoke {
        /// Its id, as `longhaul token ls` shows it
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct CreateToken {
    /// What people know it by
    #[arg(default_value = "token")]
    pub name: String,
    /// The tenant that its holder acts for [default: default]
    #[arg(long)]
    pub namespace: Option<String>,
    /// What its holder may do: tasks, answer, admin; may be given several times [default: tasks and answer]
    #[arg(long = "scope", value_name = "SCOPE")]
    pub scopes: Vec<Scope>,
    /// How long it is good for, such as 12h or 90days [default: for ever]
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub expires: Option<Duration>,
}

#[derive(Debug, Args)]
#[command(
    override_usage = "longhaul run [OPTIONS] PLUGIN [TOOL] [KEY=VALUE]...",
    after_help = and_exit_codes(help::RUN),
    after_long_help = and_exit_codes(&format!("{}\n\n{}", help::RUN_MORE, help::RUN)),
)]
pub struct Run {
    /// A component file, or the name of an installed plugin
    #[arg(add = complete::plugins_and_files())]
    pub plugin: String,
    /// The tool, unless the plugin has only one; then the input's properties, typed by the tool's schema
    #[arg(value_name = "TOOL | KEY=VALUE", add = complete::tools())]
    pub rest: Vec<String>,
    /// The input: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub input: Option<String>,
    #[command(flatten)]
    pub asked: Asked,
    /// A setting that the plugin declares
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = name_and_value)]
    pub settings: Vec<(String, String)>,
    /// Something that the plugin declares and may then use in this task, it and the tools that it starts: http:HOST,
    /// tool:PLUGIN/TOOL, setting:NAME=VALUE
    #[arg(long = "grant", value_name = "KIND:NAME")]
    pub grants: Vec<Grant>,
    /// Idempotency key: the same key and input again give the same task
    #[arg(long)]
    pub key: Option<String>,
    /// The conversation that the task belongs to
    #[arg(long)]
    pub session: Option<String>,
    /// How long the task may live, such as 90s, 2h or 7days
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub deadline: Option<Duration>,
    /// What the task may use of something, at most what longhaul.toml allows; docs/limits.md lists all that there is
    #[arg(long = "limit", value_name = "NAME=VALUE", value_parser = limit)]
    pub limits: Vec<(String, String)>,
    /// How often to try again when the tool is unavailable, or the host at fault: 2 times by default
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
}

/// How questions are answered while a task is followed.
#[derive(Debug, Args)]
pub struct Asked {
    /// The answer to the next question: yes or no, a number, a text, a choice, or JSON; may be given several times
    #[arg(long = "answer", value_name = "ANSWER", allow_hyphen_values = true)]
    pub answers: Vec<String>,
    /// Who answers, as the tool records it
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
    /// Ask nothing at the prompt: leave the task waiting
    #[arg(long)]
    pub no_input: bool,
}

#[derive(Debug, Subcommand)]
pub enum Tasks {
    /// List tasks, the newest first
    #[command(after_help = help::LS)]
    Ls {
        /// Only those in this state
        #[arg(long, add = complete::states())]
        state: Option<TaskState>,
        /// Only those of this conversation
        #[arg(long)]
        session: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 100, value_name = "N")]
        limit: usize,
    },
    /// Show one task: where it stands, what it asks, how it ended
    #[command(after_help = help::SHOW)]
    Show {
        /// A task: its id, a beginning or an ending of it, or @last
        #[arg(add = complete::tasks())]
        id: String,
    },
    /// Show the events so far and go on live; runs the task if no other process does
    #[command(after_help = and_exit_codes(help::WATCH))]
    Watch {
        /// A task: its id, a beginning or an ending of it, or @last
        #[arg(add = complete::tasks())]
        id: String,
        #[command(flatten)]
        asked: Asked,
    },
    /// Answer a question
    #[command(after_help = help::ANSWER)]
    Answer(Answer),
    /// Ask a task to stop
    #[command(after_help = help::CANCEL)]
    Cancel {
        /// A task: its id, a beginning or an ending of it, or @last
        #[arg(add = complete::unfinished())]
        id: String,
    },
    /// Run a task again from its journal, without effects, and show what it says
    #[command(
        after_help = and_exit_codes(help::REPLAY),
        after_long_help = and_exit_codes(&format!("{}\n\n{}", help::REPLAY_MORE, help::REPLAY)),
    )]
    Replay {
        /// A task: its id, a beginning or an ending of it, or @last
        #[arg(add = complete::tasks())]
        id: String,
        /// Run this component in the place of the task's plugin; it is not installed
        #[arg(long, value_name = "FILE")]
        plugin: Option<PathBuf>,
        /// Go no further than this entry
        #[arg(long, value_name = "SEQ")]
        until: Option<u64>,
    },
    /// Remove an ended task
    #[command(after_help = help::RM)]
    Rm {
        /// A task: its id, a beginning or an ending of it, or @last
        #[arg(add = complete::ended())]
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct Answer {
    /// A task: its id, a beginning or an ending of it, or @last
    #[arg(add = complete::asking())]
    pub id: String,
    /// The answer: yes or no, a number, a text, a choice, or JSON; asked for at the prompt when left out
    #[arg(value_name = "ANSWER", allow_hyphen_values = true, conflicts_with = "decline")]
    pub answer: Option<String>,
    /// Which question, where several are open
    #[arg(long, value_name = "N", add = complete::questions())]
    pub question: Option<u32>,
    /// Refuse to answer, and perhaps say why
    #[arg(long, value_name = "REASON", num_args = 0..=1, default_missing_value = "")]
    pub decline: Option<String>,
    /// Who answers
    #[arg(long, value_name = "NAME")]
    pub by: Option<String>,
}

#[derive(Debug, Subcommand)]
pub enum Plugin {
    /// Install a component file
    #[command(after_help = help::ADD)]
    Add {
        /// The component
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// List installed plugins
    #[command(after_help = help::PLUGINS)]
    Ls,
    /// Show what a plugin offers and needs, and which of its needs are granted
    #[command(after_help = help::INSPECT)]
    Inspect {
        /// A component file, or the name or digest of an installed plugin
        #[arg(add = complete::plugins_and_files())]
        plugin: String,
        /// Whose grants
        #[arg(long, value_name = "NS", default_value = longhaul::DEFAULT_NAMESPACE)]
        namespace: String,
    },
    /// Grant something to a plugin, in longhaul.toml
    #[command(after_help = help::GRANT)]
    Grant(Grants),
    /// Take back what was granted to a plugin, in longhaul.toml
    #[command(after_help = help::REVOKE)]
    Revoke(Revoke),
    /// Replay the unfinished tasks of a plugin against a new build of it, which is not installed
    #[command(after_help = and_exit_codes(help::CHECK_UPGRADE))]
    CheckUpgrade {
        /// The new build: a component of the same plugin
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Remove an installed plugin
    #[command(after_help = help::PLUGIN_RM)]
    Rm {
        /// Its name or digest
        #[arg(add = complete::plugins())]
        name: String,
    },
}

#[derive(Debug, Args)]
pub struct Grants {
    /// The plugin's name; it need not be installed yet
    #[arg(add = complete::plugins())]
    pub plugin: String,
    /// http:HOST, tool:PLUGIN/TOOL, setting:NAME=VALUE, secret:NAME or, where [secrets] calls it differently, secret:NAME=SECRET
    #[arg(required = true, value_name = "KIND:NAME")]
    pub grants: Vec<Grant>,
    /// In this namespace only
    #[arg(long, value_name = "NS")]
    pub namespace: Option<String>,
    /// Of a secret: where it may go
    #[arg(long, value_name = "HOST")]
    pub to: Vec<String>,
    /// Of a secret: how it is put into requests: bearer, header:NAME, basic:USER, query:NAME, placeholder, placeholder:url,
    /// placeholder:body
    #[arg(long = "as", value_name = "HOW")]
    pub place: Option<String>,
    /// Of a secret: where it is, if [secrets] does not say so yet: env:VARIABLE, file:PATH
    #[arg(long, value_name = "WHERE")]
    pub from: Option<From>,
}

#[derive(Debug, Args)]
pub struct Revoke {
    /// The plugin's name
    #[arg(add = complete::plugins())]
    pub plugin: String,
    /// http:HOST, tool:PLUGIN/TOOL, setting:NAME, secret:NAME
    #[arg(required = true, value_name = "KIND:NAME")]
    pub grants: Vec<Grant>,
    /// What this namespace has of its own
    #[arg(long, value_name = "NS")]
    pub namespace: Option<String>,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must be NAME=VALUE".to_owned()),
    }
}

fn limit(text: &str) -> Result<(String, String), String> {
    let (name, value) = name_and_value(text)?;
    Limits::default().set(&name, &value).map_err(|error| error.to_string())?;
    Ok((name, value))
}

fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_words_of_run_are_understood() {
        let words = "longhaul run p.wasm tool a=1 --answer true --answer -1 --input - --set k=v --grant tool:p/t --deadline 2h --retries 0 --json";
        let Command::Run(run) = Cli::try_parse_from(words.split(' ')).unwrap().command else { panic!() };
        assert_eq!(run.rest, ["tool", "a=1"]);
        assert_eq!(run.asked.answers, ["true", "-1"]);
        assert_eq!(run.input.as_deref(), Some("-"));
        assert_eq!(run.settings, [("k".to_owned(), "v".to_owned())]);
        assert_eq!(run.grants, ["tool:p/t".parse().unwrap()]);
        assert_eq!(run.deadline, Some(Duration::from_secs(7200)));
        assert_eq!(run.retries, Some(0));
    }

    #[test]
    fn a_grant_names_its_kind() {
        for wrong in ["p/t", "tool:", "tool:p", "file:x", "http"] {
            assert!(Cli::try_parse_from(["longhaul", "run", "p.wasm", "--grant", wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_limit_is_one_that_there_is() {
        let run = |limit: &str| Cli::try_parse_from(["longhaul", "run", "p.wasm", "--limit", limit]);
        let Command::Run(args) = run("memory=64MiB").unwrap().command else { panic!() };
        assert_eq!(args.limits, [("memory".to_owned(), "64MiB".to_owned())]);
        for (wrong, problem) in [
            ("memory", "NAME=VALUE"),
            ("memroy=1MiB", "is it `memory`?"),
            ("memory=0", "64KiB at least"),
            ("run_time=5", "a time with its unit"),
        ] {
            let error = run(wrong).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn the_namespace_may_stand_before_the_command_or_behind_it() {
        for words in ["longhaul tasks --namespace acme ls", "longhaul tasks ls --namespace acme"] {
            let Command::Tasks { namespace, .. } = Cli::try_parse_from(words.split(' ')).unwrap().command else {
                panic!()
            };
            assert_eq!(namespace.as_deref(), Some("acme"));
        }
    }

    #[test]
    fn declining_needs_no_reason_and_takes_no_answer() {
        let decline = |words: &str| Cli::try_parse_from(words.split(' '));
        let Command::Tasks { command: Tasks::Answer(answer), .. } =
            decline("longhaul tasks answer 01K --decline").unwrap().command
        else {
            panic!()
        };
        assert_eq!(answer.decline.as_deref(), Some(""));
        assert!(decline("longhaul tasks answer 01K true --decline no").is_err());
    }
}

//! The command line: its words, and the help that explains them.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use longhaul::{Limits, Scope, TaskState};

use crate::exit::EXIT_CODES;
use crate::grant::{From, Grant};

/// Runs the long jobs of AI agents: sandboxed WebAssembly tools as background tasks that survive crashes.
#[derive(Debug, Parser)]
#[command(name = "longhaul", version, after_help = EXIT_CODES)]
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
    #[command(subcommand)]
    Tasks(Tasks),
    /// Plugins: add, list, inspect, remove, check an upgrade
    #[command(subcommand)]
    Plugin(Plugin),
    /// Speak MCP on standard input and output, for an agent's client that starts this
    #[command(after_help = MCP_HELP)]
    Mcp(Mcp),
    /// Serve agents over HTTP, and run whatever there is to run
    #[command(after_help = SERVE_HELP)]
    Serve(Serve),
    /// Tokens that agents call a server with: create, list, revoke
    #[command(subcommand)]
    Token(Token),
    /// Write everything, as of one moment, to a new file, while other processes go on
    #[command(after_help = RESTORE_HELP)]
    Backup {
        /// Where to; there must be no file yet
        file: PathBuf,
    },
    /// Check the data directory: the database, journals, plugin files; changes nothing
    #[command(after_help = EXIT_CODES)]
    Doctor,
}

const RESTORE_HELP: &str = "\
To restore: copy the file into an empty directory as `longhaul.db`, and open that with `--data DIR`. Nobody owns the tasks
in a backup; whoever opens it takes them over. Stop every process on the old data first: a task must not go on in both.";

const MCP_HELP: &str = "\
Every installed plugin's tools are offered. A task goes on when the client has gone: while this or any other process serves the
same data directory, or when one does again. Several may, and `longhaul serve` beside them.";

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

const SERVE_HELP: &str = "\
The section [server] of `longhaul.toml` in the data directory says more, such as the names that the server is called by. On
loopback a first token is made and shown; on any other address there must be one (`longhaul token create`), and a proxy that
speaks TLS in front. SIGTERM or Ctrl-C stops it: tasks go on where they stand when it starts again.";

#[derive(Debug, Args)]
pub struct Serve {
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
    Create(CreateToken),
    /// List tokens, without their secrets
    Ls,
    /// Let nobody in by a token any more
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
    after_help = EXIT_CODES,
    after_long_help = format!("{RUN_HELP}\n\n{EXIT_CODES}"),
)]
pub struct Run {
    /// A component file, or the name of an installed plugin
    pub plugin: String,
    /// The tool, unless the plugin has only one; then the input's properties, typed by the tool's schema
    #[arg(value_name = "TOOL | KEY=VALUE")]
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

const RUN_HELP: &str = "\
KEY=VALUE takes the type that the tool's schema gives KEY: text as it is, numbers, true or false, JSON for
arrays and objects. KEY=@FILE reads the value from a file; KEY=@@x is the text `@x`.

Ctrl-C asks the tool to stop; a second one leaves at once, and `longhaul tasks watch ID` takes the task up again.";

const REPLAY_HELP: &str = "\
Nothing is sent, asked, charged or written, and it does not matter who runs the task or whether it has ended. What the
guest says is shown as it is replayed, each line after the number of the entry that records it; a line without a number was
merged into a later entry. A task that has not ended is replayed to the end of its journal, and that is a match.";

/// How questions are answered while a task is followed.
#[derive(Debug, Args)]
pub struct Asked {
    /// The answer to the next question, as JSON; may be given several times
    #[arg(long = "answer", value_name = "JSON", allow_hyphen_values = true)]
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
    Ls {
        /// Only those in this state
        #[arg(long)]
        state: Option<TaskState>,
        /// Only those of this conversation
        #[arg(long)]
        session: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 100, value_name = "N")]
        limit: usize,
    },
    /// Show one task: where it stands, what it asks, how it ended
    Show {
        /// A task's id, or the beginning of it
        id: String,
    },
    /// Show the events so far and go on live; runs the task if no other process does
    #[command(after_help = EXIT_CODES)]
    Watch {
        /// A task's id, or the beginning of it
        id: String,
        #[command(flatten)]
        asked: Asked,
    },
    /// Answer a question
    Answer(Answer),
    /// Ask a task to stop
    Cancel {
        /// A task's id, or the beginning of it
        id: String,
    },
    /// Run a task again from its journal, without effects, and show what it says
    #[command(after_help = EXIT_CODES, after_long_help = format!("{REPLAY_HELP}\n\n{EXIT_CODES}"))]
    Replay {
        /// A task's id, or the beginning of it
        id: String,
        /// Run this component in the place of the task's plugin; it is not installed
        #[arg(long, value_name = "FILE")]
        plugin: Option<PathBuf>,
        /// Go no further than this entry
        #[arg(long, value_name = "SEQ")]
        until: Option<u64>,
    },
    /// Remove an ended task
    Rm {
        /// A task's id, or the beginning of it
        id: String,
    },
}

#[derive(Debug, Args)]
pub struct Answer {
    /// A task's id, or the beginning of it
    pub id: String,
    /// The answer; asked for at the prompt when left out
    #[arg(value_name = "JSON", allow_hyphen_values = true, conflicts_with = "decline")]
    pub answer: Option<String>,
    /// Which question, where several are open
    #[arg(long, value_name = "N")]
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
    Add {
        /// The component
        file: PathBuf,
    },
    /// List installed plugins
    Ls,
    /// Show what a plugin offers and needs, and which of its needs are granted
    Inspect {
        /// A component file, or the name or digest of an installed plugin
        plugin: String,
        /// Whose grants
        #[arg(long, value_name = "NS", default_value = longhaul::DEFAULT_NAMESPACE)]
        namespace: String,
    },
    /// Grant something to a plugin, in longhaul.toml
    #[command(after_help = GRANT_HELP)]
    Grant(Grants),
    /// Take back what was granted to a plugin, in longhaul.toml
    Revoke(Revoke),
    /// Replay the unfinished tasks of a plugin against a new build of it, which is not installed
    #[command(after_help = EXIT_CODES)]
    CheckUpgrade {
        /// The new build: a component of the same plugin
        file: PathBuf,
    },
    /// Remove an installed plugin
    Rm {
        /// Its name or digest
        name: String,
    },
}

const GRANT_HELP: &str = "\
It counts at once, for tasks that run too. Secrets are named, never given:
  longhaul plugin grant remote-job secret:token=build-farm --from env:BUILD_FARM_TOKEN --to api.example.com --as bearer";

#[derive(Debug, Args)]
pub struct Grants {
    /// The plugin's name; it need not be installed yet
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
    fn declining_needs_no_reason_and_takes_no_answer() {
        let decline = |words: &str| Cli::try_parse_from(words.split(' '));
        let Command::Tasks(Tasks::Answer(answer)) = decline("longhaul tasks answer 01K --decline").unwrap().command
        else {
            panic!()
        };
        assert_eq!(answer.decline.as_deref(), Some(""));
        assert!(decline("longhaul tasks answer 01K true --decline no").is_err());
    }
}

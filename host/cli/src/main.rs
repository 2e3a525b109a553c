//! The `longhaul` command line: parse, do, exit with a code that says how it went.

mod answer;
mod app;
mod args;
mod bars;
mod complete;
mod data;
mod exit;
mod family;
mod follow;
mod grant;
mod help;
mod inbox;
mod input;
mod json;
mod log;
mod man;
mod mcp;
mod nearest;
mod pages;
mod plugin;
mod policy_file;
mod prompt;
mod replay;
mod result;
mod run;
mod schema;
mod serve;
mod show;
mod signals;
mod table;
mod tasks;
mod text;
mod time;
mod token;
mod version;
mod view;
mod words;

use std::process::ExitCode;

use clap::Parser as _;

use crate::app::App;
use crate::args::{Cli, Command, LogFormat};
use crate::exit::{Exit, Problem};
use crate::view::say;

fn main() -> ExitCode {
    // Started by another of us, see `App::open`: it is no command for people, and has to be nothing but a compiler.
    if std::env::args_os().nth(1).is_some_and(|word| word == app::COMPILE) {
        return longhaul::compile_child();
    }
    complete::if_asked();
    let cli = Cli::parse();
    trace(&cli);
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(e) => return report(Err(Problem::new(format!("cannot start: {e}")))),
    };
    let app = App::new(cli.global);
    let done = runtime.block_on(async {
        match cli.command {
            Command::Run(args) => run::run(&app, args).await,
            Command::Tasks { namespace, command } => tasks::tasks(&app.within(namespace), command).await,
            Command::Inbox(args) => inbox::inbox(&app.within(args.namespace), args.by).await,
            Command::Plugin(command) => plugin::plugin(&app, command).await,
            Command::Mcp(args) => mcp::mcp(&app, args).await,
            Command::Serve(args) => serve::serve(&app, args).await,
            Command::Token(command) => token::token(&app, command).await,
            Command::Backup { file } => data::backup(&app, &file).await,
            Command::Doctor => data::doctor(&app),
            Command::Completions { shell } => pages::completions(shell),
            Command::Man { dir } => pages::man(&app, dir.as_deref()),
        }
    });
    // Work that blocks, such as a compilation nobody waits for any more, must not keep the program.
    runtime.shutdown_background();
    report(done)
}

fn report(done: Result<Exit, Problem>) -> ExitCode {
    let exit = done.unwrap_or_else(|problem| {
        if !problem.message.is_empty() {
            say(&format!("error: {}", text::lines(&problem.message)));
        }
        if let Some(hint) = problem.hint {
            say(&format!("  {}", text::lines(&hint)));
        }
        problem.exit
    });
    ExitCode::from(exit.code())
}

fn trace(cli: &Cli) {
    // The MCP SDK warns of every error that a client is answered with.
    let level = match &cli.command {
        _ if cli.global.verbose => "warn,longhaul=debug,longhaul_server=debug",
        Command::Serve(_) => "warn,rmcp=error,longhaul=info,longhaul_server=info",
        _ => "warn,rmcp=error",
    };
    log::init(level, matches!(&cli.command, Command::Serve(args) if args.log_format == LogFormat::Json));
}

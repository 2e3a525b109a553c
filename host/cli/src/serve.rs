//! `longhaul serve`: a host that runs whatever there is to run, and a server on it.

use std::io::IsTerminal as _;
use std::net::SocketAddr;

use longhaul::{Host, IssuedToken, NewToken, Scope};
use longhaul_server::Server;
use tokio::net::TcpListener;

use crate::app::App;
use crate::args::Serve;
use crate::exit::{Exit, Problem};
use crate::json;
use crate::signals::Signals;
use crate::text::line;
use crate::view::say;

/// Requests that are under way may end, and then what runs is put down: some seconds each.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);

pub async fn serve(app: &App, args: Serve) -> Result<Exit, Problem> {
    allow_files();
    let mut config = app.server_config(args.config.as_deref())?;
    config.listen = args.listen.unwrap_or(config.listen);
    let mut signals = Signals::listen(PATIENCE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
    let host = app.open_to_serve(args.config.as_deref()).await?;
    let served = async {
        for file in &args.plugins {
            let plugin = host.install_file(file).await?;
            say(&format!("plugin {} {}", line(&plugin.name), line(&plugin.version)));
        }
        let is_read = app.json || std::io::stdout().is_terminal();
        let access = first_token(&host, config.listen, is_read).await?;
        let listener = TcpListener::bind(config.listen).await.map_err(|e| {
            Problem::new(format!("cannot listen on {}: {e}", config.listen))
                .hint("`--listen` names another address; port 0 is any that is free")
        })?;
        config.listen = listener.local_addr().unwrap_or(config.listen);
        let listen = config.listen;
        let server = Server::new(host.clone(), config);
        // What others can reach may have others who read what it prints.
        let code = server.sign_in_code().filter(|_| is_read && listen.ip().is_loopback());
        tell(app, listen, &access, code, server.has_inbox())?;
        let told = async move {
            signals.next().await;
        };
        server.serve(listener, told).await.map_err(|e| Problem::new(format!("cannot go on serving: {e}")))
    };
    let served = served.await;
    host.shutdown().await;
    served.map(|()| Exit::Done)
}

/// Whoever serves others makes tokens first. On loopback the first is made here, for who has just started and reads it: a log is
/// no place for it.
async fn first_token(host: &Host, listen: SocketAddr, is_read: bool) -> Result<Access, Problem> {
    if !host.tokens().await?.is_empty() {
        return Ok(Access::Known);
    }
    if !listen.ip().is_loopback() {
        let problem = format!("{listen} can be reached by others, and there is no token that they would need");
        return Err(Problem::new(problem).hint("make one with `longhaul token create`"));
    }
    if !is_read {
        return Ok(Access::Nobody);
    }
    Ok(Access::First(host.create_token(NewToken::new("first").scopes(Scope::ALL)).await?))
}

/// Who may call.
enum Access {
    /// Those who have tokens.
    Known,
    /// Whoever reads what is said now.
    First(IssuedToken),
    Nobody,
}

/// A line each for where it is, for the browser and for programs; nothing that is secret where it would lie in a log.
fn tell(app: &App, listen: SocketAddr, access: &Access, code: Option<String>, has_inbox: bool) -> Result<(), Problem> {
    let url = format!("http://{listen}");
    let inbox = code.map(|code| format!("{url}/#code={code}"));
    if app.json {
        let token = if let Access::First(issued) = access { Some(&*issued.secret) } else { None };
        return json::print(&json::Line::Serving { url: &url, inbox: inbox.as_deref(), token });
    }
    let program = app.program();
    let mut lines = vec![format!("serving  {url}  (API at /v1, described at /docs; MCP at /mcp)")];
    match inbox {
        _ if !has_inbox => {
            lines.push("inbox    not built in  (that takes Node 20; `longhaul inbox` is the same at a terminal)".into())
        }
        Some(inbox) => lines.push(format!("inbox    {inbox}  (signs one browser in, once, within ten minutes)")),
        None => {}
    }
    lines.push(match access {
        Access::First(IssuedToken { token, secret, .. }) => format!(
            "token    {secret}  (all scopes in namespace {}, no expiry, shown this once: `{program} token revoke {}` ends \
             it, `{program} token create NAME --scope tasks` makes a lesser one)",
            token.namespace, token.id
        ),
        Access::Known => {
            format!("token    as before  (`{program} token ls` lists them, `{program} token create NAME` makes one)")
        }
        Access::Nobody => format!("token    none yet  (`{program} token create NAME` makes one, and counts at once)"),
    });
    json::text(&lines.join("\n"))
}

/// Each connection is a file, and many shells allow a thousand of them where the system would allow more.
fn allow_files() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // If it can't be, there are fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    }
}

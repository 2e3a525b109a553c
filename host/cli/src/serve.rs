//! `longhaul serve`: a host that runs whatever there is to run, and a server on it.

use std::net::SocketAddr;

use longhaul::{Host, NewToken, Scope};
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
    let mut config = app.server_config(args.config.as_deref())?;
    config.listen = args.listen.unwrap_or(config.listen);
    let mut signals = Signals::listen(PATIENCE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
    let host = app.open_to_serve(args.config.as_deref()).await?;
    let served = async {
        for file in &args.plugins {
            let plugin = host.install_file(file).await?;
            say(&format!("plugin {} {}", line(&plugin.name), line(&plugin.version)));
        }
        let token = first_token(&host, config.listen).await?;
        let listener = TcpListener::bind(config.listen).await.map_err(|e| {
            Problem::new(format!("cannot listen on {}: {e}", config.listen))
                .hint("`--listen` names another address; port 0 is any that is free")
        })?;
        config.listen = listener.local_addr().unwrap_or(config.listen);
        let listen = config.listen;
        let server = Server::new(host.clone(), config);
        // What others can reach may have others who read what it prints.
        let code = server.sign_in_code().filter(|_| listen.ip().is_loopback());
        tell(app, listen, token.as_deref(), code)?;
        let told = async move {
            signals.next().await;
        };
        server.serve(listener, told).await.map_err(|e| Problem::new(format!("cannot go on serving: {e}")))
    };
    let served = served.await;
    host.shutdown().await;
    served.map(|()| Exit::Done)
}

/// Whoever serves others makes tokens first. On loopback the first is made here, for the person who has just started.
async fn first_token(host: &Host, listen: SocketAddr) -> Result<Option<String>, Problem> {
    if !host.tokens().await?.is_empty() {
        return Ok(None);
    }
    if !listen.ip().is_loopback() {
        let problem = format!("{listen} can be reached by others, and there is no token that they would need");
        return Err(Problem::new(problem).hint("make one with `longhaul token create`"));
    }
    let issued = host.create_token(NewToken::new("first").scopes(Scope::ALL)).await?;
    Ok(Some(issued.secret))
}

fn tell(app: &App, listen: SocketAddr, token: Option<&str>, code: Option<String>) -> Result<(), Problem> {
    let url = format!("http://{listen}");
    let inbox = code.map(|code| format!("{url}/#code={code}"));
    if app.json {
        return json::print(&json::Line::Serving { url: &url, inbox: inbox.as_deref(), token });
    }
    say(&format!("serving on {url}"));
    if let Some(inbox) = inbox {
        say(&format!("inbox: {inbox}\n  the link signs one browser in, within ten minutes"));
    }
    match token {
        Some(token) => say(&format!("token: {token}\n  it is shown this once; `longhaul token create` makes others")),
        None => say("`longhaul token create` makes a token to call it with"),
    }
    Ok(())
}

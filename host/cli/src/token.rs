//! `longhaul token`: who may speak to a server on this data.

use longhaul::{DEFAULT_NAMESPACE, Host, NewToken, Scope};

use crate::app::App;
use crate::args;
use crate::exit::{Exit, Problem};
use crate::json;
use crate::table::Table;
use crate::text::line;
use crate::view::say;

pub async fn token(app: &App, command: args::Token) -> Result<Exit, Problem> {
    let host = app.open().await?;
    let done = match command {
        args::Token::Create(create) => self::create(app, &host, create).await,
        args::Token::Ls => list(app, &host).await,
        args::Token::Revoke { id } => revoke(app, &host, &id).await,
    };
    host.shutdown().await;
    done.map(|()| Exit::Done)
}

/// The token is all that stands on standard output, for scripts.
async fn create(app: &App, host: &Host, args: args::CreateToken) -> Result<(), Problem> {
    let namespace = args.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    let mut new = NewToken::new(args.name);
    if !args.scopes.is_empty() {
        new = new.scopes(args.scopes);
    }
    if let Some(time) = args.expires {
        new = new.expires_in(time);
    }
    let issued = host.namespace(namespace).create_token(new).await?;
    if app.json {
        return json::print(&json::Line::Token { token: &issued.token, secret: Some(&issued.secret) });
    }
    say(&format!("token {} for namespace {}; it is shown this once:", issued.token.id, line(namespace)));
    json::text(&issued.secret)
}

async fn list(app: &App, host: &Host) -> Result<(), Problem> {
    let tokens = host.tokens().await?;
    if app.json {
        return tokens.iter().try_for_each(|token| json::print(&json::Line::Token { token, secret: None }));
    }
    if tokens.is_empty() {
        say("no tokens; make one with `longhaul token create`");
        return Ok(());
    }
    let mut table = Table::new(&["ID", "NAME", "NAMESPACE", "SCOPES", "CREATED", "EXPIRES"]);
    for token in &tokens {
        let scopes: Vec<_> = token.scopes.iter().map(|scope: &Scope| scope.as_str()).collect();
        table.row(vec![
            token.id.clone(),
            line(&token.name),
            line(&token.namespace),
            scopes.join(","),
            token.created_at.to_string(),
            token.expires_at.map_or_else(|| "never".to_owned(), |at| at.to_string()),
        ]);
    }
    table.print()
}

async fn revoke(app: &App, host: &Host, id: &str) -> Result<(), Problem> {
    let token = host.revoke_token(id).await?;
    if app.json {
        return json::print(&json::Line::Token { token: &token, secret: None });
    }
    say(&format!("revoked token {} ({})", token.id, line(&token.name)));
    Ok(())
}

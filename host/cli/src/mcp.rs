//! `longhaul mcp`: the tools, for an agent's client that starts this as a child and speaks MCP with it.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;

use longhaul_server::mcp::serve_stdio;
use serde_json::{Value, json};

use crate::app::{App, quoted};
use crate::args::{Mcp, McpClient};
use crate::exit::{Exit, Problem};
use crate::signals::{RELEASE, Signal, Signals};
use crate::view::say;

pub async fn mcp(app: &App, args: Mcp) -> Result<Exit, Problem> {
    if let Some(client) = args.print_config {
        return print_config(app, client, &args);
    }
    // What is demanded of a client is demanded here too.
    let mut config = app.server_config(None)?.mcp;
    config.wait = args.wait.unwrap_or(config.wait);
    config.require_tasks.extend(args.require_tasks);
    let mut signals = Signals::listen(RELEASE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
    let host = app.open_to_serve(None).await?;
    for file in &args.plugins {
        host.install_file(file).await?;
    }
    if std::io::stdin().is_terminal() {
        say("speaks MCP on standard input, which a client starts; `--print-config CLIENT` prints what to give it");
    }
    let served = tokio::select! {
        served = serve_stdio(&host, &args.namespace, config) => served.map(|()| Exit::Done),
        signal = signals.next() => Ok(match signal {
            Signal::Interrupt => Exit::Done,
            Signal::Leave(exit) => exit,
        }),
    };
    host.shutdown().await;
    Ok(served?)
}

/// What a user pastes, on standard output; where, on standard error.
fn print_config(app: &App, client: McpClient, args: &Mcp) -> Result<Exit, Problem> {
    let here = |e: std::io::Error| Problem::new(format!("cannot say where this program is: {e}"));
    let program = std::env::current_exe().map_err(here)?;
    let data = std::path::absolute(app.data_dir()?).map_err(here)?;
    let mut words = vec!["--data".to_owned(), data.display().to_string(), "mcp".into()];
    let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
    if args.namespace != longhaul::DEFAULT_NAMESPACE {
        option("--namespace", args.namespace.clone());
    }
    for file in &args.plugins {
        option("--plugin", std::path::absolute(file).map_err(here)?.display().to_string());
    }
    if let Some(wait) = args.wait {
        option("--wait", humantime::format_duration(wait).to_string().replace(' ', ""));
    }
    for tool in &args.require_tasks {
        option("--require-tasks", tool.clone());
    }
    let (place, text) = config(client, &program, &words)?;
    say(place);
    let mut out = std::io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|e| Problem::output(&e))?;
    Ok(Exit::Done)
}

fn config(client: McpClient, program: &Path, words: &[String]) -> Result<(&'static str, String), Problem> {
    let server = json!({"type": "stdio", "command": program.display().to_string(), "args": words});
    let json = |config: Value| {
        serde_json::to_string_pretty(&config).map_err(|e| Problem::new(format!("cannot write JSON: {e}")))
    };
    Ok(match client {
        McpClient::ClaudeCode => {
            let command = std::iter::once(program.display().to_string()).chain(words.iter().cloned());
            let command: Vec<_> = command.map(|word| quoted(&word)).collect();
            (
                "run this in your project; `claude mcp add --scope user …` is for all of yours, `--scope project` for all who work on it:",
                format!("claude mcp add longhaul -- {}", command.join(" ")),
            )
        }
        McpClient::VsCode => {
            ("put this into .vscode/mcp.json in your project:", json(json!({"servers": {"longhaul": server}}))?)
        }
        McpClient::Cursor => (
            "put this into .cursor/mcp.json in your project, or into ~/.cursor/mcp.json:",
            json(json!({"mcpServers": {"longhaul": server}}))?,
        ),
        McpClient::Codex => {
            let mut file = toml_edit::DocumentMut::new();
            let mut table = toml_edit::Table::new();
            table["command"] = toml_edit::value(program.display().to_string());
            table["args"] = toml_edit::value(words.iter().collect::<toml_edit::Array>());
            let mut servers = toml_edit::Table::new();
            servers.set_implicit(true);
            servers["longhaul"] = toml_edit::Item::Table(table);
            file["mcp_servers"] = toml_edit::Item::Table(servers);
            ("add this to ~/.codex/config.toml:", file.to_string().trim_end().to_owned())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(client: McpClient) -> String {
        let words = ["--data", "/var/my data", "mcp"].map(str::to_owned);
        config(client, Path::new("/usr/bin/longhaul"), &words).unwrap().1
    }

    #[test]
    fn each_client_gets_its_own_form_of_the_same_command() {
        let server =
            json!({"type": "stdio", "command": "/usr/bin/longhaul", "args": ["--data", "/var/my data", "mcp"]});
        for (client, member) in [(McpClient::VsCode, "servers"), (McpClient::Cursor, "mcpServers")] {
            let config: Value = serde_json::from_str(&printed(client)).unwrap();
            assert_eq!(config, json!({member: {"longhaul": server}}));
        }
        assert_eq!(
            printed(McpClient::ClaudeCode),
            "claude mcp add longhaul -- /usr/bin/longhaul --data '/var/my data' mcp"
        );
        assert_eq!(
            printed(McpClient::Codex),
            "[mcp_servers.longhaul]\ncommand = \"/usr/bin/longhaul\"\nargs = [\"--data\", \"/var/my data\", \"mcp\"]"
        );
    }
}

//! `longhaul plugin`: what is installed.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use console::style;
use longhaul::{Host, NeedVerdict, Pace, Plugin, Tool, Verdict};
use serde_json::Value;

use crate::app::App;
use crate::exit::{Exit, Problem};
use crate::run::looks_like_a_file;
use crate::schema::{Kinds, items, properties_of, required};
use crate::table::Table;
use crate::text::{bytes, count, line, lines};
use crate::view::say;
use crate::words::indented;
use crate::{args, grant, json, replay};

pub async fn plugin(app: &App, command: args::Plugin) -> Result<Exit, Problem> {
    let host = app.open().await?;
    let done = match command {
        args::Plugin::Add { file } => add(app, &host, &file).await,
        args::Plugin::Ls => list(app, &host).await,
        args::Plugin::Inspect { plugin, namespace } => inspect(app, &host, &plugin, &namespace).await,
        args::Plugin::Grant(args) => grant::grant(app, &host, &args).await,
        args::Plugin::Revoke(args) => grant::revoke(app, &args),
        args::Plugin::CheckUpgrade { file } => {
            let checked = replay::check_upgrade(app, &host, &file).await;
            host.shutdown().await;
            return checked;
        }
        args::Plugin::Rm { name } => remove(app, &host, &name).await,
    };
    host.shutdown().await;
    done.map(|()| Exit::Done)
}

async fn add(app: &App, host: &Host, file: &Path) -> Result<(), Problem> {
    let plugin = host.install_file(file).await?;
    if app.json {
        return json::print(&json::Line::Plugin(&plugin));
    }
    let tools: Vec<_> = plugin.manifest.tools.iter().map(|tool| line(&tool.name)).collect();
    say(&format!(
        "added {} {} ({}) with {}: {}",
        line(&plugin.name),
        line(&plugin.version),
        short(&plugin.digest),
        count(tools.len(), "tool"),
        tools.join(", ")
    ));
    Ok(())
}

async fn list(app: &App, host: &Host) -> Result<(), Problem> {
    let plugins = host.plugins().await?;
    if app.json {
        return plugins.iter().try_for_each(|plugin| json::print(&json::Line::Plugin(plugin)));
    }
    if plugins.is_empty() {
        say("no plugins; add one with `longhaul plugin add FILE`");
        return Ok(());
    }
    let mut table = Table::new(&["NAME", "VERSION", "DIGEST", "SIZE", "TOOLS"]);
    for plugin in &plugins {
        let tools: Vec<_> = plugin.manifest.tools.iter().map(|tool| line(&tool.name)).collect();
        table.row(vec![
            line(&plugin.name),
            line(&plugin.version),
            short(&plugin.digest).to_owned(),
            bytes(plugin.size),
            tools.join(", "),
        ]);
    }
    table.print()
}

/// A file is looked into, and not installed.
async fn inspect(app: &App, host: &Host, named: &str, namespace: &str) -> Result<(), Problem> {
    let plugin = match host.namespace(namespace).plugin(named).await {
        _ if looks_like_a_file(named) => host.inspect_file(named).await?,
        Err(longhaul::Error::UnknownPlugin(_)) if Path::new(named).is_file() => host.inspect_file(named).await?,
        found => found?,
    };
    let needs = host.policy().verdicts(namespace, &plugin.manifest);
    if app.json {
        return json::print(&json::Line::Inspected { plugin: &plugin, namespace, needs: &needs });
    }
    let mut out = std::io::stdout().lock();
    out.write_all(page(&plugin, &needs).as_bytes()).and_then(|()| out.flush()).map_err(|e| Problem::output(&e))
}

fn page(plugin: &Plugin, needs: &[NeedVerdict]) -> String {
    let manifest = &plugin.manifest;
    let mut page = String::new();
    let _ = writeln!(page, "{} {}", style(line(&plugin.name)).bold(), line(&plugin.version));
    let _ = writeln!(page, "{}", indented(manifest.description.trim_end()));
    let _ = writeln!(page, "  {} {}", style("digest").dim(), plugin.digest);
    let _ = writeln!(page, "  {} {}", style("size").dim(), bytes(plugin.size));
    for (name, value) in [("license", &manifest.license), ("homepage", &manifest.homepage)] {
        if let Some(value) = value {
            let _ = writeln!(page, "  {} {}", style(name).dim(), line(value));
        }
    }
    for tool in &manifest.tools {
        let _ = write!(page, "\n{}", self::tool(tool));
    }
    if !needs.is_empty() {
        let _ = writeln!(page, "\n{}", style("needs").bold());
    }
    for NeedVerdict { kind, name, verdict, required, why, .. } in needs {
        let verdict = match verdict {
            Verdict::Granted => style("granted    ").green(),
            Verdict::NotGranted if *required => style("not granted").red(),
            Verdict::NotGranted => style("not granted").yellow(),
            Verdict::NotNeeded => style("not needed ").dim(),
        };
        let optional = if *required || why.is_empty() { "" } else { " (optional)" };
        let why = if why.is_empty() { String::new() } else { format!(": {}", line(why)) };
        let _ = writeln!(page, "  {verdict} {kind} {}{optional}{why}", line(name));
    }
    page
}

fn tool(tool: &Tool) -> String {
    let mut page = format!("{} {}\n", style("tool").dim(), style(line(&tool.name)).bold());
    if let Some(title) = &tool.title {
        let _ = writeln!(page, "  {}", line(title));
    }
    let _ = writeln!(page, "{}", indented(tool.description.trim_end()));
    let facts = facts(tool);
    if !facts.is_empty() {
        let _ = writeln!(page, "  {}", style(facts.join(", ")).dim());
    }
    members(&mut page, &tool.input_schema, &tool.input_schema, 1);
    page
}

/// What an object is made of, and what that is made of in turn, not too deep for a person to read.
fn members(page: &mut String, root: &Value, schema: &Value, depth: usize) {
    /// Below it a person looks at the schema itself (`--json`).
    const DEEP: usize = 3;
    let indent = "  ".repeat(depth);
    let required = required(root, schema);
    for (name, property) in properties_of(root, schema) {
        let items = items(root, &property);
        let kinds = Kinds::of(root, &property);
        let of = items.as_ref().map(|items| Kinds::of(root, items)).filter(|of| !of.is_any());
        let of = of.map_or_else(String::new, |of| format!(" of {}", of.plural()));
        let words = if kinds.is_any() { "anything".to_owned() } else { kinds.words() };
        let optional = if required.contains(&name) { "" } else { ", optional" };
        let about = property.get("description").and_then(Value::as_str).map_or_else(String::new, |about| {
            format!(": {}", lines(about.trim_end()).replace('\n', &format!("\n{indent}  ")))
        });
        let _ = writeln!(page, "{indent}{} ({words}{of}{optional}){about}", line(&name));
        if depth < DEEP {
            members(page, root, items.as_ref().unwrap_or(&property), depth + 1);
        }
    }
}

/// What the author says of a tool, in a few words.
fn facts(tool: &Tool) -> Vec<&'static str> {
    let pace = match tool.pace {
        Pace::Quick => Some("takes seconds"),
        Pace::Any => None,
        Pace::Long => Some("may take long"),
    };
    let hints = &tool.hints;
    let words = [
        (hints.read_only == Some(true), "changes nothing"),
        (hints.destructive == Some(true), "may destroy"),
        (hints.idempotent == Some(true), "can be repeated"),
        (hints.open_world == Some(true), "reaches outside"),
    ];
    pace.into_iter().chain(words.into_iter().filter(|(said, _)| *said).map(|(_, word)| word)).collect()
}

async fn remove(app: &App, host: &Host, name: &str) -> Result<(), Problem> {
    let plugin = host.remove_plugin(name).await?;
    if app.json {
        let removed = json::Line::Removed { task: None, plugin: Some(&plugin.name), digest: Some(&plugin.digest) };
        return json::print(&removed);
    }
    say(&format!("removed {} {} ({})", line(&plugin.name), line(&plugin.version), short(&plugin.digest)));
    Ok(())
}

/// Enough of a digest to tell plugins apart.
pub fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

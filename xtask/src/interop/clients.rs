//! Clients that are programs.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::server::{Ends, first_line};
use super::{Place, module, node, source};

/// A proxy before the server, for what can show no token; and its URL.
pub fn with_token(place: &Place) -> Result<(Ends, String)> {
    let mut command = Command::new(node());
    command.arg(source().join("with-token.mjs")).arg(&place.server.url).arg(&place.server.token);
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut proxy = Ends(child.context("cannot start node")?);
    let url = first_line(&mut proxy)?;
    Ok((proxy, url))
}

/// Inspector's `mcpdo`: a person is asked in the middle of a task, and answers with another command.
pub fn mcpdo(place: &Place) -> Result<String> {
    let (_proxy, url) = with_token(place)?;
    let home = tempfile::tempdir().context("a temporary directory")?;
    let mcpdo = |args: &[&str]| {
        let mut command = Command::new(node());
        command.arg(module("@modelcontextprotocol/inspector/clients/mcpdo/build/mcp-bin.js")).args(args);
        // It keeps connections in a process of its own, which starts `node` by name. The developer's is another one.
        command.env("HOME", home.path()).env("MCP_INSPECTOR_DAEMON_DIR", home.path());
        command.env("MCP_INSPECTOR_SECRET_STORE", "file");
        if let Some(bin) = node().parent().filter(|bin| bin.is_absolute()) {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let path = std::env::join_paths(std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path)))?;
            command.env("PATH", path);
        }
        place.within_the_time(&mut command)
    };
    let driven = (|| {
        mcpdo(&["--format", "json", "connect", &format!("{url}/mcp"), "--connection", "c", "--era", "modern"])?;
        let connection = ["--format", "json", "--connection", "c"];
        let asked = mcpdo(&[&connection[..], &["tools/call", "confirm_delete", "filename:=a.txt"]].concat())?;
        let pending = &json(&asked)?["elicitationPending"];
        let (id, origin) = (pending["elicitationId"].as_str(), &pending["origin"]);
        let id = id.filter(|_| origin == "task-input-required").with_context(|| format!("it said {asked}"))?;
        let done = mcpdo(&[&connection[..], &["elicitation/respond", id, "confirm:=true"]].concat())?;
        if json(&done)?["content"][0]["text"] != "deleted a.txt" {
            bail!("it said {done}");
        }
        Ok(())
    })();
    // Its own process must not outlive it.
    let stopped = mcpdo(&["daemon", "stop"]);
    driven.and(stopped.map(|_| "a task followed, its question answered by another command, its result".to_owned()))
}

/// The object among what was printed.
fn json(said: &str) -> Result<Value> {
    let start = said.find("{\n").with_context(|| format!("no JSON: {said}"))?;
    let mut values = serde_json::Deserializer::from_str(&said[start..]).into_iter();
    values.next().with_context(|| format!("no JSON: {said}"))?.with_context(|| format!("no JSON: {said}"))
}

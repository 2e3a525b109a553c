//! The official conformance suite of the Model Context Protocol.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::clients::with_token;
use super::{Place, module, node, source};

/// A check of a scenario.
type Check = (String, String);

/// Runs what a revision requires. What fails must be in that revision's file with its reason, and what is there must fail.
pub fn run(place: &Place, revision: &str) -> Result<String> {
    let (_proxy, url) = with_token(place)?;
    let out = tempfile::tempdir().context("a temporary directory")?;
    let mut command = Command::new(node());
    command.arg(module("@modelcontextprotocol/conformance/dist/index.js"));
    command.args(["server", "--url", &format!("{url}/mcp"), "--requirements", revision, "-o"]).arg(out.path());
    // It ends with an error when anything fails, also what we know.
    let said = place.within_the_time(&mut command);
    let checks = results(out.path())?;
    if checks.is_empty() {
        bail!("it ran nothing: {said:?}");
    }
    let expected = expected(&source().join(format!("conformance-{revision}.txt")))?;
    let mut wrong = Vec::new();
    for ((scenario, check), problem) in &checks {
        match (problem, expected.contains_key(&(scenario.clone(), check.clone()))) {
            (Some(problem), false) => wrong.push(format!("{scenario} {check} fails: {problem}")),
            (None, true) => wrong.push(format!("{scenario} {check} passes, and is listed as one that fails")),
            _ => {}
        }
    }
    for known in expected.keys().filter(|known| !checks.contains_key(known)) {
        wrong.push(format!("{} {} was not run", known.0, known.1));
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    Ok(format!("{} checks passed, {} fail as listed", checks.len() - expected.len(), expected.len()))
}

/// What became of each check: the problem of one that failed.
fn results(out: &Path) -> Result<BTreeMap<Check, Option<String>>> {
    let mut checks = BTreeMap::new();
    for entry in out.read_dir().with_context(|| format!("cannot read {}", out.display()))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // `server-SCENARIO-2026-11-29T10-00-00-000Z`, and a scenario's name may have a year in it too.
        let parts: Vec<_> = name.rsplitn(7, '-').collect();
        let Some(scenario) = parts.last().and_then(|rest| rest.strip_prefix("server-")) else { continue };
        let text = fs::read_to_string(entry.path().join("checks.json")).context("cannot read its results")?;
        let found: Vec<Value> = serde_json::from_str(&text).with_context(|| format!("no results: {text}"))?;
        // What is skipped, the suite cannot try yet, or has no reason to.
        for check in found.iter().filter(|check| check["status"] != "SKIPPED") {
            let id = check["id"].as_str().unwrap_or_default().to_owned();
            let problem = (check["status"] == "FAILURE").then(|| check["errorMessage"].to_string());
            // The same check may be made several times.
            let known: &mut Option<String> = checks.entry((scenario.to_owned(), id)).or_default();
            *known = known.take().or(problem);
        }
    }
    Ok(checks)
}

/// The checks that fail, with the reason.
fn expected(file: &Path) -> Result<BTreeMap<Check, String>> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let known = lines.map(|line| {
        let mut words = line.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some(scenario), Some(check), Some(reason)) if !reason.is_empty() => {
                Ok(((scenario.to_owned(), check.to_owned()), reason.to_owned()))
            }
            _ => bail!("{}: `{line}` is not SCENARIO CHECK REASON", file.display()),
        }
    });
    known.collect()
}

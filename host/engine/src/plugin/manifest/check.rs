//! The rules of a manifest. `docs/manifest.schema.json` says the same to authors, as far as a schema can.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use serde_json::Value;

use super::members::Members;
use super::read::read;
use super::{Hints, Manifest, Need, NeedKind, Pace, Tool};
use crate::egress::HttpRule;
use crate::json::{Problem, brief, child, cut, problem};
use crate::plugin::CompiledSchema;

/// The form of manifest that this version knows.
const KNOWN: u32 = 1;
/// Bytes of JSON text. A hundred tools with long descriptions and schemas are a tenth of it.
const LARGEST: usize = 1 << 20;
/// More than any model chooses from.
const TOOLS: RangeInclusive<usize> = 1..=256;
const NEEDS: RangeInclusive<usize> = 0..=256;
/// Characters that an operator reads before installing.
const DESCRIPTION: RangeInclusive<usize> = 1..=2_000;
/// Characters that a model reads each time it may call the tool.
const TOOL_DESCRIPTION: RangeInclusive<usize> = 1..=10_000;
const TITLE: RangeInclusive<usize> = 1..=100;
const WHY: RangeInclusive<usize> = 1..=1_000;
const LICENSE: RangeInclusive<usize> = 1..=200;
const HOMEPAGE: RangeInclusive<usize> = 1..=2_000;
const VERSION: RangeInclusive<usize> = 1..=100;
/// A host's name has 253 characters at most, and a port may follow.
const NEED_NAME: usize = 259;
const NAME: usize = 64;

/// Reads a manifest and checks it against every rule; its schemas only if they are `new`. To compile those takes far more
/// than all the rest, and whoever uses one compiles it anyway.
pub(super) fn manifest(text: &str, new: bool) -> Result<Manifest, Problem> {
    if text.len() > LARGEST {
        return Err(problem("", format_args!("it has {} bytes; a manifest may have {LARGEST}", text.len())));
    }
    let source = read(text)?;
    let mut members = Members::of(source.clone(), "")?;
    let manifest = form(&mut members)?;
    let name = name(&mut members, "name", '-')?;
    let version = version(&mut members)?;
    let description = members.text("description", DESCRIPTION)?;
    let license = members.optional_text("license", LICENSE)?;
    let homepage = homepage(&mut members)?;
    let tools = members.list("tools", TOOLS, |value, at| tool(value, at, new))?;
    once(&tools, "/tools", |tool| format!("the tool `{}`", tool.name))?;
    let needs = members.list("needs", NEEDS, need)?;
    once(&needs, "/needs", |need| format!("the {} `{}`", need.kind, need.name))?;
    Ok(Manifest {
        manifest,
        name,
        version,
        description,
        license,
        homepage,
        tools,
        needs,
        extra: members.left(),
        source,
    })
}

fn form(members: &mut Members) -> Result<u32, Problem> {
    let value = members.need("manifest")?;
    let at = members.at("manifest");
    match value.as_f64() {
        // JSON knows no integers: 1.0 is the same number.
        Some(number) if number == f64::from(KNOWN) => Ok(KNOWN),
        Some(number) if number > f64::from(KNOWN) => Err(problem(
            &at,
            format_args!("a manifest of form {value} is newer than this host, which knows form {KNOWN}"),
        )),
        _ => Err(problem(&at, format_args!("{} is not the number {KNOWN}, the form of this manifest", brief(&value)))),
    }
}

/// A name of lower-case letters, digits and `also`, the first of them a letter.
fn name(members: &mut Members, member: &str, also: char) -> Result<String, Problem> {
    let value = members.need(member)?;
    match value {
        Value::String(name) if is_name(&name, also) => Ok(name),
        other => Err(problem(
            &members.at(member),
            format_args!(
                "{} is not a name of 1 to {NAME} characters a-z, 0-9 and {also}, the first of them a letter",
                brief(&other)
            ),
        )),
    }
}

/// Whether a plugin can be called so.
pub(crate) fn is_plugin_name(name: &str) -> bool {
    is_name(name, '-')
}

fn is_name(name: &str, also: char) -> bool {
    name.len() <= NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == also)
}

fn version(members: &mut Members) -> Result<String, Problem> {
    let version = members.text("version", VERSION)?;
    semver::Version::parse(&version).map_err(|error| {
        let what = format_args!("\"{}\" is not a semantic version such as 1.0.0: {error}", cut(&version)).to_string();
        problem(&members.at("version"), what)
    })?;
    Ok(version)
}

fn homepage(members: &mut Members) -> Result<Option<String>, Problem> {
    let Some(homepage) = members.optional_text("homepage", HOMEPAGE)? else { return Ok(None) };
    let rest = homepage.strip_prefix("https://").or_else(|| homepage.strip_prefix("http://"));
    let has_host = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '?', '#']));
    if has_host && homepage.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Ok(Some(homepage));
    }
    let what = format!("\"{}\" is not a URL such as https://example.com/page", cut(&homepage));
    Err(problem(&members.at("homepage"), what))
}

fn tool(value: Value, at: &str, new: bool) -> Result<Tool, Problem> {
    let mut members = Members::of(value, at)?;
    Ok(Tool {
        name: name(&mut members, "name", '_')?,
        title: members.optional_text("title", TITLE)?,
        description: members.text("description", TOOL_DESCRIPTION)?,
        input_schema: input_schema(&mut members, new)?,
        output_schema: match members.take("outputSchema") {
            Some(schema) if new => Some(valid_schema(schema, &members.at("outputSchema"))?),
            schema => schema,
        },
        hints: match members.take("hints") {
            Some(hints) => self::hints(hints, &members.at("hints"))?,
            None => Hints::default(),
        },
        pace: one_of(&mut members, "pace", &Pace::ALL, Pace::as_str)?.unwrap_or_default(),
        extra: members.left(),
    })
}

fn input_schema(members: &mut Members, new: bool) -> Result<Value, Problem> {
    let schema = members.need("inputSchema")?;
    let at = members.at("inputSchema");
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(problem(&at, "an input is an object, so its schema says \"type\": \"object\""));
    }
    if new { valid_schema(schema, &at) } else { Ok(schema) }
}

fn valid_schema(schema: Value, at: &str) -> Result<Value, Problem> {
    match CompiledSchema::compile(&schema) {
        Ok(_) => Ok(schema),
        Err(wrong) => Err(problem(&format!("{at}{}", wrong.at), wrong.what)),
    }
}

fn hints(value: Value, at: &str) -> Result<Hints, Problem> {
    let mut members = Members::of(value, at)?;
    Ok(Hints {
        read_only: members.optional_bool("readOnlyHint")?,
        destructive: members.optional_bool("destructiveHint")?,
        idempotent: members.optional_bool("idempotentHint")?,
        open_world: members.optional_bool("openWorldHint")?,
        extra: members.left(),
    })
}

fn need(value: Value, at: &str) -> Result<Need, Problem> {
    let mut members = Members::of(value, at)?;
    let kind = one_of(&mut members, "kind", &NeedKind::ALL, NeedKind::as_str)?
        .ok_or_else(|| problem(at, "`kind` is missing"))?;
    let name = members.text("name", 1..=NEED_NAME)?;
    if !kind.fits(&name) {
        let what = format_args!("\"{}\" is not {}", cut(&name), kind.such_as()).to_string();
        return Err(problem(&members.at("name"), what));
    }
    Ok(Need {
        kind,
        name,
        why: members.text("why", WHY)?,
        required: members.optional_bool("required")?.unwrap_or(true),
        extra: members.left(),
    })
}

/// Whether a need of that kind can be called so.
pub(super) fn need_name(kind: NeedKind, name: &str) -> bool {
    match kind {
        NeedKind::Http => name.bytes().all(|byte| matches!(byte, b' '..=b'~')) && HttpRule::parse(name).is_ok(),
        NeedKind::Setting | NeedKind::Secret => is_key(name),
        NeedKind::Tool => name.split_once('/').is_some_and(|(plugin, tool)| is_name(plugin, '-') && is_name(tool, '_')),
    }
}

fn is_key(name: &str) -> bool {
    name.len() <= NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

fn one_of<T: Copy>(
    members: &mut Members,
    name: &str,
    all: &[T],
    word: impl Fn(T) -> &'static str,
) -> Result<Option<T>, Problem> {
    let Some(value) = members.take(name) else { return Ok(None) };
    match all.iter().find(|&&one| value.as_str() == Some(word(one))) {
        Some(&one) => Ok(Some(one)),
        None => {
            let words: Vec<_> = all.iter().map(|&one| format!("\"{}\"", word(one))).collect();
            let what = format!("{} is not one of {}", brief(&value), words.join(", "));
            Err(problem(&members.at(name), what))
        }
    }
}

fn once<T>(items: &[T], at: &str, named: impl Fn(&T) -> String) -> Result<(), Problem> {
    let mut seen = HashSet::new();
    for (place, item) in items.iter().enumerate() {
        let name = named(item);
        if seen.contains(&name) {
            return Err(problem(&child(at, place), format_args!("{name} is there twice")));
        }
        seen.insert(name);
    }
    Ok(())
}

//! `longhaul plugin grant` and `revoke`: `longhaul.toml`, edited as a person would.

use std::fmt;
use std::str::FromStr;

use longhaul::{Host, NeedKind, Verdict};
use toml_edit::{Array, DocumentMut, InlineTable, Item, RawString, Table, TableLike, Value};

use crate::app::App;
use crate::args;
use crate::exit::Problem;
use crate::json;
use crate::policy_file::PolicyFile;
use crate::text::line;
use crate::view::say;

/// Something that can be granted: `http:api.example.com`, `setting:language=de`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    pub kind: NeedKind,
    pub name: String,
    /// Of a setting its value, of a secret how it is called in `[secrets]`.
    pub value: Option<String>,
}

impl FromStr for Grant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "it must be http:HOST, tool:PLUGIN/TOOL, setting:NAME=VALUE or secret:NAME[=SECRET]".to_owned();
        let (kind, rest) = text.split_once(':').filter(|(_, rest)| !rest.is_empty()).ok_or_else(wrong)?;
        let named = |kind, rest: &str| match rest.split_once('=') {
            Some((name, value)) => Self { kind, name: name.to_owned(), value: Some(value.to_owned()) },
            None => Self { kind, name: rest.to_owned(), value: None },
        };
        match kind {
            "http" => Ok(Self { kind: NeedKind::Http, name: rest.to_owned(), value: None }),
            "tool" if rest.contains('/') => Ok(Self { kind: NeedKind::Tool, name: rest.to_owned(), value: None }),
            "setting" => Ok(named(NeedKind::Setting, rest)),
            "secret" => Ok(named(NeedKind::Secret, rest)),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, line(&self.name))
    }
}

/// Where a secret is: `env:VARIABLE`, `file:PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct From {
    kind: &'static str,
    place: String,
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("env", place)) => Ok(Self { kind: "env", place: place.to_owned() }),
            Some(("file", place)) => Ok(Self { kind: "file", place: place.to_owned() }),
            _ => Err("it must be env:VARIABLE or file:PATH".to_owned()),
        }
    }
}

/// What the grants of one command are about.
pub struct Place<'a> {
    pub plugin: &'a str,
    pub namespace: Option<&'a str>,
}

pub async fn grant(app: &App, host: &Host, args: &args::Grants) -> Result<(), Problem> {
    let place = Place { plugin: &args.plugin, namespace: args.namespace.as_deref() };
    let file = PolicyFile::edit(&app.data_dir()?, |policy| {
        args.grants.iter().try_for_each(|grant| add(policy, &place, grant, args))
    })?;
    args.grants.iter().try_for_each(|grant| tell(app, "granted", "to", grant, &place, &file))?;
    if !app.json {
        note_what_is_of_no_use(host, args, &place).await;
    }
    Ok(())
}

pub fn revoke(app: &App, args: &args::Revoke) -> Result<(), Problem> {
    let place = Place { plugin: &args.plugin, namespace: args.namespace.as_deref() };
    let file = PolicyFile::edit(&app.data_dir()?, |policy| {
        args.grants.iter().try_for_each(|grant| remove(policy, &place, grant))
    })?;
    args.grants.iter().try_for_each(|grant| tell(app, "revoked", "from", grant, &place, &file))
}

fn tell(
    app: &App,
    done: &'static str,
    towards: &str,
    grant: &Grant,
    place: &Place<'_>,
    file: &PolicyFile,
) -> Result<(), Problem> {
    let Place { plugin, namespace } = place;
    if app.json {
        let (kind, name) = (grant.kind, &grant.name);
        return json::print(&json::Line::Grant { done, plugin, namespace: *namespace, kind, name, file: file.path() });
    }
    let namespace = namespace.map_or_else(String::new, |namespace| format!(" in namespace {}", line(namespace)));
    say(&format!("{done} {grant} {towards} {}{namespace}, in {}", line(plugin), file.path().display()));
    Ok(())
}

/// A slip of the pen is easily made, and grants nothing.
async fn note_what_is_of_no_use(host: &Host, args: &args::Grants, place: &Place<'_>) {
    let name = line(place.plugin);
    let Ok(plugin) = host.plugin(place.plugin).await else {
        return say(&format!("note: no plugin `{name}` is installed yet"));
    };
    let namespace = place.namespace.unwrap_or(longhaul::DEFAULT_NAMESPACE);
    for verdict in host.policy().verdicts(namespace, &plugin.manifest) {
        let granted = |grant: &Grant| grant.kind == verdict.kind && grant.name == verdict.name;
        if verdict.verdict == Verdict::NotNeeded && args.grants.iter().any(granted) {
            let what = line(&verdict.name);
            say(&format!("note: `{name}` declares no need of {} `{what}`: it can make no use of it", verdict.kind));
        }
    }
}

fn add(policy: &mut DocumentMut, place: &Place<'_>, grant: &Grant, args: &args::Grants) -> Result<(), Problem> {
    let Grant { kind, name, value } = grant;
    match (kind, value) {
        (NeedKind::Http, _) => list(section(policy, place)?, "http").and_then(|list| push(list, name)),
        (NeedKind::Tool, _) => list(section(policy, place)?, "tools").and_then(|list| push(list, name)),
        (NeedKind::Setting, Some(value)) => {
            put(table(section(policy, place)?, "settings")?, name, value.as_str().into());
            Ok(())
        }
        (NeedKind::Setting, None) => Err(setting_without_value(name)),
        (NeedKind::Secret, source) => {
            let source = source.as_deref().unwrap_or(name);
            if let Some(From { kind, place }) = &args.from {
                let mut from = InlineTable::new();
                from.insert(*kind, place.as_str().into());
                put(table(policy.as_table_mut(), "secrets")?, source, from.into());
            }
            let usage = usage(source, name, args)?;
            put(table(section(policy, place)?, "secrets")?, name, usage.into());
            Ok(())
        }
    }
}

pub fn setting_without_value(name: &str) -> Problem {
    Problem::new(format!("a setting is granted by its value: setting:{name}=VALUE"))
}

/// How a secret is put into requests, and where it may go.
fn usage(source: &str, name: &str, args: &args::Grants) -> Result<InlineTable, Problem> {
    let (Some(place), false) = (&args.place, args.to.is_empty()) else {
        return Err(Problem::new(format!("secret `{name}` needs to know where it may go, and how"))
            .hint("such as `--to api.example.com --as bearer`; --as may be header:NAME, basic:USER, query:NAME or placeholder too"));
    };
    let mut usage = InlineTable::new();
    if source != name {
        usage.insert("secret", source.into());
    }
    usage.insert("to", Value::Array(args.to.iter().map(String::as_str).collect::<Array>()));
    let place = match place.split_once(':') {
        Some((kind, name)) => {
            let mut place = InlineTable::new();
            place.insert(kind, name.into());
            place.into()
        }
        None => place.as_str().into(),
    };
    usage.insert("as", place);
    Ok(usage)
}

fn remove(policy: &mut DocumentMut, place: &Place<'_>, grant: &Grant) -> Result<(), Problem> {
    let Grant { kind, name, .. } = grant;
    let section = section(policy, place)?;
    let removed = match kind {
        NeedKind::Http => drop_from(section, "http", name)?,
        NeedKind::Tool => drop_from(section, "tools", name)?,
        NeedKind::Setting => table(section, "settings")?.remove(name).is_some(),
        NeedKind::Secret => table(section, "secrets")?.remove(name).is_some(),
    };
    if !removed {
        let where_else = match place.namespace {
            Some(_) => "`longhaul plugin inspect` shows what is; without --namespace, what all namespaces have",
            None => "`longhaul plugin inspect` shows what is; a namespace's own grant is named by --namespace",
        };
        return Err(Problem::new(format!("{grant} is not granted to `{}` there", line(place.plugin))).hint(where_else));
    }
    Ok(())
}

/// The section of a plugin, made if it is not there.
fn section<'a>(policy: &'a mut DocumentMut, place: &Place<'_>) -> Result<&'a mut dyn TableLike, Problem> {
    let mut at: &mut dyn TableLike = policy.as_table_mut();
    if let Some(namespace) = place.namespace {
        at = implicit(implicit(at, "namespaces")?, namespace)?;
    }
    table(implicit(at, "plugins")?, place.plugin)
}

/// A table that has no line of its own, if it is made.
fn implicit<'a>(parent: &'a mut dyn TableLike, name: &str) -> Result<&'a mut dyn TableLike, Problem> {
    let mut empty = Table::new();
    empty.set_implicit(true);
    parent.entry(name).or_insert(Item::Table(empty)).as_table_like_mut().ok_or_else(|| no_table(name))
}

fn table<'a>(parent: &'a mut dyn TableLike, name: &str) -> Result<&'a mut dyn TableLike, Problem> {
    parent.entry(name).or_insert(Item::Table(Table::new())).as_table_like_mut().ok_or_else(|| no_table(name))
}

fn no_table(name: &str) -> Problem {
    Problem::new(format!("`{}` is no table in the policy", line(name)))
}

/// Sets a value, and leaves what is written around it.
fn put(table: &mut dyn TableLike, name: &str, mut value: Value) {
    match table.get_mut(name).and_then(Item::as_value_mut) {
        Some(old) => {
            *value.decor_mut() = old.decor().clone();
            *old = value;
        }
        None => {
            table.insert(name, Item::Value(value));
        }
    }
}

fn list<'a>(section: &'a mut dyn TableLike, name: &str) -> Result<&'a mut Array, Problem> {
    let list = section.entry(name).or_insert(Item::Value(Array::new().into()));
    list.as_array_mut().ok_or_else(|| Problem::new(format!("`{name}` is no list in the policy")))
}

fn push(list: &mut Array, name: &str) -> Result<(), Problem> {
    if list.iter().any(|item| item.as_str() == Some(name)) {
        return Ok(());
    }
    // In a list with a line for each, it has its own; the comment behind the one before it stays there.
    let before = list.iter().last().map(prefix).unwrap_or_default();
    let trailing = list.trailing().as_str().unwrap_or_default().to_owned();
    list.push(name);
    if let (Some((_, indent)), Some(added)) = (before.rsplit_once('\n'), list.iter_mut().last()) {
        let (comment, below) = trailing.split_once('\n').unwrap_or_default();
        added.decor_mut().set_prefix(format!("{comment}\n{indent}"));
        list.set_trailing(format!("\n{below}"));
    }
    Ok(())
}

/// What stands before an item: the comment behind the one before it, and then its own line's.
fn prefix(item: &Value) -> String {
    item.decor().prefix().and_then(RawString::as_str).unwrap_or_default().to_owned()
}

/// A rule in the form of a table goes by its host.
fn drop_from(section: &mut dyn TableLike, name: &str, granted: &str) -> Result<bool, Problem> {
    let list = list(section, name)?;
    let before = list.len();
    let mut at = 0;
    while let Some(item) = list.get(at) {
        let host = item.as_inline_table().and_then(|table| table.get("host")).and_then(Value::as_str);
        if item.as_str().or(host) != Some(granted) {
            at += 1;
            continue;
        }
        // The comment behind the item before it stays; its own goes.
        let above = prefix(item);
        let above = above.split('\n').next().unwrap_or_default();
        let own = item.decor().suffix().and_then(RawString::as_str).unwrap_or_default().to_owned();
        list.remove(at);
        let below = |text: &str| text.split_once('\n').map(|(_, below)| format!("{above}\n{below}"));
        match list.get_mut(at) {
            Some(next) => {
                let below = below(&prefix(next)).unwrap_or_else(|| above.to_owned());
                next.decor_mut().set_prefix(below);
            }
            None => {
                let below = below(&(own + list.trailing().as_str().unwrap_or_default()));
                below.into_iter().for_each(|below| list.set_trailing(below));
            }
        }
    }
    let removed = list.len() < before;
    if list.is_empty() {
        section.remove(name);
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "[\n  'a',  # of a\n  'b', # of b\n  { host = 'c' },\n  'd' # of d\n]";

    fn without(list: &str, name: &str) -> String {
        let mut policy: DocumentMut = format!("http = {list}\n").parse().unwrap();
        assert!(drop_from(policy.as_table_mut(), "http", name).unwrap(), "{name}");
        policy.to_string().trim_start_matches("http = ").trim_end().to_owned()
    }

    #[test]
    fn what_is_removed_goes_with_its_line_and_its_comment_and_nothing_else() {
        for (name, line) in [("a", "  'a',  # of a\n"), ("b", "  'b', # of b\n"), ("c", "  { host = 'c' },\n")] {
            assert_eq!(without(LIST, name), LIST.replace(line, ""), "{name}");
        }
        assert_eq!(without(LIST, "d"), "[\n  'a',  # of a\n  'b', # of b\n  { host = 'c' }\n]");
        assert_eq!(without("['a', 'b', 'c']", "a"), "['b', 'c']");
        assert_eq!(without("['a', 'b', 'c']", "b"), "['a', 'c']");
        assert_eq!(without("['a', 'b', 'c']", "c"), "['a', 'b']");
        assert_eq!(without("['a']", "a"), "");
    }

    #[test]
    fn what_is_added_has_a_line_of_its_own_where_the_others_do() {
        let added = |list: &str| {
            let mut policy: DocumentMut = format!("http = {list}").parse().unwrap();
            push(policy["http"].as_array_mut().unwrap(), "z").unwrap();
            policy.to_string().trim_start_matches("http = ").trim_end().to_owned()
        };
        assert_eq!(added("['a']"), "['a', \"z\"]");
        assert_eq!(added("[]"), "[\"z\"]");
        let lines = "[\n  'a', # of a\n  'b', # of b\n]";
        assert_eq!(added(lines), "[\n  'a', # of a\n  'b', # of b\n  \"z\",\n]");
        assert_eq!(added("['z']"), "['z']");
    }
}

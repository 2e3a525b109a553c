//! The page of all limits, written from the table.

use std::fmt::Write as _;
use std::path::Path;

use super::table::{HostLimit, Limit, Row};
use super::value::shown;
use super::{Allowed, HostLimits, Limits, Section};

const PAGE: &str = "../../docs/limits.md";
const CONFIGURATION: &str = "../../docs/longhaul.toml";

const HEAD: &str = "\
# Limits

Every limit is on by default and enforced at one place. A task that reaches one is told which, how much it allows, and what raises it. The limits of a task are fixed when it starts, and neither a
crash nor a restart refills one. What `longhaul.toml` says counts for tasks that start from then on, also while a server runs.

This page is written from the table in `host/engine/src/limits/table.rs`.

";

const HOST: &str = "
One limit is in no table, because no value of it would be of use to anybody: holding an input or an output to its tool's schema takes 20 million steps at most. What the schema may look at, at each value, times how many values there are is
known before any of it is done; a value for which that is more is not valid. It is far more than four mebibytes need under any schema that people write: a list of ten thousand numbers to choose from, not texts or integers, for each of
thousands of values, is what it is about.

## Of the host

What any guest, or any file that is installed, may use. Fixed when the host opens; and so is the most that `memory` and `table_elements` can be raised to.

";

fn rows<'a>(page: &mut String, rows: impl Iterator<Item = &'a Row>) {
    page.push_str("| limit | default | from, to | what it is | where it is enforced |\n|---|---|---|---|---|\n");
    for row in rows {
        let Row { name, about, at, .. } = row;
        let amount = |amount| shown(row.unit, amount);
        let (default, least, most) = (amount(row.default), amount(row.least), amount(row.most));
        let _ = writeln!(page, "| `{name}` | {default} | {least}, {most} | {} | {at} |", about.trim());
    }
}

fn page() -> String {
    let mut page = format!("{HEAD}## Of a task\n\n");
    rows(&mut page, Limit::ALL.iter().map(|limit| limit.row()));
    page.push_str(HOST);
    rows(&mut page, HostLimit::ALL.iter().map(|limit| limit.row()));
    page
}

/// The part of the annotated configuration that is about limits: from its head to the next one.
const PART: &str = "# ---- Limits ";
const NEXT: &str = "\n# ---- ";

fn configuration() -> String {
    let mut part = format!("{PART:-<122}\n");
    part.push_str(
        "# What a task has, and the most that a start may ask for it (`longhaul run --limit NAME=VALUE`). `{ default = .., most = .. }`
# sets the two apart. What is written counts for tasks that start from then on; those that there are keep what they have.
# Two things wait until a process opens the data directory anew: more `memory` or `table_elements` than it had, which it warns
# of, as does `longhaul doctor`, and what is the host's own (from `core_instances` on). docs/limits.md says where each is enforced.

#[limits]
",
    );
    let rows = Limit::ALL.iter().map(|limit| limit.row());
    for row in rows.chain(HostLimit::ALL.iter().map(|limit| limit.row())) {
        for line in textwrapped(row.about.trim()) {
            let _ = writeln!(part, "# {line}");
        }
        let _ = writeln!(part, "#{} = \"{}\"", row.name, shown(row.unit, row.default));
    }
    part
}

/// Lines of 120 characters.
fn textwrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + word.len() > 118 {
            lines.push(word.to_owned());
        } else {
            let space = if lines[last].is_empty() { "" } else { " " };
            lines[last] = format!("{}{space}{word}", lines[last]);
        }
    }
    lines
}

/// Compares a file with what it is to be; writes it if that is asked for.
fn is_written(path: &str, wanted: impl FnOnce(&str) -> String) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let wanted = wanted(&there);
    if std::env::var_os("LONGHAUL_WRITE_DOCS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    assert!(there == wanted, "{} is stale: run this test with LONGHAUL_WRITE_DOCS=1, and commit it", path.display());
}

#[test]
fn the_page_of_limits_says_what_the_table_says() {
    is_written(PAGE, |_| page());
}

#[test]
fn the_annotated_configuration_has_every_limit_with_its_default() {
    is_written(CONFIGURATION, |there| {
        let begin = there.find(PART).expect("it has a part about limits");
        let end = there[begin..].find(NEXT).map_or(there.len(), |end| begin + end);
        format!("{}{}{}", &there[..begin], configuration(), &there[end..])
    });
    let part = configuration();
    let settings: Vec<_> = part.lines().filter_map(|line| line.strip_prefix('#')).collect();
    let settings: Vec<_> =
        settings.into_iter().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    assert_eq!(settings.len(), Limit::ALL.len() + HostLimit::ALL.len());
    let said: Section = toml::from_str(&settings.join("\n")).unwrap();
    let (defaults, host) = (Limits::default(), HostLimits::default());
    assert_eq!(said.host(Allowed::new(defaults, defaults), host), (Allowed::new(defaults, defaults), host));
}

//! The page of all limits, written from the table.

use std::fmt::Write as _;
use std::path::Path;

use super::table::{HostLimit, Limit, Row};
use super::value::shown;

const PAGE: &str = "../../docs/limits.md";

const HEAD: &str = "\
# Limits

Every limit is on by default and enforced at one place. A task that reaches one is told which, how much it allows, and what raises it. The limits of a task are fixed when it starts, and neither a
crash nor a restart refills one.

This page is written from the table in `host/engine/src/limits/table.rs`.

";

const HOST: &str = "
## Of the host

What any guest, or any file that is installed, may use. Fixed when the host opens.

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

#[test]
fn the_page_of_limits_says_what_the_table_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    if std::env::var_os("LONGHAUL_WRITE_DOCS").is_some() {
        std::fs::write(&path, page()).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(there == page(), "docs/limits.md is stale: run this test with LONGHAUL_WRITE_DOCS=1, and commit the page");
}

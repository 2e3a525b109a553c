//! What the tool answers.

use std::collections::BTreeMap;

use markdown_table::{Align, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What `csv-profile` says of a file, as far as it is of use here.
#[derive(Debug, Deserialize)]
pub struct Profile {
    rows: u64,
    columns: Vec<Column>,
}

#[derive(Debug, Deserialize)]
struct Column {
    name: String,
    #[serde(rename = "type")]
    kind: String,
}

/// How several CSV files compare.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Report {
    /// In the order of the input.
    pub files: Vec<File>,
    /// The columns that are not in all files, or not of one type, by name.
    pub differences: Vec<Difference>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct File {
    pub name: String,
    /// How many rows there are below the header.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// How many columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub columns: Option<usize>,
    /// Why it could not be profiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The type of each column.
    #[serde(skip)]
    types: BTreeMap<String, String>,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    pub column: String,
    /// The column's type in each file; null where it is missing.
    pub types: Vec<(String, Option<String>)>,
}

impl File {
    pub fn profiled(name: String, profile: Profile) -> Self {
        let (rows, columns) = (Some(profile.rows), Some(profile.columns.len()));
        let types = profile.columns.into_iter().map(|column| (column.name, column.kind)).collect();
        Self { name, rows, columns, error: None, types }
    }

    pub fn failed(name: String, error: String) -> Self {
        Self { name, rows: None, columns: None, error: Some(error), types: BTreeMap::new() }
    }
}

impl Report {
    pub fn of(files: Vec<File>) -> Self {
        let readable: Vec<&File> = files.iter().filter(|file| file.error.is_none()).collect();
        let mut columns: Vec<&String> = readable.iter().flat_map(|file| file.types.keys()).collect();
        columns.sort_unstable();
        columns.dedup();
        let types = |column: &String| -> Vec<(String, Option<String>)> {
            readable.iter().map(|file| (file.name.clone(), file.types.get(column).cloned())).collect()
        };
        let differences = columns
            .into_iter()
            .map(|column| Difference { column: column.clone(), types: types(column) })
            .filter(|difference| difference.types.windows(2).any(|pair| pair[0].1 != pair[1].1))
            .collect();
        Self { files, differences }
    }

    pub fn markdown(&self) -> String {
        let mut table =
            Table::new([("File", Align::Left), ("Rows", Align::Right), ("Columns", Align::Right), ("", Align::Left)]);
        for file in &self.files {
            table.row([
                file.name.clone(),
                file.rows.map(|rows| rows.to_string()).unwrap_or_default(),
                file.columns.map(|columns| columns.to_string()).unwrap_or_default(),
                file.error.clone().unwrap_or_default(),
            ]);
        }
        if self.differences.is_empty() {
            return format!("{table}\nEvery column is in all files, and of one type.\n");
        }
        let mut differences = Table::new([("Column", Align::Left), ("Types", Align::Left)]);
        for Difference { column, types } in &self.differences {
            let types = types.iter().map(|(file, kind)| format!("{file}: {}", kind.as_deref().unwrap_or("missing")));
            differences.row([column.clone(), types.collect::<Vec<_>>().join(", ")]);
        }
        format!("{table}\n{differences}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, columns: &[(&str, &str)]) -> File {
        let column = |(name, kind): &(&str, &str)| Column { name: (*name).into(), kind: (*kind).into() };
        File::profiled(name.into(), Profile { rows: 2, columns: columns.iter().map(column).collect() })
    }

    #[test]
    fn a_column_that_is_missing_or_of_another_type_is_a_difference() {
        let files = vec![
            file("a", &[("day", "date"), ("total", "integer"), ("who", "text")]),
            File::failed("b".into(), "empty".into()),
            file("c", &[("day", "date"), ("total", "text")]),
        ];
        let report = Report::of(files);
        let told: Vec<_> = report.differences.iter().map(|it| (it.column.as_str(), it.types[1].1.as_deref())).collect();
        assert_eq!(told, [("total", Some("text")), ("who", None)], "a file that can't be read differs in nothing");
        let markdown = report.markdown();
        assert!(markdown.contains("| b ") && markdown.contains("a: integer, c: text"), "{markdown}");
    }

    #[test]
    fn files_that_look_alike_have_no_differences() {
        let report = Report::of(vec![file("a", &[("day", "date")]), file("b", &[("day", "date")])]);
        assert!(report.differences.is_empty());
        assert!(report.markdown().contains("in all files"));
    }
}

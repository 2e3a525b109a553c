//! The file's fields, unquoted.

use csv::{ReaderBuilder, StringRecord};
use longhaul_sdk::ToolError;

use crate::column::Column;

/// All fields in one text: a file of many small fields would not fit into memory as many small strings.
pub struct Table {
    header: Vec<String>,
    text: String,
    /// Where each field ends in `text`, row by row.
    ends: Vec<u32>,
}

/// The rows of the file as they are, the header included. Empty lines are no rows.
pub fn records(csv: &str, delimiter: u8) -> impl Iterator<Item = StringRecord> + '_ {
    ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(csv.as_bytes())
        .into_records()
        .map(|record| record.expect("text in memory is UTF-8 and can be read"))
}

/// How many rows there are below the header.
pub fn count_rows(csv: &str, delimiter: u8) -> usize {
    records(csv, delimiter).count().saturating_sub(1)
}

impl Table {
    /// Reads the file. `on_row` is told how many rows were read.
    ///
    /// # Errors
    /// [`ToolError::invalid_input`] for a row that has more or fewer fields than the header.
    pub fn read(csv: &str, delimiter: u8, on_row: impl Fn(usize)) -> Result<Self, ToolError> {
        let mut records = records(csv, delimiter);
        let header = records.next().unwrap_or_default();
        let mut table = Self { header: names(&header), text: String::with_capacity(csv.len()), ends: Vec::new() };
        for (index, record) in records.enumerate() {
            if record.len() != header.len() {
                let line = record.position().map_or(0, csv::Position::line);
                return Err(ToolError::invalid_input(format!(
                    "line {line} has {}, but the header has {}{}",
                    fields(record.len()),
                    header.len(),
                    if record.len() > header.len() {
                        ": a field with the delimiter in it has to be quoted"
                    } else {
                        ""
                    },
                )));
            }
            for field in &record {
                table.text.push_str(field);
                table.ends.push(u32::try_from(table.text.len()).expect("an input has less than 4 GiB"));
            }
            on_row(index + 1);
        }
        Ok(table)
    }

    /// How many rows there are below the header.
    pub fn rows(&self) -> usize {
        self.ends.len() / self.header.len().max(1)
    }

    pub fn columns(&self) -> impl Iterator<Item = Column<'_>> {
        let width = self.header.len();
        self.header.iter().enumerate().map(move |(at, name)| Column {
            name,
            values: (0..self.rows()).map(|row| self.field(row * width + at)).collect(),
        })
    }

    fn field(&self, at: usize) -> &str {
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.text[start..self.ends[at] as usize]
    }
}

/// A column without a name is called by its place.
fn names(header: &StringRecord) -> Vec<String> {
    header
        .iter()
        .enumerate()
        .map(|(at, name)| match name.trim() {
            "" => format!("column {}", at + 1),
            name => name.to_owned(),
        })
        .collect()
}

fn fields(count: usize) -> String {
    match count {
        1 => "1 field".into(),
        count => format!("{count} fields"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(csv: &str) -> Vec<Vec<String>> {
        let table = Table::read(csv, b',', |_| ()).unwrap();
        table.columns().map(|column| column.values.iter().map(|value| value.to_string()).collect()).collect()
    }

    #[test]
    fn quotes_and_line_breaks_in_a_field() {
        assert_eq!(values("a,b\n\"one\ntwo\",\"say \"\"hi\"\"\"\r\n3,4"), [["one\ntwo", "3"], ["say \"hi\"", "4"]]);
    }

    #[test]
    fn a_header_alone_has_no_rows() {
        let table = Table::read("a,b\n", b',', |_| ()).unwrap();
        assert_eq!(table.rows(), 0);
        assert_eq!(table.columns().count(), 2);
    }

    #[test]
    fn an_uneven_row_is_named_by_its_line() {
        let problem = Table::read("a,b\n\"1\n1\",2\n3\n", b',', |_| ()).err().unwrap();
        assert_eq!(problem.to_string(), "line 4 has 1 field, but the header has 2");
        let problem = Table::read("a,b\n1,2,3\n", b',', |_| ()).err().unwrap();
        assert!(problem.to_string().starts_with("line 2 has 3 fields, but the header has 2: a field"), "{problem}");
    }

    #[test]
    fn rows_are_counted_as_they_are_read() {
        let seen = std::cell::RefCell::new(vec![]);
        Table::read("a\n1\n\n2\n", b',', |rows| seen.borrow_mut().push(rows)).unwrap();
        assert_eq!(*seen.borrow(), [1, 2]);
        assert_eq!(count_rows("a\n1\n\n2\n", b','), 2);
    }

    #[test]
    fn a_column_without_a_name_is_called_by_its_place() {
        let table = Table::read("a, \n1,2\n", b',', |_| ()).unwrap();
        assert_eq!(table.columns().nth(1).unwrap().name, "column 2");
    }
}

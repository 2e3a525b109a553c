//! Tables in Markdown whose columns also line up where Markdown is shown as it is: in a terminal, in a log.
//!
//! ```
//! use markdown_table::{Align, Table};
//!
//! let mut table = Table::new([("City", Align::Left), ("People", Align::Right)]);
//! table.row(["Bern", "134794"]);
//! table.row(["a|b", "7"]);
//! assert_eq!(
//!     table.to_string(),
//!     "\
//! | City | People |
//! |------|-------:|
//! | Bern | 134794 |
//! | a\\|b |      7 |
//! "
//! );
//! ```
#![deny(missing_docs)]

use std::fmt;

/// On which side of its column a value stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Texts.
    Left,
    /// Numbers.
    Right,
}

/// A table, written with [`Display`](fmt::Display).
#[derive(Debug, Clone)]
pub struct Table {
    align: Vec<Align>,
    /// The first one names the columns.
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns and no rows.
    pub fn new<T: AsRef<str>>(columns: impl IntoIterator<Item = (T, Align)>) -> Self {
        let (names, align) = columns.into_iter().map(|(name, align)| (escape(name.as_ref()), align)).unzip();
        Self { align, rows: vec![names] }
    }

    /// Adds a row of plain texts. What is missing is empty, what is too much is left out.
    pub fn row<T: AsRef<str>>(&mut self, cells: impl IntoIterator<Item = T>) {
        let mut row: Vec<String> = cells.into_iter().map(|cell| escape(cell.as_ref())).collect();
        row.resize(self.align.len(), String::new());
        self.rows.push(row);
    }

    fn widths(&self) -> Vec<usize> {
        let widest = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max();
        // A column that is empty still has a line under its name.
        (0..self.align.len()).map(|column| widest(column).unwrap_or_default().max(1)).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        for (index, row) in self.rows.iter().enumerate() {
            for ((cell, &width), align) in row.iter().zip(&widths).zip(&self.align) {
                match align {
                    Align::Left => write!(f, "| {cell:<width$} ")?,
                    Align::Right => write!(f, "| {cell:>width$} ")?,
                }
            }
            writeln!(f, "|")?;
            if index == 0 {
                for (width, align) in widths.iter().zip(&self.align) {
                    match align {
                        Align::Left => write!(f, "|{}", "-".repeat(width + 2))?,
                        Align::Right => write!(f, "|{}:", "-".repeat(width + 1))?,
                    }
                }
                writeln!(f, "|")?;
            }
        }
        Ok(())
    }
}

/// A plain text in Markdown, on one line.
pub fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '\n' | '\r' | '\t' => escaped.push(' '),
            '|' | '\\' | '*' | '_' | '`' | '<' | '[' => escaped.extend(['\\', letter]),
            letter => escaped.push(letter),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_by_letters() {
        let mut table = Table::new([("x", Align::Left), ("", Align::Right)]);
        table.row(["ü*", "1"]);
        table.row(["two\nlines", ""]);
        assert_eq!(table.to_string(), "| x         |   |\n|-----------|--:|\n| ü\\*       | 1 |\n| two lines |   |\n");
    }
}

//! A plain table: columns as wide as their widest cell, the last one cut to the terminal.

use std::io::Write as _;

use console::{Term, measure_text_width, style, truncate_str};

use crate::exit::Problem;

/// Rows under a heading.
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new(heading: &[&str]) -> Self {
        Self { rows: vec![heading.iter().map(ToString::to_string).collect()] }
    }

    /// Cells are shown as they are: a guest's text has to be made safe before.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn print(&self) -> Result<(), Problem> {
        let term = Term::stdout();
        // Into a pipe goes everything.
        let width = if term.is_term() { term.size().1.into() } else { usize::MAX };
        let mut out = std::io::stdout().lock();
        for (i, row) in self.lines(width).into_iter().enumerate() {
            let row = if i == 0 { style(row).dim().to_string() } else { row };
            writeln!(out, "{row}").map_err(|e| Problem::output(&e))?;
        }
        Ok(())
    }

    fn lines(&self, width: usize) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cell_width = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| measure_text_width(cell));
        let widths: Vec<usize> =
            (0..columns).map(|column| self.rows.iter().map(|row| cell_width(row, column)).max().unwrap_or(0)).collect();
        let lines = self.rows.iter().map(|row| {
            let padded: Vec<_> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell}{}", " ".repeat(width - measure_text_width(cell))))
                .collect();
            truncate_str(padded.join("  ").trim_end(), width, "…").into_owned()
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_rows_fit_the_terminal() {
        let mut table = Table::new(&["A", "NAME"]);
        table.row(vec!["寸".into(), "one".into()]);
        table.row(vec!["x".into(), "a long name".into()]);
        assert_eq!(table.lines(10), ["A   NAME", "寸  one", "x   a lon…"]);
    }
}

//! Which character is between two fields.

use longhaul_sdk::ToolError;
use markdown_table::{Align, Table};

use crate::table::records;

const KNOWN: [u8; 4] = [b',', b';', b'\t', b'|'];

/// What the caller gave.
pub fn given(text: &str) -> Result<u8, ToolError> {
    match text.as_bytes() {
        [b'"' | b'\n' | b'\r'] => Err(ToolError::invalid_input("a quote or a line break cannot be the delimiter")),
        [delimiter] if delimiter.is_ascii() => Ok(*delimiter),
        _ => Err(ToolError::invalid_input(format!(
            "the delimiter is one ASCII character, such as `,` or a tabulator, not {text:?}"
        ))),
    }
}

/// The delimiters with which every row has as many fields as the first, and more than one. If there are none, but the
/// first row has more than one field, then the rows are uneven, and the best guess is the one with most of them.
pub fn candidates(csv: &str) -> Vec<u8> {
    let even: Vec<u8> = KNOWN.into_iter().filter(|&delimiter| is_even(csv, delimiter)).collect();
    if !even.is_empty() {
        return even;
    }
    KNOWN
        .into_iter()
        .rev()
        .max_by_key(|&delimiter| columns(csv, delimiter))
        .filter(|&best| columns(csv, best) > 1)
        .into_iter()
        .collect()
}

fn is_even(csv: &str, delimiter: u8) -> bool {
    let columns = columns(csv, delimiter);
    columns > 1 && records(csv, delimiter).all(|record| record.len() == columns)
}

fn columns(csv: &str, delimiter: u8) -> usize {
    records(csv, delimiter).next().map_or(0, |record| record.len())
}

/// What a person reads.
pub fn title(delimiter: u8) -> String {
    match delimiter {
        b',' => "comma ,".into(),
        b';' => "semicolon ;".into(),
        b'\t' => "tabulator".into(),
        b'|' => "vertical bar |".into(),
        other => char::from(other).into(),
    }
}

/// How the first rows read with each candidate, in Markdown.
pub fn readings(csv: &str, candidates: &[u8]) -> String {
    let mut text = String::new();
    for &candidate in candidates {
        text += &format!("With the {}:\n\n", title(candidate));
        let mut rows = records(csv, candidate);
        let header = rows.next().unwrap_or_default();
        let mut table = Table::new(header.iter().map(|name| (name, Align::Left)));
        for row in rows.take(2) {
            table.row(row.iter());
        }
        text += &format!("{table}\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_even_reading_is_taken() {
        assert_eq!(candidates("a,b\n1,2\n"), [b',']);
        assert_eq!(candidates("a;b\n1,5;2,5\n"), [b';']);
        assert_eq!(candidates("a\tb\n1\t2\n"), [b'\t']);
        assert_eq!(candidates("a|b\n\"x|y\"|2\n"), [b'|']);
    }

    #[test]
    fn quoted_delimiters_do_not_count() {
        assert_eq!(candidates("a,b\n\"1;2\",\"3;4\"\n"), [b',']);
    }

    #[test]
    fn two_even_readings_are_ambiguous() {
        let csv = "a,b;c\n1,2;3\n";
        assert_eq!(candidates(csv), [b',', b';']);
        let readings = readings(csv, &candidates(csv));
        assert!(readings.contains("| a | b;c |\n|---|-----|\n| 1 | 2;3 |"), "{readings}");
        assert!(readings.contains("| a,b | c |"), "{readings}");
    }

    #[test]
    fn one_column_needs_no_delimiter() {
        assert!(candidates("a\n1\n2\n").is_empty());
    }

    #[test]
    fn uneven_rows_are_read_by_the_widest_header() {
        assert_eq!(candidates("a;b;c\n1;2;3\n4;5\n"), [b';']);
    }

    #[test]
    fn a_given_delimiter_is_one_character() {
        assert_eq!(given("\t").unwrap(), b'\t');
        for wrong in ["", "ab", "→", "\"", "\n"] {
            assert!(given(wrong).is_err(), "{wrong:?}");
        }
    }
}

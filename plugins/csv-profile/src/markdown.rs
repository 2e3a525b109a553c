//! The profile as a table to read.

use markdown_table::{Align, Table};

use crate::profile::{ColumnProfile, Profile, Value};

pub fn profile(profile: &Profile) -> String {
    let mut table = Table::new([
        ("Column", Align::Left),
        ("Type", Align::Left),
        ("Values", Align::Right),
        ("Missing", Align::Right),
        ("Distinct", Align::Right),
        ("Min", Align::Right),
        ("Median", Align::Right),
        ("Mean", Align::Right),
        ("Max", Align::Right),
    ]);
    for column in &profile.columns {
        table.row(cells(column));
    }
    format!("{} rows, {} columns\n\n{table}", profile.rows, profile.columns.len())
}

fn cells(column: &ColumnProfile) -> [String; 9] {
    [
        column.name.clone(),
        column.kind.name().to_owned(),
        column.count.to_string(),
        column.nulls.to_string(),
        column.distinct.to_string(),
        column.min.as_ref().map(value).unwrap_or_default(),
        column.quantiles.as_ref().map(|quantiles| rounded(quantiles.p50)).unwrap_or_default(),
        column.mean.map(rounded).unwrap_or_default(),
        column.max.as_ref().map(value).unwrap_or_default(),
    ]
}

fn value(value: &Value) -> String {
    match value {
        Value::Number(number) => rounded(*number),
        Value::Text(text) => shortened(text),
    }
}

/// To four digits after the point, which is enough to read.
fn rounded(number: f64) -> String {
    if number != 0.0 && !(1e-3..1e15).contains(&number.abs()) {
        return format!("{number:.4e}");
    }
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn shortened(text: &str) -> String {
    const LONG: usize = 24;
    match text.char_indices().nth(LONG) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;
    use crate::number::Decimal;

    #[test]
    fn a_profile_reads_as_a_table() {
        let column =
            |name, values: &[&'static str]| Column { name, values: values.to_vec() }.profile(Some(Decimal::Point));
        let columns = vec![column("price|net", &["1.5", "2.25", ""]), column("name", &["b", "a*", "c"])];
        assert_eq!(
            profile(&Profile::new(3, b',', columns)),
            "\
3 rows, 2 columns

| Column     | Type   | Values | Missing | Distinct | Min | Median |  Mean |  Max |
|------------|--------|-------:|--------:|---------:|----:|-------:|------:|-----:|
| price\\|net | number |      2 |       1 |        2 | 1.5 |  1.875 | 1.875 | 2.25 |
| name       | text   |      3 |       0 |        3 | a\\* |        |       |    c |
"
        );
    }

    #[test]
    fn numbers_are_shown_in_few_digits() {
        for (number, text) in
            [(0.0, "0"), (1.0 / 3.0, "0.3333"), (1234.0, "1234"), (1e-9, "1.0000e-9"), (-2.5, "-2.5"), (100.0, "100")]
        {
            assert_eq!(rounded(number), text);
        }
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(shortened(&"ü".repeat(30)), format!("{}…", "ü".repeat(24)));
    }
}

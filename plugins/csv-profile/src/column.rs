//! One column: what type its values are of, and what can be said about them.

use std::collections::HashMap;

use crate::date::{self, Date};
use crate::number::{self, Decimal, Number};
use crate::profile::{ColumnProfile, Frequent, Quantiles, Type, Value};

/// A column as it is in the file.
pub struct Column<'a> {
    pub name: &'a str,
    pub values: Vec<&'a str>,
}

/// What people write where there is no value.
const MISSING: [&str; 6] = ["", "na", "n/a", "nan", "none", "null"];

/// What stands for true and false; a column keeps to one pair.
const BOOLEANS: [(&str, &str); 4] = [("true", "false"), ("yes", "no"), ("t", "f"), ("y", "n")];

/// How many of the most frequent values are shown.
const SHOWN: usize = 5;

impl<'a> Column<'a> {
    /// The values that are there, without spaces around them.
    pub fn present(&self) -> impl Iterator<Item = &'a str> {
        self.values
            .iter()
            .map(|value| value.trim())
            .filter(|value| !MISSING.iter().any(|text| text.eq_ignore_ascii_case(value)))
    }

    /// Says what is in the column. `decimal` is how its numbers are read where they can be read either way; none to
    /// leave such columns as text.
    pub fn profile(&self, decimal: Option<Decimal>) -> ColumnProfile {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for value in self.present() {
            *counts.entry(value).or_default() += 1;
        }
        let count = counts.values().sum();
        let mut profile = ColumnProfile {
            name: self.name.to_owned(),
            kind: Type::Text,
            count,
            nulls: self.values.len() - count,
            distinct: counts.len(),
            min: None,
            max: None,
            mean: None,
            std_dev: None,
            quantiles: None,
            frequent: frequent(&counts),
        };
        if count == 0 {
            profile.kind = Type::Empty;
        } else if self.is_boolean() {
            profile.kind = Type::Boolean;
        } else if let Some(numbers) = self.numbers(decimal) {
            of_numbers(&mut profile, &numbers);
        } else if let Some(dates) = self.dates() {
            of_dates(&mut profile, &dates);
        } else {
            profile.min = counts.keys().min().map(|text| Value::Text((*text).to_owned()));
            profile.max = counts.keys().max().map(|text| Value::Text((*text).to_owned()));
        }
        profile
    }

    fn is_boolean(&self) -> bool {
        BOOLEANS.iter().any(|(yes, no)| {
            self.present().all(|value| value.eq_ignore_ascii_case(yes) || value.eq_ignore_ascii_case(no))
        })
    }

    /// All values as numbers, in whichever way they can be read.
    fn numbers(&self, decimal: Option<Decimal>) -> Option<Vec<Number>> {
        let read = |decimal| self.present().map(|value| number::parse(value, decimal)).collect::<Option<Vec<_>>>();
        match (read(Decimal::Point), read(Decimal::Comma)) {
            (Some(point), Some(comma)) if point == comma => Some(point),
            (Some(point), Some(comma)) => decimal.map(|decimal| match decimal {
                Decimal::Point => point,
                Decimal::Comma => comma,
            }),
            (point, comma) => point.or(comma),
        }
    }

    /// All values as dates, each beside its text.
    fn dates(&self) -> Option<Vec<(Date, &'a str)>> {
        self.present().map(|value| Some((date::parse(value)?, value))).collect()
    }
}

fn frequent(counts: &HashMap<&str, usize>) -> Vec<Frequent> {
    let mut repeated: Vec<(&str, usize)> =
        counts.iter().map(|(value, count)| (*value, *count)).filter(|(_, count)| *count > 1).collect();
    // By the text too, so that equal files have equal profiles.
    repeated.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    repeated.truncate(SHOWN);
    repeated.into_iter().map(|(value, count)| Frequent { value: value.to_owned(), count }).collect()
}

fn of_numbers(profile: &mut ColumnProfile, numbers: &[Number]) {
    let mut values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
    values.sort_by(f64::total_cmp);
    let mean = mean(&values);
    profile.kind = if numbers.iter().all(|number| number.is_whole) { Type::Integer } else { Type::Number };
    profile.min = values.first().copied().map(Value::Number);
    profile.max = values.last().copied().map(Value::Number);
    profile.mean = Some(mean);
    profile.std_dev = std_dev(&values, mean);
    profile.quantiles = Some(Quantiles {
        p05: quantile(&values, 0.05),
        p25: quantile(&values, 0.25),
        p50: quantile(&values, 0.5),
        p75: quantile(&values, 0.75),
        p95: quantile(&values, 0.95),
    });
}

fn of_dates(profile: &mut ColumnProfile, dates: &[(Date, &str)]) {
    let by_time = |one: &&(Date, &str), other: &&(Date, &str)| one.0.seconds.total_cmp(&other.0.seconds);
    let text = |found: Option<&(Date, &str)>| found.map(|(_, text)| Value::Text((*text).to_owned()));
    profile.kind = if dates.iter().any(|(date, _)| date.has_time) { Type::DateTime } else { Type::Date };
    profile.min = text(dates.iter().min_by(by_time));
    profile.max = text(dates.iter().max_by(by_time));
}

/// By steps that never leave the range of the values, so that the sum of many large ones cannot overflow.
fn mean(values: &[f64]) -> f64 {
    values.iter().zip(1..).fold(0.0, |mean, (value, count)| mean + (value - mean) / f64::from(count))
}

/// Of a sample, and so none for a single value.
fn std_dev(values: &[f64], mean: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Interpolated between neighbours, as R (type 7), NumPy and spreadsheets do.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(values: &[&str]) -> ColumnProfile {
        Column { name: "x", values: values.to_vec() }.profile(Some(Decimal::Point))
    }

    #[test]
    fn statistics_are_those_of_numpy() {
        // numpy: mean 5.0, std(ddof=1) 2.138089935299395, quantile(.05, .25, .5, .75, .95)
        let profile = profile(&["2", "4", "4", "4", "5", "5", "7", "9"]);
        assert_eq!(profile.kind, Type::Integer);
        assert_eq!((profile.min, profile.max), (Some(Value::Number(2.0)), Some(Value::Number(9.0))));
        assert_eq!(profile.mean, Some(5.0));
        assert!((profile.std_dev.unwrap() - 2.138_089_935_299_395).abs() < 1e-12);
        let Quantiles { p05, p25, p50, p75, p95 } = profile.quantiles.unwrap();
        for (found, expected) in [(p05, 2.7), (p25, 4.0), (p50, 4.5), (p75, 5.5), (p95, 8.3)] {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
        assert_eq!((profile.count, profile.nulls, profile.distinct), (8, 0, 5));
        assert_eq!(profile.frequent[0], Frequent { value: "4".into(), count: 3 });
    }

    #[test]
    fn one_value_has_no_deviation() {
        let profile = profile(&["3.5"]);
        assert_eq!(profile.kind, Type::Number);
        assert_eq!((profile.mean, profile.std_dev), (Some(3.5), None));
        assert_eq!(profile.quantiles.unwrap().p95, 3.5);
    }

    #[test]
    fn missing_values_are_counted_and_left_out() {
        let profile = profile(&["1", "", "NA", "n/a", "null", " 3 "]);
        assert_eq!((profile.kind, profile.count, profile.nulls), (Type::Integer, 2, 4));
        assert_eq!(profile.mean, Some(2.0));
    }

    #[test]
    fn a_column_without_values_is_empty() {
        assert_eq!(profile(&[]).kind, Type::Empty);
        assert_eq!(profile(&["", "NULL"]).kind, Type::Empty);
    }

    #[test]
    fn one_word_makes_a_column_text() {
        let profile = profile(&["1", "2", "three"]);
        assert_eq!((profile.kind, profile.mean), (Type::Text, None));
        assert_eq!(profile.max, Some(Value::Text("three".into())));
    }

    #[test]
    fn booleans_keep_to_one_pair() {
        assert_eq!(profile(&["true", "FALSE", ""]).kind, Type::Boolean);
        assert_eq!(profile(&["yes", "no"]).kind, Type::Boolean);
        assert_eq!(profile(&["yes", "false"]).kind, Type::Text);
        assert_eq!(profile(&["0", "1"]).kind, Type::Integer);
    }

    #[test]
    fn dates_are_ordered_by_time_not_by_text() {
        let days = profile(&["02.01.2026", "31.12.2025"]);
        assert_eq!(days.kind, Type::Date);
        assert_eq!(days.min, Some(Value::Text("31.12.2025".into())));
        let moments = profile(&["2026-01-01T00:00:00+02:00", "2025-12-31T23:00:00Z"]);
        assert_eq!(moments.kind, Type::DateTime);
        assert_eq!(moments.min, Some(Value::Text("2026-01-01T00:00:00+02:00".into())));
    }

    #[test]
    fn identifiers_are_no_numbers() {
        assert_eq!(profile(&["01234", "56789"]).kind, Type::Text);
        assert_eq!(profile(&["4111111111111111"]).kind, Type::Text);
    }

    #[test]
    fn numbers_that_can_be_read_either_way_follow_the_decision() {
        let column = Column { name: "x", values: vec!["1.234", "2.345"] };
        assert_eq!(column.profile(Some(Decimal::Point)).max, Some(Value::Number(2.345)));
        assert_eq!(column.profile(Some(Decimal::Comma)).max, Some(Value::Number(2345.0)));
        assert_eq!(column.profile(None).kind, Type::Text);
        let clear = Column { name: "x", values: vec!["1,5"] };
        assert_eq!(clear.profile(Some(Decimal::Point)).max, Some(Value::Number(1.5)));
    }

    #[test]
    fn the_mean_of_large_numbers_does_not_overflow() {
        assert_eq!(mean(&[f64::MAX, f64::MAX]), f64::MAX);
    }
}

//! Numbers as people write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::column::Column;

/// What stands before a number's fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decimal {
    /// 1,234.5
    Point,
    /// 1.234,5
    Comma,
}

impl Decimal {
    pub fn name(self) -> &'static str {
        match self {
            Self::Point => "point",
            Self::Comma => "comma",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Point, Self::Comma].into_iter().find(|decimal| decimal.name() == name)
    }

    /// What people who speak the language of this BCP 47 tag write most.
    pub fn usual_in(locale: &str) -> Self {
        let language = locale.split(['-', '_']).next().unwrap_or_default();
        // In these countries the point is written, whatever their language's other countries do.
        let with_point =
            ["de-CH", "de-LI", "it-CH", "es-MX", "es-US", "es-GT", "es-HN", "es-NI", "es-PA", "es-PE", "es-SV"];
        match language {
            _ if with_point.contains(&locale) => Self::Point,
            "bg" | "ca" | "cs" | "da" | "de" | "el" | "es" | "et" | "fi" | "fr" | "hr" | "hu" | "id" | "is" | "it"
            | "lt" | "lv" | "nb" | "nl" | "no" | "pl" | "pt" | "ro" | "ru" | "sk" | "sl" | "sr" | "sv" | "tr"
            | "uk" | "vi" => Self::Comma,
            _ => Self::Point,
        }
    }
}

/// A number, and whether it was written as a whole one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number {
    pub value: f64,
    pub is_whole: bool,
}

/// Reads a number: digits, perhaps in groups of three, perhaps with a fraction and an exponent.
///
/// Not numbers are what has leading zeros (`007`, a postal code) and whole numbers of more than 15 digits (a card's
/// number), which would not survive being one.
pub fn parse(text: &str, decimal: Decimal) -> Option<Number> {
    // Most numbers are nothing but digits, and a file has millions of them.
    if let Some(digits) = digits(text) {
        let is_number = digits.len() <= 15 && (digits.len() == 1 || !digits.starts_with('0'));
        return is_number
            .then(|| Number { value: digits.parse::<u64>().map_or(0.0, |value| value as f64), is_whole: true });
    }
    let (point, group) = match decimal {
        Decimal::Point => ('.', ','),
        Decimal::Comma => (',', '.'),
    };
    let unsigned = text.strip_prefix(['-', '+', '\u{2212}']).unwrap_or(text);
    let is_negative = text.starts_with(['-', '\u{2212}']);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once(point) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let whole = ungrouped(whole, group)?;
    if (whole.len() > 1 && whole.starts_with('0')) || (fraction.is_none() && whole.len() > 15) {
        return None;
    }
    let mut plain = whole;
    if let Some(fraction) = fraction {
        plain.push('.');
        plain.push_str(digits(fraction)?);
    }
    if let Some(exponent) = exponent {
        digits(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))?;
        plain.push('e');
        plain.push_str(exponent);
    }
    let value: f64 = plain.parse().ok().filter(|value: &f64| value.is_finite())?;
    Some(Number { value: if is_negative { -value } else { value }, is_whole: fraction.is_none() && exponent.is_none() })
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

/// The digits without what separates groups of three: the other of point and comma, an apostrophe or a space.
fn ungrouped(whole: &str, group: char) -> Option<String> {
    let separators = [group, '\'', '\u{2019}', ' ', '\u{a0}', '\u{202f}'];
    let Some(separator) = whole.chars().find(|letter| separators.contains(letter)) else {
        return digits(whole).map(str::to_owned);
    };
    let groups: Vec<&str> = whole.split(separator).collect();
    let (first, others) = groups.split_first()?;
    // 0.123 is no thousand: nobody writes a group that is zero first.
    let is_grouped =
        (1..=3).contains(&first.len()) && !first.starts_with('0') && others.iter().all(|group| group.len() == 3);
    (is_grouped && groups.iter().all(|group| digits(group).is_some())).then(|| groups.concat())
}

/// As one would type it: without exponent, groups or needless zeros.
pub fn plain(number: Number) -> String {
    format!("{}", number.value)
}

/// What the file says about its numbers.
#[derive(Debug, PartialEq)]
pub enum Decision<'a> {
    /// They can be read in one way only, or it makes no difference.
    Clear(Decimal),
    /// This one can be read either way, and no column tells which.
    Ambiguous { column: &'a str, example: &'a str },
}

/// Looks for columns that can be read in one way only; what they say goes for the others.
pub fn decide<'a>(columns: &[Column<'a>]) -> Decision<'a> {
    let mut seen = Vec::new();
    let mut doubt = None;
    for column in columns {
        let reads = |decimal| column.present().all(|value| parse(value, decimal).is_some());
        match (reads(Decimal::Point), reads(Decimal::Comma)) {
            (true, false) => seen.push(Decimal::Point),
            (false, true) => seen.push(Decimal::Comma),
            (true, true) => {
                let differs = |value: &&str| parse(value, Decimal::Point) != parse(value, Decimal::Comma);
                if let Some(example) = column.present().find(differs) {
                    doubt.get_or_insert((column.name, example));
                }
            }
            (false, false) => {}
        }
    }
    seen.dedup();
    match (doubt, &seen[..]) {
        (_, [only]) => Decision::Clear(*only),
        (Some((column, example)), _) => Decision::Ambiguous { column, example },
        (None, _) => Decision::Clear(Decimal::Point),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, decimal: Decimal) -> Option<f64> {
        parse(text, decimal).map(|number| number.value)
    }

    #[test]
    fn numbers_are_read_as_written() {
        for (text, point, comma) in [
            ("12", Some(12.0), Some(12.0)),
            ("-3.5", Some(-3.5), None),
            ("3,5", None, Some(3.5)),
            ("1.234", Some(1.234), Some(1234.0)),
            ("1,234", Some(1234.0), Some(1.234)),
            ("1,234,567.8", Some(1_234_567.8), None),
            ("1.234.567,8", None, Some(1_234_567.8)),
            ("1'234.5", Some(1234.5), None),
            ("1 234,5", None, Some(1234.5)),
            ("\u{2212}2", Some(-2.0), Some(-2.0)),
            ("2e3", Some(2000.0), Some(2000.0)),
            ("0.123", Some(0.123), None),
            ("12,34", None, Some(12.34)),
            ("12,34,567", None, None),
            ("1,2345", None, Some(1.2345)),
        ] {
            assert_eq!(read(text, Decimal::Point), point, "{text} with a point");
            assert_eq!(read(text, Decimal::Comma), comma, "{text} with a comma");
        }
    }

    #[test]
    fn what_only_looks_like_a_number_is_none() {
        for text in
            ["", "-", ".", ".5", "5.", "1e", "007", "1e999", "1234567890123456", "12a", "0x10", "NaN", "inf", "١"]
        {
            assert_eq!(parse(text, Decimal::Point), None, "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_known_by_their_writing() {
        assert!(parse("1,234", Decimal::Point).unwrap().is_whole);
        assert!(!parse("2.0", Decimal::Point).unwrap().is_whole);
    }

    fn columns<'a>(all: &[&[&'a str]]) -> Vec<Column<'a>> {
        all.iter().map(|values| Column { name: "x", values: values.to_vec() }).collect()
    }

    #[test]
    fn one_telling_column_decides_for_all() {
        let doubt: &[&str] = &["1.234", ""];
        assert_eq!(decide(&columns(&[doubt])), Decision::Ambiguous { column: "x", example: "1.234" });
        assert_eq!(decide(&columns(&[doubt, &["2,50"]])), Decision::Clear(Decimal::Comma));
        assert_eq!(decide(&columns(&[doubt, &["2.50"]])), Decision::Clear(Decimal::Point));
        assert_eq!(decide(&columns(&[doubt, &["a.b", "1"]])), Decision::Ambiguous { column: "x", example: "1.234" });
    }

    #[test]
    fn a_file_without_separators_is_clear() {
        assert_eq!(decide(&columns(&[&["1", "2"], &["a"], &[]])), Decision::Clear(Decimal::Point));
    }

    #[test]
    fn columns_that_contradict_each_other_leave_the_doubt() {
        let all = columns(&[&["1.5"], &["1,5"], &["1,234"]]);
        assert_eq!(decide(&all), Decision::Ambiguous { column: "x", example: "1,234" });
    }

    #[test]
    fn a_locale_suggests() {
        assert_eq!(Decimal::usual_in("de-DE"), Decimal::Comma);
        assert_eq!(Decimal::usual_in("de-CH"), Decimal::Point);
        assert_eq!(Decimal::usual_in(""), Decimal::Point);
    }
}

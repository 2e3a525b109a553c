//! Dates: `2026-11-29`, `29.11.2026`, and ISO 8601 with a time. Not `11/29/2026`, of which nobody knows which is the
//! day.

/// A day, or a moment, on one scale.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Date {
    /// Seconds since 1970. A time without a zone counts as UTC.
    pub seconds: f64,
    pub has_time: bool,
}

pub fn parse(text: &str) -> Option<Date> {
    if let [day, month, year] = text.split('.').collect::<Vec<_>>()[..]
        && (year.len(), day.len() <= 2, month.len() <= 2) == (4, true, true)
    {
        return Some(at_midnight(days(number(year)?, number(month)?, number(day)?)?));
    }
    let (date, time) = match text.get(10..11) {
        Some("T" | "t" | " ") => (&text[..10], Some(&text[11..])),
        _ => (text, None),
    };
    let [year, month, day] = date.split('-').collect::<Vec<_>>()[..] else {
        return None;
    };
    if (year.len(), month.len(), day.len()) != (4, 2, 2) {
        return None;
    }
    let midnight = at_midnight(days(number(year)?, number(month)?, number(day)?)?);
    match time {
        None => Some(midnight),
        Some(time) => Some(Date { seconds: midnight.seconds + seconds(time)?, has_time: true }),
    }
}

fn at_midnight(days: i64) -> Date {
    Date { seconds: days as f64 * 86_400.0, has_time: false }
}

fn number(text: &str) -> Option<i64> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

/// Days since 1970-01-01, by Howard Hinnant's `days_from_civil`; none if there is no such day.
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// Seconds since midnight UTC, of `14:00`, `14:00:05.5`, each perhaps with `Z` or `+01:00`.
fn seconds(text: &str) -> Option<f64> {
    let (clock, offset) = match text.find(['Z', 'z', '+', '-']) {
        Some(at) => (&text[..at], offset(&text[at..])?),
        None => (text, 0),
    };
    let mut parts = clock.split(':');
    let hours = two_digits(parts.next()?, 24)?;
    let minutes = two_digits(parts.next()?, 60)?;
    let seconds = match parts.next() {
        None => 0.0,
        Some(text) => {
            let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
            number(fraction)?;
            two_digits(whole, 61)? as f64 + format!("0.{fraction}").parse::<f64>().ok()?
        }
    };
    if parts.next().is_some() {
        return None;
    }
    Some((hours * 3_600 + minutes * 60 - offset) as f64 + seconds)
}

fn offset(text: &str) -> Option<i64> {
    if text.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = match text[1..].split_once(':') {
        Some(parts) => parts,
        None if text.len() == 5 => text[1..].split_at(2),
        None => (&text[1..], "00"),
    };
    Some(sign * (two_digits(hours, 24)? * 3_600 + two_digits(minutes, 60)? * 60))
}

fn two_digits(text: &str, below: i64) -> Option<i64> {
    number(text).filter(|&value| text.len() == 2 && value < below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(text: &str) -> Option<f64> {
        parse(text).map(|date| date.seconds)
    }

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(seconds("1970-01-01"), Some(0.0));
        assert_eq!(seconds("2000-02-29"), Some(951_782_400.0));
        assert_eq!(seconds("29.02.2000"), seconds("2000-02-29"));
        assert_eq!(seconds("1969-12-31"), Some(-86_400.0));
    }

    #[test]
    fn times_are_read_with_their_zone() {
        assert_eq!(seconds("1970-01-01T00:01"), Some(60.0));
        assert_eq!(seconds("1970-01-01 00:00:01.5Z"), Some(1.5));
        assert_eq!(seconds("1970-01-01T01:00:00+01:00"), Some(0.0));
        assert_eq!(seconds("1970-01-01T00:00:00-0130"), Some(5_400.0));
        assert!(parse("1970-01-01T00:00").unwrap().has_time);
    }

    #[test]
    fn what_is_no_day_is_none() {
        for text in [
            "",
            "2026-02-29",
            "2026-13-01",
            "2026-1-1",
            "11/29/2026",
            "31.04.2026",
            "1.2.3",
            "2026-01-01T25:00",
            "2026-01-01T",
            "2026-01-01Tx",
            "ü026-01-01 x",
            "2026-01-01T00:00+",
            "12.5",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

//! Whether an answer is what was asked for.

use std::cmp::Ordering;
use std::collections::HashSet;

use serde_json::{Number, Value, json};

use super::{AnswerSchema, Choice, Field, FieldKind, Form, TextFormat};
use crate::json::{Problem, brief, child, cut, problem};

impl AnswerSchema {
    /// Whether this is an answer, or else where it is not (a JSON pointer) and why.
    pub fn check(&self, answer: &Value) -> Result<(), String> {
        match self {
            Self::One(field) => field.check(answer),
            Self::Form(form) => form.check(answer).map_err(|problem| problem.to_string()),
        }
    }
}

impl Form {
    fn check(&self, answer: &Value) -> Result<(), Problem> {
        let Value::Object(members) = answer else {
            return Err(problem("", format_args!("{} is not an object of the form's fields", brief(answer))));
        };
        for field in &self.fields {
            let at = child("", &field.name);
            match members.get(&field.name) {
                Some(value) => field.field.kind.check(&at, value)?,
                None if field.required => return Err(problem(&at, "it is required, and missing")),
                None => {}
            }
        }
        Ok(())
    }
}

impl Field {
    /// Whether `value` may be this field's, or else why not.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        self.kind.check("", value).map_err(|problem| problem.to_string())
    }
}

impl FieldKind {
    pub(super) fn check(&self, at: &str, value: &Value) -> Result<(), Problem> {
        let wrong = |what: &str| Err(problem(at, format_args!("{} is not {what}", brief(value))));
        match (self, value) {
            (Self::Confirm, Value::Bool(_)) => Ok(()),
            (Self::Confirm, _) => wrong("true or false"),
            (Self::Text { min_length, max_length, format }, Value::String(text)) => {
                length(text.chars().count(), *min_length, *max_length, "character").map_err(|why| problem(at, why))?;
                match format {
                    Some(format) if !format.fits(value) => wrong(format.described()),
                    _ => Ok(()),
                }
            }
            (Self::Text { .. }, _) => wrong("a text"),
            (Self::Number { integer, minimum, maximum }, Value::Number(number)) => {
                if *integer && !is_whole(number) {
                    return wrong("a whole number");
                }
                if let Some(minimum) = minimum.as_ref().filter(|minimum| compare(number, minimum) == Ordering::Less) {
                    return Err(problem(at, format_args!("{number} is less than {minimum}")));
                }
                if let Some(maximum) = maximum.as_ref().filter(|maximum| compare(number, maximum) == Ordering::Greater)
                {
                    return Err(problem(at, format_args!("{number} is more than {maximum}")));
                }
                Ok(())
            }
            (Self::Number { integer: true, .. }, _) => wrong("a whole number"),
            (Self::Number { .. }, _) => wrong("a number"),
            (Self::Choice { choices }, _) => match value.as_str() {
                Some(value) if choices.iter().any(|choice| choice.value == value) => Ok(()),
                _ => Err(none_of(choices, at, value)),
            },
            (Self::Choices { choices, min, max, unique }, Value::Array(chosen)) => {
                length(chosen.len(), *min, *max, "choice").map_err(|why| problem(at, why))?;
                let all: HashSet<_> = choices.iter().map(|choice| choice.value.as_str()).collect();
                for (index, value) in chosen.iter().enumerate() {
                    if !value.as_str().is_some_and(|value| all.contains(value)) {
                        return Err(none_of(choices, &child(at, index), value));
                    }
                }
                // All of them are choices by now, so that there can't be many before one comes twice.
                let mut twice = chosen.iter().enumerate().filter(|(index, value)| chosen[..*index].contains(value));
                match twice.next() {
                    Some((index, value)) if *unique => {
                        Err(problem(&child(at, index), format_args!("{} is chosen twice", brief(value))))
                    }
                    _ => Ok(()),
                }
            }
            (Self::Choices { .. }, _) => wrong("a list of choices"),
        }
    }
}

impl TextFormat {
    fn fits(self, text: &Value) -> bool {
        // Compiled each time: it takes microseconds, and texts are typed by people.
        jsonschema::options()
            .should_validate_formats(true)
            .build(&json!({"format": self.as_str()}))
            .is_ok_and(|validator| validator.is_valid(text))
    }

    fn described(self) -> &'static str {
        match self {
            Self::Email => "an e-mail address",
            Self::Uri => "a URI such as https://example.com/page",
            Self::Date => "a date such as 2026-11-30",
            Self::DateTime => "a date and time such as 2026-11-30T09:00:00Z",
        }
    }
}

fn length(is: usize, min: Option<u64>, max: Option<u64>, unit: &str) -> Result<(), String> {
    let is = is as u64;
    match (min, max) {
        (Some(min), _) if is < min => Err(format!("at least {} needed, not {is}", counted(min, unit))),
        (_, Some(max)) if is > max => Err(format!("at most {} allowed, not {is}", counted(max, unit))),
        _ => Ok(()),
    }
}

fn counted(count: u64, unit: &str) -> String {
    if count == 1 { format!("1 {unit} is") } else { format!("{count} {unit}s are") }
}

fn none_of(choices: &[Choice], at: &str, value: &Value) -> Problem {
    let all: Vec<_> = choices.iter().map(|choice| format!("{:?}", choice.value)).collect();
    problem(at, format_args!("{} is not one of {}", brief(value), cut(&all.join(", "))))
}

/// JSON knows no integers: 3.0 is one.
fn is_whole(number: &Number) -> bool {
    number.as_f64().is_none_or(|number| number.fract() == 0.0)
}

/// Exact, also between an integer and a float that is too large to count by ones.
pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (None, None) => floats(float(a), float(b)),
        (Some(a), None) => whole_to_float(a, float(b)),
        (None, Some(b)) => whole_to_float(b, float(a)).reverse(),
    }
}

fn whole(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

fn whole_to_float(whole: i128, float: f64) -> Ordering {
    // Rounding keeps the order, but for numbers that it makes equal; and there the float is whole too.
    floats(whole as f64, float).then_with(|| whole.cmp(&(float as i128)))
}

/// Not `total_cmp`, for which -0.0 is less than 0.
fn floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or(Ordering::Equal)
}

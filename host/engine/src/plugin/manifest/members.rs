//! The members of an object, taken out one by one; what is left is what nobody knows.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::json::{Problem, brief, child, problem};

pub(super) struct Members {
    left: Map<String, Value>,
    at: String,
}

impl Members {
    pub(super) fn of(value: Value, at: &str) -> Result<Self, Problem> {
        match value {
            Value::Object(left) => Ok(Self { left, at: at.to_owned() }),
            other => Err(problem(at, format_args!("{} is not an object", brief(&other)))),
        }
    }

    /// The pointer to a member.
    pub(super) fn at(&self, name: &str) -> String {
        child(&self.at, name)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        // In place: what is left keeps its order.
        self.left.shift_remove(name)
    }

    pub(super) fn need(&mut self, name: &str) -> Result<Value, Problem> {
        self.take(name).ok_or_else(|| problem(&self.at, format_args!("`{name}` is missing")))
    }

    /// A text of that many characters.
    pub(super) fn text(&mut self, name: &str, length: RangeInclusive<usize>) -> Result<String, Problem> {
        let value = self.need(name)?;
        self.as_text(value, name, length)
    }

    pub(super) fn optional_text(
        &mut self,
        name: &str,
        length: RangeInclusive<usize>,
    ) -> Result<Option<String>, Problem> {
        self.take(name).map(|value| self.as_text(value, name, length)).transpose()
    }

    fn as_text(&self, value: Value, name: &str, length: RangeInclusive<usize>) -> Result<String, Problem> {
        let Value::String(text) = value else {
            return Err(problem(&self.at(name), format_args!("{} is not a text", brief(&value))));
        };
        let is = text.chars().count();
        if length.contains(&is) {
            return Ok(text);
        }
        let (least, most) = (length.start(), length.end());
        Err(problem(&self.at(name), format_args!("a text of {is} characters, where {least} to {most} are allowed")))
    }

    pub(super) fn optional_bool(&mut self, name: &str) -> Result<Option<bool>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(value)),
            Some(other) => Err(problem(&self.at(name), format_args!("{} is not true or false", brief(&other)))),
        }
    }

    /// A list, each of its items read by `read`, which is told the pointer to it.
    pub(super) fn list<T>(
        &mut self,
        name: &str,
        length: RangeInclusive<usize>,
        read: impl Fn(Value, &str) -> Result<T, Problem>,
    ) -> Result<Vec<T>, Problem> {
        let at = self.at(name);
        let items = match self.take(name) {
            None if *length.start() == 0 => return Ok(Vec::new()),
            None => return Err(problem(&self.at, format_args!("`{name}` is missing"))),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(problem(&at, format_args!("{} is not a list", brief(&other)))),
        };
        if !length.contains(&items.len()) {
            let (least, most) = (length.start(), length.end());
            return Err(problem(&at, format_args!("a list of {}, where {least} to {most} are allowed", items.len())));
        }
        items.into_iter().enumerate().map(|(place, item)| read(item, &child(&at, place))).collect()
    }

    pub(super) fn left(self) -> Map<String, Value> {
        self.left
    }
}

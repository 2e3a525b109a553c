//! What the tool answers.

use schemars::JsonSchema;
use serde::Serialize;

/// What is in a CSV file.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Profile {
    /// How many rows there are below the header.
    pub rows: usize,
    /// The character between two fields.
    pub delimiter: String,
    /// In the file's order.
    pub columns: Vec<ColumnProfile>,
}

/// What is in one column.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ColumnProfile {
    pub name: String,
    /// The narrowest type that every value is of.
    #[serde(rename = "type")]
    pub kind: Type,
    /// How many values there are.
    pub count: usize,
    /// How many are missing: empty, or NA, N/A, NaN, None or null.
    pub nulls: usize,
    /// How many different values there are, by their text.
    pub distinct: usize,
    /// The least of the numbers, dates or texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<Value>,
    /// The greatest of the numbers, dates or texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<Value>,
    /// Of numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// The standard deviation of numbers, as of a sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub std_dev: Option<f64>,
    /// Of numbers, interpolated between neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quantiles: Option<Quantiles>,
    /// The values that are there more than once, at most five, the most frequent first.
    pub frequent: Vec<Frequent>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Type {
    Integer,
    Number,
    Boolean,
    Date,
    DateTime,
    Text,
    /// There are no values.
    Empty,
}

impl Type {
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Number => "number",
            Self::Boolean => "boolean",
            Self::Date => "date",
            Self::DateTime => "datetime",
            Self::Text => "text",
            Self::Empty => "empty",
        }
    }
}

/// A number, or a date or text as it is in the file.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    Number(f64),
    Text(String),
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Quantiles {
    pub p05: f64,
    pub p25: f64,
    /// The median.
    pub p50: f64,
    pub p75: f64,
    pub p95: f64,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Frequent {
    pub value: String,
    pub count: usize,
}

impl Profile {
    pub fn new(rows: usize, delimiter: u8, columns: Vec<ColumnProfile>) -> Self {
        Self { rows, delimiter: char::from(delimiter).to_string(), columns }
    }
}

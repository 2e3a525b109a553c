//! What an answer to a question looks like: MCP's elicitation subset of JSON Schema, as types that a face can walk.

mod check;
mod parse;
#[cfg(test)]
mod tests;

use serde_json::{Number, Value};

/// What an answer looks like: one value, or a form of several.
///
/// It is read from the JSON Schema that a tool gives with its question. Exactly the elicitation subset of the Model Context Protocol
/// is understood, so that any of its clients can show any question:
///
/// | schema | asks for |
/// |---|---|
/// | `boolean` | a confirmation |
/// | `string` (`minLength`, `maxLength`, `format`: `email`, `uri`, `date`, `date-time`) | a text |
/// | `string` with `enum` (and `enumNames`), or with `oneOf` of `{const, title}` | one of several choices |
/// | `number`, `integer` (`minimum`, `maximum`) | a number |
/// | `array` of `items.enum`, or of `items.anyOf` of `{const, title}` (`minItems`, `maxItems`, `uniqueItems`) | any of several choices |
/// | `object` whose `properties` are these (`required`) | a form |
///
/// Each may have a `title`, a `description` and, but for a form, a `default` that is itself a valid answer; `$schema` may
/// stand at the root. Any other keyword is refused rather than ignored, because an answer would not be held to it.
///
/// ```
/// use longhaul::{AnswerSchema, FieldKind};
/// use serde_json::json;
///
/// let schema = AnswerSchema::parse(&json!({
///     "type": "object",
///     "properties": {
///         "environment": {"type": "string", "enum": ["staging", "production"]},
///         "at": {"type": "string", "format": "date-time"},
///     },
///     "required": ["environment"],
/// }))?;
///
/// let AnswerSchema::Form(form) = &schema else { unreachable!() };
/// assert!(matches!(form.fields[0].field.kind, FieldKind::Choice { .. }));
///
/// assert!(schema.check(&json!({"environment": "staging"})).is_ok());
/// assert_eq!(
///     schema.check(&json!({"environment": "prod"})).unwrap_err(),
///     "at `/environment`: \"prod\" is not one of \"staging\", \"production\"",
/// );
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerSchema {
    /// One value.
    One(Field),
    /// Several values, each with a name.
    Form(Form),
}

/// Several values, asked for together. The answer is an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// A heading.
    pub title: Option<String>,
    /// What the form is about.
    pub description: Option<String>,
    /// In the order in which the tool wrote them; never empty.
    pub fields: Vec<FormField>,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq)]
pub struct FormField {
    /// Its name in the answer.
    pub name: String,
    /// Whether it may not be left out.
    pub required: bool,
    /// What goes into it.
    pub field: Field,
}

impl FormField {
    /// What to show for it: its title, or else its name.
    pub fn label(&self) -> &str {
        self.field.title.as_deref().unwrap_or(&self.name)
    }
}

/// One value that is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// What to show for it.
    pub title: Option<String>,
    /// What it is about.
    pub description: Option<String>,
    /// What is offered to begin with: a valid answer.
    pub default: Option<Value>,
    /// What kind of value it is.
    pub kind: FieldKind,
}

/// What kind of value is asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldKind {
    /// Yes or no. The answer is a boolean.
    Confirm,
    /// A text. The answer is a string.
    Text {
        /// The least number of characters.
        min_length: Option<u64>,
        /// The largest number of characters.
        max_length: Option<u64>,
        /// How it is written.
        format: Option<TextFormat>,
    },
    /// A number.
    Number {
        /// Whether it must be whole.
        integer: bool,
        /// The smallest that is accepted.
        minimum: Option<Number>,
        /// The largest that is accepted.
        maximum: Option<Number>,
    },
    /// One of several choices. The answer is its [`value`](Choice::value), a string.
    Choice {
        /// What there is to choose from; never empty, no value twice.
        choices: Vec<Choice>,
    },
    /// Any of several choices. The answer is an array of their [`value`](Choice::value)s.
    Choices {
        /// What there is to choose from; never empty, no value twice.
        choices: Vec<Choice>,
        /// The least number that must be chosen.
        min: Option<u64>,
        /// The largest number that may be chosen.
        max: Option<u64>,
        /// Whether the same may not be chosen twice.
        unique: bool,
    },
}

/// One thing to choose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// What the answer contains.
    pub value: String,
    /// What to show for it.
    pub title: Option<String>,
}

impl Choice {
    /// What to show for it: its title, or else its value.
    pub fn label(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.value)
    }
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextFormat {
    /// An e-mail address.
    Email,
    /// An absolute URI (RFC 3986).
    Uri,
    /// Such as `2026-11-30`.
    Date,
    /// Such as `2026-11-30T09:00:00Z`, with seconds and an offset (RFC 3339).
    DateTime,
}

impl TextFormat {
    const ALL: [Self; 4] = [Self::Email, Self::Uri, Self::Date, Self::DateTime];

    /// The name used in a schema.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Email => "email",
            Self::Uri => "uri",
            Self::Date => "date",
            Self::DateTime => "date-time",
        }
    }
}

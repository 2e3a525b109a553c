//! What a tool hands back: a value for programs, and parts for a model or a person to read.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::bindings::longhaul::tool::types as wit;
use crate::error::ToolError;
use crate::schema;

/// A value together with the parts that show it.
///
/// A tool may return its value alone; it is then shown as text if it is a string, else as JSON. Use `Output` to show
/// it better. The tool's output schema comes from `T`; with `()` the tool has parts and no structured output.
///
/// ```
/// use longhaul_sdk::{Output, Part};
///
/// let output = Output::new([3, 4])
///     .markdown("| rows | columns |\n|--|--|\n| 3 | 4 |")
///     .part(Part::bytes("image/png", [0x89, 0x50]).named("chart.png"))
///     .part(Part::link("text/csv", "https://example.com/cleaned.csv"));
/// assert_eq!(output.parts.len(), 3);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Output<T> {
    /// For programs: the structured output.
    pub value: T,
    /// For readers, in order. If there are none the value itself is shown.
    pub parts: Vec<Part>,
}

impl<T> Output<T> {
    /// The value, with no parts yet.
    pub fn new(value: T) -> Self {
        Self { value, parts: Vec::new() }
    }

    /// Adds a part in Markdown.
    pub fn markdown(self, text: impl Into<String>) -> Self {
        self.part(Part::text("text/markdown", text))
    }

    /// Adds a part in plain text.
    pub fn text(self, text: impl Into<String>) -> Self {
        self.part(Part::text("text/plain", text))
    }

    /// Adds any part.
    pub fn part(mut self, part: Part) -> Self {
        self.parts.push(part);
        self
    }
}

/// One thing to read or look at. The media type, such as `text/markdown` or `image/png`, says how it is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Such as `text/markdown`.
    pub media_type: String,
    /// A file name, or another short name.
    pub name: Option<String>,
    /// The content, or where it is.
    pub data: PartData,
}

/// The content of a [`Part`].
#[derive(Debug, Clone, PartialEq)]
pub enum PartData {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
    /// The absolute URI of something kept elsewhere.
    Link(String),
}

impl Part {
    /// A part that is text.
    pub fn text(media_type: impl Into<String>, text: impl Into<String>) -> Self {
        Self::new(media_type, PartData::Text(text.into()))
    }

    /// A part that is not text, such as a picture.
    pub fn bytes(media_type: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self::new(media_type, PartData::Bytes(bytes.into()))
    }

    /// A part that is kept elsewhere, by its absolute URI.
    pub fn link(media_type: impl Into<String>, uri: impl Into<String>) -> Self {
        Self::new(media_type, PartData::Link(uri.into()))
    }

    fn new(media_type: impl Into<String>, data: PartData) -> Self {
        Self { media_type: media_type.into(), name: None, data }
    }

    /// Gives the part a name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    fn into_wit(self) -> wit::Part {
        wit::Part {
            media_type: self.media_type,
            name: self.name,
            data: match self.data {
                PartData::Text(text) => wit::PartData::Text(text),
                PartData::Bytes(bytes) => wit::PartData::Bytes(bytes),
                PartData::Link(uri) => wit::PartData::Link(uri),
            },
        }
    }

    pub(crate) fn from_wit(part: wit::Part) -> Self {
        Self {
            media_type: part.media_type,
            name: part.name,
            data: match part.data {
                wit::PartData::Text(text) => PartData::Text(text),
                wit::PartData::Bytes(bytes) => PartData::Bytes(bytes),
                wit::PartData::Link(uri) => PartData::Link(uri),
            },
        }
    }
}

/// What a tool may return: a value that is `Serialize` and `JsonSchema`, or such a value in an [`Output`].
pub trait IntoOutput {
    /// The type of the structured output.
    type Value: Serialize + JsonSchema;

    /// Brings it into the one form.
    fn into_output(self) -> Output<Self::Value>;
}

impl<T: Serialize + JsonSchema> IntoOutput for T {
    type Value = T;

    fn into_output(self) -> Output<T> {
        Output::new(self)
    }
}

impl<T: Serialize + JsonSchema> IntoOutput for Output<T> {
    type Value = T;

    fn into_output(self) -> Output<T> {
        self
    }
}

/// The output schema of a tool that returns `O`; none where there is no structured output.
pub(crate) fn output_schema<O: IntoOutput>() -> Option<Value> {
    let schema = schema::of_output::<O::Value>();
    (schema.get("type") != Some(&Value::from("null"))).then_some(schema)
}

pub(crate) fn to_wit<O: IntoOutput>(output: O) -> Result<wit::Output, ToolError> {
    let output = output.into_output();
    let value = serde_json::to_value(&output.value)
        .map_err(|error| ToolError::failed(format!("the tool's output is not JSON: {error}")))?;
    let has_structured = output_schema::<O>().is_some();
    let mut parts = output.parts;
    if parts.is_empty() && has_structured {
        parts.push(shown(&value));
    }
    Ok(wit::Output {
        parts: parts.into_iter().map(Part::into_wit).collect(),
        structured: has_structured.then(|| value.to_string()),
    })
}

fn shown(value: &Value) -> Part {
    match value {
        Value::String(text) => Part::text("text/plain", text),
        other => Part::text("application/json", format!("{other:#}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Size {
        rows: u32,
    }

    #[test]
    fn a_plain_value_is_shown_as_json() {
        let output = to_wit(Size { rows: 3 }).unwrap();
        assert_eq!(output.structured.as_deref(), Some(r#"{"rows":3}"#));
        assert_eq!(output.parts.len(), 1);
        assert_eq!(output.parts[0].media_type, "application/json");
        let wit::PartData::Text(text) = &output.parts[0].data else { panic!("not text") };
        assert_eq!(text, "{\n  \"rows\": 3\n}");
    }

    #[test]
    fn a_string_is_shown_as_text() {
        let output = to_wit("done".to_owned()).unwrap();
        assert_eq!(output.structured.as_deref(), Some(r#""done""#));
        assert_eq!(output.parts[0].media_type, "text/plain");
    }

    #[test]
    fn own_parts_replace_the_json() {
        let output = to_wit(Output::new(Size { rows: 3 }).markdown("*3* rows")).unwrap();
        assert_eq!(output.parts.len(), 1);
        assert_eq!(output.parts[0].media_type, "text/markdown");
        assert!(output.structured.is_some());
    }

    #[test]
    fn nothing_has_no_schema_and_no_structured_output() {
        assert_eq!(output_schema::<Output<()>>(), None);
        let output = to_wit(Output::new(()).text("done")).unwrap();
        assert_eq!(output.structured, None);
        assert_eq!(output.parts.len(), 1);
    }

    #[test]
    fn a_part_survives_the_contract() {
        let part = Part::bytes("image/png", [1, 2]).named("a.png");
        assert_eq!(Part::from_wit(part.clone().into_wit()), part);
    }
}

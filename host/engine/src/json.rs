//! JSON as errors speak of it: where something is, and what it is, in short.

use std::fmt;
use std::io::{self, Write};

use serde_json::{Map, Value};

/// The JSON Schema that is spoken here.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The most bytes of somebody's value that an error repeats.
const BRIEF: usize = 200;

/// Levels of arrays and objects that a value may have which is kept within an entry: with what stands around it, it must
/// be read back, and a reader gives up at 128.
pub(crate) const DEPTH: usize = 100;

/// Whether the value has at most [`DEPTH`] levels.
pub(crate) fn is_shallow(value: &Value) -> bool {
    fn within(value: &Value, left: usize) -> bool {
        match value {
            Value::Array(items) => left > 0 && items.iter().all(|item| within(item, left - 1)),
            Value::Object(members) => left > 0 && members.values().all(|member| within(member, left - 1)),
            _ => true,
        }
    }
    within(value, DEPTH)
}

/// Reads JSON that somebody wrote, which is to be kept within an entry.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if is_shallow(&value) { Ok(value) } else { Err(format!("it has more than {DEPTH} levels of arrays and objects")) }
}

/// The JSON pointer (RFC 6901) of a member or an item of what `at` points to.
pub(crate) fn child(at: &str, token: impl ToString) -> String {
    format!("{at}/{}", token.to_string().replace('~', "~0").replace('/', "~1"))
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// A JSON pointer; empty for the whole.
    pub at: String,
    /// One sentence.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.at.is_empty() { f.write_str(&self.what) } else { write!(f, "at `{}`: {}", cut(&self.at), self.what) }
    }
}

/// `what` is wrong with what `at` points to.
pub(crate) fn problem(at: &str, what: impl fmt::Display) -> Problem {
    Problem { at: at.to_owned(), what: what.to_string() }
}

/// The value as JSON, cut where it gets long.
pub(crate) fn brief(value: &Value) -> String {
    let mut text = Limited(Vec::new());
    // It fails when the text is long enough, which is no failure here.
    let _ = serde_json::to_writer(&mut text, value);
    cut(&String::from_utf8_lossy(&text.0))
}

/// The text, cut where it gets long.
pub(crate) fn cut(text: &str) -> String {
    if text.len() <= BRIEF { text.to_owned() } else { format!("{}…", &text[..text.floor_char_boundary(BRIEF)]) }
}

/// Whether a schema that says which JSON Schema it is written in says the one that is spoken here.
pub(crate) fn dialect(schema: &Map<String, Value>) -> Result<(), Problem> {
    match schema.get("$schema") {
        None => Ok(()),
        Some(Value::String(dialect)) if dialect.trim_end_matches('#') == DIALECT => Ok(()),
        Some(other) => Err(problem("/$schema", format_args!("{} is not \"{DIALECT}\"", brief(other)))),
    }
}

/// Takes a little more than [`BRIEF`], so that a value of megabytes is not written out to show its beginning.
struct Limited(Vec<u8>);

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = (BRIEF + 8).saturating_sub(self.0.len());
        if left == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.len().min(left);
        self.0.extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let text = brief(&Value::String("é".repeat(1_000_000)));
        assert!(text.starts_with("\"éé") && text.ends_with("é…"), "{text}");
        assert!(text.len() <= BRIEF + '…'.len_utf8());
        assert_eq!(brief(&serde_json::json!({"a": [1]})), r#"{"a":[1]}"#);
    }

    #[test]
    fn pointers_are_escaped() {
        assert_eq!(child(&child("", "a/b"), "c~d"), "/a~1b/c~0d");
        assert_eq!(child("/steps", 0), "/steps/0");
    }
}

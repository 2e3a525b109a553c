//! The input of a tool, from `--input` and `KEY=VALUE`.

use std::io::Read as _;
use std::path::Path;

use serde_json::{Map, Value};

use crate::exit::Problem;
use crate::json::place;
use crate::nearest::did_you_mean;
use crate::schema::{Kinds, properties};
use crate::text::{line, shortened};

/// Builds the input: the pairs are laid over what `--input` gives.
///
/// Also says what the schema does not name: a misspelt key would otherwise be dropped by the tool without a word.
pub fn build(schema: &Value, input: Option<&str>, pairs: &[String]) -> Result<(Value, Vec<String>), Problem> {
    let base = match input {
        Some(source) => read(source)?,
        None => Value::Object(Map::new()),
    };
    let Value::Object(mut object) = base else {
        if pairs.is_empty() {
            return Ok((base, Vec::new()));
        }
        return Err(Problem::new("KEY=VALUE needs an input that is an object, and --input gives something else"));
    };
    let known = properties(schema);
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let mut given = Vec::new();
    // Where the schema names nothing, everything is as good.
    let unnamed = |key: &String| !known.is_empty() && !known.contains_key(key);
    let mut unknown: Vec<_> = object.keys().filter(|key| unnamed(key)).map(|key| note(key, &known)).collect();
    for pair in pairs {
        let (key, text) =
            pair.split_once('=').ok_or_else(|| Problem::new(format!("`{pair}` is neither a tool nor KEY=VALUE")))?;
        if given.contains(&key) {
            return Err(Problem::new(format!("`{key}` is given twice")));
        }
        given.push(key);
        let property = known.get(key);
        if property.is_none() {
            if closed {
                return Err(refused(key, &known));
            }
            if !known.is_empty() {
                unknown.push(note(key, &known));
            }
        }
        let value = value(schema, property.unwrap_or(&Value::Null), text)
            .map_err(|what| Problem::new(format!("`{key}`: {what}")))?;
        object.insert(key.to_owned(), value);
    }
    Ok((Value::Object(object), unknown))
}

/// What is to be said of a key that the schema does not name.
fn note(key: &str, known: &Map<String, Value>) -> String {
    format!("`{}`{}", line(key), did_you_mean(key, known.keys().map(String::as_str)))
}

fn refused(key: &str, known: &Map<String, Value>) -> Problem {
    let names: Vec<_> = known.keys().map(|name| line(name)).collect();
    let problem = Problem::new(format!("the tool takes no {}", note(key, known)));
    if names.is_empty() { problem } else { problem.hint(format!("it takes: {}", names.join(", "))) }
}

/// `--input`: JSON, `@FILE`, or `-` for standard input.
fn read(source: &str) -> Result<Value, Problem> {
    let (text, what) = match source.strip_prefix('@') {
        Some(path) => (file(Path::new(path)).map_err(Problem::new)?, format!("the input in {path}")),
        None if source == "-" => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|e| Problem::new(format!("cannot read standard input: {e}")))?;
            (utf8(bytes, "standard input").map_err(Problem::new)?, "standard input".to_owned())
        }
        None => (source.to_owned(), "the input".to_owned()),
    };
    serde_json::from_str(&text).map_err(|e| {
        let problem = Problem::new(format!("{what} is not JSON: {}", place(&e)));
        if source == text && Path::new(source).is_file() {
            problem.hint(format!("a file is given as `--input @{source}`"))
        } else {
            problem
        }
    })
}

/// One value, by what the schema of its property lets through.
fn value(root: &Value, schema: &Value, text: &str) -> Result<Value, String> {
    let text = match text.strip_prefix('@') {
        // A text that begins with `@`.
        Some(rest) if rest.starts_with('@') => rest.to_owned(),
        Some(path) => file(Path::new(path))?,
        None => text.to_owned(),
    };
    let kinds = Kinds::of(root, schema);
    let parsed = serde_json::from_str::<Value>(&text);
    if kinds.is_any() {
        return Ok(parsed.unwrap_or(Value::String(text)));
    }
    if kinds.listed.contains(&Value::String(text.clone())) {
        return Ok(Value::String(text));
    }
    // Where null or nothing else but text is possible, `null` is a text like any other.
    let text_only = kinds.allows("string")
        && !["integer", "number", "boolean", "array", "object"].iter().any(|name| kinds.allows(name));
    match parsed {
        Ok(value) if !text_only && kinds.allows_value(&value) => Ok(value),
        _ if kinds.allows("string") => Ok(Value::String(text)),
        Err(e) if kinds.allows("array") || kinds.allows("object") => {
            Err(format!("wants {} as JSON: {}", kinds.words(), place(&e)))
        }
        _ => Err(format!("wants {}, not `{}`", kinds.words(), shortened(text.trim_end(), 40))),
    }
}

fn file(path: &Path) -> Result<String, String> {
    let bytes = std::fs::read(path).map_err(|e| format!("cannot read {}: {e}", path.display()))?;
    utf8(bytes, &path.display().to_string())
}

fn utf8(bytes: Vec<u8>, name: &str) -> Result<String, String> {
    let text = String::from_utf8(bytes)
        .map_err(|e| format!("{name} is not UTF-8 text (byte {})", e.utf8_error().valid_up_to()))?;
    // Some editors begin a file with a mark that JSON does not know.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "csv": {"type": "string"}, "rows": {"type": "integer"}, "share": {"type": "number"},
                "header": {"type": "boolean"}, "columns": {"type": "array"}, "more": {"type": "object"},
                "note": {"type": ["string", "null"]}, "limit": {"type": ["integer", "null"]},
                "size": {"enum": ["1", "large"]}, "free": {}
            }
        })
    }

    fn built(pairs: &[&str]) -> Result<Value, String> {
        let pairs: Vec<_> = pairs.iter().map(ToString::to_string).collect();
        build(&schema(), None, &pairs).map(|(value, _)| value).map_err(|problem| problem.message)
    }

    #[test]
    fn values_take_the_type_that_their_property_has() {
        let pairs = [
            "csv=12",
            "rows=12",
            "share=0.5",
            "header=true",
            "columns=[\"a\",1]",
            "more={\"x\":1}",
            "note=null",
            "limit=null",
            "size=1",
            "free=7",
        ];
        let wanted = json!({
            "csv": "12", "rows": 12, "share": 0.5, "header": true, "columns": ["a", 1], "more": {"x": 1},
            "note": "null", "limit": null, "size": "1", "free": 7
        });
        assert_eq!(built(&pairs).unwrap(), wanted);
        assert_eq!(built(&["csv=a=b", "free=seven"]).unwrap(), json!({"csv": "a=b", "free": "seven"}));
    }

    #[test]
    fn a_value_of_another_type_is_refused_by_name() {
        assert_eq!(built(&["rows=many"]).unwrap_err(), "`rows`: wants an integer, not `many`");
        assert_eq!(built(&["rows=1.5"]).unwrap_err(), "`rows`: wants an integer, not `1.5`");
        assert_eq!(built(&["header=yes"]).unwrap_err(), "`header`: wants a boolean, not `yes`");
        let message = built(&["columns=[1,"]).unwrap_err();
        assert!(message.starts_with("`columns`: wants an array as JSON: line 1, column 3"), "{message}");
        assert_eq!(built(&["rows=1", "rows=2"]).unwrap_err(), "`rows` is given twice");
    }

    #[test]
    fn pairs_are_laid_over_the_input() {
        let pairs = ["rows=2".to_owned()];
        let (value, _) = build(&schema(), Some(r#"{"rows": 1, "csv": "x"}"#), &pairs).unwrap();
        assert_eq!(value, json!({"rows": 2, "csv": "x"}));
        assert!(build(&schema(), Some("[1]"), &pairs).is_err());
    }

    #[test]
    fn a_file_gives_text_and_a_doubled_at_sign_is_one() {
        let file = std::env::temp_dir().join(format!("longhaul-input-{}.csv", std::process::id()));
        std::fs::write(&file, "\u{feff}a,b\n1,2\n").unwrap();
        let pair = format!("csv=@{}", file.display());
        assert_eq!(built(&[&pair]).unwrap(), json!({"csv": "a,b\n1,2\n"}));
        std::fs::write(&file, [0x61, 0xff]).unwrap();
        assert!(built(&[&pair]).unwrap_err().ends_with("is not UTF-8 text (byte 1)"));
        std::fs::remove_file(&file).unwrap();
        assert!(built(&[&pair]).unwrap_err().starts_with("`csv`: cannot read"));
        assert_eq!(built(&["csv=@@me"]).unwrap(), json!({"csv": "@me"}));
    }

    #[test]
    fn an_input_that_is_not_json_is_told_by_line_and_column() {
        let problem = build(&schema(), Some("{\"csv\":\n oops}"), &[]).unwrap_err();
        assert_eq!(problem.message, "the input is not JSON: line 2, column 2: expected value");
    }

    #[test]
    fn a_key_that_the_schema_does_not_name_is_refused_or_told() {
        let (_, unknown) = build(&schema(), None, &["cvs=a".to_owned()]).unwrap();
        assert_eq!(unknown, ["`cvs`; did you mean `csv`?"]);
        let (_, unknown) = build(&schema(), Some(r#"{"csv": "a", "haeder": true}"#), &[]).unwrap();
        assert_eq!(unknown, ["`haeder`; did you mean `header`?"]);
        let mut closed = schema();
        closed["additionalProperties"] = json!(false);
        let problem = build(&closed, None, &["cvs=a".to_owned()]).unwrap_err();
        assert_eq!(problem.message, "the tool takes no `cvs`; did you mean `csv`?");
        assert!(problem.hint.unwrap().contains("csv"));
    }
}

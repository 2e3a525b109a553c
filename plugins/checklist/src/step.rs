//! How a step is put to a person, and how the answer is read.
//!
//! Every step has one shape of answer: a flat form with `outcome`, `note` and the step's own fields.

use serde_json::{Map, Value, json};

use crate::record::Outcome;
use crate::runbook::{Field, Kind, Step};

/// What an answer comes to.
#[derive(Debug, PartialEq)]
pub enum SignOff {
    Settled {
        outcome: Outcome,
        note: Option<String>,
        values: Map<String, Value>,
    },
    /// Called done, but these required values are missing.
    Missing(Vec<String>),
}

/// The answer's schema. A field is never required in it, because who skips a step has no values.
pub fn schema(step: &Step) -> Value {
    let mut properties = Map::new();
    properties.insert(
        "outcome".into(),
        json!({
            "type": "string",
            "title": "Outcome",
            "oneOf": [
                { "const": "done", "title": "Done" },
                { "const": "skip", "title": "Skip this step" },
                { "const": "abort", "title": "Abort the checklist" },
            ],
        }),
    );
    for field in &step.fields {
        properties.insert(field.name.clone(), field_schema(field));
    }
    properties.insert("note".into(), json!({ "type": "string", "title": "Note" }));
    json!({ "type": "object", "properties": properties, "required": ["outcome"] })
}

fn field_schema(field: &Field) -> Value {
    let kind = match field.kind {
        Kind::Text | Kind::Choice => "string",
        Kind::Number => "number",
        Kind::Integer => "integer",
        Kind::Boolean => "boolean",
    };
    let mut schema = json!({ "type": kind, "title": field.label() });
    if field.kind == Kind::Choice {
        schema["enum"] = json!(field.choices);
    }
    schema
}

/// The Markdown under the prompt.
pub fn detail(runbook: &str, step: &Step, missing: &[String]) -> String {
    let mut text = String::new();
    if !missing.is_empty() {
        text += &format!("**To be done, this step still needs: {}.**\n\n", missing.join(", "));
    }
    if let Some(detail) = &step.detail {
        text += detail;
        text += "\n\n";
    }
    let required: Vec<&str> = step.fields.iter().filter(|field| field.required).map(Field::label).collect();
    if !required.is_empty() && missing.is_empty() {
        text += &format!("To be done it needs: {}.\n\n", required.join(", "));
    }
    text += &format!("Runbook: {}", markdown_table::escape(runbook));
    text
}

/// Reads an answer that satisfies [`schema`].
pub fn read(step: &Step, answer: Value) -> SignOff {
    let Value::Object(mut answer) = answer else {
        return SignOff::Missing(vec!["outcome".into()]);
    };
    let outcome = match answer.get("outcome").and_then(Value::as_str) {
        Some("done") => Outcome::Done,
        Some("skip") => Outcome::Skipped,
        Some("abort") => Outcome::Aborted,
        _ => return SignOff::Missing(vec!["outcome".into()]),
    };
    let note =
        answer.get("note").and_then(Value::as_str).map(str::trim).filter(|note| !note.is_empty()).map(str::to_owned);
    let values: Map<String, Value> = step
        .fields
        .iter()
        .filter_map(|field| answer.remove(&field.name).filter(is_filled).map(|value| (field.name.clone(), value)))
        .collect();
    let missing: Vec<String> = step
        .fields
        .iter()
        .filter(|field| field.required && !values.contains_key(&field.name))
        .map(|field| field.label().to_owned())
        .collect();
    if outcome == Outcome::Done && !missing.is_empty() {
        return SignOff::Missing(missing);
    }
    SignOff::Settled { outcome, note, values }
}

/// Forms send the empty text for a field that was left alone.
fn is_filled(value: &Value) -> bool {
    !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use longhaul_sdk::Question;

    use super::*;

    fn step() -> Step {
        serde_json::from_value(json!({
            "title": "Read the gauge",
            "detail": "It is behind the *pump*.",
            "fields": [
                { "name": "pressure", "label": "Pressure in bar", "type": "number", "required": true },
                { "name": "pump", "type": "choice", "choices": ["A", "B"] },
                { "name": "leaks", "type": "boolean" },
                { "name": "turns", "type": "integer" },
                { "name": "remark", "type": "text" },
            ],
        }))
        .unwrap()
    }

    #[test]
    fn a_step_is_a_form_that_can_be_asked() {
        let schema = schema(&step());
        Question::with_schema("?", schema.clone()).check().unwrap();
        let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["outcome", "pressure", "pump", "leaks", "turns", "remark", "note"]);
        assert_eq!(schema["properties"]["pressure"], json!({ "type": "number", "title": "Pressure in bar" }));
        assert_eq!(schema["properties"]["pump"]["enum"], json!(["A", "B"]));
        assert_eq!(schema["required"], json!(["outcome"]));
    }

    #[test]
    fn one_answer_settles_a_step() {
        let answer = json!({ "outcome": "done", "pressure": 3.2, "pump": "B", "note": " warm ", "remark": " " });
        let SignOff::Settled { outcome, note, values } = read(&step(), answer) else { panic!("not settled") };
        assert_eq!((outcome, note.as_deref()), (Outcome::Done, Some("warm")));
        assert_eq!(Value::Object(values), json!({ "pressure": 3.2, "pump": "B" }));
    }

    #[test]
    fn a_required_value_is_needed_only_to_be_done() {
        assert_eq!(read(&step(), json!({ "outcome": "done" })), SignOff::Missing(vec!["Pressure in bar".into()]));
        for (answer, outcome) in [("skip", Outcome::Skipped), ("abort", Outcome::Aborted)] {
            let SignOff::Settled { outcome: found, .. } = read(&step(), json!({ "outcome": answer })) else {
                panic!("{answer} does not settle")
            };
            assert_eq!(found, outcome);
        }
    }

    #[test]
    fn the_detail_says_what_is_needed() {
        assert_eq!(
            detail("Pump 7", &step(), &[]),
            "It is behind the *pump*.\n\nTo be done it needs: Pressure in bar.\n\nRunbook: Pump 7"
        );
        let again = detail("Pump 7", &step(), &["Pressure in bar".into()]);
        assert!(again.starts_with("**To be done, this step still needs: Pressure in bar.**\n\nIt is"), "{again}");
    }
}

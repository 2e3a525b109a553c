//! Questions as MCP's elicitation, and its answers as replies.
//!
//! A form is asked for as it is. Elicitation knows nothing but forms, so any other question becomes a form of one field.

use longhaul::{AnswerSchema, OpenQuestion, Reply, Task};
use rmcp::model::{ElicitRequest, ElicitRequestParams, ElicitationSchema, InputRequest, InputRequests};
use serde_json::{Value, json};

/// The field of a question that is no form.
const FIELD: &str = "answer";

/// What names a question over the whole life of the task that is looked at: the number within its own task, and that
/// task where it is a child.
pub fn key(question: &OpenQuestion) -> String {
    match &question.task {
        Some(child) => format!("{child}-q{}", question.question),
        None => format!("q{}", question.question),
    }
}

/// Whether it may be put into a form: what is sensitive must not pass through a model's client.
pub fn is_askable(question: &OpenQuestion) -> bool {
    question.options.as_ref().and_then(|options| options.get("sensitive")) != Some(&Value::Bool(true))
}

/// What is asked of the client, if it can be. `problem`: what was wrong with the answer before.
pub fn elicitation(question: &OpenQuestion, problem: Option<&str>) -> Option<ElicitRequestParams> {
    if !is_askable(question) {
        return None;
    }
    let mut message = question.prompt.clone();
    if let Some(detail) = &question.detail {
        message = format!("{message}\n\n{detail}");
    }
    if let Some(problem) = problem {
        message = format!("The last answer was not accepted: {problem}.\n\n{message}");
    }
    let schema = match AnswerSchema::parse(&question.answer).ok()? {
        AnswerSchema::Form(_) => question.answer.clone(),
        AnswerSchema::One(_) => {
            let mut field = question.answer.clone();
            field.as_object_mut()?.shift_remove("$schema");
            json!({"type": "object", "properties": {FIELD: field}, "required": [FIELD]})
        }
    };
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// All open questions of a task that a client can be asked, by key.
pub fn input_requests(task: &Task, problem: impl Fn(&str) -> Option<String>) -> InputRequests {
    let ask = |question: &OpenQuestion| {
        let key = key(question);
        let params = elicitation(question, problem(&key).as_deref())?;
        Some((key, InputRequest::Elicitation(ElicitRequest::new(params))))
    };
    task.questions.iter().filter_map(ask).collect()
}

/// What a client's answer to an elicitation says.
#[derive(Debug, PartialEq)]
pub enum Said {
    /// An answer, or that there will be none.
    Reply(Reply),
    /// The form was dismissed: neither.
    Dismissed,
}

/// Reads a client's answer to an elicitation: `{action, content}`.
pub fn said(question: &OpenQuestion, result: &Value, by: Option<&str>) -> Result<Said, String> {
    let by = by.map(str::to_owned);
    let content = result.get("content").unwrap_or(&Value::Null);
    match result.get("action").and_then(Value::as_str) {
        Some("accept") => {
            let value = match AnswerSchema::parse(&question.answer)? {
                AnswerSchema::Form(_) => content.clone(),
                AnswerSchema::One(_) => {
                    content.get(FIELD).cloned().ok_or_else(|| format!("at `/content/{FIELD}`: it is missing"))?
                }
            };
            Ok(Said::Reply(Reply::Answered { value, by }))
        }
        Some("decline") => Ok(Said::Reply(Reply::Declined { reason: None, by })),
        Some("cancel") => Ok(Said::Dismissed),
        _ => Err("at `/action`: it is not one of \"accept\", \"decline\", \"cancel\"".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(answer: Value) -> OpenQuestion {
        serde_json::from_value(
            json!({"question": 2, "prompt": "Go on?", "detail": "It costs *much*.", "answer": answer}),
        )
        .expect("a question")
    }

    fn asked(question: &OpenQuestion) -> Value {
        serde_json::to_value(elicitation(question, None).expect("it can be asked")).expect("JSON")
    }

    #[test]
    fn a_form_is_asked_for_as_it_is_and_its_content_is_the_answer() {
        let schema = json!({"type": "object", "properties": {
            "env": {"type": "string", "enum": ["staging", "production"], "default": "staging"},
            "at": {"type": "string", "format": "date-time", "title": "When"},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            "size": {"type": "integer", "minimum": 1, "maximum": 9},
            "who": {"type": "string", "oneOf": [{"const": "a", "title": "Ada"}]}
        }, "required": ["env"]});
        let question = question(schema.clone());
        let params = asked(&question);
        assert_eq!(params["mode"], "form");
        assert_eq!(params["message"], "Go on?\n\nIt costs *much*.");
        assert_eq!(params["requestedSchema"], schema);

        let content = json!({"env": "production"});
        let said = said(&question, &json!({"action": "accept", "content": content}), Some("ide"));
        assert_eq!(said, Ok(Said::Reply(Reply::Answered { value: content, by: Some("ide".into()) })));
    }

    #[test]
    fn any_other_question_is_a_form_of_one_field() {
        for (schema, value) in [
            (json!({"type": "boolean", "default": true}), json!(false)),
            (json!({"type": "string", "minLength": 2}), json!("yes")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("b")),
            (json!({"type": "number", "maximum": 2.5}), json!(1.5)),
            (json!({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}), json!(["a"])),
        ] {
            let question = question(schema.clone());
            let params = asked(&question);
            assert_eq!(
                params["requestedSchema"],
                json!({"type": "object", "properties": {"answer": schema}, "required": ["answer"]})
            );
            let said = said(&question, &json!({"action": "accept", "content": {"answer": value}}), None);
            assert_eq!(said, Ok(Said::Reply(Reply::Answered { value, by: None })));
        }
    }

    #[test]
    fn an_answer_without_its_field_is_told_where_it_lacks() {
        let question = question(json!({"type": "boolean"}));
        let missing = said(&question, &json!({"action": "accept", "content": {"yes": true}}), None);
        assert_eq!(missing, Err("at `/content/answer`: it is missing".into()));
        assert!(said(&question, &json!({"action": "perhaps"}), None).unwrap_err().contains("/action"));
        assert!(said(&question, &json!(7), None).is_err());
    }

    #[test]
    fn to_decline_is_an_answer_and_to_dismiss_is_not() {
        let question = question(json!({"type": "boolean"}));
        let declined = said(&question, &json!({"action": "decline"}), None);
        assert_eq!(declined, Ok(Said::Reply(Reply::Declined { reason: None, by: None })));
        assert_eq!(said(&question, &json!({"action": "cancel"}), None), Ok(Said::Dismissed));
    }

    #[test]
    fn a_sensitive_question_is_not_put_into_a_form() {
        let mut question = question(json!({"type": "string"}));
        question.options = Some(json!({"sensitive": true}));
        assert_eq!(elicitation(&question, None), None);
    }
}

//! Questions within a call.

use longhaul_sdk::{Output, Question, Reply, Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::content::Nothing;

#[derive(Deserialize, JsonSchema)]
pub struct Message {
    /// What to ask.
    message: String,
}

/// Asks with a form, and tells what was said.
fn ask(task: &Task, prompt: &str, schema: Value) -> Result<String, ToolError> {
    Ok(match task.ask(Question::with_schema(prompt, schema))? {
        Reply::Answered(answer) => format!("action=accept, content={}", answer.value),
        Reply::Declined(_) => "action=decline".to_owned(),
        Reply::TimedOut => "action=cancel".to_owned(),
    })
}

fn told(text: impl Into<String>) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).text(text))
}

fn ok() -> Value {
    json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]})
}

/// Asks who the user is.
#[longhaul_sdk::tool(read_only)]
pub fn test_elicitation(task: &Task, input: Message) -> Result<Output<()>, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"}
        },
        "required": ["username", "email"]
    });
    told(format!("User response: {}", ask(task, &input.message, schema)?))
}

/// Asks with defaults.
#[longhaul_sdk::tool(read_only)]
pub fn test_elicitation_sep1034_defaults(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {"type": "string", "description": "User status", "enum": ["active", "inactive", "pending"],
                "default": "active"},
            "verified": {"type": "boolean", "description": "Verification status", "default": true}
        },
        "required": []
    });
    told(format!("Elicitation completed: {}", ask(task, "Please review", schema)?))
}

/// Asks for choices of every kind.
#[longhaul_sdk::tool(read_only)]
pub fn test_elicitation_sep1330_enums(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    let titled = |n: u8| json!({"const": format!("value{n}"), "title": format!("{n}. Option")});
    let schema = json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
            "titledSingle": {"type": "string", "oneOf": [titled(1), titled(2), titled(3)]},
            "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"]},
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
            "titledMulti": {"type": "array", "items": {"anyOf": [titled(1), titled(2), titled(3)]}}
        }
    });
    told(format!("Elicitation completed: {}", ask(task, "Please choose", schema)?))
}

/// Asks for a name.
#[longhaul_sdk::tool(read_only)]
pub fn test_input_required_result_elicitation(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    told(format!("Hello, {}!", name(task, "What is your name?")?))
}

fn name(task: &Task, prompt: &str) -> Result<String, ToolError> {
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]});
    ask(task, prompt, schema)
}

/// Asks for a confirmation.
#[longhaul_sdk::tool(read_only)]
pub fn test_streaming_elicitation(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    told(ask(task, "Please confirm", ok())?)
}

/// Asks for a confirmation.
#[longhaul_sdk::tool(read_only)]
pub fn test_input_required_result_request_state(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    told(format!("state-ok: {}", ask(task, "Please confirm", ok())?))
}

/// Asks for a confirmation.
#[longhaul_sdk::tool(read_only)]
pub fn test_input_required_result_tampered_state(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    told(format!("state-ok: {}", ask(task, "Please confirm", ok())?))
}

/// Asks twice.
#[longhaul_sdk::tool(read_only)]
pub fn test_input_required_result_multi_round(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    let name = name(task, "Step 1: What is your name?")?;
    let schema = json!({"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]});
    told(format!("{name}; {}", ask(task, "Step 2: What is your favorite color?", schema)?))
}

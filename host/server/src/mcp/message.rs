//! Messages that are none: what JSON-RPC has them answered with, the same on HTTP and stdio.
//!
//! `rmcp` 3.11 ignores what is no JSON on stdio and answers it with 415 over HTTP, answers all else with "Invalid request", and takes
//! a method whose parameters it can't read for one that it does not know.

use std::collections::BTreeMap;
use std::fmt::Display;

use rmcp::model::{
    CallToolRequestParams, CancelTaskParams, ErrorCode, ErrorData, GetTaskParams, InitializeRequestParams,
    PaginatedRequestParams, UpdateTaskParams,
};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use serde_json::value::RawValue;

/// What to do about a request that came before the session, or without one.
pub const BEGIN: &str = "send `initialize` first (protocol 2025-11-25 and before), or say in `params._meta` of each request \
                         which version it is of (`io.modelcontextprotocol/protocolVersion`, 2026-07-28 and after) and who asks \
                         (`io.modelcontextprotocol/clientInfo`, `io.modelcontextprotocol/clientCapabilities`)";

/// Why a message is refused, and the id of the request that it was to be, if it has one.
#[derive(Debug, PartialEq)]
pub struct Refusal {
    pub id: Value,
    pub error: ErrorData,
}

impl Refusal {
    /// The answer.
    pub fn to_json(&self) -> Value {
        serde_json::json!({"jsonrpc": "2.0", "id": self.id, "error": self.error})
    }
}

/// Refuses a request of that id; `null` if it has none.
pub fn refused<T>(id: Value, error: ErrorData) -> Result<T, Box<Refusal>> {
    Err(Box::new(Refusal { id, error }))
}

fn invalid<T>(id: Value, problem: &'static str) -> Result<T, Box<Refusal>> {
    refused(id, ErrorData::invalid_request(problem, None))
}

fn no_json(problem: impl Display) -> Box<Refusal> {
    let error = ErrorData::new(ErrorCode::PARSE_ERROR, format!("this is no JSON: {problem}"), None);
    Box::new(Refusal { id: Value::Null, error })
}

/// Refuses what is no JSON, and JSON that is no message.
pub fn check(message: &[u8]) -> Result<(), Box<Refusal>> {
    let text = std::str::from_utf8(message).map_err(no_json)?;
    // Members as they are written: some are large.
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(text) else {
        serde_json::from_str::<IgnoredAny>(text).map_err(no_json)?;
        return invalid(Value::Null, "a message is one JSON object; several in an array are not taken");
    };
    let member = |name: &str| members.get(name).map(|raw| raw.get());
    if member("method").is_none() && (member("result").is_some() || member("error").is_some()) {
        // It is never answered: the other side would answer that, and so on.
        return Ok(());
    }
    let id = match member("id").map(serde_json::from_str) {
        None => Value::Null,
        Some(Ok(id @ Value::String(_))) => id,
        // Some write 1 as 1.0.
        Some(Ok(Value::Number(id)))
            if id.is_i64() || id.as_f64().is_some_and(|id| id.fract() == 0.0 && id.abs() < 1e15) =>
        {
            id.into()
        }
        Some(_) => return invalid(Value::Null, "`id` must be a string or a whole number of 64 bits"),
    };
    if member("jsonrpc") != Some("\"2.0\"") {
        return invalid(id, "`jsonrpc` must be \"2.0\"");
    }
    match member("method") {
        Some(method) if !method.starts_with('"') => invalid(id, "`method` must be a string"),
        Some(_) if member("params").is_some_and(|params| !params.starts_with('{')) => {
            refused(id, ErrorData::invalid_params("`params` must be an object", None))
        }
        Some(_) => Ok(()),
        None => invalid(id, "a request has a `method`, an answer a `result` or an `error`; this has none of them"),
    }
}

/// The id of a message that passes as one.
pub fn id(message: &[u8]) -> Value {
    serde_json::from_slice::<BTreeMap<String, &RawValue>>(message)
        .ok()
        .and_then(|members| serde_json::from_str(members.get("id")?.get()).ok())
        .unwrap_or_default()
}

/// What is wrong with a message that was to begin a session, and that the SDK takes for one that came without.
pub fn wrong_beginning(message: &[u8]) -> Option<ErrorData> {
    let mut message: Value = serde_json::from_slice(message).ok()?;
    let params = message.get_mut("params").map(Value::take);
    if message["method"] == "initialize" { wrong_params("initialize", params) } else { None }
}

/// What is wrong with the parameters of a request that the SDK could not read. `None`: we know no such method.
pub fn wrong_params(method: &str, params: Option<Value>) -> Option<ErrorData> {
    fn problem<T: DeserializeOwned>(params: Value) -> Option<String> {
        serde_json::from_value::<T>(params).err().map(|error| error.to_string())
    }
    let params = params.unwrap_or_else(|| Value::Object(Default::default()));
    let problem = match method {
        "initialize" => problem::<InitializeRequestParams>(params),
        "tools/list" => problem::<PaginatedRequestParams>(params),
        "tools/call" => problem::<CallToolRequestParams>(params),
        "tasks/get" => problem::<GetTaskParams>(params),
        "tasks/update" => problem::<UpdateTaskParams>(params),
        "tasks/cancel" => problem::<CancelTaskParams>(params),
        _ => return None,
    };
    let problem = problem.unwrap_or_else(|| "they are not what is expected".into());
    Some(ErrorData::invalid_params(format!("the parameters of `{method}`: {problem}"), None))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_message_is_refused_with_what_is_wrong_and_the_id_where_there_is_one() {
        for (message, code, id, says) in [
            (&b"{"[..], -32700, json!(null), "this is no JSON: EOF"),
            (b"", -32700, json!(null), "no JSON"),
            (b"hello", -32700, json!(null), "no JSON"),
            (b"{\"a\": \"\xff\"}", -32700, json!(null), "utf-8"),
            (b"[{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\"}]", -32600, json!(null), "one JSON object"),
            (b"[", -32700, json!(null), "no JSON"),
            (b"5", -32600, json!(null), "one JSON object"),
            (b"{}", -32600, json!(null), "`jsonrpc`"),
            (b"{\"id\": 7, \"method\": \"ping\"}", -32600, json!(7), "`jsonrpc`"),
            (b"{\"jsonrpc\": \"2.0\", \"id\": \"a\"}", -32600, json!("a"), "`method`"),
            (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": 5}", -32600, json!(1), "`method`"),
            (b"{\"jsonrpc\": \"2.0\", \"id\": null, \"method\": \"ping\"}", -32600, json!(null), "`id`"),
            (b"{\"jsonrpc\": \"2.0\", \"id\": 1.5, \"method\": \"ping\"}", -32600, json!(null), "`id`"),
            (
                b"{\"jsonrpc\": \"2.0\", \"id\": 99999999999999999999, \"method\": \"ping\"}",
                -32600,
                json!(null),
                "`id`",
            ),
            (b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", \"params\": []}", -32602, json!(1), "`params`"),
        ] {
            let shown = String::from_utf8_lossy(message);
            let refusal = check(message).expect_err(&shown);
            assert_eq!((refusal.error.code.0, &refusal.id), (code, &id), "{shown}");
            assert!(refusal.error.message.contains(says), "{shown}: {}", refusal.error.message);
        }
        for message in [
            &br#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#[..],
            br#" {"jsonrpc": "2.0", "method": "notifications/initialized"} "#,
            br#"{"jsonrpc": "2.0", "id": 1.0, "method": "ping"}"#,
            br#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#,
            br#"{"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "?"}}"#,
        ] {
            assert_eq!(check(message), Ok(()), "{}", String::from_utf8_lossy(message));
        }
    }

    #[test]
    fn a_known_method_with_parameters_that_can_t_be_read_says_what_is_wrong_with_them() {
        let said = |method: &str, params: Option<Value>| wrong_params(method, params).map(|error| error.message);
        assert!(said("tools/call", None).is_some_and(|said| said.contains("missing field `name`")));
        assert!(
            said("tasks/get", Some(json!({"taskId": 5})))
                .is_some_and(|said| said.contains("`tasks/get`: invalid type"))
        );
        assert_eq!(said("prompts/eat", None), None);
    }
}

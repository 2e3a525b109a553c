//! What a client's message needs before the SDK reads it: small repairs, on raw JSON, the same on HTTP and stdio.
//!
//! | repair | why |
//! |---|---|
//! | `subscriptions/listen` that names `taskIds` becomes a method of our own | `rmcp` 3.11 drops `taskIds` when it parses the filter, and refuses to send `notifications/tasks` (comment at `SubscriptionSink::send`) |
//! | a missing `Mcp-Name` on `tasks/*` is filled from the body | FastMCP does not send it (PrefectHQ/fastmcp#4650), and `rmcp` answers -32020; a wrong one is still refused |
//! | the end of a session is answered with 204, see [`super::http`] | `rmcp` answers 202, and the Python SDK warns its user of that |
//! | a browser's `Origin` is checked, see [`super::http`] | `rmcp` checks none while its list of origins is empty |

use serde_json::Value;

/// What `subscriptions/listen` is called when it names tasks.
pub const LISTEN: &str = "longhaul/listen";
const STANDARD_LISTEN: &str = "subscriptions/listen";

/// Renames a request to listen to tasks. Any other message is left as it is: `None`.
pub fn renamed(message: &[u8]) -> Option<Vec<u8>> {
    // Most messages are something else, and some are large.
    if !contains(message, STANDARD_LISTEN) || !contains(message, "taskIds") {
        return None;
    }
    let mut message: Value = serde_json::from_slice(message).ok()?;
    if message["method"] != STANDARD_LISTEN || message.pointer("/params/notifications/taskIds").is_none() {
        return None;
    }
    message["method"] = LISTEN.into();
    serde_json::to_vec(&message).ok()
}

/// The task that a `tasks/*` request is about.
pub fn task_named(message: &[u8]) -> Option<String> {
    if !contains(message, "\"tasks/") {
        return None;
    }
    let message: Value = serde_json::from_slice(message).ok()?;
    let method = message["method"].as_str()?;
    match method {
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some(message["params"]["taskId"].as_str()?.to_owned()),
        _ => None,
    }
}

fn contains(message: &[u8], text: &str) -> bool {
    message.windows(text.len()).any(|window| window == text.as_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bytes(message: &Value) -> Vec<u8> {
        serde_json::to_vec(message).expect("JSON")
    }

    #[test]
    fn a_request_to_listen_to_tasks_gets_a_method_that_the_sdk_hands_on() {
        let listen = json!({"jsonrpc": "2.0", "id": 4, "method": "subscriptions/listen",
            "params": {"notifications": {"taskIds": ["01k"]}, "_meta": {"a": 1}}});
        let renamed: Value = serde_json::from_slice(&renamed(&bytes(&listen)).expect("it is renamed")).expect("JSON");
        assert_eq!(renamed["method"], LISTEN);
        assert_eq!(renamed["params"], listen["params"]);
        assert_eq!(renamed["id"], 4);
    }

    #[test]
    fn other_messages_are_left_alone() {
        let listen =
            json!({"id": 4, "method": "subscriptions/listen", "params": {"notifications": {"toolsListChanged": true}}});
        assert_eq!(renamed(&bytes(&listen)), None);
        let quoted = json!({"id": 4, "method": "tools/call",
            "params": {"name": "x", "arguments": {"text": "subscriptions/listen with taskIds"}}});
        assert_eq!(renamed(&bytes(&quoted)), None);
        assert_eq!(renamed(b"subscriptions/listen taskIds {"), None);
    }

    #[test]
    fn the_task_of_a_request_is_found_and_of_nothing_else() {
        let get = json!({"id": 1, "method": "tasks/get", "params": {"taskId": "01k"}});
        assert_eq!(task_named(&bytes(&get)).as_deref(), Some("01k"));
        let call = json!({"id": 1, "method": "tools/call", "params": {"name": "\"tasks/get", "taskId": "01k"}});
        assert_eq!(task_named(&bytes(&call)), None);
        assert_eq!(task_named(br#"{"method": "tasks/get", "params": {"taskId": 7}}"#), None);
        assert_eq!(task_named(b"\"tasks/get"), None);
    }
}

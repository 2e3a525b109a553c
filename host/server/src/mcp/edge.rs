//! What a client's message needs before the SDK reads it: small repairs, on raw JSON.
//!
//! | repair | why |
//! |---|---|
//! | `subscriptions/listen` that names `taskIds` becomes a method of our own | `rmcp` 3.11 drops `taskIds` when it parses the filter, and refuses to send `notifications/tasks` (comment at `SubscriptionSink::send`) |

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
}

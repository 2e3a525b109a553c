//! What the caller attached to the call.

use serde_json::Value;

/// Who called and from where, as far as the caller said.
///
/// ```no_run
/// # fn example(task: &longhaul_sdk::Task) {
/// if task.context().locale.as_deref().is_some_and(|locale| locale.starts_with("de")) {
///     println!("numbers may have decimal commas");
/// }
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Context {
    /// The conversation that the task was started from, an opaque string.
    pub session: Option<String>,
    /// When the task has to be done, in RFC 3339: `2026-11-29T14:00:00Z`.
    pub deadline: Option<String>,
    /// The caller's language as a BCP 47 tag: `de-CH`.
    pub locale: Option<String>,
    /// The caller's time zone by its IANA name: `Europe/Zurich`.
    pub time_zone: Option<String>,
    /// Whatever else the caller attached; `null` if nothing.
    pub caller: Value,
}

impl Context {
    /// Members that are unknown, or of another type than expected, never stop a tool.
    pub(crate) fn from_json(text: &str) -> Self {
        let Ok(Value::Object(members)) = serde_json::from_str(text) else {
            return Self::default();
        };
        let text = |name: &str| members.get(name).and_then(Value::as_str).map(str::to_owned);
        Self {
            session: text("session"),
            deadline: text("deadline"),
            locale: text("locale"),
            time_zone: text("timeZone"),
            caller: members.get("caller").cloned().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_caller_left_out_is_none() {
        let context = Context::from_json(r#"{"timeZone":"Europe/Zurich","caller":{"a":1},"later":[]}"#);
        assert_eq!(context.time_zone.as_deref(), Some("Europe/Zurich"));
        assert_eq!(context.caller, json!({"a": 1}));
        assert_eq!(context.session, None);
    }

    #[test]
    fn an_odd_context_is_an_empty_one() {
        assert_eq!(Context::from_json("[]"), Context::default());
        assert_eq!(Context::from_json(r#"{"session":1}"#), Context::default());
    }
}

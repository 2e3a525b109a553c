//! The keys in `_meta` that we give a meaning.

use rmcp::model::{ErrorData, RequestMetaObject};
use serde_json::Value;

/// With a call: the same key and arguments again find the task that they started.
pub const IDEMPOTENCY_KEY: &str = "io.github.longhaul/idempotency-key";
/// With a call: the conversation that the task belongs to.
pub const SESSION: &str = "io.github.longhaul/session";
/// With a call: JSON that comes back with the completion.
pub const CONTEXT: &str = "io.github.longhaul/context";
/// With a call: the language of the person it is for.
pub const LOCALE: &str = "io.github.longhaul/locale";
/// With a call: the time zone of that person.
pub const TIME_ZONE: &str = "io.github.longhaul/time-zone";
/// With a call: the trace that it belongs to (W3C Trace Context, SEP-414). It is none of ours, so it has no prefix.
pub const TRACEPARENT: &str = "traceparent";
/// With a task: how far it is, `{message, done, total, level}`.
pub const PROGRESS: &str = "io.github.longhaul/progress";
/// With a result that says `isError`: `{class, code, details}`.
pub const ERROR: &str = "io.github.longhaul/error";
/// With a tool: `{plugin, version, tool, pace}`, and `alias` where the operator gave the plugin one.
pub const TOOL: &str = "io.github.longhaul/tool";

/// A text of the request's `_meta`.
pub fn text(meta: &RequestMetaObject, key: &str) -> Result<Option<String>, ErrorData> {
    match meta.0.0.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(ErrorData::invalid_params(format!("at `/_meta`: `{key}` is not a string"), None)),
    }
}

/// A value of the request's `_meta`.
pub fn value(meta: &RequestMetaObject, key: &str) -> Option<Value> {
    meta.0.0.get(key).cloned()
}

//! Errors as RFC 9457 has them: `application/problem+json` with a `type` that does not change.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use longhaul::{Error, PluginError, StoreError};
use serde_json::{Map, Value, json};

/// What every `type` begins with. Behind it stands the name that [`Problem::name`] gives.
pub const TYPE_PREFIX: &str = "urn:longhaul:";

/// Why a request was not done.
///
/// ```
/// use longhaul_server::Problem;
///
/// let problem = Problem::from(longhaul::Error::UnknownTask("01k".into()));
/// assert_eq!((problem.status().as_u16(), problem.name()), (404, "unknown-task"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Problem(Box<Said>);

#[derive(Debug, Clone, PartialEq)]
struct Said {
    status: StatusCode,
    name: &'static str,
    title: &'static str,
    detail: String,
    facts: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem of that name, which is what programs tell problems apart by.
    pub(crate) fn new(status: StatusCode, name: &'static str, title: &'static str, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self(Box::new(Said { status, name, title, detail, facts: Map::new(), headers: Vec::new() }))
    }

    /// A request that can't be understood.
    pub(crate) fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid-request", "The request can't be understood", detail)
    }

    /// There is nothing of that name.
    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", detail)
    }

    /// A fact for programs, beside the text.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.facts.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.headers.push((name, value));
        self
    }

    /// When to come again: whole seconds, 1 at least.
    pub(crate) fn retry_after(self, time: Duration) -> Self {
        let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
        let seconds = seconds.max(1);
        self.with("retry_after_seconds", seconds).header(header::RETRY_AFTER, seconds.into())
    }

    /// The connection ends with it.
    pub(crate) fn last(self) -> Self {
        self.header(header::CONNECTION, HeaderValue::from_static("close"))
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// What programs tell problems apart by: the end of `type`.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// What happened, for a person.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The body of the answer.
    pub fn to_json(&self) -> Value {
        let mut body = json!({
            "type": format!("{TYPE_PREFIX}{}", self.0.name),
            "title": self.0.title,
            "status": self.0.status.as_u16(),
            "detail": self.0.detail,
        });
        if let Some(object) = body.as_object_mut() {
            object.extend(self.0.facts.clone());
        }
        body
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = self.to_json().to_string();
        let mut response = (self.0.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        self.0.headers.into_iter().for_each(|(name, value)| drop(headers.insert(name, value)));
        response
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let detail = error.to_string();
        let of = |status, name, title| Self::new(status, name, title, detail.clone());
        let unprocessable = |name, title| of(StatusCode::UNPROCESSABLE_ENTITY, name, title);
        let conflict = |name, title| of(StatusCode::CONFLICT, name, title);
        match error {
            Error::Plugin(PluginError::TooLarge { .. }) => {
                of(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The file is too large")
            }
            Error::Plugin(_) => unprocessable("invalid-plugin", "The plugin is not accepted"),
            Error::UnknownPlugin(_) => of(StatusCode::NOT_FOUND, "unknown-plugin", "There is no such plugin"),
            Error::UnknownTool { .. } => unprocessable("unknown-tool", "The plugin has no such tool"),
            Error::Input { .. } => unprocessable("invalid-input", "The tool does not accept this input"),
            Error::MissingGrant { .. } => {
                of(StatusCode::FORBIDDEN, "missing-grant", "The operator does not grant what the plugin needs")
            }
            Error::Pinned { .. } => {
                of(StatusCode::FORBIDDEN, "pinned", "The operator allows another build of the plugin")
            }
            Error::UndeclaredSetting { .. } | Error::UndeclaredGrant { .. } => {
                unprocessable("undeclared", "The plugin declares no such need")
            }
            Error::OutOfRange { .. } => unprocessable("out-of-range", "A value is out of its range"),
            Error::IdempotencyMismatch { task, .. } => {
                unprocessable("idempotency-mismatch", "The key was used for another request")
                    .with("task", task.as_str())
            }
            Error::QueueFull { retry_after, .. } => {
                of(StatusCode::TOO_MANY_REQUESTS, "queue-full", "The host takes no more tasks for now")
                    .retry_after(retry_after)
            }
            Error::UnknownTask(_) | Error::AmbiguousTask { .. } => {
                of(StatusCode::NOT_FOUND, "unknown-task", "There is no such task")
            }
            Error::UnknownQuestion { open, .. } => {
                of(StatusCode::NOT_FOUND, "unknown-question", "The task has no such question").with("open", open)
            }
            Error::AlreadySettled { reply, at, .. } => {
                let reply = serde_json::to_value(reply).unwrap_or_default();
                conflict("already-settled", "The question is settled").with("reply", reply).with("at", at.to_string())
            }
            Error::Answer { .. } => unprocessable("invalid-answer", "The answer does not fit the question"),
            Error::NotEnded { state, .. } => {
                conflict("not-ended", "The task has not ended").with("state", state.as_str())
            }
            Error::ChildOf { root, .. } => {
                conflict("child-task", "The task is a child and goes with its root").with("root", root.as_str())
            }
            Error::OwnedElsewhere(_) => conflict("owned-elsewhere", "Another process runs the task"),
            Error::PluginInUse { .. } => conflict("plugin-in-use", "Unfinished tasks need the plugin"),
            Error::FeedExpired { oldest, .. } => {
                of(StatusCode::GONE, "cursor-expired", "What came after that cursor is not kept any more")
                    .with("oldest", oldest.to_string())
            }
            Error::UnknownWebhook(_) | Error::UnknownDelivery(_) | Error::UnknownToken(_) => {
                of(StatusCode::NOT_FOUND, "not-found", "There is no such thing")
            }
            Error::Store(StoreError::Full { .. }) => {
                of(StatusCode::INSUFFICIENT_STORAGE, "disk-full", "The host's disk is full")
            }
            Error::Store(StoreError::Locked(_)) => {
                of(StatusCode::SERVICE_UNAVAILABLE, "busy", "The host can't write at the moment")
                    .retry_after(Duration::from_secs(1))
            }
            Error::ShuttingDown => of(StatusCode::SERVICE_UNAVAILABLE, "shutting-down", "The host is stopping")
                .retry_after(Duration::from_secs(2)),
            // What is wrong with the machine is the operator's to know.
            error => {
                tracing::error!("{error}");
                let detail = "the host's log says what is wrong";
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, "host-fault", "The host is at fault", detail)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_of_the_host_tells_a_caller_nothing_of_the_machine() {
        let store = StoreError::Corrupt { path: "/secret/place".into(), problem: "torn".into() };
        for error in [Error::Fault("/secret/place".into()), Error::Store(store)] {
            let problem = Problem::from(error);
            assert_eq!(problem.status(), StatusCode::INTERNAL_SERVER_ERROR);
            assert!(!problem.to_json().to_string().contains("secret"));
        }
    }

    #[test]
    fn to_come_again_is_said_in_whole_seconds_never_zero() {
        let busy = Problem::invalid("x").retry_after(Duration::from_millis(1));
        assert_eq!(busy.to_json()["retry_after_seconds"], 1);
        let later = Problem::invalid("x").retry_after(Duration::from_millis(1_500)).into_response();
        assert_eq!(later.headers()[header::RETRY_AFTER], "2");
    }
}

//! What a service's answers mean.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// What the members of a service's answers are called. A name with dots leads into objects: `job.state`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Names {
    /// In the answer to the POST: where the status is.
    pub status_url: String,
    /// In the answer to the POST: where a POST cancels the job. Without it the job is cancelled by a DELETE of its status.
    pub cancel_url: String,
    pub status: String,
    /// Between 0 and 1, or between 1 and 100.
    pub progress: String,
    pub result: String,
    pub error: String,
}

impl Default for Names {
    fn default() -> Self {
        let [status_url, cancel_url, status, progress, result, error] =
            ["statusUrl", "cancelUrl", "status", "progress", "result", "error"].map(str::to_owned);
        Self { status_url, cancel_url, status, progress, result, error }
    }
}

/// How far a job is.
#[derive(Debug, PartialEq)]
pub enum Status {
    Running { said: String, progress: Option<f64> },
    Done(Value),
    Failed(String),
}

const DONE: &[&str] = &["done", "completed", "complete", "succeeded", "success", "finished"];
const FAILED: &[&str] = &["failed", "failure", "error", "cancelled", "canceled", "aborted", "timeout"];

impl Status {
    /// What an answer says. A status that means neither an end nor a failure is one of a job that goes on.
    pub fn of(answer: &Value, names: &Names) -> Self {
        let said = text(answer, &names.status).unwrap_or_else(|| "running".into());
        let word = said.to_ascii_lowercase();
        if DONE.contains(&word.as_str()) {
            return Self::Done(find(answer, &names.result).unwrap_or(answer).clone());
        }
        if FAILED.contains(&word.as_str()) {
            let why = find(answer, &names.error).map(|error| match error {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            return Self::Failed(why.map_or_else(|| said.clone(), |why| format!("{said}: {why}")));
        }
        let progress = find(answer, &names.progress).and_then(Value::as_f64);
        let part = |progress: f64| if progress > 1.0 { progress / 100.0 } else { progress };
        Self::Running { said, progress: progress.map(part).filter(|part| (0.0..=1.0).contains(part)) }
    }
}

fn find<'a>(answer: &'a Value, name: &str) -> Option<&'a Value> {
    name.split('.').try_fold(answer, |value, part| value.get(part))
}

fn text(answer: &Value, name: &str) -> Option<String> {
    find(answer, name)?.as_str().map(str::to_owned)
}

/// A text of an answer.
pub fn at(answer: &Value, name: &str) -> Option<String> {
    text(answer, name)
}

/// A link as a URL: whole, or beginning with `/`, or beside the last part of `base`.
pub fn resolve(base: &str, link: &str) -> String {
    if link.contains("://") {
        return link.to_owned();
    }
    let host = base.find("://").map_or(0, |at| at + 3);
    let root = base[host..].find('/').map_or(base.len(), |at| host + at);
    if link.starts_with('/') {
        return format!("{}{link}", &base[..root]);
    }
    let path = base[root..].split(['?', '#']).next().unwrap_or_default();
    let folder = path.rfind('/').map_or("", |at| &path[..at]);
    format!("{}{folder}/{link}", &base[..root])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_read_whatever_its_members_are_called() {
        let names = Names::default();
        assert_eq!(Status::of(&json!({ "status": "SUCCEEDED", "result": [1] }), &names), Status::Done(json!([1])));
        let running = Status::Running { said: "rendering".into(), progress: Some(0.5) };
        assert_eq!(Status::of(&json!({ "status": "rendering", "progress": 50 }), &names), running);
        let failed = Status::Failed("failed: no disk".into());
        assert_eq!(Status::of(&json!({ "status": "failed", "error": "no disk" }), &names), failed);
        let nested = Names { status: "job.state".into(), result: "job.output".into(), ..names };
        let answer = json!({ "job": { "state": "done", "output": "x" } });
        assert_eq!(Status::of(&answer, &nested), Status::Done(json!("x")));
        let unknown = Status::Running { said: "running".into(), progress: None };
        assert_eq!(Status::of(&json!({}), &nested), unknown);
    }

    #[test]
    fn a_link_is_resolved_as_a_browser_does() {
        let base = "https://farm.example:8443/v1/jobs?now#x";
        assert_eq!(resolve(base, "https://other.example/a"), "https://other.example/a");
        assert_eq!(resolve(base, "/v2/7"), "https://farm.example:8443/v2/7");
        assert_eq!(resolve(base, "7"), "https://farm.example:8443/v1/7");
        assert_eq!(resolve("https://farm.example", "7"), "https://farm.example/7");
    }
}

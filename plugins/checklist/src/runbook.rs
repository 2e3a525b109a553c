//! What the caller sends.

use std::collections::BTreeSet;

use longhaul_sdk::ToolError;
use schemars::JsonSchema;
use serde::Deserialize;

/// A task may ask 100 questions; better to say so before the first than at the last.
const MOST_STEPS: usize = 100;

/// What every step's form has.
const RESERVED: [&str; 2] = ["outcome", "note"];

/// Steps to go through in order.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Runbook {
    pub title: String,
    /// 1 to 100.
    pub steps: Vec<Step>,
}

/// One thing to do.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What to do, in a few words.
    pub title: String,
    /// How to do it, in Markdown.
    pub detail: Option<String>,
    /// How long to wait before this step is put to anybody.
    pub wait_seconds: Option<u64>,
    /// The values that this step asks for.
    #[serde(default)]
    pub fields: Vec<Field>,
}

/// A value to fill in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Under which the value is recorded: letters, digits, `_` and `-`; not `outcome` or `note`.
    pub name: String,
    /// What the person reads instead of the name.
    pub label: Option<String>,
    #[serde(rename = "type")]
    pub kind: Kind,
    /// For the type `choice`.
    #[serde(default)]
    pub choices: Vec<String>,
    /// Whether the step cannot be done without it.
    #[serde(default)]
    pub required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Text,
    Number,
    Integer,
    Boolean,
    Choice,
}

impl Runbook {
    /// What the schema does not rule out.
    ///
    /// # Errors
    /// [`ToolError::invalid_input`], which names the place.
    pub fn check(&self) -> Result<(), ToolError> {
        let problem = if self.steps.is_empty() {
            Some("a runbook has at least one step".into())
        } else if self.steps.len() > MOST_STEPS {
            Some(format!("a runbook has at most {MOST_STEPS} steps, this one has {}", self.steps.len()))
        } else {
            self.steps
                .iter()
                .enumerate()
                .find_map(|(at, step)| step.problem().map(|problem| format!("steps[{at}]{problem}")))
        };
        match problem {
            Some(problem) => Err(ToolError::invalid_input(problem)),
            None => Ok(()),
        }
    }
}

impl Step {
    fn problem(&self) -> Option<String> {
        let mut names = BTreeSet::new();
        self.fields.iter().enumerate().find_map(|(at, field)| {
            let problem = match field.problem() {
                None if !names.insert(&field.name) => Some(format!("another field is called `{}` too", field.name)),
                problem => problem,
            };
            problem.map(|problem| format!(".fields[{at}]: {problem}"))
        })
    }
}

impl Field {
    /// What the person reads.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.name)
    }

    fn problem(&self) -> Option<String> {
        let is_plain = |name: &str| {
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
        };
        if !is_plain(&self.name) {
            return Some(format!("a name has letters, digits, `_` and `-`, unlike {:?}", self.name));
        }
        if RESERVED.contains(&self.name.as_str()) {
            return Some(format!("every step has `{}` already: choose another name", self.name));
        }
        let different: BTreeSet<&String> = self.choices.iter().collect();
        match (self.kind, self.choices.len()) {
            (Kind::Choice, 0) => Some("a choice needs `choices`".into()),
            (Kind::Choice, count) if different.len() < count => Some("two of the `choices` are the same".into()),
            (Kind::Choice, _) | (_, 0) => None,
            _ => Some("only the type `choice` has `choices`".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn problem(runbook: Value) -> String {
        serde_json::from_value::<Runbook>(runbook).unwrap().check().unwrap_err().to_string()
    }

    fn with_field(field: Value) -> Value {
        json!({ "title": "t", "steps": [{ "title": "a" }, { "title": "b", "fields": [field] }] })
    }

    #[test]
    fn a_runbook_that_cannot_be_run_is_refused_with_the_place() {
        assert_eq!(problem(json!({ "title": "t", "steps": [] })), "a runbook has at least one step");
        let many = vec![json!({ "title": "a" }); 101];
        assert_eq!(
            problem(json!({ "title": "t", "steps": many })),
            "a runbook has at most 100 steps, this one has 101"
        );
        assert_eq!(
            problem(with_field(json!({ "name": "note", "type": "text" }))),
            "steps[1].fields[0]: every step has `note` already: choose another name"
        );
        assert!(problem(with_field(json!({ "name": "a b", "type": "text" }))).contains("letters"));
        assert!(problem(with_field(json!({ "name": "a", "type": "choice" }))).contains("needs `choices`"));
        assert!(
            problem(with_field(json!({ "name": "a", "type": "choice", "choices": ["x", "x"] }))).contains("the same")
        );
        assert!(
            problem(with_field(json!({ "name": "a", "type": "text", "choices": ["x"] }))).contains("only the type")
        );
        let twice = json!([{ "name": "a", "type": "text" }, { "name": "a", "type": "number" }]);
        let runbook = json!({ "title": "t", "steps": [{ "title": "a", "fields": twice }] });
        assert_eq!(problem(runbook), "steps[0].fields[1]: another field is called `a` too");
    }

    #[test]
    fn a_misspelt_member_is_refused() {
        let runbook = json!({ "title": "t", "steps": [{ "title": "a", "waitSeconds": 1 }] });
        assert!(serde_json::from_value::<Runbook>(runbook).is_err());
    }
}

//! Questions to people.

mod reply;
mod schema;

use std::marker::PhantomData;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::bindings::longhaul::tool::types as wit;
use crate::error::WaitError;
use crate::time::to_millis;

pub use reply::{Answer, Reply};

/// A question whose answer is a `T`: ask it with [`Task::ask`](crate::Task::ask), or open it beside others with
/// [`Task::open`](crate::Task::open).
///
/// An answer is checked against the question before it is taken, so a tool gets a `T` or no answer.
///
/// ```no_run
/// use std::time::Duration;
/// use longhaul_sdk::{Question, Reply, Task, ToolError};
///
/// fn clean_up(task: &Task, files: u32) -> Result<bool, ToolError> {
///     let question = Question::confirm(format!("Delete {files} files?"))
///         .detail("They are **not** in the backup.")
///         .timeout(Duration::from_secs(24 * 3600));
///     Ok(match task.ask(question)? {
///         Reply::Answered(answer) => answer.value,
///         Reply::Declined(_) | Reply::TimedOut => false,
///     })
/// }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Question<T> {
    prompt: String,
    detail: Option<String>,
    schema: Value,
    timeout: Option<Duration>,
    options: Map<String, Value>,
    answer: PhantomData<fn() -> T>,
}

impl Question<bool> {
    /// Yes or no.
    pub fn confirm(prompt: impl Into<String>) -> Self {
        Self::new(prompt, json!({ "type": "boolean" }))
    }
}

impl Question<String> {
    /// Any text.
    pub fn text(prompt: impl Into<String>) -> Self {
        Self::new(prompt, json!({ "type": "string" }))
    }

    /// One of some choices that are known only at run time, each a value and the title that is shown. The answer is
    /// the value. For choices that are known beforehand use [`choose`](Self::choose).
    ///
    /// ```
    /// use longhaul_sdk::Question;
    ///
    /// let question = Question::choose_from("Which branch?", [("main", "main (default)"), ("next", "next")]);
    /// assert!(question.check().is_ok());
    /// ```
    pub fn choose_from<V, N>(prompt: impl Into<String>, choices: impl IntoIterator<Item = (V, N)>) -> Self
    where
        V: Into<String>,
        N: Into<String>,
    {
        let choices = choices.into_iter().map(|(value, title)| (value.into(), title.into()));
        Self::new(prompt, schema::choice(choices))
    }
}

impl Question<Vec<String>> {
    /// Any of some choices that are known only at run time; see [`choose_from`](Question::choose_from).
    pub fn choose_many_from<V, N>(prompt: impl Into<String>, choices: impl IntoIterator<Item = (V, N)>) -> Self
    where
        V: Into<String>,
        N: Into<String>,
    {
        let choices = choices.into_iter().map(|(value, title)| (value.into(), title.into()));
        Self::new(prompt, schema::several(schema::choice(choices)))
    }
}

impl<T: DeserializeOwned + JsonSchema> Question<T> {
    /// One of an enum's variants. A variant's doc comment is what the person reads.
    ///
    /// ```
    /// use longhaul_sdk::Question;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// #[serde(rename_all = "snake_case")]
    /// enum Merge {
    ///     /// Keep every commit
    ///     Merge,
    ///     /// One commit for all
    ///     Squash,
    /// }
    /// assert!(Question::<Merge>::choose("How shall I merge?").check().is_ok());
    /// ```
    pub fn choose(prompt: impl Into<String>) -> Self {
        Self::new(prompt, schema::of::<T>())
    }

    /// A form: a flat struct of booleans, numbers, strings, choices and lists of choices. A field's doc comment is
    /// shown with it; a field that is an `Option` may be left empty.
    ///
    /// ```
    /// use longhaul_sdk::Question;
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Address {
    ///     /// Street and number
    ///     street: String,
    ///     /// Where there is one
    ///     floor: Option<u8>,
    /// }
    /// assert!(Question::<Address>::form("Where to?").check().is_ok());
    ///
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Order { to: Address }
    /// let problem = Question::<Order>::form("What?").check().unwrap_err();
    /// assert!(problem.to_string().starts_with("the form's field `to` is an object"));
    /// ```
    pub fn form(prompt: impl Into<String>) -> Self {
        Self::new(prompt, schema::of::<T>())
    }
}

impl<T: DeserializeOwned + JsonSchema> Question<Vec<T>> {
    /// Any of an enum's variants; see [`choose`](Question::choose).
    pub fn choose_many(prompt: impl Into<String>) -> Self {
        Self::new(prompt, schema::several(schema::of::<T>()))
    }
}

impl Question<Value> {
    /// A question whose answer's schema is known only at run time, within MCP's elicitation subset of JSON Schema.
    pub fn with_schema(prompt: impl Into<String>, schema: Value) -> Self {
        Self::new(prompt, schema)
    }
}

impl<T> Question<T> {
    fn new(prompt: impl Into<String>, schema: Value) -> Self {
        Self { prompt: prompt.into(), detail: None, schema, timeout: None, options: Map::new(), answer: PhantomData }
    }

    /// Markdown shown under the prompt: what one has to know to answer.
    pub fn detail(mut self, markdown: impl Into<String>) -> Self {
        self.detail = Some(markdown.into());
        self
    }

    /// How long to wait for an answer. Without it: as long as the task may live.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Who should answer, in words that the operator's faces understand: `finance`, `on-call`.
    pub fn audience(self, audience: impl Into<String>) -> Self {
        self.option("audience", Value::String(audience.into()))
    }

    /// The answer is not to be shown where others can read it.
    pub fn sensitive(self) -> Self {
        self.option("sensitive", Value::Bool(true))
    }

    fn option(mut self, name: &str, value: Value) -> Self {
        self.options.insert(name.to_owned(), value);
        self
    }

    /// Whether the question can be asked at all. [`Task::ask`](crate::Task::ask) checks it too; call this in a unit
    /// test, to know before.
    ///
    /// # Errors
    /// [`WaitError::Malformed`], which names the field that is outside of MCP's elicitation subset.
    pub fn check(&self) -> Result<(), WaitError> {
        schema::check(&self.schema).map_err(WaitError::Malformed)
    }

    pub(crate) fn to_wit(&self) -> Result<wit::Question, WaitError> {
        self.check()?;
        Ok(wit::Question {
            prompt: self.prompt.clone(),
            detail: self.detail.clone(),
            answer: self.schema.to_string(),
            timeout: self.timeout.map(to_millis),
            options: (!self.options.is_empty()).then(|| Value::Object(self.options.clone()).to_string()),
        })
    }
}

impl<T: Serialize> Question<T> {
    /// The answer that is offered beforehand.
    ///
    /// # Panics
    /// If `value` cannot be written as JSON.
    pub fn default(self, value: T) -> Self {
        let value = serde_json::to_value(value).expect("an answer is JSON");
        self.option("default", value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_carries_its_hints() {
        let question = Question::text("Which address?")
            .detail("*Yours.*")
            .timeout(Duration::from_secs(2))
            .audience("finance")
            .default("office@example.com".to_owned())
            .sensitive()
            .to_wit()
            .unwrap();
        assert_eq!(question.answer, r#"{"type":"string"}"#);
        assert_eq!(question.timeout, Some(2000));
        let options: Value = serde_json::from_str(&question.options.unwrap()).unwrap();
        assert_eq!(options, json!({ "audience": "finance", "default": "office@example.com", "sensitive": true }));
    }

    #[test]
    fn a_question_without_hints_has_no_options() {
        assert_eq!(Question::confirm("Go?").to_wit().unwrap().options, None);
    }

    #[test]
    fn a_question_that_nobody_could_answer_is_not_asked() {
        let nothing: [(&str, &str); 0] = [];
        let problem = Question::choose_from("Which?", nothing).to_wit().unwrap_err();
        assert_eq!(problem.to_string(), "the answer is a choice with nothing to choose from");
    }
}

//! What became of a question.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bindings::longhaul::tool::types as wit;
use crate::error::{ToolError, WaitError};

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply<T> {
    /// Somebody answered.
    Answered(Answer<T>),
    /// Somebody refused to answer, perhaps saying why.
    Declined(Option<String>),
    /// Nobody answered in time.
    TimedOut,
}

/// An answer, and whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// A name of the person within this task, not an address.
    pub by: Option<String>,
}

impl<T> Reply<T> {
    /// The answer, for a tool that cannot go on without.
    ///
    /// # Errors
    /// [`ToolError::failed`] if the question was declined or nobody answered in time.
    ///
    /// ```no_run
    /// # use longhaul_sdk::{Question, Task, ToolError};
    /// # fn example(task: &Task) -> Result<(), ToolError> {
    /// let name = task.ask(Question::text("Whose invoice is it?"))?.or_fail()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn or_fail(self) -> Result<T, ToolError> {
        match self {
            Self::Answered(answer) => Ok(answer.value),
            Self::Declined(Some(reason)) => {
                Err(ToolError::failed(format!("a question that had to be answered was declined: {reason}")))
            }
            Self::Declined(None) => Err(ToolError::failed("a question that had to be answered was declined")),
            Self::TimedOut => Err(ToolError::failed("nobody answered a question in time")),
        }
    }
}

impl<T: DeserializeOwned> Reply<T> {
    pub(crate) fn from_wit(reply: wit::Reply) -> Result<Self, WaitError> {
        Ok(match reply {
            wit::Reply::Answered(answer) => Self::Answered(Answer { value: parse(&answer.value)?, by: answer.by }),
            wit::Reply::Declined(reason) => Self::Declined(reason),
            wit::Reply::TimedOut => Self::TimedOut,
        })
    }
}

fn parse<T: DeserializeOwned>(answer: &str) -> Result<T, WaitError> {
    // Without the answer itself, and so without serde's message: it may be sensitive.
    let malformed =
        |_| WaitError::Malformed(format!("the answer fits its schema and yet is no `{}`", std::any::type_name::<T>()));
    let mut value: Value = serde_json::from_str(answer).map_err(malformed)?;
    whole_numbers(&mut value);
    serde_json::from_value(value).map_err(malformed)
}

/// For JSON Schema `2.0` is an integer, for serde it is not.
fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(float) = number.as_f64().filter(|float| number.is_f64() && float.fract() == 0.0)
                && float.abs() < 9e15
            {
                *value = Value::from(float as i64);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(value: &str) -> wit::Reply {
        wit::Reply::Answered(wit::Answer { value: value.into(), by: Some("Ada".into()) })
    }

    #[test]
    fn an_answer_is_typed() {
        let reply = Reply::<u8>::from_wit(answered("2.0")).unwrap();
        assert_eq!(reply, Reply::Answered(Answer { value: 2, by: Some("Ada".into()) }));
        assert_eq!(Reply::<f64>::from_wit(answered("2.5")).unwrap().or_fail(), Ok(2.5));
    }

    #[test]
    fn an_answer_of_another_type_is_not_repeated() {
        let problem = Reply::<bool>::from_wit(answered("\"yes\"")).unwrap_err().to_string();
        assert_eq!(problem, "the answer fits its schema and yet is no `bool`");
    }

    #[test]
    fn declining_fails_a_tool_that_needs_the_answer() {
        let reply = Reply::<bool>::from_wit(wit::Reply::Declined(Some("not mine".into()))).unwrap();
        assert_eq!(
            reply.or_fail().unwrap_err().to_string(),
            "a question that had to be answered was declined: not mine"
        );
        assert!(Reply::<bool>::TimedOut.or_fail().is_err());
    }
}

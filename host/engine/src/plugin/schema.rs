//! A JSON Schema that a stranger wrote, compiled so that checking a value against it is safe for the host.

mod cost;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::Value;

use self::cost::{Cost, Size};
use crate::json::{Problem, brief, cut, problem};

/// Problems named in one refusal.
const MOST_PROBLEMS: usize = 3;
/// A compiled pattern may take that many bytes. Patterns run on an engine that takes time linear in the text.
const PATTERN_SIZE: usize = 1 << 20;

/// A JSON Schema (2020-12), compiled. Cheap to clone.
///
/// The schema and, for a tool's output, the value too come from a plugin that nobody trusts, and are evaluated in the host. So a
/// schema is refused that reaches outside itself, or that is built so that evaluating it takes time or stack without a sensible
/// bound, see [`Cost`].
#[derive(Clone)]
pub(crate) struct CompiledSchema(Arc<Inner>);

struct Inner {
    validator: Validator,
    cost: Cost,
}

impl fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CompiledSchema").finish_non_exhaustive()
    }
}

impl CompiledSchema {
    /// Compiles the schema, or says what is wrong with it and where (a JSON pointer into it).
    pub(crate) fn new(schema: &Value) -> Result<Self, String> {
        Self::compile(schema).map_err(|problem| problem.to_string())
    }

    /// The same, with the problem and its place apart.
    pub(super) fn compile(schema: &Value) -> Result<Self, Problem> {
        let cost = Cost::of(schema)?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE))
            .build(schema)
            .map_err(|error| match error.kind() {
                // The only alternative in the meta-schema, whose own words for it help nobody.
                ValidationErrorKind::AnyOf { .. } if error.instance_path().as_str().ends_with("/type") => {
                    let what = format!("{} is not one of JSON's types, or a list of them", brief(error.instance()));
                    problem(error.instance_path().as_str(), what)
                }
                _ => said(&error),
            })?;
        Ok(Self(Arc::new(Inner { validator, cost })))
    }

    /// Whether checking the value may take longer than the other tasks of an async thread should wait.
    pub(crate) fn takes_long(&self, value: &Value) -> bool {
        Size::of(value).is_some_and(|size| self.0.cost.takes_long(&size) && self.0.cost.admit(&size).is_ok())
    }

    /// Whether the value is valid, or else what is wrong and where (a JSON pointer into the value). It takes seconds at most.
    pub(crate) fn check(&self, value: &Value) -> Result<(), String> {
        let Inner { validator, cost } = &*self.0;
        let size = Size::of(value).ok_or("the value is nested too deeply")?;
        cost.admit(&size)?;
        if validator.is_valid(value) {
            return Ok(());
        }
        // To tell what is wrong takes far more than to find that something is: subschemas are looked at again without
        // remembering what was found, and every problem is held in memory at once.
        if cost.can_list_problems(&size) {
            let problems: Vec<_> =
                validator.iter_errors(value).take(MOST_PROBLEMS).map(|error| said(&error).to_string()).collect();
            return Err(problems.join("; "));
        }
        if cost.can_find_a_problem(&size)
            && let Err(error) = validator.validate(value)
        {
            return Err(said(&error).to_string());
        }
        Err("it is not valid against the schema; value and schema are too large to say where".into())
    }
}

fn said(error: &ValidationError<'_>) -> Problem {
    let what = error.masked_with(brief(error.instance())).to_string();
    problem(error.instance_path().as_str(), cut(&what))
}

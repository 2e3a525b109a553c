//! What evaluating a schema can cost: bounded before the schema is compiled.
//!
//! Evaluation walks schema and value together. A schema can be written so that this walk
//!
//! - never ends: a cycle of references that stays at the same value;
//! - multiplies: `allOf` of two references to a schema that is `allOf` of two references to …;
//! - nests so deeply that it overflows the stack, which would end the host and every task in it.
//!
//! A schema in use by people is far from all of it. The subschemas form a graph whose edges either stay at a value (`allOf`,
//! `$ref` …) or go on to a part of it (`properties`, `items` …), and the walk is a walk in that graph.

mod graph;

use serde_json::Value;

use self::graph::Graph;
use crate::json::{Problem, problem};

/// JSON is read no deeper than this.
const DEEPEST: usize = 128;
/// Subschemas that may apply to one and the same value.
const MOST_BESIDE: u64 = 2_000;
/// Subschemas in all, each reference replaced by what it refers to, recursion not followed.
const MOST_UNFOLDED: u64 = 100_000;
/// Evaluations inside one another. A third of what 2 MiB of stack hold, measured.
const MOST_NESTED: u64 = 10_000;
/// The same while problems are collected, which takes more stack.
const MOST_NESTED_FOR_PROBLEMS: u64 = 2_000;
/// Evaluations when all problems of a value are listed, some 300 bytes each.
const MOST_TO_LIST: u64 = 100_000;
/// Evaluations when one problem is looked for.
const MOST_TO_FIND: u64 = 1_000_000;

/// What evaluating a schema can cost. By the depth of a value within the whole.
#[derive(Debug)]
pub(super) struct Cost {
    /// How many evaluations may come to one value at that depth.
    visits: Vec<u64>,
    /// How many evaluations may stand inside one another by then.
    nested: Vec<u64>,
}

/// What matters of a value's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    /// It and everything in it.
    values: u64,
    /// How deep what is in it lies; 0 for a scalar.
    depth: usize,
}

impl Size {
    /// `None` if it is nested deeper than JSON is read.
    pub(super) fn of(value: &Value) -> Option<Self> {
        fn add(value: &Value, depth: usize, size: &mut Size) -> Option<()> {
            if depth > DEEPEST {
                return None;
            }
            size.values += 1;
            size.depth = size.depth.max(depth);
            match value {
                Value::Array(items) => items.iter().try_for_each(|item| add(item, depth + 1, size)),
                Value::Object(members) => members.values().try_for_each(|member| add(member, depth + 1, size)),
                _ => Some(()),
            }
        }
        let mut size = Self { values: 0, depth: 0 };
        add(value, 0, &mut size)?;
        Some(size)
    }
}

impl Cost {
    /// Bounds the cost, or says why there is no sensible bound.
    pub(super) fn of(schema: &Value) -> Result<Self, Problem> {
        let graph = Graph::of(schema)?;
        let Some(order) = graph.order_beside() else {
            return Err(problem("", "a reference leads back to itself without going on to a part of the value"));
        };
        if graph.unfolded() > MOST_UNFOLDED {
            return Err(problem(
                "",
                format_args!(
                    "with its references followed the schema has more than {MOST_UNFOLDED} subschemas; simplify it"
                ),
            ));
        }
        let (visits, nested) = graph.by_depth(&order, DEEPEST);
        if visits.first().is_some_and(|&visits| visits > MOST_BESIDE) {
            return Err(problem(
                "",
                format_args!("more than {MOST_BESIDE} subschemas apply to the same value; simplify it"),
            ));
        }
        if nested.iter().any(|&nested| nested > MOST_NESTED) {
            return Err(problem(
                "",
                format_args!("more than {MOST_NESTED} subschemas can be nested in one another; simplify it"),
            ));
        }
        Ok(Self { visits, nested })
    }

    /// Whether all that is wrong with a value of that size can be listed.
    pub(super) fn can_list_problems(&self, size: Size) -> bool {
        self.within(size, MOST_TO_LIST)
    }

    /// Whether something that is wrong with a value of that size can be found.
    pub(super) fn can_find_a_problem(&self, size: Size) -> bool {
        self.within(size, MOST_TO_FIND)
    }

    fn within(&self, size: Size, most: u64) -> bool {
        let visits = self.visits.iter().take(size.depth + 1).max().copied().unwrap_or_default();
        let nested = self.nested.iter().take(size.depth + 1).max().copied().unwrap_or_default();
        visits.saturating_mul(size.values) <= most && nested <= MOST_NESTED_FOR_PROBLEMS
    }
}

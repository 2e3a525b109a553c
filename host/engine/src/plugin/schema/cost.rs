//! What evaluating a schema can cost: bounded before the schema is compiled.
//!
//! Evaluation walks schema and value together. A schema can be written so that this walk
//!
//! - never ends: a cycle of references that stays at the same value;
//! - multiplies: `allOf` of two references to a schema that is `allOf` of two references to …;
//! - nests so deeply that it overflows the stack, which would end the host and every task in it;
//! - is short by itself, and long at each of a million values: a list to choose from of a hundred thousand numbers.
//!
//! The first three are refused with the schema, the last with the value.
//!
//! A schema in use by people is far from all of it. The subschemas form a graph whose edges either stay at a value (`allOf`,
//! `$ref` …) or go on to a part of it (`properties`, `items` …), and the walk is a walk in that graph.

mod graph;
mod pattern;

use serde_json::Value;

use self::graph::{ByDepth, Graph, Load};
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
/// Steps that checking one value may take: mostly less than a second, and some at worst, if its author meant harm. A step is an evaluation, a value
/// that is compared, or a byte that a pattern looks at.
const MOST_STEPS: u64 = 20_000_000;
/// Steps that take longer than the other tasks of a thread should wait.
const MOST_AT_ONCE: u64 = 100_000;
/// Steps when all problems of a value are listed, some 300 bytes each.
const MOST_TO_LIST: u64 = 100_000;
/// Steps when one problem is looked for.
const MOST_TO_FIND: u64 = 1_000_000;

/// What evaluating a schema can cost.
#[derive(Debug)]
pub(super) struct Cost {
    depths: ByDepth,
    /// At one value, however deep it lies.
    most: Load,
}

/// What matters of a value's size: how many values lie at each depth, and bytes of text.
#[derive(Debug, Default)]
pub(super) struct Size(Vec<Level>);

#[derive(Debug, Clone, Copy, Default)]
struct Level {
    values: u64,
    /// Of texts, and of members' names.
    bytes: u64,
    /// Numbers that are no integers.
    fractions: u64,
}

impl Size {
    /// `None` if it is nested deeper than JSON is read.
    pub(super) fn of(value: &Value) -> Option<Self> {
        fn add(value: &Value, name: usize, depth: usize, size: &mut Vec<Level>) -> Option<()> {
            if depth > DEEPEST {
                return None;
            }
            if size.len() == depth {
                size.push(Level::default());
            }
            let text = value.as_str().map_or(0, str::len);
            size[depth].values += 1;
            size[depth].bytes += (name + text) as u64;
            size[depth].fractions += u64::from(value.is_number() && !value.is_i64());
            match value {
                Value::Array(items) => items.iter().try_for_each(|item| add(item, 0, depth + 1, size)),
                Value::Object(members) => {
                    members.iter().try_for_each(|(name, member)| add(member, name.len(), depth + 1, size))
                }
                _ => Some(()),
            }
        }
        let mut size = Vec::new();
        add(value, 0, 0, &mut size)?;
        Some(Self(size))
    }
}

impl Cost {
    /// Bounds the cost, or says why there is no sensible bound.
    pub(super) fn of(schema: &Value) -> Result<Self, Problem> {
        let graph = Graph::of(schema)?;
        let Some(order) = graph.order_beside() else {
            return Err(problem("", "a reference leads back to itself without going on to a part of the value"));
        };
        let (unfolded, most) = graph.unfolded();
        if unfolded > MOST_UNFOLDED {
            return Err(problem(
                "",
                format_args!(
                    "with its references followed the schema has more than {MOST_UNFOLDED} subschemas; simplify it"
                ),
            ));
        }
        let depths = graph.by_depth(&order);
        if depths.visits.first().is_some_and(|&visits| visits > MOST_BESIDE) {
            return Err(problem(
                "",
                format_args!("more than {MOST_BESIDE} subschemas apply to the same value; simplify it"),
            ));
        }
        if depths.nested.iter().any(|&nested| nested > MOST_NESTED) {
            return Err(problem(
                "",
                format_args!("more than {MOST_NESTED} subschemas can be nested in one another; simplify it"),
            ));
        }
        Ok(Self { depths, most })
    }

    /// Refuses a value that would take too long to check.
    pub(super) fn admit(&self, size: &Size) -> Result<(), String> {
        match self.steps(size) {
            ..=MOST_STEPS => Ok(()),
            steps => Err(format!(
                "checking it could take {steps} steps, and {MOST_STEPS} is the most: value and schema are too large for one \
                 another; give a smaller value, or declare a simpler schema"
            )),
        }
    }

    /// Whether checking a value may take longer than other tasks of the same thread should wait.
    pub(super) fn takes_long(&self, size: &Size) -> bool {
        self.steps(size) > MOST_AT_ONCE
    }

    /// Whether all that is wrong with a value of that size can be listed.
    pub(super) fn can_list_problems(&self, size: &Size) -> bool {
        self.within(size, MOST_TO_LIST)
    }

    /// Whether something that is wrong with a value of that size can be found.
    pub(super) fn can_find_a_problem(&self, size: &Size) -> bool {
        self.within(size, MOST_TO_FIND)
    }

    /// While problems are looked for, nothing is remembered.
    fn within(&self, size: &Size, most: u64) -> bool {
        let nested = self.depths.nested.iter().take(size.0.len()).max().copied().unwrap_or_default();
        let values = sum(size, |level| level.values, &self.depths.steps, u64::MAX);
        let fractions = sum(size, |level| level.fractions, &self.depths.fractions, u64::MAX);
        values.saturating_add(fractions) <= most && nested <= MOST_NESTED_FOR_PROBLEMS
    }

    fn steps(&self, size: &Size) -> u64 {
        let Self { depths, most } = self;
        let values = sum(size, |level| level.values, &depths.steps, most.value);
        let bytes = sum(size, |level| level.bytes, &depths.bytes, most.byte);
        let fractions = sum(size, |level| level.fractions, &depths.fractions, most.fraction);
        values.saturating_add(bytes).saturating_add(fractions)
    }
}

/// What there is at each depth, times what each of it costs there, and `most` at most.
fn sum(size: &Size, of: fn(&Level) -> u64, costs: &[u64], most: u64) -> u64 {
    let levels = size.0.iter().zip(costs);
    levels.fold(0, |sum, (level, cost)| sum.saturating_add(of(level).saturating_mul(*cost.min(&most))))
}

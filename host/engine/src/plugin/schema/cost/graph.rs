//! The subschemas of a schema, and how evaluation goes from one to another.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::DEEPEST;
use super::pattern::steps_for_a_byte;
use crate::json::{Problem, brief, child, cut, dialect, problem};

/// Patterns are compiled one by one, each to as much as a mebibyte.
const MOST_PATTERNS: usize = 200;
/// Below the root they would begin a schema of its own, in which references mean something else; or what they refer to
/// depends on the way to them.
const NOT_BELOW_THE_ROOT: &[&str] =
    &["$id", "$schema", "$dynamicAnchor", "$dynamicRef", "$recursiveAnchor", "$recursiveRef"];
/// They give a place a name. In a reference there is no difference between them.
const NAMES: [&str; 2] = ["$anchor", "$dynamicAnchor"];
/// Declared properties that a member's name is compared with in the time of one evaluation: mostly the length is enough.
const NAMES_IN_A_STEP: u64 = 16;

/// The subschemas that evaluation can come to. The first is the root.
pub(super) struct Graph(Vec<Node>);

/// One subschema, and by index what evaluation goes on to.
#[derive(Default)]
struct Node {
    /// At the same value.
    beside: Vec<usize>,
    /// At a part of the value, each at another one.
    apart: Vec<usize>,
    /// At a part of the value, several perhaps at the same one.
    within: Vec<usize>,
    /// Beside looking at it: at the value itself, at each of its parts, and at everything in it however deep.
    own: Load,
    parts: Load,
    deep: Load,
}

/// What there is to do at one value.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Load {
    /// For a value, in evaluations.
    pub value: u64,
    /// For a byte of its text, or of its name within its object.
    pub byte: u64,
    /// For a number that is no integer, beside what it is for any value.
    pub fraction: u64,
}

/// What evaluating costs, by the depth of a value within the whole. It ends where no evaluation comes.
#[derive(Debug, Default)]
pub(super) struct ByDepth {
    /// How many evaluations from the root may come to one value there.
    pub visits: Vec<u64>,
    /// How many may then stand inside one another.
    pub nested: Vec<u64>,
    /// What they cost in all: those evaluations, each with what it costs beside itself.
    pub steps: Vec<u64>,
    /// What they cost beside that, for a byte of the texts there.
    pub bytes: Vec<u64>,
    /// And for a number that is no integer.
    pub fractions: Vec<u64>,
}

/// The costs of a subschema at one depth below it.
#[derive(Debug, Clone, Copy, Default)]
struct At {
    visits: u64,
    nested: u64,
    steps: u64,
    byte: u64,
    fraction: u64,
}

impl At {
    fn add(&mut self, other: Self) {
        self.visits = self.visits.saturating_add(other.visits);
        self.steps = self.steps.saturating_add(other.steps);
        self.byte = self.byte.saturating_add(other.byte);
        self.fraction = self.fraction.saturating_add(other.fraction);
        self.nest(other);
    }

    /// Of the two, whichever is more: they are at different parts.
    fn max(&mut self, other: Self) {
        self.visits = self.visits.max(other.visits);
        self.steps = self.steps.max(other.steps);
        self.byte = self.byte.max(other.byte);
        self.fraction = self.fraction.max(other.fraction);
        self.nest(other);
    }

    fn nest(&mut self, other: Self) {
        self.nested = self.nested.max(if other.nested > 0 { other.nested.saturating_add(1) } else { 0 });
    }

    fn load(&mut self, load: Load) {
        self.steps = self.steps.saturating_add(load.value);
        self.byte = self.byte.saturating_add(load.byte);
        self.fraction = self.fraction.saturating_add(load.fraction);
    }
}

impl Graph {
    /// Follows everything that evaluation follows, and refuses references to the outside.
    pub(super) fn of(schema: &Value) -> Result<Self, Problem> {
        if let Some(members) = schema.as_object() {
            root_only(members)?;
            for (key, value) in members {
                nothing_foreign(value, &child("", key))?;
            }
        }
        let mut names = HashMap::new();
        find_names(schema, "", &mut names)?;
        let mut builder = Builder { root: schema, names, index: HashMap::new(), found: Vec::new(), patterns: 0 };
        builder.node(schema, String::new());
        let mut nodes: Vec<Node> = Vec::new();
        // What is found while one is looked at comes later: no recursion, however long a chain of references is.
        while let Some((value, at)) = builder.found.get(nodes.len()).cloned() {
            nodes.push(match value {
                Value::Object(members) => builder.edges(members, &at)?,
                Value::Bool(_) => Node::default(),
                other => return Err(problem(&at, format_args!("{} is not a schema", brief(other)))),
            });
        }
        Ok(Self(nodes))
    }

    /// The nodes in an order in which everything that stays at the value comes before what refers to it; `None` if there
    /// is a cycle.
    pub(super) fn order_beside(&self) -> Option<Vec<usize>> {
        let order = self.post_order(|node| node.beside.clone());
        let place = places(&order);
        let forward = |node: usize| self.0[node].beside.iter().all(|&next| place[next] < place[node]);
        (0..self.0.len()).all(forward).then_some(order)
    }

    /// The number of subschemas when each reference is replaced by what it refers to, and one that leads back to where it
    /// stands by nothing. And what they cost at one value, at most, together with those that references lead back to: what became
    /// of one of these at a value is remembered, and not looked at again.
    pub(super) fn unfolded(&self) -> (u64, Load) {
        let order = self.post_order(Node::all);
        let place = places(&order);
        let mut sizes = vec![At::default(); self.0.len()];
        let mut again = vec![false; self.0.len()];
        for &index in &order {
            let node = &self.0[index];
            let mut size = At { visits: 1, steps: 1, ..At::default() };
            size.load(node.own);
            size.load(node.parts);
            // Of each that the value lies in.
            size.load(Load { value: node.deep.value.saturating_mul(DEEPEST as u64), ..node.deep });
            for next in node.all() {
                match place[next] < place[index] {
                    true => size.add(sizes[next]),
                    false => again[next] = true,
                }
            }
            sizes[index] = size;
        }
        let root = sizes.first().copied().unwrap_or_default();
        let mut all = root;
        sizes.iter().zip(again).filter(|(_, again)| *again).for_each(|(size, _)| all.add(*size));
        (root.visits, Load { value: all.steps, byte: all.byte, fraction: all.fraction })
    }

    /// What evaluation from the root costs, by depth.
    pub(super) fn by_depth(&self, order: &[usize]) -> ByDepth {
        let mut found = ByDepth::default();
        let mut above: Option<Vec<At>> = None;
        for depth in 0..=DEEPEST {
            let mut here = vec![At::default(); self.0.len()];
            for &index in order {
                let node = &self.0[index];
                let mut at = At::default();
                match &above {
                    None => {
                        at = At { visits: 1, nested: 1, steps: 1, ..At::default() };
                        at.load(node.own);
                    }
                    // To a part of the value, a step less deep in what is left.
                    Some(above) => {
                        node.apart.iter().for_each(|&next| at.max(above[next]));
                        node.within.iter().for_each(|&next| at.add(above[next]));
                        if depth == 1 {
                            at.load(node.parts);
                        }
                        at.load(node.deep);
                    }
                }
                node.beside.iter().for_each(|&next| at.add(here[next]));
                here[index] = at;
            }
            let root = here[0];
            if (root.visits, root.steps, root.byte, root.fraction) == (0, 0, 0, 0) {
                break;
            }
            found.visits.push(root.visits);
            found.nested.push(root.nested);
            found.steps.push(root.steps);
            found.bytes.push(root.byte);
            found.fractions.push(root.fraction);
            above = Some(here);
        }
        found
    }

    /// Each node after those that `edges` lead to, but for edges that lead back.
    fn post_order(&self, edges: impl Fn(&Node) -> Vec<usize>) -> Vec<usize> {
        let mut seen = vec![false; self.0.len()];
        let mut order = Vec::with_capacity(self.0.len());
        for start in 0..self.0.len() {
            if seen[start] {
                continue;
            }
            seen[start] = true;
            // A stack of our own: chains of references are as long as their author likes.
            let mut path = vec![(start, edges(&self.0[start]).into_iter())];
            while let Some((node, next)) = path.last_mut() {
                match next.next() {
                    Some(next) if seen[next] => {}
                    Some(next) => {
                        seen[next] = true;
                        path.push((next, edges(&self.0[next]).into_iter()));
                    }
                    None => {
                        order.push(*node);
                        path.pop();
                    }
                }
            }
        }
        order
    }
}

fn places(order: &[usize]) -> Vec<usize> {
    let mut places = vec![0; order.len()];
    for (place, &node) in order.iter().enumerate() {
        places[node] = place;
    }
    places
}

impl Node {
    fn all(&self) -> Vec<usize> {
        [&self.beside[..], &self.apart, &self.within].concat()
    }
}

struct Builder<'a> {
    root: &'a Value,
    /// Places that have a name, with their JSON pointers.
    names: HashMap<&'a str, (&'a Value, String)>,
    /// By address: a place in the schema is one node, however it is come to.
    index: HashMap<*const Value, usize>,
    found: Vec<(&'a Value, String)>,
    patterns: usize,
}

impl<'a> Builder<'a> {
    fn node(&mut self, value: &'a Value, at: String) -> usize {
        *self.index.entry(std::ptr::from_ref(value)).or_insert_with(|| {
            self.found.push((value, at));
            self.found.len() - 1
        })
    }

    /// What has the wrong form for its keyword is left out: the meta-schema finds it later.
    fn edges(&mut self, members: &'a Map<String, Value>, at: &str) -> Result<Node, Problem> {
        let mut node = Node::default();
        for (keyword, value) in members {
            let at = child(at, keyword);
            match (keyword.as_str(), value) {
                ("$ref", Value::String(reference)) => {
                    let (target, at) = self.target(reference).map_err(|why| problem(&at, why))?;
                    node.beside.push(self.node(target, at));
                }
                ("not" | "if" | "then" | "else", value) => node.beside.push(self.node(value, at)),
                ("allOf" | "anyOf" | "oneOf", Value::Array(items)) => {
                    node.beside.extend(items.iter().zip(0..).map(|(item, place)| self.node(item, child(&at, place))));
                }
                ("dependentSchemas" | "dependencies", Value::Object(map)) => {
                    let schemas = map.iter().filter(|(_, value)| !value.is_array());
                    node.beside.extend(schemas.map(|(name, value)| self.node(value, child(&at, name))));
                }
                ("properties", Value::Object(map)) => {
                    node.parts.value += map.len() as u64 / NAMES_IN_A_STEP;
                    node.apart.extend(map.iter().map(|(name, value)| self.node(value, child(&at, name))));
                }
                ("prefixItems", Value::Array(items)) => {
                    node.apart.extend(items.iter().zip(0..).map(|(item, place)| self.node(item, child(&at, place))));
                }
                ("patternProperties", Value::Object(map)) => {
                    self.patterns += map.len();
                    node.parts.byte += map.keys().map(|pattern| steps_for_a_byte(pattern)).sum::<u64>();
                    node.within.extend(map.iter().map(|(name, value)| self.node(value, child(&at, name))));
                }
                (
                    "additionalProperties"
                    | "unevaluatedProperties"
                    | "propertyNames"
                    | "items"
                    | "contains"
                    | "unevaluatedItems"
                    | "contentSchema",
                    value,
                ) => node.within.push(self.node(value, at)),
                ("pattern", Value::String(pattern)) => {
                    self.patterns += 1;
                    node.own.byte += steps_for_a_byte(pattern);
                }
                ("format" | "minLength" | "maxLength" | "contentEncoding" | "contentMediaType", _) => {
                    node.own.byte += 1
                }
                ("enum", Value::Array(choices)) => {
                    let all = |is: fn(&Value) -> bool| choices.iter().all(|choice| is(choice) || choice.is_null());
                    // Among texts, or integers, one is looked up; but for what is written otherwise, as 2.0 is.
                    let cost = match (all(Value::is_string), all(Value::is_i64)) {
                        (true, _) => continue,
                        (_, true) => &mut node.own.fraction,
                        _ => &mut node.own.value,
                    };
                    *cost += values(value);
                }
                ("const" | "dependentRequired", _) => node.own.value += values(value),
                ("uniqueItems", Value::Bool(true)) => node.deep.value += 1,
                _ => {}
            }
        }
        if self.patterns > MOST_PATTERNS {
            return Err(problem(at, format_args!("a schema may have {MOST_PATTERNS} patterns in all")));
        }
        if members.contains_key("unevaluatedProperties") || members.contains_key("unevaluatedItems") {
            // What the others beside it have evaluated is found out by going through them once more.
            node.beside.extend_from_within(..);
        }
        Ok(node)
    }

    /// What a reference refers to: a place in this schema, and its JSON pointer.
    fn target(&self, reference: &str) -> Result<(&'a Value, String), String> {
        let found = match fragment(reference)? {
            Fragment::Pointer(pointer) => unescaped(pointer)
                .and_then(|pointer| self.root.pointer(&pointer))
                .map(|target| (target, pointer.to_owned())),
            Fragment::Name(name) => self.names.get(name).cloned(),
        };
        found.ok_or_else(|| format!("there is nothing at \"{}\"", cut(reference)))
    }
}

/// What a reference within the same schema says after its `#`.
enum Fragment<'a> {
    /// A JSON pointer, percent-encoded.
    Pointer(&'a str),
    /// An `$anchor`.
    Name(&'a str),
}

fn fragment(reference: &str) -> Result<Fragment<'_>, String> {
    match reference.strip_prefix('#') {
        Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => Ok(Fragment::Pointer(pointer)),
        Some(name) if is_name(name) => Ok(Fragment::Name(name)),
        _ => Err(format!(
            "\"{}\" leads outside the schema; a reference is `#`, `#/…` or an `$anchor` in it, such as `#/$defs/name`",
            cut(reference)
        )),
    }
}

/// As the meta-schema has it. A name needs no percent-encoding, so one that has it is none.
fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
}

/// Finds what has a name, also where it is no schema (a `const`, an example): a name that stands there once can mean
/// nothing else to whoever evaluates the schema. So no name may stand there twice.
fn find_names<'a>(
    value: &'a Value,
    at: &str,
    names: &mut HashMap<&'a str, (&'a Value, String)>,
) -> Result<(), Problem> {
    match value {
        Value::Object(members) => members.iter().try_for_each(|(key, member)| {
            if let (Some(name), true) = (member.as_str(), NAMES.contains(&key.as_str()))
                && names.insert(name, (value, at.to_owned())).is_some()
            {
                return Err(problem(&child(at, key), format_args!("\"{}\" is there twice", cut(name))));
            }
            find_names(member, &child(at, key), names)
        }),
        Value::Array(items) => {
            items.iter().zip(0..).try_for_each(|(item, place)| find_names(item, &child(at, place), names))
        }
        _ => Ok(()),
    }
}

/// The fragment of a URI without its percent-encoding.
fn unescaped(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let (high, low) = (digit()?, digit()?);
            bytes.push(u8::try_from(high * 16 + low).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// A value and everything in it.
fn values(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(values).sum(),
        Value::Object(members) => members.values().map(values).sum(),
        _ => 0,
    }
}

fn root_only(members: &Map<String, Value>) -> Result<(), Problem> {
    dialect(members)?;
    match members.keys().find(|key| matches!(key.as_str(), "$dynamicRef" | "$recursiveRef")) {
        Some(key) => Err(problem(&child("", key), "a reference is `$ref` with a place in this schema")),
        None => Ok(()),
    }
}

fn nothing_foreign(value: &Value, at: &str) -> Result<(), Problem> {
    match value {
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            let at = child(at, key);
            // A property may have such a name, and then has a schema, which is no string.
            if value.is_string() && NOT_BELOW_THE_ROOT.contains(&key.as_str()) {
                return Err(problem(&at, format_args!("`{key}` has no place below the root of the schema")));
            }
            // Also where nothing comes to, because the compiler fetches what any of them names.
            if let (Some(reference), "$ref") = (value.as_str(), key.as_str()) {
                fragment(reference).map_err(|what| problem(&at, what))?;
            }
            nothing_foreign(value, &at)
        }),
        Value::Array(items) => {
            items.iter().zip(0..).try_for_each(|(item, place)| nothing_foreign(item, &child(at, place)))
        }
        _ => Ok(()),
    }
}

//! The manifest: what a plugin says about itself, and what of it is accepted.

mod check;
mod members;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use check::is_plugin_name;

use crate::error::PluginError;

/// What a plugin says about itself: the answer of its `describe`.
///
/// It is JSON. `docs/manifest.schema.json` is its form as a schema, for authors and their editors; this type is read by
/// [`parse`](Self::parse), which accepts the same and no more.
///
/// Members that this version does not know are kept and shown, and never obeyed: a plugin gains nothing by a member that a later
/// version understands.
///
/// ```
/// use longhaul::{Manifest, Pace};
///
/// let manifest = Manifest::parse(r#"{
///     "manifest": 1,
///     "name": "csv-profile",
///     "version": "1.2.0",
///     "description": "Looks through tables.",
///     "tools": [{
///         "name": "profile_csv",
///         "description": "Says what is in a CSV file, column by column.",
///         "inputSchema": {"type": "object", "properties": {"csv": {"type": "string"}}, "required": ["csv"]},
///         "hints": {"readOnlyHint": true}
///     }]
/// }"#)?;
/// assert_eq!(manifest.tools[0].pace, Pace::Any);
///
/// let error = Manifest::parse(r#"{"manifest": 1, "name": "csv", "version": "one"}"#).unwrap_err();
/// assert!(error.to_string().ends_with("(at `/version`)"));
/// # Ok::<(), longhaul::PluginError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Manifest {
    /// The version of the manifest's form: 1.
    pub manifest: u32,
    /// What the plugin is called: `[a-z][a-z0-9-]{0,63}`.
    pub name: String,
    /// Its version, a semantic one (<https://semver.org>).
    pub version: String,
    /// What it is for, to an operator who thinks of installing it.
    pub description: String,
    /// Under what terms it may be used: an SPDX expression.
    pub license: Option<String>,
    /// Where to read more: an `http` or `https` URL.
    pub homepage: Option<String>,
    /// What it offers: at least one tool, no name twice.
    pub tools: Vec<Tool>,
    /// What it cannot reach unless an operator grants it; nothing twice.
    pub needs: Vec<Need>,
    /// Members that this version does not know.
    pub extra: Map<String, Value>,
    /// What was parsed, to be shown as the author wrote it.
    source: Value,
}

/// A tool of a plugin.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Tool {
    /// What it is called: `[a-z][a-z0-9_]{0,63}`.
    pub name: String,
    /// What to show to people instead of its name.
    pub title: Option<String>,
    /// What it does and when to use it. A model decides by this.
    pub description: String,
    /// A JSON Schema (2020-12) of `"type": "object"`: every input is checked against it before the task is taken.
    pub input_schema: Value,
    /// A JSON Schema (2020-12) of the structured output, if there is any.
    pub output_schema: Option<Value>,
    /// How careful a caller has to be.
    pub hints: Hints,
    /// How long it takes.
    pub pace: Pace,
    /// Members that this version does not know.
    pub extra: Map<String, Value>,
}

/// MCP's tool annotations. They are the author's word, and no ground to trust a tool.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Hints {
    /// `readOnlyHint`: it changes nothing.
    pub read_only: Option<bool>,
    /// `destructiveHint`: what it changes may be lost.
    pub destructive: Option<bool>,
    /// `idempotentHint`: to call it again with the same input changes nothing more.
    pub idempotent: Option<bool>,
    /// `openWorldHint`: it deals with what is outside, not with its input alone.
    pub open_world: Option<bool>,
    /// Others, such as `title`.
    pub extra: Map<String, Value>,
}

/// How long a tool takes: whether a caller waits for it, or goes on meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Pace {
    /// Seconds, and nobody is asked.
    Quick,
    /// It depends.
    #[default]
    Any,
    /// Minutes, or weeks.
    Long,
}

/// Something that a plugin cannot reach unless an operator grants it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Need {
    /// What kind of thing it is.
    pub kind: NeedKind,
    /// Which one: a host such as `api.example.com`, the name of a setting or of a secret, or `plugin/tool`.
    pub name: String,
    /// What for, to the operator who decides.
    pub why: String,
    /// Whether the plugin is of no use without it, so that a task is not even started; `true` unless the author says else.
    pub required: bool,
    /// Members that this version does not know.
    pub extra: Map<String, Value>,
}

/// What kind of thing a [`Need`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeedKind {
    /// A host that is spoken to by HTTP.
    Http,
    /// A value that an operator sets.
    Setting,
    /// A value that the host puts on the wire, and never hands to the plugin.
    Secret,
    /// A tool of another plugin, to be started as a child.
    Tool,
}

impl Manifest {
    /// Reads a manifest, or says what is wrong with it and where. Larger than a mebibyte it is not even looked at.
    pub fn parse(text: &str) -> Result<Self, PluginError> {
        Self::read(text, true)
    }

    /// Reads one that was [parsed](Self::parse) before it was kept.
    pub(crate) fn kept(text: &str) -> Result<Self, PluginError> {
        Self::read(text, false)
    }

    fn read(text: &str, new: bool) -> Result<Self, PluginError> {
        check::manifest(text, new).map_err(|problem| PluginError::Manifest { at: problem.at, problem: problem.what })
    }

    /// The tool of that name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| tool.name == name)
    }
}

/// The JSON that was parsed.
impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.source.serialize(serializer)
    }
}

impl Pace {
    pub(crate) const ALL: [Self; 3] = [Self::Quick, Self::Any, Self::Long];

    /// The word used in a manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Any => "any",
            Self::Long => "long",
        }
    }
}

impl NeedKind {
    pub(crate) const ALL: [Self; 4] = [Self::Http, Self::Setting, Self::Secret, Self::Tool];

    /// The word used in a manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Setting => "setting",
            Self::Secret => "secret",
            Self::Tool => "tool",
        }
    }

    /// Whether something of that kind can be called so.
    pub(crate) fn fits(self, name: &str) -> bool {
        check::need_name(self, name)
    }

    /// What a name of that kind is.
    pub(crate) fn such_as(self) -> &'static str {
        match self {
            Self::Http => "a host such as `api.example.com`",
            Self::Setting | Self::Secret => {
                "a name of 1 to 64 letters, digits, `_`, `.` and `-`, the first of them a letter"
            }
            Self::Tool => "a tool of another plugin such as `csv-profile/profile_csv`",
        }
    }
}

impl fmt::Display for NeedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

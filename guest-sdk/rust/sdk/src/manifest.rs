//! What a plugin says about itself.

use serde::Serialize;
use serde_json::Value;

/// The manifest: what `describe` answers. [`plugin!`](crate::plugin) writes it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Manifest {
    /// The version of the manifest's own form.
    pub manifest: u32,
    /// `[a-z][a-z0-9-]{0,63}`.
    pub name: String,
    /// A semantic version.
    pub version: String,
    /// What the plugin is for, for the operator.
    pub description: String,
    /// An SPDX expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// Where to learn more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub homepage: Option<String>,
    /// The tools, in the order the author gave.
    pub tools: Vec<ToolSpec>,
    /// What the tools cannot reach unless the operator grants it.
    pub needs: Vec<Need>,
}

/// One tool in a [`Manifest`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolSpec {
    /// `[a-z][a-z0-9_]{0,63}`.
    pub name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does and when to use it: a model decides by this.
    pub description: String,
    /// A JSON Schema of an object.
    pub input_schema: Value,
    /// The JSON Schema of the structured output, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// How careful a caller has to be.
    pub hints: Hints,
    /// How long it takes.
    pub pace: Pace,
}

/// MCP's tool annotations; what the author did not say is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Hints {
    /// It changes nothing.
    #[serde(rename = "readOnlyHint", skip_serializing_if = "Option::is_none")]
    pub read_only: Option<bool>,
    /// It may destroy something.
    #[serde(rename = "destructiveHint", skip_serializing_if = "Option::is_none")]
    pub destructive: Option<bool>,
    /// Calling it again with the same input changes nothing more.
    #[serde(rename = "idempotentHint", skip_serializing_if = "Option::is_none")]
    pub idempotent: Option<bool>,
    /// It deals with the world outside, not with its input alone.
    #[serde(rename = "openWorldHint", skip_serializing_if = "Option::is_none")]
    pub open_world: Option<bool>,
}

/// How long a tool takes: whether a caller waits for it or goes on meanwhile.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pace {
    /// Seconds at most, and it asks nobody.
    Quick,
    /// It depends.
    #[default]
    Any,
    /// Minutes or weeks.
    Long,
}

/// Something that a plugin cannot reach unless the operator grants it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Need {
    /// What kind of thing.
    pub kind: NeedKind,
    /// Its target: a host such as `api.example.com`, the name of a setting or a secret, or `plugin/tool`.
    pub name: String,
    /// Why, for the operator who decides.
    pub why: String,
    /// Whether the plugin is of no use without it.
    pub required: bool,
}

/// The kinds of [`Need`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NeedKind {
    /// An HTTP host.
    Http,
    /// A setting, read with [`Task::setting`](crate::Task::setting).
    Setting,
    /// A secret, which the host puts on the wire and never hands to the plugin.
    Secret,
    /// Another tool, to start as a child.
    Tool,
}

impl Manifest {
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a manifest is JSON")
    }

    /// What no type could rule out: an input that is not an object.
    pub(crate) fn check(&self) -> Result<(), String> {
        for tool in &self.tools {
            if tool.input_schema.get("type").is_none_or(|kind| kind != "object") {
                return Err(format!(
                    "the input of the tool `{}` has to be a struct with named fields, because callers send a JSON object",
                    tool.name
                ));
            }
        }
        Ok(())
    }
}

/// A manifest without tools, for `plugin!`. What Cargo leaves empty is left out.
pub fn new(name: &str, version: &str, description: &str, license: &str, homepage: &str, needs: Vec<Need>) -> Manifest {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Manifest {
        manifest: 1,
        name: name.to_owned(),
        version: version.to_owned(),
        description: description.to_owned(),
        license: given(license),
        homepage: given(homepage),
        tools: Vec::new(),
        needs,
    }
}

/// One need, for `plugin!`.
pub fn need(kind: NeedKind, name: &str, why: &str, required: bool) -> Need {
    Need { kind, name: name.to_owned(), why: why.to_owned(), required }
}

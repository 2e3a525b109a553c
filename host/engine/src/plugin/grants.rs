//! What a caller grants to one task.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Manifest, NeedKind};
use crate::Error;
use crate::egress::HttpRule;
use crate::policy::allowed;

/// What was granted to one task, and so to its children, beside what the operator grants to their plugins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Grants {
    /// Tools that may be started as children: `plugin/tool`.
    #[serde(default)]
    pub tools: BTreeSet<String>,
    /// Requests that may be sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub http: Vec<HttpRule>,
}

impl Grants {
    /// Nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty() && self.http.is_empty()
    }

    /// Whether nothing is granted that nobody declares: the plugin, or one whose tools are started by it, or by those.
    /// `tools` gives the tools that a plugin may start, `find` the manifest of an installed plugin by its name.
    pub fn declared(
        &self,
        manifest: &Manifest,
        tools: impl Fn(&Manifest) -> BTreeSet<String>,
        find: impl Fn(&str) -> Result<Option<Manifest>, Error>,
    ) -> Result<(), Error> {
        let mut left = self.clone();
        let mut asked = BTreeSet::from([manifest.name.clone()]);
        let mut reached = vec![manifest.clone()];
        while let Some(next) = reached.pop() {
            left.http.retain(|rule| !next.declares_http(rule));
            for tool in tools(&next) {
                left.tools.remove(&tool);
                let plugin = tool.split('/').next().unwrap_or_default();
                if asked.insert(plugin.to_owned()) {
                    reached.extend(find(plugin)?);
                }
            }
        }
        let undeclared = |kind, name| Err(Error::UndeclaredGrant { plugin: manifest.name.clone(), kind, name });
        match (left.tools.first(), left.http.first()) {
            (Some(tool), _) => undeclared(NeedKind::Tool, tool.clone()),
            (None, Some(rule)) => undeclared(NeedKind::Http, rule.to_string()),
            (None, None) => Ok(()),
        }
    }
}

impl Manifest {
    /// Whether the plugin says that it starts that tool, `plugin/tool`.
    pub(crate) fn declares_tool(&self, tool: &str) -> bool {
        self.needs.iter().any(|need| need.kind == NeedKind::Tool && need.name == tool)
    }

    /// Whether the plugin says that it sends requests of which that rule allows some.
    pub(crate) fn declares_http(&self, rule: &HttpRule) -> bool {
        self.needs.iter().any(|need| need.kind == NeedKind::Http && allowed(&need.name, rule).is_some())
    }
}

//! What a task may reach: what its plugin declares and the caller granted, the intersection.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Manifest, NeedKind};
use crate::Error;

/// What the caller granted for one task, and so for its children.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Grants {
    /// Tools that may be started as children: `plugin/tool`.
    #[serde(default)]
    pub tools: BTreeSet<String>,
}

impl Grants {
    /// Nothing is granted.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether nothing is granted that nobody declares: the plugin, or one whose tools are started by it, or by those.
    /// `find` gives the manifest of an installed plugin by its name.
    pub fn declared(
        &self,
        manifest: &Manifest,
        find: impl Fn(&str) -> Result<Option<Manifest>, Error>,
    ) -> Result<(), Error> {
        let mut left: BTreeSet<&String> = self.tools.iter().collect();
        let mut asked = BTreeSet::from([manifest.name.clone()]);
        let mut reached = vec![manifest.clone()];
        while let Some(next) = reached.pop() {
            for tool in self.tools.iter().filter(|tool| next.declares_tool(tool)) {
                left.remove(tool);
                let plugin = tool.split('/').next().unwrap_or_default();
                if asked.insert(plugin.to_owned()) {
                    reached.extend(find(plugin)?);
                }
            }
        }
        match left.first() {
            Some(tool) => {
                Err(Error::UndeclaredGrant { plugin: manifest.name.clone(), kind: "tool", name: (*tool).clone() })
            }
            None => Ok(()),
        }
    }
}

impl Manifest {
    /// Whether the plugin says that it starts that tool, `plugin/tool`.
    pub(crate) fn declares_tool(&self, tool: &str) -> bool {
        self.needs.iter().any(|need| need.kind == NeedKind::Tool && need.name == tool)
    }

    /// Whether the plugin has what it cannot do without.
    pub(crate) fn has_what_it_needs(&self, settings: &BTreeMap<String, String>, grants: &Grants) -> Result<(), Error> {
        let missing = self.needs.iter().filter(|need| need.required).find(|need| match need.kind {
            NeedKind::Setting => !settings.contains_key(&need.name),
            NeedKind::Tool => !grants.tools.contains(&need.name),
            NeedKind::Http | NeedKind::Secret => true,
        });
        match missing {
            Some(need) => Err(Error::MissingGrant {
                plugin: self.name.clone(),
                kind: need.kind.as_str().into(),
                name: need.name.clone(),
                why: need.why.clone(),
            }),
            None => Ok(()),
        }
    }
}

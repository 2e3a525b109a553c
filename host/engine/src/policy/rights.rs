//! What one task may reach: declared and granted, the intersection. There is no other place where that is decided.

use std::collections::{BTreeMap, BTreeSet};

use super::Policy;
use crate::Error;
use crate::egress::{HttpRule, Secret};
use crate::plugin::{Grants, Manifest, Need, NeedKind};

/// What a task may reach now.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rights {
    /// Requests that it may send.
    pub http: Vec<HttpRule>,
    /// Values of its settings.
    pub settings: BTreeMap<String, String>,
    /// Secrets that the host puts on the wire for it.
    pub secrets: Vec<Secret>,
    /// Tools that it may start: `plugin/tool`.
    pub tools: BTreeSet<String>,
}

/// Whose rights are asked for.
#[derive(Clone, Copy)]
pub(crate) struct Asker<'a> {
    pub manifest: &'a Manifest,
    pub namespace: &'a str,
    /// What was granted to this task alone.
    pub grants: &'a Grants,
    /// Settings that came with its start.
    pub settings: &'a BTreeMap<String, String>,
}

impl Policy {
    /// What that task may reach: what its plugin declares, as far as the operator grants it to the plugin or to the task.
    pub(crate) fn rights(&self, asker: Asker<'_>) -> Rights {
        let mut rights = Rights::default();
        let sections: Vec<_> = self.sections(asker.namespace, &asker.manifest.name).collect();
        for Need { kind, name, .. } in &asker.manifest.needs {
            match kind {
                NeedKind::Http => {
                    let granted = sections.iter().flat_map(|section| &section.http).chain(&asker.grants.http);
                    for rule in granted.filter_map(|granted| allowed(name, granted)) {
                        if !rights.http.contains(&rule) {
                            rights.http.push(rule);
                        }
                    }
                }
                NeedKind::Setting => {
                    let granted = sections.iter().rev().find_map(|section| section.settings.get(name.as_str()));
                    let value = asker.settings.get(name).or_else(|| granted.map(|value| &value.0));
                    rights.settings.extend(value.map(|value| (name.clone(), value.clone())));
                }
                NeedKind::Secret => {
                    let granted = sections.iter().rev().find_map(|section| section.secrets.get(name.as_str()));
                    rights.secrets.extend(granted.and_then(|usage| {
                        let source = self.file.secrets.get(usage.secret.as_ref().unwrap_or(name).as_str())?;
                        Some(Secret { name: name.clone(), source: source.0.clone(), usage: usage.clone() })
                    }));
                }
                NeedKind::Tool => {
                    let granted = sections.iter().any(|section| section.tools.contains(name.as_str()));
                    if granted || asker.grants.tools.contains(name) {
                        rights.tools.insert(name.clone());
                    }
                }
            }
        }
        rights
    }
}

/// What is left of a rule that is granted where `need` is declared. `*` declares whatever the operator grants, plain HTTP and
/// addresses too: for plugins that work on hosts which only the operator knows.
pub(crate) fn allowed(need: &str, granted: &HttpRule) -> Option<HttpRule> {
    match need {
        "*" => Some(granted.clone()),
        need => granted.within(&HttpRule::parse(need).ok()?),
    }
}

impl Rights {
    /// Whether one of the plugin's needs is met.
    pub fn meet(&self, need: &Need) -> bool {
        match need.kind {
            NeedKind::Http => self.http.iter().any(|rule| allowed(&need.name, rule).is_some()),
            NeedKind::Setting => self.settings.contains_key(&need.name),
            NeedKind::Secret => self.secrets.iter().any(|secret| secret.name == need.name),
            NeedKind::Tool => self.tools.contains(&need.name),
        }
    }

    /// Whether the plugin has what it cannot do without.
    pub fn suffice(&self, manifest: &Manifest) -> Result<(), Error> {
        let plugin = || manifest.name.clone();
        for need in manifest.needs.iter().filter(|need| need.required) {
            let name = need.name.clone();
            if !self.meet(need) {
                return Err(Error::MissingGrant { plugin: plugin(), kind: need.kind, name, why: need.why.clone() });
            }
            let granted = self.secrets.iter().filter(|secret| need.kind == NeedKind::Secret && secret.name == name);
            for secret in granted {
                let missing = |problem| Error::Secret { plugin: plugin(), name: name.clone(), problem };
                secret.check().map_err(missing)?;
            }
        }
        Ok(())
    }
}

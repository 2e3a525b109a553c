//! What becomes of each need of a plugin.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Asker, Policy};
use crate::plugin::{Grants, Manifest, NeedKind};

/// What becomes of something that a plugin needs, or of something that it is granted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct NeedVerdict {
    /// What kind of thing it is.
    pub kind: NeedKind,
    /// Which one, as the plugin declares it; for what is not needed, as it is granted.
    pub name: String,
    /// What becomes of it.
    pub verdict: Verdict,
    /// The plugin is of no use without it.
    pub required: bool,
    /// The plugin's reason; empty for what it does not need.
    pub why: String,
}

/// What becomes of a need.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Declared and granted, at least in part.
    Granted,
    /// Declared, and not granted.
    NotGranted,
    /// Granted, and not declared: the plugin can make no use of it.
    NotNeeded,
}

impl Policy {
    /// What becomes, in that namespace, of each need that the plugin declares, in its order; then what it is granted and
    /// does not need.
    ///
    /// ```
    /// use longhaul::{Manifest, Policy, Verdict};
    ///
    /// let manifest = Manifest::parse(r#"{
    ///     "manifest": 1, "name": "desk", "version": "1.0.0", "description": "Publishes.",
    ///     "tools": [{ "name": "publish", "description": "Publishes.", "inputSchema": { "type": "object" } }],
    ///     "needs": [{ "kind": "setting", "name": "language", "why": "to write in it" }]
    /// }"#)?;
    /// let policy = Policy::parse("[plugins.desk.settings]\nlanguage = \"de\"")?;
    /// assert_eq!(policy.verdicts("default", &manifest)[0].verdict, Verdict::Granted);
    /// assert_eq!(Policy::default().verdicts("default", &manifest)[0].verdict, Verdict::NotGranted);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn verdicts(&self, namespace: &str, manifest: &Manifest) -> Vec<NeedVerdict> {
        let (grants, settings) = (Grants::default(), BTreeMap::new());
        let rights = self.rights(Asker { manifest, namespace, grants: &grants, settings: &settings });
        let mut verdicts: Vec<NeedVerdict> = manifest
            .needs
            .iter()
            .map(|need| NeedVerdict {
                kind: need.kind,
                name: need.name.clone(),
                verdict: if rights.meet(need) { Verdict::Granted } else { Verdict::NotGranted },
                required: need.required,
                why: need.why.clone(),
            })
            .collect();
        for section in self.sections(namespace, &manifest.name) {
            let named = |kind, name: &str| manifest.needs.iter().any(|need| need.kind == kind && need.name == name);
            let http = section
                .http
                .iter()
                .filter(|rule| !manifest.declares_http(rule))
                .map(|rule| (NeedKind::Http, rule.to_string()));
            let settings = section.settings.keys().map(|name| (NeedKind::Setting, name.to_string()));
            let secrets = section.secrets.keys().map(|name| (NeedKind::Secret, name.to_string()));
            let tools = section.tools.iter().map(|name| (NeedKind::Tool, name.to_string()));
            let others = settings.chain(secrets).chain(tools).filter(|(kind, name)| !named(*kind, name));
            for (kind, name) in http.chain(others) {
                let idle = NeedVerdict { kind, name, verdict: Verdict::NotNeeded, required: false, why: String::new() };
                if !verdicts.contains(&idle) {
                    verdicts.push(idle);
                }
            }
        }
        verdicts
    }
}

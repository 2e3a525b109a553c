//! What the operator allows: `longhaul.toml`, and what a task may reach by it.
//!
//! A task reaches what its plugin declares *and* the operator grants ([`Rights`]). Grants are looked up when they are
//! needed and never on replay: what a guest was given, or refused, is in its journal.

mod error;
mod file;
mod limits;
mod live;
mod rights;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

pub use error::PolicyError;
use file::{File, PluginSection};
pub(crate) use file::{HostSection, NAMESPACE_BYTES, SETTING_BYTES};
pub(crate) use limits::{LimitsInForce, Told};
pub(crate) use live::LivePolicy;
pub(crate) use rights::{Asker, Rights, allowed};
pub use verdict::{NeedVerdict, Verdict};

use crate::Error;
use crate::egress::HttpConfig;

/// What the operator allows: grants, settings, secrets and limits, by plugin and, where they differ, by namespace.
///
/// It is written as TOML. `docs/longhaul.toml` has every key with its default; nothing is granted by default.
///
/// What a section of a namespace grants is added to what the plugin's own section grants; where both name a setting, a
/// secret, a limit, an alias or a digest, the namespace's counts.
///
/// ```
/// use longhaul::Policy;
///
/// let policy = Policy::parse(r#"
///     [plugins.site-audit]
///     http = ["www.example.com"]
///     settings = { language = "de" }
///
///     [namespaces.acme.plugins.site-audit]
///     http = ["shop.example.com"]
/// "#)?;
/// # Ok::<(), longhaul::PolicyError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Policy {
    file: File,
}

impl Policy {
    /// Reads a policy, or says what is wrong with it, on which line, and what is allowed there.
    ///
    /// # Errors
    ///
    /// [`PolicyError`]: unknown keys, values out of their range, two plugins with one alias, a secret that has no source.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let file: File = toml::from_str(text).map_err(|error| PolicyError::of(text, &error))?;
        let policy = Self { file };
        policy.check()?;
        Ok(policy)
    }

    /// The section `[server]`, as it is written: whoever serves the host gives it a meaning.
    pub fn server(&self) -> Option<&toml::Table> {
        self.file.server.as_ref()
    }

    /// What a plugin is to be called towards agents of that namespace, if not by its own name.
    ///
    /// ```
    /// let policy = longhaul::Policy::parse("[plugins.site-audit]\nalias = \"audit\"")?;
    /// assert_eq!(policy.alias("default", "site-audit"), Some("audit"));
    /// assert_eq!(policy.plugin("default", "audit"), "site-audit");
    /// # Ok::<(), longhaul::PolicyError>(())
    /// ```
    pub fn alias(&self, namespace: &str, plugin: &str) -> Option<&str> {
        self.sections(namespace, plugin).rev().find_map(|section| section.alias.as_deref())
    }

    /// The plugin that is called so in that namespace, by its alias; or what was given, if that is nobody's alias.
    pub fn plugin<'a>(&'a self, namespace: &str, called: &'a str) -> &'a str {
        let own = self.file.namespaces.get(namespace).into_iter().flat_map(|section| section.plugins.keys());
        let mut names = own.chain(self.file.plugins.keys()).map(|name| &**name);
        names.find(|name| self.alias(namespace, name) == Some(called)).unwrap_or(called)
    }

    /// Refuses a plugin that is pinned to another digest. Without a namespace: in all of them.
    pub(crate) fn pinned(&self, namespace: Option<&str>, plugin: &str, digest: &str) -> Result<(), Error> {
        let sections = self.sections(namespace.unwrap_or_default(), plugin);
        match sections.rev().find_map(|section| section.digest.as_deref()) {
            Some(pinned) if pinned != digest => {
                Err(Error::Pinned { plugin: plugin.into(), pinned: pinned.to_owned(), found: digest.into() })
            }
            _ => Ok(()),
        }
    }

    /// How the host reaches the network.
    pub(crate) fn http(&self) -> &HttpConfig {
        &self.file.http
    }

    /// How the host is to be set up.
    pub(crate) fn host(&self) -> &HostSection {
        &self.file.host
    }

    /// What is said of a plugin: in general, and then in that namespace.
    fn sections(&self, namespace: &str, plugin: &str) -> impl DoubleEndedIterator<Item = &PluginSection> {
        let own = self.file.namespaces.get(namespace).and_then(|section| section.plugins.get(plugin));
        self.file.plugins.get(plugin).into_iter().chain(own)
    }

    /// What can only be judged when all of it is read.
    fn check(&self) -> Result<(), PolicyError> {
        let host = &self.file.host;
        for (name, queue) in [("namespace_queue", host.namespace_queue), ("plugin_queue", host.plugin_queue)] {
            queue.checked("it").map_err(|error| PolicyError::at(format!("host.{name}"), error.to_string()))?;
        }
        self.plugins_are_sound("plugins", &self.file.plugins)?;
        self.aliases_are_unique("")?;
        for (namespace, section) in &self.file.namespaces {
            self.plugins_are_sound(&format!("namespaces.{namespace}.plugins"), &section.plugins)?;
            self.aliases_are_unique(namespace)?;
        }
        Ok(())
    }

    fn plugins_are_sound(
        &self,
        at: &str,
        plugins: &BTreeMap<file::PluginName, PluginSection>,
    ) -> Result<(), PolicyError> {
        let (host, _) = self.limits();
        for (plugin, section) in plugins {
            section
                .limits
                .plugin(host, &host.most)
                .map_err(|error| PolicyError::at(format!("{at}.{plugin}.limits"), error.to_string()))?;
            for (name, secret) in &section.secrets {
                let source: &str = secret.secret.as_deref().unwrap_or(name);
                if !self.file.secrets.contains_key(source) {
                    let problem = format!(
                        "there is no secret `{source}`: say where it is, `[secrets]` `{source} = {{ env = \"VARIABLE\" }}`"
                    );
                    return Err(PolicyError::at(format!("{at}.{plugin}.secrets.{name}"), problem));
                }
            }
        }
        Ok(())
    }

    /// A name means one plugin.
    fn aliases_are_unique(&self, namespace: &str) -> Result<(), PolicyError> {
        let own = self.file.namespaces.get(namespace).map(|section| &section.plugins);
        let own = own.into_iter().flat_map(BTreeMap::keys);
        let plugins: BTreeSet<&str> = self.file.plugins.keys().chain(own).map(|name| &**name).collect();
        let mut seen = BTreeMap::new();
        for plugin in &plugins {
            let Some(alias) = self.alias(namespace, plugin) else { continue };
            let same_name = plugins.get(alias).filter(|other| *other != plugin).copied();
            if let Some(other) = seen.insert(alias, *plugin).or(same_name) {
                let problem = format!("`{alias}` is also what `{other}` is called: give each another name");
                return Err(PolicyError::at(format!("plugins.{plugin}.alias"), problem));
            }
        }
        Ok(())
    }
}

impl FromStr for Policy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        Self::parse(text)
    }
}

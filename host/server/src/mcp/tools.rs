//! What a client is offered: the tools of the installed plugins, each under a name of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use longhaul::{Host, Manifest, Pace, Tool};
use rmcp::model::{JsonObject, MetaObject, Tool as McpTool, ToolAnnotations};
use serde_json::{Value, json};

use super::client::Client;
use super::companions;
use super::meta;

/// The tools of a host, by the names under which clients know them.
pub struct Catalog(BTreeMap<String, Offered>);

/// A tool, and whose it is.
pub struct Offered {
    plugin: String,
    /// What the operator calls the plugin.
    alias: Option<String>,
    version: String,
    /// Of the newest plugin of that name, which a call runs. A name may be another plugin's alias.
    pub digest: String,
    pub tool: Tool,
}

/// A plugin as it is offered in one namespace.
struct Installed {
    manifest: Manifest,
    digest: String,
    alias: Option<String>,
}

impl Catalog {
    pub async fn read(host: &Host, namespace: &str) -> Result<Self, longhaul::Error> {
        let policy = host.policy();
        let plugins = host.plugins().await?.into_iter().map(|plugin| Installed {
            alias: policy.alias(namespace, &plugin.name).map(str::to_owned),
            digest: plugin.digest,
            manifest: plugin.manifest,
        });
        Ok(Self::of(plugins))
    }

    /// Of each plugin the newest, which comes first.
    fn of(plugins: impl Iterator<Item = Installed>) -> Self {
        let mut newest: Vec<Installed> = Vec::new();
        for plugin in plugins {
            if newest.last().is_none_or(|last| last.manifest.name != plugin.manifest.name) {
                newest.push(plugin);
            }
        }
        // The policy knows only the plugins that it speaks of; another one may be called what it calls one of those.
        let names: BTreeSet<String> = newest.iter().map(|plugin| plugin.manifest.name.clone()).collect();
        for plugin in &mut newest {
            plugin.alias = plugin.alias.take().filter(|alias| !names.contains(alias));
        }
        let mut known: BTreeMap<&str, usize> = companions::NAMES.map(|name| (name, 1)).into();
        let own_names = newest.iter().filter(|plugin| plugin.alias.is_none());
        for tool in own_names.flat_map(|plugin| &plugin.manifest.tools) {
            *known.entry(&tool.name).or_default() += 1;
        }
        // A companion's name is never a plugin's, and counts as one that two have.
        let is_alone = |name: &str| known.get(name) == Some(&1);
        let mut named = BTreeMap::new();
        for Installed { manifest, digest, alias } in &newest {
            let called = alias.as_ref().unwrap_or(&manifest.name);
            for tool in &manifest.tools {
                let mut name = tool.name.clone();
                if alias.is_some() || !is_alone(&name) {
                    name = format!("{called}_{}", tool.name);
                    // No other name has a dot.
                    if is_alone(&name) || named.contains_key(&name) {
                        name = format!("{called}.{}", tool.name);
                    }
                }
                let offered = Offered {
                    plugin: manifest.name.clone(),
                    alias: alias.clone(),
                    version: manifest.version.clone(),
                    digest: digest.clone(),
                    tool: tool.clone(),
                };
                named.insert(name, offered);
            }
        }
        Self(named)
    }

    pub fn get(&self, name: &str) -> Option<&Offered> {
        self.0.get(name)
    }

    /// All names, for a message.
    pub fn names(&self) -> String {
        self.0.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// The list that a client gets, always in the same order.
    pub fn list(&self, client: &Client) -> Vec<McpTool> {
        let own = self.0.iter().map(|(name, offered)| offered.shown(name, client));
        let companions = if client.needs_no_companions() { Vec::new() } else { companions::list() };
        own.chain(companions).collect()
    }
}

impl Offered {
    /// `plugin/tool`.
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.plugin, self.tool.name)
    }

    /// Whether callers are told what its structured output looks like. Clients hold every answer to that, also one that says
    /// that the task goes on; so those that may get such an answer are told only where it is an exception.
    pub fn promises_output(&self, client: &Client) -> bool {
        self.tool.output_schema.is_some() && (client.tasks || self.tool.pace == Pace::Quick)
    }

    pub fn shown(&self, name: &str, client: &Client) -> McpTool {
        let Self { tool, .. } = self;
        let mut shown = McpTool::new(name.to_owned(), tool.description.clone(), object(&tool.input_schema));
        shown.title.clone_from(&tool.title);
        if let (true, Some(schema)) = (self.promises_output(client), &tool.output_schema) {
            shown.output_schema = Some(object(schema));
        }
        let hints = &tool.hints;
        shown.annotations = Some(ToolAnnotations::from_raw(
            tool.title.clone(),
            hints.read_only,
            hints.destructive,
            hints.idempotent,
            hints.open_world,
        ));
        let mut about =
            json!({"plugin": self.plugin, "version": self.version, "tool": tool.name, "pace": tool.pace.as_str()});
        if let Some(alias) = &self.alias {
            about["alias"] = alias.as_str().into();
        }
        shown.meta = Some(MetaObject([(meta::TOOL.to_owned(), about)].into_iter().collect()));
        shown
    }
}

fn object(schema: &Value) -> Arc<JsonObject> {
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugin(name: &str, tools: &[&str]) -> Installed {
        let tool = |name: &&str| json!({"name": name, "description": "Works.", "inputSchema": {"type": "object"}});
        let tools: Vec<_> = tools.iter().map(tool).collect();
        let manifest =
            json!({"manifest": 1, "name": name, "version": "1.0.0", "description": "A plugin.", "tools": tools});
        let manifest = Manifest::parse(&manifest.to_string()).expect("a manifest");
        Installed { manifest, digest: String::new(), alias: None }
    }

    fn names<const N: usize>(plugins: [Installed; N]) -> Vec<(String, String)> {
        let catalog = Catalog::of(plugins.into_iter());
        catalog.0.iter().map(|(name, offered)| (name.clone(), offered.full_name())).collect()
    }

    #[test]
    fn a_tool_is_known_by_its_own_name_unless_another_has_it() {
        let plugins = [plugin("a", &["work", "rest"]), plugin("b", &["work", "task_wait"])];
        assert_eq!(
            names(plugins),
            [("a_work", "a/work"), ("b_task_wait", "b/task_wait"), ("b_work", "b/work"), ("rest", "a/rest")]
                .map(|(name, tool)| (name.to_owned(), tool.to_owned()))
        );
    }

    #[test]
    fn no_two_tools_are_ever_known_by_one_name() {
        let plugins = [plugin("a", &["work"]), plugin("b", &["work"]), plugin("c", &["a_work"])];
        assert_eq!(
            names(plugins),
            [("a.work", "a/work"), ("a_work", "c/a_work"), ("b_work", "b/work")]
                .map(|(name, tool)| (name.to_owned(), tool.to_owned()))
        );
    }

    #[test]
    fn a_plugin_is_called_by_its_alias_and_leaves_its_tools_names_to_others() {
        let called = |alias: &str, plugin: Installed| Installed { alias: Some(alias.to_owned()), ..plugin };
        let plugins = [
            called("x", plugin("a", &["work"])),
            plugin("b", &["work", "x_work"]),
            // Another one has that name.
            called("b", plugin("c", &["rest"])),
        ];
        assert_eq!(
            names(plugins),
            [("rest", "c/rest"), ("work", "b/work"), ("x.work", "a/work"), ("x_work", "b/x_work")]
                .map(|(name, tool)| (name.to_owned(), tool.to_owned()))
        );
    }

    #[test]
    fn of_a_plugin_only_the_newest_is_offered() {
        let plugins = [plugin("a", &["new"]), plugin("a", &["old"]), plugin("b", &["old"])];
        assert_eq!(
            names(plugins),
            [("new", "a/new"), ("old", "b/old")].map(|(name, tool)| (name.to_owned(), tool.to_owned()))
        );
    }

    #[test]
    fn who_may_be_told_that_a_task_goes_on_is_promised_no_output() {
        let manifest = json!({"manifest": 1, "name": "a", "version": "1.0.0", "description": "A plugin.", "tools": [
            {"name": "long", "description": "Works.", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"}},
            {"name": "quick", "description": "Works.", "inputSchema": {"type": "object"}, "outputSchema": {"type": "object"},
                "pace": "quick"},
        ]});
        let manifest = Manifest::parse(&manifest.to_string()).expect("a manifest");
        let catalog = Catalog::of([Installed { manifest, digest: String::new(), alias: None }].into_iter());
        let promised = |client: &Client| {
            let tools = catalog.list(client).into_iter();
            tools.filter(|tool| tool.output_schema.is_some()).map(|tool| tool.name.into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(promised(&Client::default()), ["quick"]);
        let with_tasks = Client { modern: true, tasks: true, elicits: true, name: None };
        assert_eq!(promised(&with_tasks), ["long", "quick"]);
        assert_eq!(catalog.list(&with_tasks).len(), 2, "it needs no companions");
        assert_eq!(catalog.list(&Client { elicits: false, ..with_tasks }).len(), 6);
    }
}

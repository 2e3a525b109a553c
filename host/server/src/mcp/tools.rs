//! What a client is offered: the tools of the installed plugins, each under a name of its own.

use std::collections::BTreeMap;
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
    /// The plugin's name: a call runs the newest of that name.
    pub plugin: String,
    version: String,
    pub tool: Tool,
}

impl Catalog {
    pub async fn read(host: &Host) -> Result<Self, longhaul::Error> {
        Ok(Self::of(host.plugins().await?.into_iter().map(|plugin| plugin.manifest)))
    }

    /// Of each plugin the newest, which comes first.
    fn of(plugins: impl Iterator<Item = Manifest>) -> Self {
        let mut newest: Vec<Manifest> = Vec::new();
        for plugin in plugins {
            if newest.last().is_none_or(|last| last.name != plugin.name) {
                newest.push(plugin);
            }
        }
        let mut known: BTreeMap<&str, usize> = companions::NAMES.map(|name| (name, 1)).into();
        for tool in newest.iter().flat_map(|plugin| &plugin.tools) {
            *known.entry(&tool.name).or_default() += 1;
        }
        // A companion's name is never a plugin's, and counts as one that two have.
        let is_alone = |name: &str| known.get(name) == Some(&1);
        let mut named = BTreeMap::new();
        for plugin in &newest {
            for tool in &plugin.tools {
                let (plugin, version) = (plugin.name.clone(), plugin.version.clone());
                let mut name = tool.name.clone();
                if !is_alone(&name) {
                    name = format!("{plugin}_{}", tool.name);
                    // No other name has a dot.
                    if is_alone(&name) || named.contains_key(&name) {
                        name = format!("{plugin}.{}", tool.name);
                    }
                }
                named.insert(name, Offered { plugin, version, tool: tool.clone() });
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

    fn shown(&self, name: &str, client: &Client) -> McpTool {
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
        let about =
            json!({"plugin": self.plugin, "version": self.version, "tool": tool.name, "pace": tool.pace.as_str()});
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

    fn manifest(name: &str, tools: &[&str]) -> Manifest {
        let tool = |name: &&str| json!({"name": name, "description": "Works.", "inputSchema": {"type": "object"}});
        let tools: Vec<_> = tools.iter().map(tool).collect();
        let manifest =
            json!({"manifest": 1, "name": name, "version": "1.0.0", "description": "A plugin.", "tools": tools});
        Manifest::parse(&manifest.to_string()).expect("a manifest")
    }

    fn names(plugins: &[Manifest]) -> Vec<(String, String)> {
        let catalog = Catalog::of(plugins.iter().cloned());
        catalog.0.iter().map(|(name, offered)| (name.clone(), offered.full_name())).collect()
    }

    #[test]
    fn a_tool_is_known_by_its_own_name_unless_another_has_it() {
        let plugins = [manifest("a", &["work", "rest"]), manifest("b", &["work", "task_wait"])];
        assert_eq!(
            names(&plugins),
            [("a_work", "a/work"), ("b_task_wait", "b/task_wait"), ("b_work", "b/work"), ("rest", "a/rest")]
                .map(|(name, tool)| (name.to_owned(), tool.to_owned()))
        );
    }

    #[test]
    fn no_two_tools_are_ever_known_by_one_name() {
        let plugins = [manifest("a", &["work"]), manifest("b", &["work"]), manifest("c", &["a_work"])];
        assert_eq!(
            names(&plugins),
            [("a.work", "a/work"), ("a_work", "c/a_work"), ("b_work", "b/work")]
                .map(|(name, tool)| (name.to_owned(), tool.to_owned()))
        );
    }

    #[test]
    fn of_a_plugin_only_the_newest_is_offered() {
        let plugins = [manifest("a", &["new"]), manifest("a", &["old"]), manifest("b", &["old"])];
        assert_eq!(
            names(&plugins),
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
        let catalog = Catalog::of([Manifest::parse(&manifest.to_string()).expect("a manifest")].into_iter());
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

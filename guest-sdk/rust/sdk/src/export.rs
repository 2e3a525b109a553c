//! The component's exports, for any plugin.

use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::Once;

use crate::bindings::exports::longhaul::tool::background_tool::{Execution, Guest};
use crate::bindings::longhaul::tool::types as wit;
use crate::error::ToolError;
use crate::manifest::Manifest;
use crate::task::Task;
use crate::tool::ToolEntry;

/// What `plugin!` implements.
pub trait Plugin {
    /// The tools, in the author's order.
    const TOOLS: &'static [ToolEntry];

    /// The manifest but for its tools.
    fn about() -> Manifest;
}

/// The whole manifest.
///
/// # Panics
/// If a tool's input is not an object.
pub fn manifest<P: Plugin>() -> Manifest {
    let mut manifest = P::about();
    manifest.tools = P::TOOLS.iter().map(|tool| (tool.spec)()).collect();
    if let Err(problem) = manifest.check() {
        panic!("{problem}");
    }
    manifest
}

impl<P: Plugin> Guest for P {
    fn describe() -> String {
        report_panics();
        manifest::<P>().to_json()
    }

    fn execute(call: wit::Call) -> Result<Execution, wit::ToolError> {
        with_tool::<P, _>(call, |tool, task| (tool.execute)(task))
    }

    fn await_task(call: wit::Call, ticket: Vec<u8>) -> Result<Execution, wit::ToolError> {
        with_tool::<P, _>(call, |tool, task| (tool.await_task)(task, &ticket))
    }

    fn cancel_task(call: wit::Call, ticket: Vec<u8>) -> Result<(), wit::ToolError> {
        with_tool::<P, _>(call, |tool, task| (tool.cancel_task)(task, &ticket))
    }
}

fn with_tool<P: Plugin, T>(
    call: wit::Call,
    run: impl FnOnce(&ToolEntry, &Task) -> Result<T, ToolError>,
) -> Result<T, wit::ToolError> {
    report_panics();
    let task = Task::new(call);
    let result = match P::TOOLS.iter().find(|tool| tool.name == task.tool()) {
        Some(tool) => run(tool, &task),
        None => Err(ToolError::invalid_input(format!("the plugin has no tool `{}`", task.tool()))),
    };
    // The last line may lack its end, and nothing else flushes it. Where stdout is gone nobody misses it.
    let _ = std::io::stdout().flush();
    result.map_err(ToolError::into_wit)
}

/// A guest that panics is stopped without a word: the target aborts, and the host sees a trap. The host takes what the
/// guest wrote last to stderr as the failure's message, so this writes one line that says what and where.
fn report_panics() {
    static ONCE: Once = Once::new();
    // Elsewhere the hook is the test harness's.
    if cfg!(target_family = "wasm") {
        ONCE.call_once(|| std::panic::set_hook(Box::new(|info| eprintln!("{}", one_line(info)))));
    }
}

fn one_line(info: &PanicHookInfo<'_>) -> String {
    let payload = info.payload();
    let text = payload.downcast_ref::<&str>().copied().or(payload.downcast_ref::<String>().map(String::as_str));
    let message = text.unwrap_or("no message").replace('\n', " ");
    match info.location() {
        Some(place) => format!("panicked at {place}: {message}"),
        None => format!("panicked: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;
    use crate::{Output, Task};

    #[derive(Deserialize, JsonSchema)]
    struct Name {
        name: String,
    }

    /// Greets somebody.
    ///
    /// In English.
    #[crate::tool(title = "Greet", read_only, open_world = false, pace = quick)]
    fn greet(_task: &Task, input: Name) -> Result<Output<String>, ToolError> {
        if input.name.is_empty() {
            return Err(ToolError::invalid_input("nobody to greet"));
        }
        Ok(Output::new(format!("Hello {}", input.name)))
    }

    crate::plugin! {
        name: "greeter",
        version: "1.2.3",
        description: "Greets.",
        license: "MIT",
        homepage: "https://example.com",
        tools: [greet],
        needs: [
            setting("language", why = "to greet in it"),
            http("example.com", why = "for the weather", required),
        ],
    }

    fn call(tool: &str, input: Value) -> wit::Call {
        wit::Call {
            task_id: "t1".into(),
            tool: tool.into(),
            input: input.to_string(),
            attempt: 1,
            idempotency_key: "k".into(),
            context: "{}".into(),
        }
    }

    #[test]
    fn the_manifest_says_what_the_author_wrote() {
        let manifest: Value = serde_json::from_str(&<Plugin as Guest>::describe()).unwrap();
        assert_eq!(
            manifest,
            json!({
                "manifest": 1,
                "name": "greeter",
                "version": "1.2.3",
                "description": "Greets.",
                "license": "MIT",
                "homepage": "https://example.com",
                "tools": [{
                    "name": "greet",
                    "title": "Greet",
                    "description": "Greets somebody.\n\nIn English.",
                    "inputSchema": {
                        "type": "object",
                        "properties": { "name": { "type": "string" } },
                        "required": ["name"],
                    },
                    "outputSchema": { "type": "string" },
                    "hints": { "readOnlyHint": true, "openWorldHint": false },
                    "pace": "quick",
                }],
                "needs": [
                    { "kind": "setting", "name": "language", "why": "to greet in it", "required": false },
                    { "kind": "http", "name": "example.com", "why": "for the weather", "required": true },
                ],
            })
        );
    }

    #[test]
    fn a_call_finds_its_tool() {
        let done = <Plugin as Guest>::execute(call("greet", json!({ "name": "Ada" }))).unwrap();
        let Execution::Done(output) = done else { panic!("pending") };
        assert_eq!(output.structured.as_deref(), Some("\"Hello Ada\""));
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let message = |tool, input| <Plugin as Guest>::execute(call(tool, input)).unwrap_err().message;
        assert_eq!(message("greet", json!({ "name": "" })), "nobody to greet");
        assert_eq!(message("wave", json!({})), "the plugin has no tool `wave`");
        assert_eq!(
            message("greet", json!({})),
            "the input of greet does not fit: missing field `name` at line 1 column 2"
        );
        let message = <Plugin as Guest>::await_task(call("greet", json!({})), vec![]).unwrap_err().message;
        assert!(message.contains("hands out no tickets"), "{message}");
    }
}

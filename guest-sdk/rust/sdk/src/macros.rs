//! The macros, documented here because their examples need this crate.

/// Makes a function a tool.
///
/// The function takes a `&Task` and one struct, and returns a `Result<_, ToolError>`. The tool's name is the
/// function's, its description the doc comment, its schemas come from the types. List it in [`plugin!`](crate::plugin).
///
/// | argument | |
/// |---|---|
/// | `name = "profile_csv"` | another name than the function's: `[a-z][a-z0-9_]{0,63}` |
/// | `title = "Profile a CSV"` | shown to people |
/// | `read_only`, `destructive`, `idempotent`, `open_world` | MCP's hints; `open_world = false` says that it does not hold |
/// | `pace = quick` | `quick` (seconds, asks nobody), `any` (the default) or `long` (minutes or weeks) |
///
/// ```
/// use longhaul_sdk::{Task, ToolError};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Text {
///     text: String,
/// }
///
/// /// Counts the words of a text.
/// #[longhaul_sdk::tool(title = "Count words", read_only, idempotent, open_world = false, pace = quick)]
/// fn count_words(_task: &Task, input: Text) -> Result<usize, ToolError> {
///     Ok(input.text.split_whitespace().count())
/// }
/// ```
pub use longhaul_sdk_macros::tool;

/// Makes an implementation of [`Job`](crate::Job) a tool: work that is done elsewhere.
///
/// The tool's name is the type's in snake case, its description the implementation's doc comment. The arguments are
/// those of [`tool`](macro@crate::tool); without `pace` it is `long`. See [`Job`](crate::Job) for an example.
pub use longhaul_sdk_macros::job;

/// Gathers a crate's tools into the plugin that the component exports. Once per crate.
///
/// | field | |
/// |---|---|
/// | `tools: [a, b]` | functions with [`tool`](macro@crate::tool), types with [`job`](macro@crate::job) |
/// | `name`, `version`, `description`, `license`, `homepage` | as in `Cargo.toml`, from where they are taken if they are not given |
/// | `needs: [..]` | what the tools cannot reach unless the operator grants it |
///
/// A need is `http("api.example.com", why = "…")`, `setting("name", why = "…")`, `secret("name", why = "…")` or
/// `tool("plugin/tool", why = "…")`; with `required` after it if the plugin is of no use without.
///
/// It declares a type `Plugin`, whose `Plugin::manifest()` is what the host gets to see.
///
/// ```
/// # use longhaul_sdk::{Task, ToolError};
/// # #[derive(serde::Deserialize, schemars::JsonSchema)]
/// # struct Text { text: String }
/// /// Counts the words of a text.
/// #[longhaul_sdk::tool]
/// fn count_words(_task: &Task, input: Text) -> Result<usize, ToolError> {
///     Ok(input.text.split_whitespace().count())
/// }
///
/// longhaul_sdk::plugin! {
///     name: "word-count",
///     version: "1.0.0",
///     description: "Counts words.",
///     license: "MIT",
///     tools: [count_words],
///     needs: [setting("language", why = "to know what a word is", required)],
/// }
/// # fn main() {
/// assert_eq!(Plugin::manifest().name, "word-count");
/// # }
/// ```
pub use longhaul_sdk_macros::plugin;

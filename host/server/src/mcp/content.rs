//! What a task came to, as the result of a tool call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use longhaul::{ErrorClass, Output, Part, PartData, Task, TaskError, TaskId};
use rmcp::model::{CallToolResult, ContentBlock, MetaObject, Resource, ResourceContents};
use serde_json::json;

use super::meta;

/// The result of a task that has ended.
pub fn result(task: &Task) -> CallToolResult {
    match (&task.output, &task.error) {
        (Some(output), _) => of_output(&task.id, output),
        (None, Some(error)) => of_error(error),
        (None, None) => said_error(format!("the task ended as {}", task.state)),
    }
}

/// A result that says what is wrong, so that a model can read it.
pub fn said_error(message: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(message)])
}

fn of_output(task: &TaskId, output: &Output) -> CallToolResult {
    let mut content: Vec<_> = output.parts.iter().enumerate().map(|(n, part)| block(task, n, part)).collect();
    // Clients that know nothing of structured content show this.
    if let (true, Some(structured)) = (content.is_empty(), &output.structured) {
        content.push(ContentBlock::text(structured.to_string()));
    }
    let mut result = CallToolResult::success(content);
    result.structured_content.clone_from(&output.structured);
    result
}

fn of_error(error: &TaskError) -> CallToolResult {
    let mut result = said_error(match error.class {
        ErrorClass::Tool => error.message.clone(),
        ErrorClass::Run => format!("the run broke ({}): {}", error.code, error.message),
    });
    let mut about = json!({"class": error.class, "code": error.code});
    if let Some(details) = &error.details {
        about["details"] = details.clone();
    }
    result.meta = Some(MetaObject([(meta::ERROR.to_owned(), about)].into_iter().collect()));
    result
}

/// Text that is made to be read is text; a named file of another kind, and bytes, are a resource that comes along.
fn block(task: &TaskId, n: usize, part: &Part) -> ContentBlock {
    let kind = part.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let uri = || match &part.name {
        Some(name) => format!("longhaul:/tasks/{task}/parts/{n}/{}", escaped(name)),
        None => format!("longhaul:/tasks/{task}/parts/{n}"),
    };
    match &part.data {
        PartData::Text(text) if part.name.is_none() || ["text/plain", "text/markdown"].contains(&kind.as_str()) => {
            ContentBlock::text(text)
        }
        PartData::Text(text) => {
            ContentBlock::resource(ResourceContents::text(text, uri()).with_mime_type(&part.media_type))
        }
        PartData::Bytes(bytes) => {
            let data = STANDARD.encode(bytes);
            match kind.split('/').next() {
                Some("image") => ContentBlock::image(data, &part.media_type),
                Some("audio") => ContentBlock::audio(data, &part.media_type),
                _ => ContentBlock::resource(ResourceContents::blob(data, uri()).with_mime_type(&part.media_type)),
            }
        }
        PartData::Link(link) => {
            let name = part.name.clone().unwrap_or_else(|| link.clone());
            ContentBlock::resource_link(Resource::new(link, name).with_mime_type(&part.media_type))
        }
    }
}

/// A name as a segment of a path (RFC 3986).
fn escaped(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn shown(output: Value) -> Value {
        let id: TaskId = serde_json::from_value(json!("01k")).expect("an id");
        let output: Output = serde_json::from_value(output).expect("an output");
        serde_json::to_value(of_output(&id, &output)).expect("JSON")
    }

    #[test]
    fn each_kind_of_part_has_its_kind_of_content() {
        let result = shown(json!({"parts": [
            {"mediaType": "text/markdown", "name": "report.md", "text": "# Hi"},
            {"mediaType": "image/png", "bytes": "AAEC"},
            {"mediaType": "audio/wav", "bytes": "AAEC"},
            {"mediaType": "application/zip", "name": "all of it.zip", "bytes": "AAEC"},
            {"mediaType": "text/csv; charset=utf-8", "name": "t.csv", "text": "a,b"},
            {"mediaType": "application/json", "text": "{}"},
            {"mediaType": "text/html", "name": "page", "link": "https://example.com/p"},
        ]}));
        assert_eq!(
            result["content"],
            json!([
                {"type": "text", "text": "# Hi"},
                {"type": "image", "data": "AAEC", "mimeType": "image/png"},
                {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
                {"type": "resource", "resource": {"uri": "longhaul:/tasks/01k/parts/3/all%20of%20it.zip",
                    "mimeType": "application/zip", "blob": "AAEC"}},
                {"type": "resource", "resource": {"uri": "longhaul:/tasks/01k/parts/4/t.csv",
                    "mimeType": "text/csv; charset=utf-8", "text": "a,b"}},
                {"type": "text", "text": "{}"},
                {"type": "resource_link", "uri": "https://example.com/p", "name": "page", "mimeType": "text/html"},
            ])
        );
        assert_eq!(result["isError"], false);
    }

    #[test]
    fn structured_content_alone_is_also_told_as_text() {
        let result = shown(json!({"parts": [], "structured": {"rows": 2}}));
        assert_eq!(result["structuredContent"], json!({"rows": 2}));
        assert_eq!(result["content"], json!([{"type": "text", "text": "{\"rows\":2}"}]));
    }

    #[test]
    fn an_error_is_a_result_that_a_model_reads() {
        let error = TaskError {
            class: ErrorClass::Run,
            code: "fuel".into(),
            message: "it used up its instructions".into(),
            details: None,
        };
        let result = serde_json::to_value(of_error(&error)).expect("JSON");
        assert_eq!(result["isError"], true);
        assert_eq!(result["content"][0]["text"], "the run broke (fuel): it used up its instructions");
        assert_eq!(result["_meta"][meta::ERROR], json!({"class": "run", "code": "fuel"}));
    }
}

//! Kinds of content, errors, progress.

use std::time::Duration;

use longhaul_sdk::{Output, Part, Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

pub type Nothing = Map<String, Value>;

/// A red pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x00, 0x00, 0x00, 0x90, 0x77, 0x53, 0xde, 0x00, 0x00, 0x00, 0x0c, 0x49,
    0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0x00, 0x00, 0x03, 0x01, 0x01, 0x00, 0xc9, 0xfe, 0x92, 0xef,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];

/// Two samples of silence.
const WAV: &[u8] =
    b"RIFF\x26\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x40\x1f\0\0\x40\x1f\0\0\x01\0\x08\0data\x02\0\0\0\x80\x80";

/// Returns a text.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_simple_text(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).text("This is a simple text response for testing."))
}

/// Returns a picture.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_image_content(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).part(Part::bytes("image/png", PNG)))
}

/// Returns a sound.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_audio_content(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).part(Part::bytes("audio/wav", WAV)))
}

/// Returns a file.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_embedded_resource(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).part(Part::text("text/csv", "a,b\n1,2\n").named("table.csv")))
}

/// Returns a text, a picture and a file.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_multiple_content_types(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    Ok(Output::new(())
        .text("Multiple content types test:")
        .part(Part::bytes("image/png", PNG))
        .part(Part::text("application/json", r#"{"test":"data","value":123}"#).named("data.json")))
}

/// Prints lines.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_logging_tool(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    println!("a line");
    eprintln!("a line that matters");
    Ok(Output::new(()).text("done"))
}

#[derive(Deserialize, JsonSchema)]
pub struct Where {
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// Has an argument that stands in a header too.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_custom_headers(_task: &Task, input: Where) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).text(input.region))
}

/// Needs a client with tasks: the operator says so.
#[longhaul_sdk::tool(read_only)]
pub fn test_missing_capability(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    Ok(Output::new(()).text("done"))
}

/// Fails.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_error_handling(_task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    Err(ToolError::failed("This tool intentionally returns an error for testing"))
}

/// Reports progress.
#[longhaul_sdk::tool(read_only, pace = quick)]
pub fn test_tool_with_progress(task: &Task, _input: Nothing) -> Result<Output<()>, ToolError> {
    for done in [0, 50, 100] {
        task.progress(format!("{done} of 100")).done(done).of(100);
        task.sleep(Duration::from_millis(50))?;
    }
    Ok(Output::new(()).text("done"))
}

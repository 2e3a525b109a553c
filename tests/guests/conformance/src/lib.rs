//! The tools that the conformance suite of the Model Context Protocol expects to find, as far as a plugin can be one: what
//! they are called and what they do is the suite's. `cargo xtask interop` runs it against them.

mod asking;
mod content;
mod schema;
mod tasks;

longhaul_sdk::plugin! {
    name: "conformance",
    tools: [
        asking::test_elicitation,
        asking::test_elicitation_sep1034_defaults,
        asking::test_elicitation_sep1330_enums,
        asking::test_input_required_result_elicitation,
        asking::test_streaming_elicitation,
        asking::test_input_required_result_request_state,
        asking::test_input_required_result_tampered_state,
        asking::test_input_required_result_multi_round,
        content::test_simple_text,
        content::test_image_content,
        content::test_audio_content,
        content::test_embedded_resource,
        content::test_multiple_content_types,
        content::test_logging_tool,
        content::test_custom_headers,
        content::test_missing_capability,
        content::test_error_handling,
        content::test_tool_with_progress,
        schema::json_schema_2020_12_tool,
        tasks::greet,
        tasks::slow_compute,
        tasks::failing_job,
        tasks::protocol_error_job,
        tasks::confirm_delete,
        tasks::multi_input,
    ],
}

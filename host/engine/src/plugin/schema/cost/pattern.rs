//! What matching a pattern can cost.

use jsonschema::{Draft, PatternOptions};
use serde_json::json;

/// What a pattern takes when it is compiled, and the steps that it may take for a byte of the text. The engine is linear in the
/// text, but for each byte it may go through all that the pattern compiles to.
const SIZES: [(usize, u64); 2] = [(16 << 10, 1), (128 << 10, 8)];
/// One that takes more. What takes more than [`PATTERN_SIZE`](super::super::PATTERN_SIZE) is refused.
const LARGE: u64 = 64;

/// The steps that it may take for a byte of the text.
pub(super) fn steps_for_a_byte(pattern: &str) -> u64 {
    let fits = |size| {
        let options = PatternOptions::regex().size_limit(size);
        let schema = json!({ "pattern": pattern });
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .offline()
            .with_pattern_options(options)
            .build(&schema)
            .is_ok()
    };
    SIZES.iter().find(|(size, _)| fits(*size)).map_or(LARGE, |(_, steps)| *steps)
}

//! What a plugin says about itself: read or refused, and what was read is kept as it was written.
#![no_main]

use longhaul::Manifest;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Ok(manifest) = Manifest::parse(text) {
        let kept = serde_json::to_string(&manifest).expect("a manifest is JSON");
        assert_eq!(Manifest::parse(&kept).expect("what was accepted is accepted again"), manifest);
    }
});

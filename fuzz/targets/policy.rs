//! The operator's file: read, or refused with the place of what is wrong.
#![no_main]

use longhaul::Policy;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = Policy::parse(text) {
        assert!(error.line.is_some() || error.key.is_some(), "nobody would find it: {error}");
    }
});

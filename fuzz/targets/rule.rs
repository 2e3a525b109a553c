//! A rule for HTTP as an operator writes it, or a plugin declares it.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| longhaul::testing::fuzz::rule(text));

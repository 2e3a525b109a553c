//! The bytes of a file that is to be installed: a component by wasm-smith, or anything.
#![no_main]

use libfuzzer_sys::arbitrary::{Arbitrary as _, Unstructured};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match bytes.split_first() {
        Some((0, rest)) => {
            if let Ok(component) = wasm_smith::Component::arbitrary(&mut Unstructured::new(rest)) {
                longhaul::testing::fuzz::component(&component.to_bytes());
            }
        }
        _ => longhaul::testing::fuzz::component(bytes),
    }
});

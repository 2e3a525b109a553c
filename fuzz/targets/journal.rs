//! A block of records as it lies in a journal: read, and packed again it is the same records.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| longhaul::testing::fuzz::journal(bytes));

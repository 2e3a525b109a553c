//! What a tool got from outside, in order, and one number that stands for all of it.

use std::fmt::Debug;

use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct Trace {
    /// FNV-1a over the values: equal exactly if the run was given the same results.
    hash: String,
    values: Vec<String>,
}

#[derive(Default)]
pub struct Recorder {
    values: Vec<String>,
}

impl Recorder {
    pub fn add(&mut self, what: &str, value: impl Debug) {
        self.values.push(format!("{what}={value:?}"));
    }

    /// The number for what there is so far.
    pub fn so_far(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.values.iter().flat_map(|value| value.bytes().chain([0])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("{hash:016x}")
    }

    /// The hash of what was added so far.
    pub fn hash(&self) -> String {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in self.values.iter().flat_map(|value| value.bytes().chain([0])) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        format!("{hash:016x}")
    }

    pub fn finish(self) -> Trace {
        Trace { hash: self.hash(), values: self.values }
    }
}

//! A hash over everything that a guest asks for, so that a replay notices a difference even in calls that left no entry.

/// FNV-1a, 64 bit: stable across versions and machines, as a hash that is stored must be. Constants from
/// <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>. It guards against accidents; a tool that collides on
/// purpose only deceives itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Folds in one call: its kind, and its arguments with their length, so that neighbours can't run together.
    pub fn fold(&mut self, kind: u8, arguments: &[u8]) {
        self.bytes(&[kind]);
        self.bytes(&(arguments.len() as u64).to_le_bytes());
        self.bytes(arguments);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub const fn value(self) -> u64 {
        self.0
    }
}

//! Random numbers that a replay draws again: ChaCha20 from the attempt's seed, journaled nowhere but in that seed.

use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

/// `wasi:random/random`.
pub(super) const SECURE: u64 = 0;
/// `wasi:random/insecure`.
pub(super) const INSECURE: u64 = 1;
/// `wasi:random/insecure-seed`, from which guests seed their hash maps.
pub(super) const HASH_SEED: u64 = 2;
/// Streams that one segment uses.
const STREAMS: u64 = 4;

/// Where one segment's random numbers come from.
#[derive(Clone)]
pub(crate) struct Seed {
    attempt: [u8; 32],
    segment: u32,
}

impl Seed {
    /// The numbers of segment `segment` of the attempt with that seed.
    pub fn new(attempt: [u8; 32], segment: u32) -> Self {
        Self { attempt, segment }
    }

    pub(super) fn stream(&self, which: u64) -> ChaCha20Rng {
        let mut rng = ChaCha20Rng::from_seed(self.attempt);
        rng.set_stream(u64::from(self.segment) * STREAMS + which);
        rng
    }

    pub(super) fn number(&self, which: u64) -> u128 {
        let mut rng = self.stream(which);
        u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ChaCha20 with a zero key and nonce, from RFC 8439 (A.1, test vector 1): a journal written today must replay with
    /// whatever version of the crate is built tomorrow.
    #[test]
    fn the_stream_is_chacha20_as_published() {
        let mut bytes = [0; 16];
        Seed::new([0; 32], 0).stream(SECURE).fill_bytes(&mut bytes);
        assert_eq!(
            bytes,
            [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90, 0x40, 0x5d, 0x6a, 0xe5, 0x53, 0x86, 0xbd, 0x28]
        );
    }

    #[test]
    fn segments_and_uses_draw_different_numbers() {
        let draw = |segment, which| Seed::new([7; 32], segment).number(which);
        let all = [draw(0, SECURE), draw(0, INSECURE), draw(0, HASH_SEED), draw(1, SECURE)];
        for (place, number) in all.iter().enumerate() {
            assert!(!all[..place].contains(number));
        }
    }
}

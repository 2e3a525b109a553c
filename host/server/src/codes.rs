//! Codes of links to sign in with: in memory, each good once and for some minutes.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

/// Long enough to click on what was printed just now.
const GOOD_FOR: Duration = Duration::from_secs(10 * 60);

/// How long a token is good that was given for a code: a working day.
pub(crate) const SESSION: Duration = Duration::from_secs(12 * 60 * 60);

/// The codes that were not used yet, by their hashes, so that a look-up tells nothing by the time it takes.
#[derive(Default)]
pub(crate) struct Codes {
    open: Mutex<HashMap<[u8; 32], Instant>>,
}

impl Codes {
    /// A new one. `None`: the system has no random numbers.
    pub fn issue(&self) -> Option<String> {
        self.issue_at(Instant::now())
    }

    fn issue_at(&self, now: Instant) -> Option<String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).ok()?;
        let code = URL_SAFE_NO_PAD.encode(bytes);
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(hash(&code), now);
        Some(code)
    }

    /// Uses one up. Says whether it was good.
    pub fn redeem(&self, code: &str) -> bool {
        self.redeem_at(code, Instant::now())
    }

    fn redeem_at(&self, code: &str, now: Instant) -> bool {
        let issued = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&hash(code));
        issued.is_some_and(|at| now.saturating_duration_since(at) <= GOOD_FOR)
    }
}

fn hash(code: &str) -> [u8; 32] {
    Sha256::digest(code).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_good_once_and_for_ten_minutes() {
        let codes = Codes::default();
        let now = Instant::now();
        let (first, second) = (codes.issue_at(now).unwrap(), codes.issue_at(now).unwrap());
        assert_ne!(first, second);
        assert!(!codes.redeem_at("guessed", now));
        assert!(codes.redeem_at(&first, now + GOOD_FOR));
        assert!(!codes.redeem_at(&first, now));
        assert!(!codes.redeem_at(&second, now + GOOD_FOR + Duration::from_secs(1)));
    }
}

//! What secrets were before: who was told then may tell it now.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use super::{Secret, SecretSource, SecretValue};

/// Values of one secret that are remembered, the newest first: each is looked for in all that comes back.
const REMEMBERED: usize = 8;

/// The values that secrets had in the life of this process, for masking alone.
#[derive(Debug, Default)]
pub(in crate::egress) struct Former(Mutex<HashMap<SecretSource, Vec<SecretValue>>>);

impl Former {
    /// What a secret was before it was `now`, each with its name; and remembers what it is now.
    pub fn of(&self, secret: &Secret, now: Option<&SecretValue>) -> Vec<(String, SecretValue)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let values = all.entry(secret.source.clone()).or_default();
        if let Some(now) = now.filter(|now| values.first() != Some(now)) {
            values.retain(|value| value != now);
            values.insert(0, now.clone());
            values.truncate(REMEMBERED);
        }
        let former = values.iter().filter(|value| Some(*value) != now);
        former.map(|value| (secret.name.clone(), value.clone())).collect()
    }
}

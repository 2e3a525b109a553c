//! For tests of what is built on this crate: a person who answers by a script ([`Person`]), a crash at a place of your choice
//! ([`CrashPlan`]), and with [`SimulatedClock`] a week that passes in a call.
//!
//! Nothing here is compiled differently for tests, and none of it is in the way of a host that does not use it.

mod crash;
#[doc(hidden)]
pub mod fuzz;
mod person;

use std::time::Duration;

pub use crash::{CrashPlan, CrashPoint};
pub use person::{Person, ScriptError};

pub use crate::SimulatedClock;
use crate::{Error, Host};

/// The median time that a new instance of an installed plugin takes, over `n` of them.
///
/// # Errors
///
/// [`Error::UnknownPlugin`]; [`Error::Fault`] if there is no instance.
#[doc(hidden)]
pub async fn instantiate(host: &Host, digest: &str, n: usize) -> Result<Duration, Error> {
    host.measure_instances(digest, n).await
}

/// The median time that getting an installed plugin ready from its compiled code takes, over `n` times.
///
/// # Errors
///
/// [`Error::UnknownPlugin`], and those of compiling if there is no compiled code.
#[doc(hidden)]
pub async fn load(host: &Host, digest: &str, n: usize) -> Result<Duration, Error> {
    host.measure_loads(digest, n).await
}

/// Bytes of the instances that are kept while their tasks wait.
#[doc(hidden)]
pub fn warm_bytes(host: &Host) -> u64 {
    host.warm_bytes()
}

//! The contract's imports, each by record and replay.

mod children;
mod concurrent;
mod convert;
mod questions;
mod task;

pub(crate) use convert::Returned;
pub(super) use convert::returned;

//! Running what nobody has to trust: the engine, the limits, and every import by record and replay.

mod bindings;
mod contract;
mod engine;
mod guest;
mod http;
mod inbox;
mod instance;
mod load;
mod meter;
mod run;
mod warm;
mod wasi;

pub(crate) use bindings::longhaul::tool::types::Call as GuestCall;
pub(crate) use contract::Returned;
pub(crate) use engine::{INSTANCES, Sandbox, compiling as compiling_engine};
pub(crate) use http::{Outcome, Sent};
pub(crate) use inbox::Inbox;
pub(crate) use instance::{Control, Export, How, Instance, Stop};
pub(crate) use load::{Loaded, chain, check, compile, engine_key, load};
pub(crate) use run::{Act, ChildReady, Interrupted, Opened, Refusal, Request, Run, RunParts, Settings};
pub(crate) use warm::{Crowd, Crowded, Warm};
pub(crate) use wasi::{Seed, context as wasi_context};

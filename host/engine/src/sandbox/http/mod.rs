//! `wasi:http` by record and replay: requests of guests, and what comes back.
//!
//! A guest makes a request, writes its body and waits for the response, several at once if it likes. Nothing of it reaches
//! the network from here: a request that is whole is handed to whoever runs the guest, which writes down everything that
//! the guest did before, judges it and sends it ([`exchange`]). The response comes back whole, is journaled when the guest
//! first sees it, and is given to the guest in pieces that depend on nothing but their size ([`incoming`]).
//!
//! What a guest has here that it has not sent counts as its memory ([`Held`]): headers, and bodies in the making. What was sent
//! is bounded by the limits of HTTP.
//!
//! So all but three calls depend only on what the guest itself has done, and need no record: sending, which leaves a mark
//! that it may have happened; waiting, which is polling; and the look at the response.

mod bindings;
mod error;
mod exchange;
mod fields;
mod incoming;
mod outgoing;
mod request;
mod serving;

use wasmtime::component::{HasSelf, Linker, Resource};
use wasmtime_wasi::p2::bindings::io::error::Error as IoError;

use bindings::wasi::http::{outgoing_handler, types};
pub(super) use exchange::{Exchanges, Waited};
pub(crate) use exchange::{Outcome, Sent};

use super::guest::Guest;
use super::meter::Held;
use super::run::Run;
use crate::egress::Failure;
use crate::limits::{Limit, Limits};

/// Nothing yet of what the host holds for a guest's requests: it counts as the guest's memory.
fn held(run: &Run) -> Held {
    Held::new(run.memory.clone(), run.limits.memory)
}

/// What a guest is told that would have more held for it than it may have.
fn no_room(limits: &Limits) -> String {
    format!("with its HTTP requests it would have more memory than it may ({})", limits.said(Limit::memory))
}

/// Puts `wasi:http` into a linker.
pub(super) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    types::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)?;
    outgoing_handler::add_to_linker::<Guest, HasSelf<Guest>>(linker, |guest| guest)
}

impl types::Host for Guest {
    fn http_error_code(&mut self, error: Resource<IoError>) -> wasmtime::Result<Option<types::ErrorCode>> {
        Ok(self.table.get(&error)?.downcast_ref::<Failure>().map(error::error_code))
    }
}

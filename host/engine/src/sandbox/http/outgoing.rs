//! The body of a request, kept until it is whole.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use wasmtime::component::Resource;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{DynOutputStream, OutputStream, Pollable, StreamError, StreamResult};

use super::error::error_code;
use super::fields::Fields;
use super::types::{ErrorCode, HostOutgoingBody};
use super::{held, no_room};
use crate::egress::{Code, Failure};
use crate::limits::{Limit, Limits};
use crate::sandbox::guest::Guest;
use crate::sandbox::meter::Held;
use crate::sandbox::run::Run;

/// Bytes that a guest may write at once. Always the same, so that nobody has to record what it was.
const PERMIT: usize = 64 << 10;

/// A body in the making. The request, the guest's handle and the stream that it writes to share it.
#[derive(Debug, Clone)]
pub(super) struct Buffer(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    bytes: BytesMut,
    limits: Limits,
    held: Held,
    /// What the header `content-length` says, if there is one.
    announced: Option<u64>,
    /// How it ended, if it did.
    end: Option<Result<Option<HeaderMap>, Failure>>,
    /// The exchange that waits for its end.
    exchange: Option<u32>,
}

/// A guest's handle on it.
#[derive(Debug)]
pub struct Body {
    buffer: Buffer,
    /// The stream was given out.
    written: bool,
}

impl Buffer {
    pub fn new(headers: &HeaderMap, run: &Run) -> Self {
        let announced = headers.get(http::header::CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse().ok());
        let (bytes, limits, held) = (BytesMut::new(), run.limits, held(run));
        Self(Arc::new(Mutex::new(State { bytes, limits, held, announced, end: None, exchange: None })))
    }

    /// The whole body and its trailers, or why there is none; `None`: it is not finished, and `exchange` is begun when it is.
    pub fn whole(&self, exchange: u32) -> Option<Result<(Bytes, Option<HeaderMap>), Failure>> {
        let mut state = self.state();
        let Some(end) = state.end.clone() else {
            state.exchange = Some(exchange);
            return None;
        };
        // It is about to be sent, or never is.
        let body = std::mem::take(&mut state.bytes).freeze();
        let _ = state.held.set(0);
        Some(end.map(|trailers| (body, trailers)))
    }

    /// Ends it, and gives the exchange that waits for this.
    fn end(&self, end: impl FnOnce(&State) -> Result<Option<HeaderMap>, Failure>) -> Option<u32> {
        let mut state = self.state();
        if state.end.is_none() {
            state.end = Some(end(&state));
        }
        state.exchange.take()
    }

    /// Holds what these trailers held.
    fn take_over(&self, trailers: Held) {
        let room = trailers.bytes();
        drop(trailers);
        let mut state = self.state();
        let all = state.held.bytes() + room;
        let _ = state.held.set(all);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Body {
    pub fn new(buffer: Buffer) -> Self {
        Self { buffer, written: false }
    }
}

impl HostOutgoingBody for Guest {
    fn write(&mut self, this: Resource<Body>) -> wasmtime::Result<Result<Resource<DynOutputStream>, ()>> {
        let body = self.table.get_mut(&this)?;
        if std::mem::replace(&mut body.written, true) {
            return Ok(Err(()));
        }
        let stream: DynOutputStream = Box::new(Stream(body.buffer.clone()));
        Ok(Ok(self.table.push(stream)?))
    }

    fn finish(
        &mut self,
        this: Resource<Body>,
        trailers: Option<Resource<Fields>>,
    ) -> wasmtime::Result<Result<(), ErrorCode>> {
        let trailers = trailers.map(|trailers| self.table.delete(trailers)).transpose()?.map(Fields::into_parts);
        let buffer = self.table.delete(this)?.buffer;
        let trailers = trailers.map(|(trailers, room)| {
            buffer.take_over(room);
            trailers
        });
        let exchange = buffer.end(|state| match state.announced {
            Some(announced) if announced != state.bytes.len() as u64 => {
                let why = format!("the body has {} bytes; its header says {announced}", state.bytes.len());
                Err(Failure::unsent(Code::RequestBodySize, why))
            }
            _ => Ok(trailers),
        });
        let failure = buffer.state().end.clone().and_then(Result::err);
        if let Some(exchange) = exchange {
            self.depart(exchange, &buffer)?;
        }
        Ok(failure.map_or(Ok(()), |failure| Err(error_code(&failure))))
    }

    fn drop(&mut self, this: Resource<Body>) -> wasmtime::Result<()> {
        let buffer = self.table.delete(this)?.buffer;
        let why = "its body was dropped before `outgoing-body.finish`";
        if let Some(exchange) = buffer.end(|_| Err(Failure::unsent(Code::Internal, why))) {
            self.depart(exchange, &buffer)?;
        }
        Ok(())
    }
}

/// What a guest writes a body to.
struct Stream(Buffer);

impl OutputStream for Stream {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > PERMIT {
            return Err(StreamError::trap("more was written than was permitted"));
        }
        let mut state = self.0.state();
        match &state.end {
            None => {}
            Some(Ok(_)) => return Err(StreamError::Closed),
            Some(Err(failure)) => return Err(StreamError::LastOperationFailed(failure.clone().into())),
        }
        let size = (state.bytes.len() + bytes.len()) as u64;
        let too_much = if size > state.limits.http_body {
            let (most, said) = (state.limits.http_body, state.limits.said(Limit::http_body));
            Some(format!("the request's body has more than {most} bytes ({said})"))
        } else if !state.held.set(size) {
            Some(no_room(&state.limits))
        } else {
            None
        };
        if let Some(why) = too_much {
            let failure = Failure::unsent(Code::RequestBodySize, why);
            state.end = Some(Err(failure.clone()));
            state.bytes = BytesMut::new();
            let _ = state.held.set(0);
            return Err(StreamError::LastOperationFailed(failure.into()));
        }
        state.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        if matches!(self.0.state().end, Some(Ok(_))) { Err(StreamError::Closed) } else { Ok(PERMIT) }
    }
}

#[async_trait]
impl Pollable for Stream {
    /// It may always be written to.
    async fn ready(&mut self) {}
}

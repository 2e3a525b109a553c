//! A response. It is whole before a guest sees any of it, so what the guest reads from it depends on nothing else.

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use wasmtime::component::Resource;
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::{DynInputStream, DynPollable, InputStream, Pollable, StreamError, StreamResult};

use super::fields::Fields;
use super::types::{ErrorCode, HostFutureTrailers, HostIncomingBody, HostIncomingResponse};
use crate::egress::Incoming;
use crate::sandbox::guest::Guest;

/// The most that is read at once.
const PIECE: usize = 64 << 10;

/// A response as a guest holds it.
#[derive(Debug)]
pub struct Response {
    status: StatusCode,
    headers: HeaderMap,
    /// Until the guest takes it.
    body: Option<Body>,
}

/// The body of a response.
#[derive(Debug)]
pub struct Body {
    /// Until the guest takes the stream.
    bytes: Option<Bytes>,
    trailers: Option<HeaderMap>,
}

/// The trailers of a response: whether they were taken, and what they are.
#[derive(Debug)]
pub struct Trailers {
    taken: bool,
    trailers: Option<HeaderMap>,
}

impl From<Incoming> for Response {
    fn from(Incoming { status, headers, body, trailers }: Incoming) -> Self {
        Self { status, headers, body: Some(Body { bytes: Some(body), trailers }) }
    }
}

impl HostIncomingResponse for Guest {
    fn status(&mut self, this: Resource<Response>) -> wasmtime::Result<u16> {
        Ok(self.table.get(&this)?.status.as_u16())
    }

    fn headers(&mut self, this: Resource<Response>) -> wasmtime::Result<Resource<Fields>> {
        let headers = Fields::immutable(&self.table.get(&this)?.headers, &self.run)?;
        Ok(self.table.push(headers)?)
    }

    fn consume(&mut self, this: Resource<Response>) -> wasmtime::Result<Result<Resource<Body>, ()>> {
        match self.table.get_mut(&this)?.body.take() {
            Some(body) => Ok(Ok(self.table.push(body)?)),
            None => Ok(Err(())),
        }
    }

    fn drop(&mut self, this: Resource<Response>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl HostIncomingBody for Guest {
    fn stream(&mut self, this: Resource<Body>) -> wasmtime::Result<Result<Resource<DynInputStream>, ()>> {
        let Some(bytes) = self.table.get_mut(&this)?.bytes.take() else { return Ok(Err(())) };
        let stream: DynInputStream = Box::new(Stream(bytes));
        Ok(Ok(self.table.push(stream)?))
    }

    fn finish(&mut self, this: Resource<Body>) -> wasmtime::Result<Resource<Trailers>> {
        let trailers = self.table.delete(this)?.trailers;
        Ok(self.table.push(Trailers { taken: false, trailers })?)
    }

    fn drop(&mut self, this: Resource<Body>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

impl HostFutureTrailers for Guest {
    fn subscribe(&mut self, this: Resource<Trailers>) -> wasmtime::Result<Resource<DynPollable>> {
        self.table.get(&this)?;
        self.pollable(None)
    }

    fn get(
        &mut self,
        this: Resource<Trailers>,
    ) -> wasmtime::Result<Option<Result<Result<Option<Resource<Fields>>, ErrorCode>, ()>>> {
        let future = self.table.get_mut(&this)?;
        if std::mem::replace(&mut future.taken, true) {
            return Ok(Some(Err(())));
        }
        let trailers = future.trailers.take().map(|trailers| Fields::immutable(&trailers, &self.run)).transpose()?;
        let trailers = trailers.map(|trailers| self.table.push(trailers)).transpose()?;
        Ok(Some(Ok(Ok(trailers))))
    }

    fn drop(&mut self, this: Resource<Trailers>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

/// What is left of a body.
struct Stream(Bytes);

impl InputStream for Stream {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if self.0.is_empty() {
            return Err(StreamError::Closed);
        }
        Ok(self.0.split_to(size.min(PIECE).min(self.0.len())))
    }
}

#[async_trait]
impl Pollable for Stream {
    /// It is all there.
    async fn ready(&mut self) {}
}

//! What serves requests. It is linked so that components load whose library can serve too, and there is never any to serve.

use wasmtime::component::Resource;

use super::fields::Fields;
use super::incoming;
use super::outgoing;
use super::types::{ErrorCode, HostIncomingRequest, HostOutgoingResponse, HostResponseOutparam, Method, Scheme};
use crate::sandbox::guest::Guest;

/// What no guest can hold.
#[derive(Debug)]
pub enum Never {}

/// A guest is given none of these, so it can't name one; a response it can begin to make, and that ends it.
fn none<T>() -> wasmtime::Result<T> {
    Err(wasmtime::Error::msg("a tool is called by its host and serves no HTTP requests"))
}

impl HostIncomingRequest for Guest {
    fn method(&mut self, _: Resource<Never>) -> wasmtime::Result<Method> {
        none()
    }

    fn path_with_query(&mut self, _: Resource<Never>) -> wasmtime::Result<Option<String>> {
        none()
    }

    fn scheme(&mut self, _: Resource<Never>) -> wasmtime::Result<Option<Scheme>> {
        none()
    }

    fn authority(&mut self, _: Resource<Never>) -> wasmtime::Result<Option<String>> {
        none()
    }

    fn headers(&mut self, _: Resource<Never>) -> wasmtime::Result<Resource<Fields>> {
        none()
    }

    fn consume(&mut self, _: Resource<Never>) -> wasmtime::Result<Result<Resource<incoming::Body>, ()>> {
        none()
    }

    fn drop(&mut self, _: Resource<Never>) -> wasmtime::Result<()> {
        none()
    }
}

impl HostResponseOutparam for Guest {
    fn set(&mut self, _: Resource<Never>, _: Result<Resource<Never>, ErrorCode>) -> wasmtime::Result<()> {
        none()
    }

    fn drop(&mut self, _: Resource<Never>) -> wasmtime::Result<()> {
        none()
    }
}

impl HostOutgoingResponse for Guest {
    fn new(&mut self, _: Resource<Fields>) -> wasmtime::Result<Resource<Never>> {
        none()
    }

    fn status_code(&mut self, _: Resource<Never>) -> wasmtime::Result<u16> {
        none()
    }

    fn set_status_code(&mut self, _: Resource<Never>, _: u16) -> wasmtime::Result<Result<(), ()>> {
        none()
    }

    fn headers(&mut self, _: Resource<Never>) -> wasmtime::Result<Resource<Fields>> {
        none()
    }

    fn body(&mut self, _: Resource<Never>) -> wasmtime::Result<Result<Resource<outgoing::Body>, ()>> {
        none()
    }

    fn drop(&mut self, _: Resource<Never>) -> wasmtime::Result<()> {
        none()
    }
}

//! A request in the making.

use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery};
use wasmtime::component::Resource;

use super::fields::Fields;
use super::no_room;
use super::outgoing::{Body, Buffer};
use super::types::{self, HostOutgoingRequest, HostRequestOptions, Method, Scheme};
use crate::egress::{Code, Failure, Outgoing};
use crate::limits::Limits;
use crate::sandbox::guest::Guest;
use crate::sandbox::meter::Held;

/// Bytes of a method's name. The longest that is registered has 17.
const METHOD_BYTES: usize = 64;

/// What a guest has said of a request so far.
#[derive(Debug)]
pub struct Request {
    pub method: Method,
    pub scheme: Option<Scheme>,
    pub authority: Option<String>,
    pub path: Option<String>,
    pub headers: http::HeaderMap,
    /// Bytes that the headers take.
    header_room: u64,
    held: Held,
    /// `None`: nobody has asked for the body, so it is empty.
    pub body: Option<Buffer>,
}

/// How long a guest wants to wait, at most.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    pub connect: Option<Duration>,
    pub first_byte: Option<Duration>,
    pub between_bytes: Option<Duration>,
}

impl Request {
    /// The method as HTTP spells it.
    pub fn method(&self) -> &str {
        name(&self.method)
    }

    /// Where it goes, as the guest said it. Without a scheme it is https.
    pub fn target(&self) -> String {
        let scheme = match &self.scheme {
            None | Some(Scheme::Https) => "https",
            Some(Scheme::Http) => "http",
            Some(Scheme::Other(other)) => other,
        };
        let path = self.path.as_deref().unwrap_or("/");
        let slash = if path.starts_with('/') { "" } else { "/" };
        format!("{scheme}://{}{slash}{path}", self.authority.as_deref().unwrap_or_default())
    }

    /// Counts what it takes.
    fn hold(&mut self, limits: &Limits) -> wasmtime::Result<()> {
        let text = |text: &Option<String>| text.as_ref().map_or(0, String::len) as u64;
        let fits = self.held.set(self.header_room + text(&self.authority) + text(&self.path));
        if fits { Ok(()) } else { Err(wasmtime::Error::msg(no_room(limits))) }
    }

    /// The request but for its body, and the room that it takes.
    pub fn outgoing(self, options: Options) -> Result<(Outgoing, Held), Failure> {
        let method = http::Method::from_bytes(self.method().as_bytes()).ok();
        let Some(method) = method.filter(|method| *method != http::Method::CONNECT) else {
            let why = format!("a tool can't use the method {}", self.method());
            return Err(Failure::unsent(Code::RequestMethodInvalid, why));
        };
        let target = self.target();
        let url = url::Url::parse(&target).ok().filter(|_| self.authority.is_some());
        let Some(url) = url else {
            let why = format!("`{}` is no URL", crate::json::cut(&target));
            return Err(Failure::unsent(Code::RequestUriInvalid, why));
        };
        let request = Outgoing {
            method,
            url,
            headers: self.headers,
            body: Bytes::new(),
            trailers: None,
            connect_timeout: options.connect,
            first_byte_timeout: options.first_byte,
            between_bytes_timeout: options.between_bytes,
        };
        Ok((request, self.held))
    }
}

fn name(method: &Method) -> &str {
    match method {
        Method::Get => "GET",
        Method::Head => "HEAD",
        Method::Post => "POST",
        Method::Put => "PUT",
        Method::Delete => "DELETE",
        Method::Connect => "CONNECT",
        Method::Options => "OPTIONS",
        Method::Trace => "TRACE",
        Method::Patch => "PATCH",
        Method::Other(name) => name,
    }
}

impl HostOutgoingRequest for Guest {
    fn new(&mut self, headers: Resource<Fields>) -> wasmtime::Result<Resource<Request>> {
        let (headers, held) = self.table.delete(headers)?.into_parts();
        let (method, header_room) = (Method::Get, held.bytes());
        let request =
            Request { method, scheme: None, authority: None, path: None, headers, header_room, held, body: None };
        Ok(self.table.push(request)?)
    }

    fn body(&mut self, this: Resource<Request>) -> wasmtime::Result<Result<Resource<Body>, ()>> {
        let request = self.table.get_mut(&this)?;
        if request.body.is_some() {
            return Ok(Err(()));
        }
        let buffer = request.body.insert(Buffer::new(&request.headers, &self.run)).clone();
        Ok(Ok(self.table.push(Body::new(buffer))?))
    }

    fn method(&mut self, this: Resource<Request>) -> wasmtime::Result<Method> {
        Ok(self.table.get(&this)?.method.clone())
    }

    fn set_method(&mut self, this: Resource<Request>, method: Method) -> wasmtime::Result<Result<(), ()>> {
        let request = self.table.get_mut(&this)?;
        let name = name(&method);
        let valid = name.len() <= METHOD_BYTES && http::Method::from_bytes(name.as_bytes()).is_ok();
        Ok(valid.then(|| request.method = method).ok_or(()))
    }

    fn path_with_query(&mut self, this: Resource<Request>) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&this)?.path.clone())
    }

    fn set_path_with_query(
        &mut self,
        this: Resource<Request>,
        path: Option<String>,
    ) -> wasmtime::Result<Result<(), ()>> {
        let request = self.table.get_mut(&this)?;
        if path.as_ref().is_some_and(|path| path.parse::<PathAndQuery>().is_err()) {
            return Ok(Err(()));
        }
        request.path = path;
        request.hold(&self.run.limits).map(Ok)
    }

    fn scheme(&mut self, this: Resource<Request>) -> wasmtime::Result<Option<Scheme>> {
        Ok(self.table.get(&this)?.scheme.clone())
    }

    fn set_scheme(&mut self, this: Resource<Request>, scheme: Option<Scheme>) -> wasmtime::Result<Result<(), ()>> {
        let request = self.table.get_mut(&this)?;
        let valid = match &scheme {
            Some(Scheme::Other(other)) => other.parse::<http::uri::Scheme>().is_ok(),
            _ => true,
        };
        Ok(valid.then(|| request.scheme = scheme).ok_or(()))
    }

    fn authority(&mut self, this: Resource<Request>) -> wasmtime::Result<Option<String>> {
        Ok(self.table.get(&this)?.authority.clone())
    }

    fn set_authority(
        &mut self,
        this: Resource<Request>,
        authority: Option<String>,
    ) -> wasmtime::Result<Result<(), ()>> {
        let request = self.table.get_mut(&this)?;
        if authority.as_ref().is_some_and(|authority| authority.parse::<Authority>().is_err()) {
            return Ok(Err(()));
        }
        request.authority = authority;
        request.hold(&self.run.limits).map(Ok)
    }

    fn headers(&mut self, this: Resource<Request>) -> wasmtime::Result<Resource<Fields>> {
        let headers = Fields::immutable(&self.table.get(&this)?.headers, &self.run)?;
        Ok(self.table.push(headers)?)
    }

    fn drop(&mut self, this: Resource<Request>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

type Nanos = Option<types::Duration>;

impl HostRequestOptions for Guest {
    fn new(&mut self) -> wasmtime::Result<Resource<Options>> {
        Ok(self.table.push(Options::default())?)
    }

    fn connect_timeout(&mut self, this: Resource<Options>) -> wasmtime::Result<Nanos> {
        Ok(self.table.get(&this)?.connect.map(nanos))
    }

    fn set_connect_timeout(&mut self, this: Resource<Options>, timeout: Nanos) -> wasmtime::Result<Result<(), ()>> {
        self.table.get_mut(&this)?.connect = timeout.map(Duration::from_nanos);
        Ok(Ok(()))
    }

    fn first_byte_timeout(&mut self, this: Resource<Options>) -> wasmtime::Result<Nanos> {
        Ok(self.table.get(&this)?.first_byte.map(nanos))
    }

    fn set_first_byte_timeout(&mut self, this: Resource<Options>, timeout: Nanos) -> wasmtime::Result<Result<(), ()>> {
        self.table.get_mut(&this)?.first_byte = timeout.map(Duration::from_nanos);
        Ok(Ok(()))
    }

    fn between_bytes_timeout(&mut self, this: Resource<Options>) -> wasmtime::Result<Nanos> {
        Ok(self.table.get(&this)?.between_bytes.map(nanos))
    }

    fn set_between_bytes_timeout(
        &mut self,
        this: Resource<Options>,
        timeout: Nanos,
    ) -> wasmtime::Result<Result<(), ()>> {
        self.table.get_mut(&this)?.between_bytes = timeout.map(Duration::from_nanos);
        Ok(Ok(()))
    }

    fn drop(&mut self, this: Resource<Options>) -> wasmtime::Result<()> {
        self.table.delete(this)?;
        Ok(())
    }
}

fn nanos(timeout: Duration) -> u64 {
    u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)
}

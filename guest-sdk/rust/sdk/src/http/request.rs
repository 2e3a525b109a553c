//! A request, and one that is under way.

use std::time::Duration;

use serde::Serialize;
use wasip2::http::outgoing_handler;
use wasip2::http::types::{
    Fields, FutureIncomingResponse, Method, OutgoingBody, OutgoingRequest, RequestOptions, Scheme,
};
use wasip2::io::streams::StreamError;

use super::error::HttpError;
use super::response::Response;

/// An HTTP request in the making. From [`Http`](super::Http).
#[derive(Debug, Clone)]
#[must_use = "it is sent by `send`"]
pub struct Request {
    method: String,
    url: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Vec<u8>,
    connect_timeout: Option<Duration>,
    timeout: Option<Duration>,
    /// What could not be said.
    problem: Option<String>,
}

/// A request that is under way. Dropped, it is given up.
#[derive(Debug)]
pub struct PendingResponse {
    response: FutureIncomingResponse,
    request: String,
}

impl Request {
    pub(super) fn new(method: &str, url: impl Into<String>) -> Self {
        Self {
            method: method.to_ascii_uppercase(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            connect_timeout: None,
            timeout: None,
            problem: None,
        }
    }

    /// Adds a header. What concerns the connection, such as `host`, is the host's to say.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body to a value as JSON, and says so in `content-type`.
    pub fn json(mut self, value: &impl Serialize) -> Self {
        match serde_json::to_vec(value) {
            Ok(body) => self.header("content-type", "application/json").body(body),
            Err(problem) => {
                self.problem = Some(format!("its body is not JSON: {problem}"));
                self
            }
        }
    }

    /// How long connecting may take.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = Some(timeout);
        self
    }

    /// How long the response may take to begin. By default, and at most, it is what the limit `http_first_byte` says: 30 s.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The method, in capitals.
    pub fn method(&self) -> &str {
        &self.method
    }

    /// Where it goes.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Sends it and waits for the whole response, whatever its status.
    ///
    /// # Errors
    /// If there is no response: [`HttpError::kind`] says why.
    pub fn send(self) -> Result<Response, HttpError> {
        self.begin()?.wait()
    }

    /// Sends it and goes on.
    ///
    /// ```no_run
    /// # use longhaul_sdk::{Task, ToolError};
    /// fn both(task: &Task) -> Result<(String, String), ToolError> {
    ///     let one = task.http().get("https://one.example/").begin()?;
    ///     let other = task.http().get("https://other.example/").begin()?;
    ///     Ok((one.wait()?.text(), other.wait()?.text()))
    /// }
    /// ```
    ///
    /// # Errors
    /// If it can't be sent as it is.
    pub fn begin(self) -> Result<PendingResponse, HttpError> {
        let request = format!("{} {}", self.method, self.url);
        let response = self.hand_over().map_err(|error| error.of(&request))?;
        Ok(PendingResponse { response, request })
    }

    fn hand_over(self) -> Result<FutureIncomingResponse, HttpError> {
        if let Some(problem) = self.problem {
            return Err(HttpError::invalid(problem));
        }
        let headers = Fields::new();
        for (name, value) in &self.headers {
            headers.append(name, value).map_err(|problem| HttpError::invalid(format!("header `{name}`: {problem}")))?;
        }
        let request = OutgoingRequest::new(headers);
        let (scheme, authority, path) = split(&self.url)
            .ok_or_else(|| HttpError::invalid("a URL begins with `https://` and a host, or with `http://`"))?;
        let said = [
            (request.set_method(&method(&self.method)), "method"),
            (request.set_scheme(Some(&scheme)), "scheme"),
            (request.set_authority(Some(authority)), "host"),
            (request.set_path_with_query(Some(&path)), "path"),
        ];
        if let Some((_, what)) = said.into_iter().find(|(said, _)| said.is_err()) {
            return Err(HttpError::invalid(format!("its {what} is not one")));
        }
        let options = RequestOptions::new();
        let nanos = |timeout: Duration| u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        // A host that can't do it waits as long as it likes.
        let _ = options.set_connect_timeout(self.connect_timeout.map(nanos));
        let _ = options.set_first_byte_timeout(self.timeout.map(nanos));
        let body = match self.body.is_empty() {
            true => None,
            false => Some(request.body().map_err(|()| HttpError::invalid("its body can't be written"))?),
        };
        let response = outgoing_handler::handle(request, Some(options)).map_err(HttpError::from_code)?;
        if let Some(body) = body {
            write(&body, &self.body)?;
            OutgoingBody::finish(body, None).map_err(HttpError::from_code)?;
        }
        Ok(response)
    }
}

impl PendingResponse {
    /// Waits until one of them has come, and gives its place.
    ///
    /// ```no_run
    /// # use longhaul_sdk::{PendingResponse, Task, ToolError};
    /// fn fastest(task: &Task, mirrors: &[String]) -> Result<Vec<u8>, ToolError> {
    ///     let pending: Result<Vec<_>, _> = mirrors.iter().map(|url| task.http().get(url).begin()).collect();
    ///     let mut pending = pending?;
    ///     let first = PendingResponse::first(&pending);
    ///     Ok(pending.swap_remove(first).wait()?.success()?.into_bytes())
    /// }
    /// ```
    ///
    /// # Panics
    /// If there is none.
    pub fn first<'a>(pending: impl IntoIterator<Item = &'a Self>) -> usize {
        let pollables: Vec<_> = pending.into_iter().map(|pending| pending.response.subscribe()).collect();
        let ready = wasip2::io::poll::poll(&pollables.iter().collect::<Vec<_>>());
        ready.first().map_or(0, |place| *place as usize)
    }

    /// Waits for the whole response, whatever its status.
    ///
    /// # Errors
    /// If there is no response: [`HttpError::kind`] says why.
    pub fn wait(self) -> Result<Response, HttpError> {
        let Self { response, request } = self;
        response.subscribe().block();
        match response.get() {
            Some(Ok(Ok(response))) => Response::read(response).map_err(|error| error.of(&request)),
            Some(Ok(Err(code))) => Err(HttpError::from_code(code).of(&request)),
            Some(Err(())) | None => Err(HttpError::invalid("its response was taken").of(&request)),
        }
    }
}

fn write(body: &OutgoingBody, mut bytes: &[u8]) -> Result<(), HttpError> {
    let stream = body.write().map_err(|()| HttpError::invalid("its body can't be written"))?;
    while !bytes.is_empty() {
        let permitted = match stream.check_write() {
            Ok(0) => {
                stream.subscribe().block();
                continue;
            }
            Ok(permitted) => usize::try_from(permitted).unwrap_or(usize::MAX),
            Err(problem) => return Err(unwritten(problem)),
        };
        let (now, later) = bytes.split_at(permitted.min(bytes.len()));
        stream.write(now).map_err(unwritten)?;
        bytes = later;
    }
    Ok(())
}

fn unwritten(problem: StreamError) -> HttpError {
    match problem {
        StreamError::LastOperationFailed(error) => HttpError::invalid(error.to_debug_string()),
        StreamError::Closed => HttpError::invalid("its body is closed"),
    }
}

fn method(name: &str) -> Method {
    match name {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "OPTIONS" => Method::Options,
        "PATCH" => Method::Patch,
        other => Method::Other(other.to_owned()),
    }
}

/// Scheme, host with port, and path with query. A fragment is no part of a request.
fn split(url: &str) -> Option<(Scheme, &str, String)> {
    let url = url.split('#').next()?;
    let (scheme, rest) = url.split_once("://")?;
    let scheme = match scheme.to_ascii_lowercase().as_str() {
        "https" => Scheme::Https,
        "http" => Scheme::Http,
        _ => return None,
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    (!authority.is_empty()).then_some((scheme, authority, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart() {
        let parts = |url| split(url).map(|(scheme, host, path)| (format!("{scheme:?}"), host, path));
        let https = |host, path: &str| Some(("Scheme::Https".to_owned(), host, path.to_owned()));
        assert_eq!(parts("https://a.example"), https("a.example", "/"));
        assert_eq!(parts("HTTPS://a.example:8443/b/c?d=/e#f"), https("a.example:8443", "/b/c?d=/e"));
        assert_eq!(parts("https://a.example?x=1"), https("a.example", "/?x=1"));
        assert_eq!(parts("https://[::1]:80/x"), https("[::1]:80", "/x"));
        for wrong in ["", "a.example", "ftp://a.example/", "https:///x", "/x"] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }
}

//! Tools that use `wasi:http` to fill the host's memory, and to say what is not theirs to say.

use longhaul_sdk::{Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, FutureIncomingResponse, HeaderError, Method, OutgoingBody, OutgoingRequest, Scheme};
use wasip2::io::streams::{OutputStream, StreamError};

use crate::trace::{Recorder, Trace};

#[derive(Deserialize, JsonSchema)]
pub struct Hoard {
    /// Of what.
    what: String,
    /// How much of it.
    #[serde(default)]
    count: usize,
}

/// Bytes that one of them has, about.
const PIECE: usize = 32 << 10;

/// Headers of a [`PIECE`].
fn fields() -> Fields {
    let fields = Fields::new();
    for _ in 0..PIECE / 1_024 {
        fields.append("x", &[b'x'; 1_024 - 257]).expect("a header");
    }
    fields
}

fn request(fields: Fields) -> OutgoingRequest {
    let request = OutgoingRequest::new(fields);
    request.set_method(&Method::Post).expect("a method");
    request.set_scheme(Some(&Scheme::Http)).expect("a scheme");
    request.set_authority(Some("127.0.0.1:9")).expect("an authority");
    request
}

/// A body with a [`PIECE`] in it that is not finished.
fn body(request: &OutgoingRequest) -> (OutgoingBody, OutputStream) {
    let body = request.body().expect("a body");
    let stream = body.write().expect("a stream");
    if let Err(StreamError::LastOperationFailed(error)) = stream.write(&[b'x'; PIECE]) {
        panic!("{}", error.to_debug_string());
    }
    (body, stream)
}

/// Has the host hold what is never sent, as much as it is told, twice: what it lets go of in between is free again.
#[longhaul_sdk::tool]
pub fn hoard(_task: &Task, input: Hoard) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    for _ in 0..2 {
        match input.what.as_str() {
            "headers" => drop((0..input.count).map(|_| fields()).collect::<Vec<_>>()),
            "copies" => {
                let one = fields();
                drop((1..input.count).map(|_| one.clone()).collect::<Vec<_>>());
            }
            "bodies" => {
                let held = (0..input.count).map(|_| {
                    let request = request(Fields::new());
                    let body = body(&request);
                    (body, request)
                });
                for ((body, stream), request) in held.collect::<Vec<_>>() {
                    drop((stream, body, request));
                }
            }
            "requests" => {
                let held = (0..input.count).map(|_| {
                    let request = request(fields());
                    let body = request.body().expect("a body");
                    (handle(request, None).expect("a future"), body)
                });
                for (response, body) in held.collect::<Vec<_>>() {
                    drop((response, body));
                }
            }
            "paths" => {
                let path = format!("/{}", "p".repeat(PIECE));
                let held = (0..input.count).map(|_| {
                    let request = request(Fields::new());
                    request.set_path_with_query(Some(&path)).expect("a path");
                    request
                });
                drop(held.collect::<Vec<_>>());
            }
            "given up" => {
                for _ in 0..input.count {
                    drop::<FutureIncomingResponse>(handle(request(Fields::new()), None).expect("a future"));
                }
            }
            "name" => {
                let _ = Fields::new().append(&"x".repeat(input.count), b"x");
            }
            "value" => {
                let _ = Fields::new().append("x", &vec![b'x'; input.count]);
            }
            "list" => {
                let _ = Fields::from_list(&[("x".into(), vec![b'x'; input.count])]);
            }
            "values" => {
                let _ = Fields::new().set("x", &[vec![b'x'; input.count]]);
            }
            "path" => {
                let _ = request(Fields::new()).set_path_with_query(Some(&"/".repeat(input.count)));
            }
            "authority" => {
                let _ = request(Fields::new()).set_authority(Some(&"a".repeat(input.count)));
            }
            "method" => {
                let said = request(Fields::new()).set_method(&Method::Other("A".repeat(input.count)));
                seen.add("method", said);
            }
            other => return Err(ToolError::invalid_input(format!("nothing is called {other}"))),
        }
    }
    seen.add("done", true);
    Ok(seen.finish())
}

#[derive(Deserialize, JsonSchema)]
pub struct Smuggle {
    /// Host and port.
    authority: String,
}

/// Says what would be another header, or another request, in every place where something can be said; and sends what was taken.
/// Gives what was taken that must not be.
#[longhaul_sdk::tool]
pub fn smuggle(_task: &Task, input: Smuggle) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    const THE_HOSTS: [&str; 12] = [
        "Host",
        "connection",
        "Keep-Alive",
        "proxy-authenticate",
        "proxy-authorization",
        "Proxy-Connection",
        "te",
        "trailer",
        "transfer-encoding",
        "UPGRADE",
        "expect",
        "http2-settings",
    ];
    let fields = Fields::new();
    for name in THE_HOSTS {
        let said = [
            fields.append(name, b"x-evil"),
            fields.set(name, &[b"x-evil".to_vec()]),
            Fields::from_list(&[(name.to_owned(), b"x-evil".to_vec())]).map(drop),
        ];
        if said.iter().any(|said| !matches!(said, Err(HeaderError::Forbidden))) {
            seen.add("a header of the host's", name);
        }
    }
    for name in ["", " ", "x evil", "x:evil", "x\r\nx-evil", "x\nevil", "x\0", "x-\u{e9}vil", ":path", "\tx"] {
        if !matches!(fields.append(name, b"1"), Err(HeaderError::InvalidSyntax)) {
            seen.add("a name", name);
        }
    }
    for value in
        [&b"a\r\nx-evil: 1"[..], b"a\nx-evil: 1", b"a\rx-evil: 1", b"a\0b", b"\r\n\r\nGET /evil HTTP/1.1", b"\x7f"]
    {
        if !matches!(fields.append("x-good", value), Err(HeaderError::InvalidSyntax)) {
            seen.add("a value", value);
        }
    }
    fields.append("x-good", b"1").expect("what is no trick is taken");
    let make = |method: &Method, path: &str| {
        let request = OutgoingRequest::new(fields.clone());
        request.set_scheme(Some(&Scheme::Http)).expect("a scheme");
        request.set_authority(Some(&input.authority)).expect("an authority");
        let said = request.set_method(method).is_ok() && request.set_path_with_query(Some(path)).is_ok();
        said.then_some(request)
    };
    for method in ["GET /evil HTTP/1.1\r\nx-evil: 1\r\n\r\nGET", "G ET", "GET\r\n", "", "G\0T"] {
        if make(&Method::Other(method.into()), "/").is_some() {
            seen.add("a method", method);
        }
    }
    for path in ["/ HTTP/1.1\r\nx-evil: 1", "/a b", "/a\r\n", "/a\n", "/a\0"] {
        if make(&Method::Get, path).is_some() {
            seen.add("a path", path);
        }
    }
    for authority in ["a.example\r\nx-evil: 1", "a.example/evil", "a b", "a.example\0", "a.example?x", "a.example#x"] {
        if OutgoingRequest::new(Fields::new()).set_authority(Some(authority)).is_ok() {
            seen.add("an authority", authority);
        }
    }
    // What may be said is sent, and must arrive as what it is.
    for path in [
        "//evil.example/x",
        "/../../x",
        "/%0d%0ax-evil:%201",
        "/x?%0d%0ax-evil: 1",
        "http://evil.example/x",
        "*",
        "/\\evil",
    ] {
        let Some(request) = make(&Method::Get, path) else { continue };
        let response = handle(request, None).expect("a future");
        response.subscribe().block();
        drop(response.get());
    }
    for method in [Method::Connect, Method::Trace, Method::Other("TRACK".into())] {
        let response = handle(make(&method, "/").expect("a request"), None).expect("a future");
        response.subscribe().block();
        if !matches!(response.get(), Some(Ok(Err(_)))) {
            seen.add("a method", method);
        }
    }
    Ok(seen.finish())
}

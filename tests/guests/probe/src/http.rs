//! Tools that send HTTP requests, well and badly.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_sdk::{HttpError, PendingResponse, Question, Request, Response, Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{Fields, FutureIncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme};

use crate::trace::{Recorder, Trace};

#[derive(Clone, Deserialize, JsonSchema)]
pub struct Fetch {
    url: String,
    #[serde(default = "get")]
    method: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    /// Bytes of `x` that the body has after that.
    #[serde(default)]
    fill: usize,
    /// How often, one after the other.
    #[serde(default = "one")]
    times: u32,
    /// A question between the requests.
    ask: Option<String>,
    /// How long the response may take to begin.
    timeout_ms: Option<u64>,
    /// How it ends: `unavailable` for another attempt, the first time; `failed`.
    end: Option<String>,
    /// A secret whose placeholder stands for `{secret}` in the URL, the headers and the body.
    secret: Option<String>,
    /// Whether a redirect is followed, once.
    #[serde(default)]
    follow: bool,
}

fn get() -> String {
    "GET".into()
}

fn one() -> u32 {
    1
}

fn request(task: &Task, input: &Fetch) -> Request {
    let placeholder = input.secret.as_ref().and_then(|name| task.setting(name));
    let with_secret = |text: &str| match &placeholder {
        Some(placeholder) => text.replace("{secret}", placeholder),
        None => text.to_owned(),
    };
    let mut body = with_secret(&input.body).into_bytes();
    body.resize(body.len() + input.fill, b'x');
    let request = task.http().request(&input.method, with_secret(&input.url)).body(body);
    let headers = input.headers.iter();
    let request = headers.fold(request, |request, (name, value)| request.header(name, with_secret(value)));
    input.timeout_ms.into_iter().fold(request, |request, millis| request.timeout(Duration::from_millis(millis)))
}

fn note(seen: &mut Recorder, outcome: &Result<Response, HttpError>) {
    match outcome {
        Ok(response) => {
            seen.add("status", response.status());
            seen.add("type", response.header("content-type"));
            match response.bytes().len() {
                ..=1_000 => seen.add("body", response.text()),
                bytes => seen.add("bytes", bytes),
            }
            if let Some(sum) = response.trailer("x-sum") {
                seen.add("trailer", sum);
            }
        }
        Err(error) => {
            seen.add("error", error.to_string());
            seen.add("kind", error.kind());
        }
    }
}

/// Sends a request, and tells what came of it.
#[longhaul_sdk::tool]
pub fn fetch(task: &Task, input: Fetch) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    for time in 0..input.times {
        if let (1.., Some(prompt)) = (time, &input.ask) {
            seen.add("answer", task.ask(Question::confirm(prompt))?);
        }
        let outcome = request(task, &input).send();
        note(&mut seen, &outcome);
        let location = outcome.ok().and_then(|response| response.header("location").map(str::to_owned));
        if let (true, Some(location)) = (input.follow, location) {
            note(&mut seen, &task.http().get(location).send());
        }
        task.progress("seen").done(time + 1);
    }
    match input.end.as_deref() {
        Some("unavailable") if task.attempt() == 1 => Err(ToolError::unavailable("once more")),
        _ => Ok(seen.finish()),
    }
}

/// All that came back, as text.
fn whole(outcome: &Result<Response, HttpError>) -> String {
    match outcome {
        Ok(response) => {
            let headers =
                response.headers().map(|(name, value)| format!("{name}: {}\n", String::from_utf8_lossy(value)));
            let sum = response.trailer("x-sum").unwrap_or_default();
            format!("{}\n{}\n{}\nx-sum: {sum}\n", response.status(), headers.collect::<String>(), response.text())
        }
        Err(error) => format!("{error:?}: {error}\n"),
    }
}

/// Sends a request, and once more to where it is redirected to, and tells everybody all that came back: in its progress,
/// its log, a question and its result.
#[longhaul_sdk::tool]
pub fn retell(task: &Task, input: Fetch) -> Result<Trace, ToolError> {
    let first = request(task, &input).send();
    let mut told = whole(&first);
    let next = first.ok().and_then(|response| response.header("location").map(str::to_owned));
    if let Some(url) = next {
        told += &whole(&request(task, &Fetch { url, ..input.clone() }).send());
    }
    task.progress(told.clone());
    println!("{told}");
    eprintln!("{told}");
    task.ask(Question::confirm("Is it told?").detail(told.clone()))?;
    let mut seen = Recorder::default();
    seen.add("told", &told);
    match input.end.as_deref() {
        Some("failed") => Err(ToolError::failed(&told).details(&told)),
        _ => Ok(seen.finish()),
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct Several {
    urls: Vec<String>,
    #[serde(default = "get")]
    method: String,
}

/// Sends requests at once, and sees the responses in the order in which they come.
#[longhaul_sdk::tool]
pub fn fetch_several(task: &Task, input: Several) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    let mut under_way: Vec<(usize, PendingResponse)> = Vec::new();
    for (place, url) in input.urls.iter().enumerate() {
        match task.http().request(&input.method, url).begin() {
            Ok(pending) => under_way.push((place, pending)),
            Err(error) => seen.add("not begun", error.to_string()),
        }
    }
    while !under_way.is_empty() {
        let first = PendingResponse::first(under_way.iter().map(|(_, pending)| pending));
        let (place, pending) = under_way.remove(first);
        seen.add("place", place);
        note(&mut seen, &pending.wait());
    }
    Ok(seen.finish())
}

#[derive(Deserialize, JsonSchema)]
pub struct Misuse {
    /// Host and port.
    authority: String,
    /// What to do wrong.
    how: String,
}

/// Breaks the rules of `wasi:http`, and tells what it is told.
#[longhaul_sdk::tool]
pub fn http_misuse(_task: &Task, input: Misuse) -> Result<Trace, ToolError> {
    let mut seen = Recorder::default();
    let fields = Fields::new();
    let make = |fields: Fields| {
        let request = OutgoingRequest::new(fields);
        request.set_method(&Method::Post).expect("a method");
        request.set_scheme(Some(&Scheme::Http)).expect("a scheme");
        request.set_authority(Some(&input.authority)).expect("an authority");
        request
    };
    match input.how.as_str() {
        "wait-unfinished" => {
            let request = make(fields);
            let body = request.body().expect("a body");
            let response = handle(request, None).expect("a future");
            seen.add("none yet", response.get().is_none());
            let pollable = response.subscribe();
            seen.add("ready", pollable.ready());
            pollable.block();
            seen.add("got", outcome(&response));
            seen.add("again", response.get().map(|taken| taken.is_err()));
            seen.add("finished", OutgoingBody::finish(body, None).is_ok());
        }
        "drop-body" => {
            let request = make(fields);
            let body = request.body().expect("a body");
            let response = handle(request, None).expect("a future");
            drop(body);
            response.subscribe().block();
            seen.add("got", outcome(&response));
        }
        "short-body" => {
            fields.append("content-length", b"5").expect("a header");
            let request = make(fields);
            let body = request.body().expect("a body");
            let response = handle(request, None).expect("a future");
            body.write().expect("a stream").write(b"four").expect("written");
            seen.add("finish", OutgoingBody::finish(body, None).map_err(|code| format!("{code:?}")));
            response.subscribe().block();
            seen.add("got", outcome(&response));
        }
        "headers" => {
            seen.add("host", fields.append("host", b"evil.example"));
            seen.add("split", fields.append("x", b"a\r\nset-cookie: b"));
            seen.add("name", fields.set("a b", &[b"c".to_vec()]));
            let request = make(fields);
            seen.add("immutable", request.headers().append("x", b"y"));
            seen.add("path", request.set_path_with_query(Some("/a b\r\nx: y")));
            seen.add("authority", request.set_authority(Some("a b")));
            seen.add("method", request.set_method(&Method::Other("GET /\r\n".into())));
        }
        "many-headers" => {
            for n in 0..1_000_000_u32 {
                fields.append("x", format!("{n}").as_bytes()).expect("a header");
            }
        }
        "connect" => {
            let request = make(fields);
            request.set_method(&Method::Connect).expect("a method");
            let response = handle(request, None).expect("a future");
            seen.add("got", outcome(&response));
        }
        other => return Err(ToolError::invalid_input(format!("nothing is called {other}"))),
    }
    Ok(seen.finish())
}

fn outcome(response: &FutureIncomingResponse) -> String {
    match response.get() {
        None => "nothing".into(),
        Some(Err(())) => "taken".into(),
        Some(Ok(Ok(response))) => response.status().to_string(),
        Some(Ok(Err(code))) => format!("{code:?}"),
    }
}

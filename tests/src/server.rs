//! `longhaul serve`, called as an agent calls it.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use futures_util::StreamExt as _;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use crate::cli::{Cli, Done, component, read, signal};

/// A server that runs.
pub struct Serving {
    child: Child,
    stderr: Option<JoinHandle<String>>,
    url: String,
    token: Option<String>,
    inbox: Option<String>,
}

impl Cli {
    /// Starts a server with the probe on a port that is free, and waits until it listens.
    pub fn serve(&self, args: &[&str]) -> Serving {
        let probe = component("probe");
        self.try_serve(&[&["--plugin", &probe], args].concat()).expect("it serves")
    }

    /// Starts a server, and waits until it listens or ends.
    pub fn try_serve(&self, args: &[&str]) -> Result<Serving, Done> {
        let mut listen = vec!["serve", "--json"];
        if !args.contains(&"--listen") {
            listen.extend(["--listen", "127.0.0.1:0"]);
        }
        listen.extend(args);
        let mut command = self.command(&listen);
        command.stderr(Stdio::piped());
        Serving::start(&mut command)
    }

    /// Makes a token.
    pub fn token(&self, args: &[&str]) -> String {
        self.run(&[&["token", "create"], args].concat()).exits(0).stdout.trim().to_owned()
    }
}

impl Serving {
    /// Waits until a server listens or ends that is started by a command with `--json`.
    pub fn start(command: &mut Command) -> Result<Self, Done> {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("longhaul starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("a line");
        if line.is_empty() {
            return Err(child.wait_with_output().expect("it ends").into());
        }
        let line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: `{line}`"));
        assert_eq!(line["type"], "serving", "{line}");
        let text = |name: &str| line[name].as_str().map(str::to_owned);
        let stderr = child.stderr.take().map(read);
        Ok(Self { child, stderr, url: text("url").expect("a URL"), token: text("token"), inbox: text("inbox") })
    }

    /// Where it listens.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The link that signs one browser in.
    pub fn inbox(&self) -> &str {
        self.inbox.as_deref().expect("on loopback there is one")
    }

    /// Somebody with the first token, which has all scopes.
    pub fn agent(&self) -> Agent {
        self.agent_with(self.token.as_deref().expect("the first start makes a token"))
    }

    /// Somebody with that token.
    pub fn agent_with(&self, token: &str) -> Agent {
        Agent::new(&self.url, token)
    }

    /// Sends it a signal, named as `kill` knows it.
    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Waits for its end.
    pub fn end(mut self) -> Done {
        let status = self.child.wait().expect("it ends");
        let stderr = self.stderr.take().map(|read| read.join().expect("it is read")).unwrap_or_default();
        Done { code: status.code().unwrap_or(-1), stdout: String::new(), stderr }
    }

    /// `kill -9`.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // A test that failed leaves nothing behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Somebody who calls a server.
#[derive(Clone)]
pub struct Agent {
    client: reqwest::Client,
    url: String,
    token: String,
}

/// What a server answered.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }

    /// Fails the test unless the status is this.
    #[track_caller]
    pub fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// Fails the test unless it is a problem of that status and name; gives its body.
    #[track_caller]
    pub fn problem(self, status: u16, name: &str) -> Value {
        let answer = self.is(status);
        assert_eq!(answer.headers["content-type"], "application/problem+json", "{answer:?}");
        let body = answer.json();
        assert_eq!(body["type"], format!("urn:longhaul:{name}"), "{body}");
        assert_eq!(body["status"], status, "{body}");
        for member in ["title", "detail"] {
            assert!(body[member].as_str().is_some_and(|text| !text.is_empty()), "{body}");
        }
        body
    }

    /// A header as text.
    #[track_caller]
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name}: {self:?}")).to_str().expect("text")
    }
}

impl Agent {
    pub fn new(url: &str, token: &str) -> Self {
        Self { client: client(), url: url.to_owned(), token: token.to_owned() }
    }

    /// The token that is shown.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A request, to be given more.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token)
    }

    pub async fn get(&self, path: impl AsRef<str>) -> Answer {
        send(self.request(Method::GET, path.as_ref())).await
    }

    pub async fn delete(&self, path: impl AsRef<str>) -> Answer {
        send(self.request(Method::DELETE, path.as_ref())).await
    }

    pub async fn post(&self, path: impl AsRef<str>, body: Value) -> Answer {
        send(json(self.request(Method::POST, path.as_ref()), &body)).await
    }

    /// Starts a tool of the probe, and gives the task's id.
    pub async fn start(&self, tool: &str, input: Value) -> String {
        let body = serde_json::json!({ "plugin": "probe", "tool": tool, "input": input });
        let task = self.post("/v1/tasks", body).await.is(202).json();
        task["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until a task has ended or asks something.
    pub async fn settled(&self, id: &str) -> Value {
        self.get(&format!("/v1/tasks/{id}?wait=60s")).await.is(200).json()
    }

    /// Opens a stream of events.
    pub async fn stream(&self, path: &str, last_event_id: Option<&str>) -> Events {
        let mut request = self.request(Method::GET, path).header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.expect("an answer");
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        Events { bytes: Box::pin(response.bytes_stream()), seen: Vec::new() }
    }
}

/// A client that trusts nobody else's settings.
pub fn client() -> reqwest::Client {
    // Another test of this process may have been first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(Duration::from_secs(100));
    client.build().expect("a client")
}

/// With a body of JSON.
pub fn json(request: RequestBuilder, body: &Value) -> RequestBuilder {
    request.header("content-type", "application/json").body(body.to_string())
}

/// Sends it, and reads the whole answer.
pub async fn send(request: RequestBuilder) -> Answer {
    let response = request.send().await.expect("an answer");
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, text: response.text().await.expect("a body of text") }
}

/// A stream of server-sent events.
pub struct Events {
    bytes: std::pin::Pin<Box<dyn futures_util::Stream<Item = reqwest::Result<bytes::Bytes>> + Send>>,
    seen: Vec<u8>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerEvent {
    pub id: String,
    pub event: String,
    pub data: Value,
}

impl Events {
    /// The next one. `None`: the stream has ended.
    pub async fn next(&mut self) -> Option<ServerEvent> {
        loop {
            while let Some(end) = self.seen.windows(2).position(|two| two == b"\n\n") {
                let block: Vec<u8> = self.seen.drain(..end + 2).collect();
                let block = String::from_utf8(block).expect("UTF-8");
                let field = |name: &str| {
                    let line = block.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
                    line.map(|value| value.trim_start().to_owned())
                };
                // Anything else is a comment that keeps the connection alive.
                if let Some(data) = field("data") {
                    let data = serde_json::from_str(&data).unwrap_or_else(|e| panic!("{e}: {block}"));
                    return Some(ServerEvent {
                        id: field("id").unwrap_or_default(),
                        event: field("event").unwrap_or_default(),
                        data,
                    });
                }
            }
            match self.bytes.next().await {
                Some(Ok(more)) => self.seen.extend_from_slice(&more),
                // A server that was killed.
                Some(Err(_)) | None => return None,
            }
        }
    }

    /// Reads to the end, which the server makes: long before this client would lose its patience.
    pub async fn ends(&mut self) {
        let ended = async { while self.next().await.is_some() {} };
        tokio::time::timeout(Duration::from_secs(60), ended).await.expect("it ends");
    }

    /// Reads until one of this kind.
    pub async fn until(&mut self, kind: &str) -> ServerEvent {
        while let Some(event) = self.next().await {
            if event.event == kind {
                return event;
            }
        }
        panic!("the stream ended before `{kind}`");
    }
}

/// Repeats until it is so. Fails the test when it takes too long.
pub async fn until(so: impl AsyncFn() -> bool) {
    for _ in 0..2_400 {
        if so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("it took too long");
}

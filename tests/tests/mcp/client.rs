//! A client that says what a test wants it to say.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use longhaul_tests::cli::Cli;
use longhaul_tests::embedded::with_probe;
use serde_json::{Value, json};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(240);
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// `longhaul mcp`, and what it has said that nobody has looked at.
pub struct Client {
    server: Child,
    to: Option<ChildStdin>,
    from: Receiver<Value>,
    /// Of requests and notifications.
    heard: Vec<Value>,
    ids: u64,
    /// What every request says that the client can do; none: it is an older one, which said so at first.
    capabilities: Option<Value>,
}

/// Data with the probe installed.
pub fn data() -> Cli {
    let cli = Cli::new();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(with_probe(&cli.data()));
    cli
}

/// What a client can do that follows tasks and shows forms.
pub fn everything() -> Value {
    json!({"extensions": {TASKS: {}}, "elicitation": {"form": {}}})
}

impl Client {
    /// One of 2026-07-28.
    pub fn modern(cli: &Cli, capabilities: Value, args: &[&str]) -> Self {
        let mut client = Self::start(cli, args);
        client.capabilities = Some(capabilities);
        client
    }

    /// One of 2025-11-25, which shakes hands.
    pub fn older(cli: &Cli, capabilities: Value, args: &[&str]) -> Self {
        let mut client = Self::start(cli, args);
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "older", "version": "1"}
        });
        let greeted = client.result("initialize", params);
        assert_eq!(greeted["protocolVersion"], "2025-11-25");
        assert_eq!(greeted["capabilities"].get("extensions"), None, "{greeted}");
        client.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    /// One that has said nothing yet.
    pub fn start(cli: &Cli, args: &[&str]) -> Self {
        let mut command = cli.command(&[&["mcp"], args].concat());
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("longhaul starts");
        let to = server.stdin.take();
        let lines = BufReader::new(server.stdout.take().expect("a pipe"));
        let (said, from) = mpsc::channel();
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: `{line}`"));
                if said.send(line).is_err() {
                    return;
                }
            }
        });
        Self { server, to, from, heard: Vec::new(), ids: 0, capabilities: None }
    }

    pub fn send(&mut self, message: Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Whatever it is.
    pub fn write(&mut self, bytes: &[u8]) {
        self.to.as_mut().expect("it is open").write_all(bytes).expect("it reads");
    }

    /// The next message of all.
    pub fn next(&mut self) -> Value {
        if self.heard.is_empty() { self.hear() } else { self.heard.remove(0) }
    }

    /// Sends a request, and gives its id.
    pub fn request(&mut self, method: &str, mut params: Value) -> u64 {
        self.ids += 1;
        if let Some(capabilities) = &self.capabilities {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
            meta["io.modelcontextprotocol/clientInfo"] = json!({"name": "modern", "version": "1"});
        }
        self.send(json!({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params}));
        self.ids
    }

    fn hear(&mut self) -> Value {
        self.from.recv_timeout(PATIENCE).unwrap_or_else(|e| panic!("{e}; it said {:?}", self.heard))
    }

    /// The next message that is no answer and has that method.
    pub fn until(&mut self, method: &str) -> Value {
        if let Some(at) = self.heard.iter().position(|message| message["method"] == method) {
            return self.heard.remove(at);
        }
        loop {
            let message = self.hear();
            if message["method"] == method {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// The answer to a request.
    pub fn answer(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == id && message.get("method").is_none();
        if let Some(at) = self.heard.iter().position(is_it) {
            return self.heard.remove(at);
        }
        loop {
            let message = self.hear();
            if is_it(&message) {
                return message;
            }
            self.heard.push(message);
        }
    }

    /// All that was heard of that method and not looked at.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        self.heard.iter().filter(|message| message["method"] == method).cloned().collect()
    }

    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer(id);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The error that a request is answered with.
    pub fn error(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        let answer = self.answer(id);
        assert!(answer.get("result").is_none(), "{method}: {answer}");
        answer["error"].clone()
    }

    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// Calls a tool that answers with a task, and gives its id.
    pub fn task(&mut self, tool: &str, arguments: Value) -> String {
        let created = self.call(tool, arguments);
        assert_eq!(created["resultType"], "task", "{created}");
        created["taskId"].as_str().expect("an id").to_owned()
    }

    pub fn get(&mut self, task: &str) -> Value {
        self.result("tasks/get", json!({"taskId": task}))
    }

    /// Looks at a task until it stands so.
    pub fn get_until(&mut self, task: &str, status: &str) -> Value {
        longhaul_tests::cli::eventually(status, || {
            let found = self.get(task);
            (found["status"] == status).then_some(found)
        })
    }

    /// Closes its end, as a client does that goes.
    pub fn leave(mut self) -> i32 {
        self.to = None;
        self.server.wait().expect("it ends").code().unwrap_or(-1)
    }

    pub fn kill(mut self) {
        self.server.kill().expect("it is killed");
        self.server.wait().expect("it ends");
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

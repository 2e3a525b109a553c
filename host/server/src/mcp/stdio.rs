//! MCP on standard input and output: one client, which started us.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use longhaul::{Error, Host};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, GetMeta as _, ProtocolVersion, ServerJsonRpcMessage,
};
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServiceExt as _, transport};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::mpsc;

use super::message::{self, Refusal};
use super::{Config, Face, Session, Whose, edge};

/// Bytes of one message, which is one line.
const LINE: usize = 16 << 20;

/// Messages that wait to be written.
const WAITING: usize = 64;

/// How long a client that goes may take to read what it was told.
const PATIENCE: Duration = Duration::from_secs(5);

/// Speaks MCP on standard input and output until the client closes them. What is started belongs to `namespace`, and goes
/// on for as long as the host runs, or the next one.
///
/// # Errors
///
/// [`Error::Store`]; [`Error::Fault`] if the first messages are none of this protocol.
///
/// ```no_run
/// # async fn doc() -> Result<(), longhaul::Error> {
/// let host = longhaul::Host::builder().data_dir("data").open().await?;
/// longhaul_server::mcp::serve_stdio(&host, longhaul::DEFAULT_NAMESPACE, Default::default()).await?;
/// host.shutdown().await;
/// # Ok(()) }
/// ```
pub async fn serve_stdio(host: &Host, namespace: &str, config: Config) -> Result<(), Error> {
    let whose = Whose::User { host: host.namespace(namespace), namespace: namespace.to_owned() };
    let session = Session::new(Arc::new(Face::new(whose, host, config)));
    let (input, output) = transport::stdio_pipes();
    let (said, lines) = mpsc::channel(WAITING);
    let writer = tokio::spawn(write(output, lines));
    let served = match session.serve(Lines::new(input, said)).await {
        Ok(service) => match service.waiting().await {
            Ok(QuitReason::JoinError(error)) | Err(error) => Err(Error::Fault(error.to_string())),
            Ok(_) => Ok(()),
        },
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(Error::Fault(format!("the client did not begin as MCP does: {error}"))),
    };
    // What was said is written, unless nobody reads it.
    let _ = tokio::time::timeout(PATIENCE, writer).await;
    served
}

/// Writes whole lines, one after the other, whoever says them.
async fn write(mut output: impl AsyncWrite + Unpin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        // An error: nobody reads any more.
        if output.write_all(&line).await.is_err() || output.flush().await.is_err() {
            return;
        }
    }
}

/// Messages as lines. What is no message is answered here, and the next one is read.
struct Lines<R> {
    input: BufReader<R>,
    /// What has come of a line so far.
    line: Vec<u8>,
    /// The rest of a line that was too long is passed over.
    skips: bool,
    /// Whether there is a session.
    begun: bool,
    /// What a line that was no message is answered with, until that is on its way.
    owed: Option<Value>,
    output: Option<mpsc::Sender<Vec<u8>>>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(input: R, output: mpsc::Sender<Vec<u8>>) -> Self {
        let input = BufReader::new(input);
        Self { input, line: Vec::new(), skips: false, begun: false, owed: None, output: Some(output) }
    }

    /// The next line, however long it takes; `Err`: it is too long. Nothing is lost if it is dropped in between.
    async fn line(&mut self) -> Option<Result<Vec<u8>, Box<Refusal>>> {
        loop {
            let chunk = self.input.fill_buf().await.ok()?;
            if chunk.is_empty() {
                // A last line without an end.
                return Some(std::mem::take(&mut self.line)).filter(|line| !line.is_empty()).map(Ok);
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let bytes = end.map_or(chunk.len(), |end| end + 1);
            let mut too_long = false;
            if !self.skips && self.line.len() + bytes > LINE {
                too_long = true;
                self.line = Vec::new();
            } else if !self.skips {
                self.line.extend_from_slice(&chunk[..bytes]);
            }
            self.input.consume(bytes);
            self.skips = (self.skips || too_long) && end.is_none();
            if too_long {
                let problem = format!("a message may have {LINE} bytes; this has more, and was not read");
                return Some(message::refused(Value::Null, ErrorData::invalid_request(problem, None)));
            }
            if end.is_some() && !self.line.is_empty() {
                return Some(Ok(std::mem::take(&mut self.line)));
            }
        }
    }

    /// The message of a line. `None`: it needs no answer.
    fn message(&mut self, line: &[u8]) -> Result<Option<ClientJsonRpcMessage>, Box<Refusal>> {
        // Some editors write it at the beginning of whatever they write.
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line).trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        message::check(line)?;
        let renamed = edge::renamed(line);
        let read = serde_json::from_slice(renamed.as_deref().unwrap_or(line));
        let message: ClientJsonRpcMessage = match read {
            Ok(message) => message,
            Err(error) => {
                let id = message::id(line);
                if id.is_null() {
                    tracing::debug!(%error, "a notification that is none of this protocol");
                    return Ok(None);
                }
                return message::refused(id, ErrorData::invalid_request(error.to_string(), None));
            }
        };
        if self.begun || self.begins(line, &message)? { Ok(Some(message)) } else { Ok(None) }
    }

    /// Whether a message may come before there is a session. The SDK ends with one that may not.
    fn begins(&mut self, line: &[u8], message: &ClientJsonRpcMessage) -> Result<bool, Box<Refusal>> {
        let ClientJsonRpcMessage::Request(request) = message else { return Ok(false) };
        let refused = |error: ErrorData| message::refused(message::id(line), error);
        let request = &request.request;
        match request {
            ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => return Ok(true),
            ClientRequest::InitializeRequest(_) => self.begun = true,
            ClientRequest::CustomRequest(custom) if custom.method == "initialize" => {
                let wrong = message::wrong_params(&custom.method, custom.params.clone());
                return wrong.map_or(Ok(true), refused);
            }
            request if request.get_meta().protocol_version().is_none() => {
                let message = format!("`{}` came before the session has begun: {}", request.method(), message::BEGIN);
                return refused(ErrorData::invalid_params(message, None));
            }
            request => self.begun = request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
        }
        Ok(true)
    }
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl<R: AsyncRead + Send + Unpin> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            output.ok_or_else(gone)?.send(line).await.map_err(|_| gone())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(owed) = &self.owed {
                self.output.as_ref()?.send(format!("{owed}\n").into_bytes()).await.ok()?;
                self.owed = None;
            }
            let read = match self.line().await? {
                Ok(line) => self.message(&line),
                Err(refusal) => Err(refusal),
            };
            match read {
                Ok(Some(message)) => return Some(message),
                Ok(None) => {}
                Err(refusal) => self.owed = Some(refusal.to_json()),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.output = None;
        Ok(())
    }
}

//! MCP on standard input and output: one client, which started us.

use std::sync::Arc;

use longhaul::{Error, Host};
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::{ServiceExt as _, transport};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::{Config, Face, Session, Whose, edge};

/// Bytes of one message, which is one line.
const LINE: u64 = 16 << 20;

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
    let service = match session.serve((repaired(input), output)).await {
        Ok(service) => service,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(Error::Fault(format!("the client did not begin as MCP does: {error}"))),
    };
    match service.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(Error::Fault(error.to_string())),
        Ok(_) => Ok(()),
    }
}

/// The lines of `input`, each [repaired](edge).
fn repaired(input: impl AsyncRead + Send + Unpin + 'static) -> impl AsyncRead + Send + Unpin + 'static {
    let (mut ours, theirs) = tokio::io::duplex(64 << 10);
    tokio::spawn(async move {
        let mut input = BufReader::new(input);
        let mut line = Vec::new();
        loop {
            line.clear();
            match (&mut input).take(LINE).read_until(b'\n', &mut line).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            if line.last() != Some(&b'\n') && line.len() as u64 == LINE {
                tracing::error!("a message has more than {LINE} bytes; the connection is closed");
                return;
            }
            if let Some(renamed) = edge::renamed(&line) {
                line = renamed;
                line.push(b'\n');
            }
            // Nobody reads any more.
            if ours.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    theirs
}

//! Standard output and error: the task's log.

use std::sync::Arc;

use wasmtime_wasi::async_trait;
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::{OutputStream, Pollable, StreamError, StreamResult};

use crate::journal::LogStream;
use crate::limits::UNCOMMITTED_BYTES;
use crate::sandbox::run::{Interrupted, Run};

/// Bytes that a guest may write at once. Always the same, so that nobody has to record what it was.
const PERMIT: usize = 1 << 20;

/// Bytes that are held for a guest that does not wait when it is told to.
const HELD: usize = 4 * UNCOMMITTED_BYTES;

/// One of the two streams.
#[derive(Clone)]
pub(super) struct Log {
    run: Arc<Run>,
    stream: LogStream,
}

impl Log {
    pub fn new(run: Arc<Run>, stream: LogStream) -> Self {
        Self { run, stream }
    }
}

impl IsTerminal for Log {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Log {
    /// For WASI 0.3, which is not linked.
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(tokio::io::sink())
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Log {
    fn write(&mut self, bytes: bytes::Bytes) -> StreamResult<()> {
        if bytes.len() > PERMIT {
            return Err(StreamError::trap("more was written than was permitted"));
        }
        let (live, pending) = {
            let recorder = self.run.recorder();
            (recorder.is_live(), recorder.pending_bytes())
        };
        if live {
            self.run.planned().map_err(|interrupted| StreamError::Trap(interrupted.into()))?;
        }
        if pending > HELD {
            return Err(StreamError::trap("it wrote on and on without waiting until the stream was ready"));
        }
        let now = self.run.now();
        let written = self.run.recorder().write(now, self.stream, &bytes).map_err(Interrupted::from);
        written.map_err(|error| StreamError::Trap(error.into()))
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT)
    }
}

#[async_trait]
impl Pollable for Log {
    async fn ready(&mut self) {
        // A guest that writes faster than the disk is held here. It cannot tell, so nothing is recorded of it.
        if self.run.recorder().pending_bytes() > UNCOMMITTED_BYTES {
            let _ = self.run.commit(None).await;
        }
    }
}

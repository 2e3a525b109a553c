//! Ctrl-C, and being told to go.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::mpsc;

use crate::exit::Exit;
use crate::prompt::keys;
use crate::view::say;

/// What the person or the system wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C: ask the task to stop.
    Interrupt,
    /// The system or the terminal wants the program gone.
    Leave(Exit),
}

const SIGHUP: u8 = 1;
const SIGINT: u8 = 2;
const SIGTERM: u8 = 15;

/// How long the program may take to release one task once it was told to go.
pub const RELEASE: Duration = Duration::from_secs(3);

/// The signals that came, the first Ctrl-C among them.
///
/// A second Ctrl-C ends the process there and then, whatever it is doing: the task's journal holds all that was seen,
/// and the lease falls with the process.
pub struct Signals {
    came: mpsc::UnboundedReceiver<Signal>,
    /// What to say when leaving at once.
    farewell: Arc<OnceLock<String>>,
}

impl Signals {
    /// From here on signals no longer end the process by themselves.
    /// Once the system has told the program to go, it has so long.
    pub fn listen(patience: Duration) -> std::io::Result<Self> {
        let (send, came) = mpsc::unbounded_channel();
        let farewell = Arc::new(OnceLock::<String>::new());
        listen_for_leave(&send, patience)?;
        let mut interrupts = interrupts()?;
        let last_words = farewell.clone();
        tokio::spawn(async move {
            let mut first = true;
            while interrupts.recv().await.is_some() {
                // Without a listener the task is being released already.
                if !std::mem::take(&mut first) || send.send(Signal::Interrupt).is_err() {
                    leave(Exit::Signal(SIGINT), last_words.get());
                }
            }
        });
        Ok(Self { came, farewell })
    }

    /// Sets what to say when leaving at once.
    pub fn set_farewell(&self, words: String) {
        let _ = self.farewell.set(words);
    }

    pub async fn next(&mut self) -> Signal {
        match self.came.recv().await {
            Some(signal) => signal,
            // Nobody can signal any more.
            None => std::future::pending().await,
        }
    }
}

fn leave(exit: Exit, farewell: Option<&String>) -> ! {
    keys::restore();
    if let Some(words) = farewell {
        say(&format!("\n{words}"));
    }
    std::process::exit(exit.code().into())
}

#[cfg(unix)]
fn interrupts() -> std::io::Result<tokio::signal::unix::Signal> {
    tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())
}

#[cfg(windows)]
fn interrupts() -> std::io::Result<tokio::signal::windows::CtrlC> {
    tokio::signal::windows::ctrl_c()
}

#[cfg(unix)]
fn listen_for_leave(send: &mpsc::UnboundedSender<Signal>, patience: Duration) -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    for (kind, number) in [(SignalKind::terminate(), SIGTERM), (SignalKind::hangup(), SIGHUP)] {
        let mut received = signal(kind)?;
        let send = send.clone();
        tokio::spawn(async move {
            if received.recv().await.is_some() {
                let _ = send.send(Signal::Leave(Exit::Signal(number)));
                tokio::time::sleep(patience).await;
                leave(Exit::Signal(number), None);
            }
        });
    }
    Ok(())
}

#[cfg(not(unix))]
fn listen_for_leave(_: &mpsc::UnboundedSender<Signal>, _: Duration) -> std::io::Result<()> {
    Ok(())
}

//! Keys from the terminal, while a question is at the prompt.

use tokio::sync::mpsc;

use console::Key;

/// The keys that are pressed, until it is dropped.
pub struct Keys {
    pressed: mpsc::UnboundedReceiver<Key>,
    _terminal: terminal::Terminal,
}

impl Keys {
    /// Begins to read keys. What was typed before is dropped: it was not meant for this question.
    pub fn open() -> std::io::Result<Self> {
        let (send, pressed) = mpsc::unbounded_channel();
        Ok(Self { pressed, _terminal: terminal::Terminal::open(send)? })
    }

    /// The next key; none when the terminal is gone.
    pub async fn next(&mut self) -> Option<Key> {
        self.pressed.recv().await
    }
}

pub use terminal::restore;

#[cfg(unix)]
mod terminal {
    //! Raw mode with Ctrl-C still a signal, and a wait that the prompt can end.

    use std::io::{self, PipeReader, PipeWriter, Write as _};
    use std::sync::{Mutex, PoisonError};
    use std::thread::JoinHandle;
    use std::time::Duration;

    use console::Key;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::io::Errno;
    use rustix::stdio::stdin;
    use rustix::termios::{
        InputModes, LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcsetattr,
    };
    use tokio::sync::mpsc::UnboundedSender;

    use super::super::decode::Decoder;

    /// How the terminal was before, for whoever leaves while a question is at the prompt.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// Marks pasted text, so that a line break in it is text and does not answer the question.
    const PASTE_ON: &[u8] = b"\x1b[?2004h";
    const PASTE_OFF: &[u8] = b"\x1b[?2004l";

    /// The bytes of one key arrive together; after that long, an ESC was the key itself.
    const REST_OF_KEY: Duration = Duration::from_millis(50);

    pub struct Terminal {
        stop: Option<PipeWriter>,
        reader: Option<JoinHandle<()>>,
    }

    impl Terminal {
        pub fn open(send: UnboundedSender<Key>) -> io::Result<Self> {
            let before = tcgetattr(stdin())?;
            let mut raw = before.clone();
            raw.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ECHONL | LocalModes::IEXTEN);
            raw.input_modes.remove(InputModes::IXON | InputModes::ICRNL | InputModes::INLCR);
            // Suspended or quit in raw mode, the shell would be left in it.
            raw.special_codes[SpecialCodeIndex::VSUSP] = 0;
            raw.special_codes[SpecialCodeIndex::VQUIT] = 0;
            raw.special_codes[SpecialCodeIndex::VMIN] = 1;
            raw.special_codes[SpecialCodeIndex::VTIME] = 0;
            let (stopped, stop) = io::pipe()?;
            *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
            tcsetattr(stdin(), OptionalActions::Flush, &raw)?;
            let _ = io::stderr().write_all(PASTE_ON);
            let reader = std::thread::Builder::new().name("keys".into()).spawn(move || read(&stopped, &send));
            let reader = reader.inspect_err(|_| restore())?;
            Ok(Self { stop: Some(stop), reader: Some(reader) })
        }
    }

    impl Drop for Terminal {
        fn drop(&mut self) {
            // The reader sees its pipe closed and ends.
            drop(self.stop.take());
            if let Some(reader) = self.reader.take() {
                let _ = reader.join();
            }
            restore();
        }
    }

    /// Puts the terminal back as it was, and drops what was typed and not read.
    pub fn restore() {
        if let Some(before) = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = io::stderr().write_all(PASTE_OFF);
            let _ = tcflush(stdin(), QueueSelector::IFlush);
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }

    fn read(stopped: &PipeReader, send: &UnboundedSender<Key>) {
        let mut decoder = Decoder::default();
        let mut bytes = [0; 256];
        loop {
            let terminal = stdin();
            let mut ends = [PollFd::new(&terminal, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
            let patience = decoder.is_within_key().then(|| Timespec::try_from(REST_OF_KEY).ok()).flatten();
            let keys = match poll(&mut ends, patience.as_ref()) {
                Err(Errno::INTR) => continue,
                Err(_) => return,
                Ok(0) => decoder.flush(),
                Ok(_) if !ends[1].revents().is_empty() => return,
                Ok(_) => match rustix::io::read(terminal, &mut bytes) {
                    Err(Errno::INTR) => continue,
                    // The terminal is gone.
                    Err(_) | Ok(0) => return,
                    Ok(n) => decoder.feed(&bytes[..n]),
                },
            };
            for key in keys {
                if send.send(key).is_err() {
                    return;
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod terminal {
    //! One key at a time. A read that was begun ends with the next key, even if the prompt was closed before.

    use std::io;

    use console::{Key, Term};
    use tokio::sync::mpsc::UnboundedSender;

    pub struct Terminal;

    impl Terminal {
        pub fn open(send: UnboundedSender<Key>) -> io::Result<Self> {
            let read = move || {
                while let Ok(key) = Term::stderr().read_key() {
                    if send.send(key).is_err() {
                        return;
                    }
                }
            };
            std::thread::Builder::new().name("keys".into()).spawn(read)?;
            Ok(Self)
        }
    }

    pub fn restore() {}
}

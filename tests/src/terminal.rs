//! A person at a terminal: types, and sees a screen.

use std::fmt::from_fn;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::ioctl_fionread;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use crate::cli::{Cli, eventually, signal};

/// Rows of every terminal.
const ROWS: u16 = 24;

/// A command whose standard input, output and error are a terminal.
pub struct AtTerminal {
    child: Child,
    keyboard: File,
    terminal: Arc<Mutex<Terminal>>,
    reader: JoinHandle<()>,
}

/// What a terminal makes of what is written to it.
struct Terminal {
    written: Vec<u8>,
    parser: vt100::Parser,
}

impl Cli {
    /// Starts a command at a terminal of that many columns.
    pub fn at_terminal(&self, columns: u16, args: &[&str]) -> AtTerminal {
        self.at_terminal_with(columns, &[("TERM", "xterm")], args)
    }

    /// Starts a command at a terminal, with that environment.
    pub fn at_terminal_with(&self, columns: u16, environment: &[(&str, &str)], args: &[&str]) -> AtTerminal {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keyboard).and_then(|()| unlockpt(&keyboard)).expect("a terminal");
        let name = ptsname(&keyboard, Vec::new()).expect("a terminal");
        let open = || rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty());
        tcsetwinsize(&keyboard, size(columns)).expect("a size");

        let [stdin, stdout, stderr] = [open(), open(), open()].map(|end| Stdio::from(end.expect("a terminal")));
        let mut command = self.command(args);
        command.envs(environment.iter().copied()).stdin(stdin).stdout(stdout).stderr(stderr);
        let child = command.spawn().expect("longhaul starts");
        // The command holds the other end, and must be the last to.
        drop(command);

        let keyboard = File::from(keyboard);
        let mut output = keyboard.try_clone().expect("a file");
        let terminal = Arc::new(Mutex::new(Terminal { written: Vec::new(), parser: parser(columns) }));
        let shown = terminal.clone();
        let reader = std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                poll(&mut [PollFd::new(&output, PollFlags::IN)], None).expect("a wait");
                // Under the lock: what is not in the terminal by then is not on its way there either.
                let mut terminal = shown.lock().expect("the screen");
                // It ends with an error when the command has closed its end.
                let Ok(n @ 1..) = output.read(&mut bytes) else { return };
                terminal.written.extend_from_slice(&bytes[..n]);
                terminal.parser.process(&bytes[..n]);
            }
        });
        AtTerminal { child, keyboard, terminal, reader }
    }
}

impl AtTerminal {
    fn terminal(&self) -> MutexGuard<'_, Terminal> {
        self.terminal.lock().expect("the screen")
    }

    /// All that was written to the terminal.
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&self.terminal().written).into_owned()
    }

    /// The rows of the screen, down to the last one with anything on it. What differs each time is made the same: `*` for a
    /// spinner, `Ns` for the seconds behind it, `ID` for a task's.
    pub fn screen(&self) -> Vec<String> {
        let terminal = self.terminal();
        let screen = terminal.parser.screen();
        let rows = screen.rows(0, screen.size().1.get()).map(|row| same_each_time(row.trim_end())).collect::<Vec<_>>();
        let last = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
        rows[..last].to_vec()
    }

    /// Waits until this was written, on whatever screen.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        let what = from_fn(|f| write!(f, "`{text}` is shown; there is: {:?}", self.output()));
        eventually(what, || self.output().contains(text).then_some(()));
    }

    /// Waits until a row of the screen contains this.
    #[track_caller]
    pub fn sees(&self, text: &str) {
        let seen = || self.screen().iter().any(|row| row.contains(text)).then_some(());
        eventually(from_fn(|f| write!(f, "`{text}` is seen; there is:\n{}", self.screen().join("\n"))), seen);
    }

    /// Waits until no row of the screen contains this.
    #[track_caller]
    pub fn sees_no(&self, text: &str) {
        let gone = || self.screen().iter().all(|row| !row.contains(text)).then_some(());
        eventually(from_fn(|f| write!(f, "`{text}` is gone; there is:\n{}", self.screen().join("\n"))), gone);
    }

    /// Waits until the screen is this, row by row: from the first of them on to the end.
    #[track_caller]
    pub fn sees_screen(&self, rows: &[&str]) {
        let (wanted, is) = (rows.join("\n"), || self.screen().join("\n"));
        let what = from_fn(|f| write!(f, "the screen is:\n{wanted}\n\n--- it is:\n{}", is()));
        let is_it =
            |screen: &[String]| screen.iter().position(|row| row == rows[0]).is_some_and(|at| screen[at..] == *rows);
        eventually(what, || is_it(&self.screen()).then_some(()));
    }

    /// Types.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("keys are taken");
    }

    pub fn signal(&self, name: &str) {
        signal(&self.child, name);
    }

    /// Stops the command, so that it sees and does nothing, until `CONT`. All that it wrote is on the screen then.
    pub fn freeze(&self) {
        self.signal("STOP");
        let state = format!("/proc/{}/stat", self.child.id());
        let stands = || std::fs::read_to_string(&state).is_ok_and(|stat| stat.contains(") T "));
        eventually("it stands still", || stands().then_some(()));
        let on_its_way = || {
            let _terminal = self.terminal();
            ioctl_fionread(&self.keyboard).expect("a number")
        };
        eventually("all of it is read", || (on_its_way() == 0).then_some(()));
    }

    /// Makes the terminal so wide, as most terminals do it: rows that no longer fit are broken, and broken ones put together.
    pub fn resize(&self, columns: u16) {
        self.freeze();
        let mut terminal = self.terminal();
        let reflowed = reflowed(terminal.parser.screen(), columns);
        terminal.parser = reflowed;
        tcsetwinsize(&self.keyboard, size(columns)).expect("a size");
        drop(terminal);
        self.signal("CONT");
    }

    /// Whether the terminal is as a shell leaves it: lines, and an echo.
    pub fn is_restored(&self) -> bool {
        tcgetattr(&self.keyboard).expect("a terminal").local_modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the end, and gives the exit code and all that was written.
    #[track_caller]
    pub fn end(self) -> (i32, String) {
        let (code, at) = self.ended();
        (code, at.output())
    }

    /// Waits for the end, and gives the exit code; the screen can still be looked at.
    #[track_caller]
    pub fn ended(mut self) -> (i32, Self) {
        let status = eventually("it ends", || self.child.try_wait().expect("it can be waited for"));
        assert!(self.is_restored(), "the terminal is left in raw mode");
        // What was written last has come when its end is closed.
        eventually("its output ends", || self.reader.is_finished().then_some(()));
        (status.code().unwrap_or(-1), self)
    }
}

impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16) -> Winsize {
    Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn parser(columns: u16) -> vt100::Parser {
    let [rows, columns] = [ROWS, columns].map(|n| NonZeroU16::new(n).expect("a size"));
    vt100::Parser::new(rows, columns, 0)
}

/// The screen in a terminal of that width, with the cursor at the same character.
fn reflowed(screen: &vt100::Screen, columns: u16) -> vt100::Parser {
    let (row, column) = screen.cursor_position();
    let before = screen.size().1.get();
    // What is joined here was broken by the terminal; `longhaul` breaks what moves by itself.
    let mut text = String::new();
    for (n, line) in (0..=row).zip(screen.rows(0, before)) {
        text.push_str(line.trim_end());
        if n < row && !screen.row_wrapped(n) {
            text.push_str("\r\n");
        }
    }
    let mut parser = parser(columns);
    parser.process(text.as_bytes());
    let is_written = |at: &u16| screen.cell(row, *at).is_some_and(|cell| !cell.contents().trim().is_empty());
    let last = (0..before).rev().find(is_written).unwrap_or(0);
    let up = (last / columns).saturating_sub(column / columns);
    let up = if up > 0 { format!("\x1b[{up}A") } else { String::new() };
    parser.process(format!("{up}\x1b[{}G", column % columns + 1).as_bytes());
    parser
}

/// A row without what differs each time.
fn same_each_time(row: &str) -> String {
    let is_spinner =
        |word: &str| word.chars().count() == 1 && word.chars().all(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
    let is_id =
        |word: &str| word.len() == 26 && word.starts_with('0') && word.chars().all(|c| c.is_ascii_alphanumeric());
    let is_seconds =
        |word: &str| word.strip_suffix('s').is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
    let mut words: Vec<&str> = Vec::new();
    for word in row.split(' ') {
        words.push(match word {
            word if is_spinner(word) => "*",
            word if is_id(word) => "ID",
            word if is_seconds(word) && words.last() == Some(&"*") => "Ns",
            word => word,
        });
    }
    words.join(" ")
}

//! What a person sees on standard error while a task runs: lines that stay, and below them bars or a question.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use console::{Term, measure_text_width};
use longhaul::{Level, Progress, TaskId, Timestamp};

use crate::bars::Bars;
use crate::{family, time, words};

/// Lines go above; what moves stays below them.
///
/// All of it is written from here and by nobody else, so that what is on the screen is known: it is taken away, and drawn
/// again, in one go.
pub struct View {
    kind: Kind,
    term: Term,
    /// None: there is no task to show the bars of.
    bars: Option<Bars>,
    /// A question, or a list of them, has the place of the bars.
    asks: bool,
    /// What moves, as it was drawn last.
    drawn: Option<Frame>,
    drawn_at: Option<Instant>,
    /// When progress was told last without bars: of the task itself, and of each child.
    told: BTreeMap<Option<TaskId>, Instant>,
}

/// What to show below the lines: rows, and the cursor's column in the last of them.
#[derive(Debug, PartialEq)]
pub struct Frame {
    pub rows: Vec<String>,
    pub cursor: usize,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: `--json` says it all.
    Silent,
    /// Lines only.
    Plain,
    /// Lines, and bars or a question that move.
    Live,
}

impl Kind {
    /// The most that suits standard error.
    pub fn for_stderr(json: bool, verbose: bool) -> Self {
        if json {
            return Self::Silent;
        }
        // Debug messages are written past the bars, so those would be in their way.
        if verbose || !Term::stderr().is_term() || console::is_dumb() { Self::Plain } else { Self::Live }
    }
}

/// Without bars, progress is told at most so often.
const PLAIN_EVERY: Duration = Duration::from_secs(1);

/// Bars are drawn at most so often for what happens; a person sees no more.
const DRAW_EVERY: Duration = Duration::from_millis(50);

impl View {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            term: Term::buffered_stderr(),
            bars: None,
            asks: false,
            drawn: None,
            drawn_at: None,
            told: BTreeMap::new(),
        }
    }

    fn is_live(&self) -> bool {
        self.kind == Kind::Live
    }

    /// A line, or several, that stay.
    pub fn line(&mut self, text: &str) {
        if self.kind == Kind::Silent {
            return;
        }
        let moving = self.drawn.take();
        if let Some(frame) = &moving {
            self.take_away(frame);
            let _ = self.term.flush();
        }
        say(text);
        if let Some(frame) = moving {
            self.draw(frame);
        }
    }

    /// How far the task is, or the child of that id and name.
    pub fn progress(&mut self, child: Option<(&TaskId, &str)>, progress: &Progress, at: Timestamp) {
        let told = || match child {
            None => words::progress(progress),
            Some((_, name)) => family::indented(name, &words::progress(progress)),
        };
        let task = child.map(|(task, _)| task);
        if progress.level >= Level::Warning {
            self.line(&told());
        } else if self.kind == Kind::Plain
            && self.told.get(&task.cloned()).is_none_or(|last| last.elapsed() >= PLAIN_EVERY)
        {
            self.told.insert(task.cloned(), Instant::now());
            say(&told());
        }
        self.change(|bars| bars.progress(task, progress, at));
    }

    /// Shows bars from now on, also while there is nothing to count.
    pub fn show_bars(&mut self) {
        if self.is_live() {
            self.bars = Some(Bars::new(time::now()));
            self.draw_bars();
        }
    }

    /// Changes the bars, if there are any.
    pub fn change(&mut self, change: impl FnOnce(&mut Bars)) {
        let Some(bars) = &mut self.bars else { return };
        change(bars);
        if self.drawn_at.is_none_or(|last| last.elapsed() >= DRAW_EVERY) {
            self.draw_bars();
        }
    }

    /// Draws the bars as they are now, unless a question has their place.
    pub fn draw_bars(&mut self) {
        if self.asks {
            return;
        }
        let rows = self.bars.as_ref().map(|bars| bars.rows(self.size(), time::now()));
        if let Some(rows) = rows {
            self.draw(Frame { rows, cursor: 0 });
        }
    }

    /// Shows a question at its present state below the lines, in place of the bars.
    pub fn question(&mut self, frame: Frame) {
        self.asks = true;
        self.draw(frame);
    }

    /// Takes the question away.
    pub fn close_question(&mut self) {
        self.asks = false;
        self.clear();
        self.draw_bars();
    }

    /// Takes away all that moves, for good: what follows is written below the lines.
    pub fn close(&mut self) {
        self.bars = None;
        self.clear();
    }

    /// Whether a question can be asked here.
    pub fn can_ask(&self) -> bool {
        self.is_live() && std::io::stdin().is_terminal()
    }

    /// The height and width of the terminal.
    pub fn size(&self) -> (usize, usize) {
        let (height, width) = self.term.size();
        (height.into(), width.into())
    }

    fn draw(&mut self, frame: Frame) {
        self.drawn_at = Some(Instant::now());
        if self.drawn.as_ref() == Some(&frame) {
            return;
        }
        if let Some(before) = self.drawn.take() {
            self.take_away(&before);
        }
        // The rows come without line breaks and fit the width; the cursor stays in the last one.
        let drawn = self
            .term
            .write_str(&frame.rows.join("\n"))
            .and_then(|()| self.term.write_str("\r"))
            .and_then(|()| self.term.move_cursor_right(frame.cursor))
            .and_then(|()| self.term.flush());
        // Where the terminal can't be written to, there is nothing to clear.
        self.drawn = drawn.ok().map(|()| frame);
    }

    fn clear(&mut self) {
        if let Some(frame) = self.drawn.take() {
            self.take_away(&frame);
            let _ = self.term.flush();
        }
    }

    fn take_away(&self, frame: &Frame) {
        let up = rows_above(frame, self.size().1);
        let _ = self.term.move_cursor_up(up).and_then(|()| self.term.clear_to_end_of_screen());
    }
}

/// How many rows of the screen are above the cursor's, of a frame in a terminal that is so wide by now: one that became
/// narrower has broken the rows that no longer fit.
fn rows_above(frame: &Frame, width: usize) -> usize {
    let width = width.max(1);
    let above = frame.rows.iter().rev().skip(1).map(|row| measure_text_width(row).div_ceil(width).max(1));
    above.sum::<usize>() + frame.cursor / width
}

impl Drop for View {
    fn drop(&mut self) {
        self.close();
    }
}

/// Writes to the person. Where nobody can read it, nothing is lost: the journal has it.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_a_narrower_terminal_has_broken_are_counted_as_what_they_became() {
        let frame = |rows: &[&str], cursor| Frame { rows: rows.iter().map(ToString::to_string).collect(), cursor };
        assert_eq!(rows_above(&frame(&["one"], 2), 80), 0);
        assert_eq!(rows_above(&frame(&["0123456789", "", "x"], 0), 80), 2);
        assert_eq!(rows_above(&frame(&["0123456789", "", "x"], 0), 4), 4);
        assert_eq!(rows_above(&frame(&["\u{1b}[1m寸法寸法\u{1b}[0m", "x"], 0), 4), 2);
        assert_eq!(rows_above(&frame(&["> 0123456789"], 12), 5), 2);
        assert_eq!(rows_above(&frame(&[], 0), 0), 0);
    }
}

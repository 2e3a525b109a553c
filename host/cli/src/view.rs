//! What a person sees on standard error while a task runs: lines that stay, and below them a bar or a question.

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use console::{Term, measure_text_width};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use longhaul::{Level, Progress};

use crate::family;
use crate::prompt;
use crate::text::line;
use crate::words;

/// Lines go above; what moves stays below them.
pub struct View {
    kind: Kind,
    term: Term,
    started: Instant,
    progress: Option<Progress>,
    /// How far a child is, the one that spoke last.
    child: Option<String>,
    bar: Option<ProgressBar>,
    /// The question that is shown, to clear it again.
    question: Option<prompt::View>,
    last_plain: Option<Instant>,
    /// The same for each child by itself.
    last_child: BTreeMap<String, Instant>,
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: `--json` says it all.
    Silent,
    /// Lines only.
    Plain,
    /// Lines, and a bar or a question that moves.
    Live,
}

impl Kind {
    /// The most that suits standard error.
    pub fn for_stderr(json: bool, verbose: bool) -> Self {
        if json {
            return Self::Silent;
        }
        // Debug messages are written past the bar, so it would be in their way.
        if verbose || !Term::stderr().is_term() || console::is_dumb() { Self::Plain } else { Self::Live }
    }
}

/// Without a bar, progress is told at most so often.
const PLAIN_EVERY: Duration = Duration::from_secs(1);

/// The bar's resolution: a tool counts in its own unit, which may be a fraction.
const STEPS: u64 = 1_000;

impl View {
    pub fn new(kind: Kind) -> Self {
        Self {
            kind,
            term: Term::buffered_stderr(),
            started: Instant::now(),
            progress: None,
            child: None,
            bar: None,
            question: None,
            last_plain: None,
            last_child: BTreeMap::new(),
        }
    }

    fn is_live(&self) -> bool {
        self.kind == Kind::Live
    }

    /// A line, or several, that stay.
    pub fn line(&mut self, text: &str) {
        match (&self.bar, self.kind) {
            (_, Kind::Silent) => {}
            (Some(bar), _) => bar.suspend(|| say(text)),
            (None, _) => {
                self.clear_question();
                say(text);
            }
        }
    }

    /// How far the task is.
    pub fn progress(&mut self, progress: &Progress) {
        match self.kind {
            Kind::Silent => return,
            Kind::Plain => {
                let due = self.last_plain.is_none_or(|last| last.elapsed() >= PLAIN_EVERY);
                if due || progress.level >= Level::Warning {
                    self.last_plain = Some(Instant::now());
                    say(&words::progress(progress));
                }
                return;
            }
            Kind::Live => {}
        }
        if progress.level >= Level::Warning {
            self.line(&words::progress(progress));
        }
        self.progress = Some(progress.clone());
        if self.question.is_none() {
            self.draw_bar();
        }
    }

    /// How far a child of the task is. Beside the bar, which is the task's own.
    pub fn child_progress(&mut self, name: &str, progress: &Progress) {
        let told = family::indented(name, &words::progress(progress));
        if progress.level >= Level::Warning {
            return self.line(&told);
        }
        match self.kind {
            Kind::Silent => {}
            Kind::Plain => {
                let due = self.last_child.get(name).is_none_or(|last| last.elapsed() >= PLAIN_EVERY);
                if due {
                    self.last_child.insert(name.to_owned(), Instant::now());
                    say(&told);
                }
            }
            Kind::Live => {
                self.child = Some(format!("{name}: {}", line(words::progress(progress).trim_start())));
                if self.question.is_none() {
                    self.draw_bar();
                }
            }
        }
    }

    /// Shows the question at its present state below the lines, in place of the bar.
    pub fn question(&mut self, view: prompt::View) {
        if self.question.as_ref() == Some(&view) {
            return;
        }
        self.clear_bar();
        self.clear_question();
        // The rows come without line breaks and fit the width; the cursor stays in the last one.
        let drawn = self
            .term
            .write_str(&view.rows.join("\n"))
            .and_then(|()| self.term.write_str("\r"))
            .and_then(|()| self.term.move_cursor_right(view.cursor))
            .and_then(|()| self.term.flush());
        // Where the terminal can't be written to, there is nothing to clear.
        self.question = drawn.ok().map(|()| view);
    }

    /// Takes the question away.
    pub fn close_question(&mut self) {
        self.clear_question();
        self.draw_bar();
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

    /// Shows the bar, also while there is nothing to count.
    pub fn draw_bar(&mut self) {
        if !self.is_live() {
            return;
        }
        let width = self.size().1;
        let started = self.started;
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()).with_elapsed(started.elapsed());
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        let own = self.progress.as_ref().map_or_else(String::new, |progress| line(&progress.message));
        let told: Vec<_> = [Some(own), self.child.clone()].into_iter().flatten().filter(|it| !it.is_empty()).collect();
        bar.set_message(told.join(" · "));
        let Some(progress) = &self.progress else {
            bar.set_style(style("{spinner:.cyan} {elapsed} {wide_msg}"));
            return;
        };
        bar.set_prefix(words::counted(progress));
        let Some(share) = words::share(progress) else {
            bar.set_style(style("{spinner:.cyan} {elapsed} {prefix} {wide_msg}"));
            return;
        };
        bar.set_style(style(match width {
            0..60 => "{spinner:.cyan} {percent:>3}% {wide_msg}",
            _ => "{spinner:.cyan} {elapsed} {bar:20.cyan/dim} {percent:>3}% {prefix} {wide_msg}",
        }));
        bar.set_length(STEPS);
        // The share is from 0 to 1, so the position is within the steps.
        bar.set_position((share * STEPS as f64) as u64);
    }

    /// Takes away all that moves: what follows is written below the lines.
    pub fn close(&mut self) {
        self.clear_question();
        self.clear_bar();
    }

    fn clear_bar(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn clear_question(&mut self) {
        let Some(view) = self.question.take() else { return };
        let width = self.size().1.max(1);
        // A terminal that became narrower since has broken the rows.
        let rows: usize = view.rows.iter().map(|row| measure_text_width(row).div_ceil(width).max(1)).sum();
        let _ = self.term.clear_line();
        let _ = self.term.clear_last_lines(rows.saturating_sub(1));
        let _ = self.term.flush();
    }
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

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

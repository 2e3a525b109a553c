//! Bars: how far a task is, and below it each of its children. Time goes in and rows come out; it touches no terminal.

mod pace;

use std::time::Duration;

use console::{measure_text_width, style, truncate_str};
use longhaul::{Progress, TaskId, Timestamp};

use self::pace::Pace;
use crate::text::line;
use crate::{time, words};

/// The bars of a task and of all below it, in the order of the tree.
pub struct Bars {
    root: Bar,
    below: Vec<Bar>,
}

/// One task's.
struct Bar {
    /// None: the root.
    task: Option<TaskId>,
    /// How far below the root.
    depth: usize,
    name: String,
    since: Timestamp,
    progress: Option<Progress>,
    pace: Pace,
    /// Questions that are open.
    asks: usize,
}

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// How long each of them is shown.
const TURN: Duration = Duration::from_millis(100);

/// In a terminal with fewer columns a share is a number, without a bar.
const WIDE: usize = 60;

/// Columns that the name of a child may have.
const NAME: usize = 24;

impl Bars {
    pub fn new(now: Timestamp) -> Self {
        Self { root: Bar::new(None, 0, String::new(), now), below: Vec::new() }
    }

    /// The task began then.
    pub fn began(&mut self, at: Timestamp) {
        self.root.since = at;
    }

    /// A task is so far; `None` is the root.
    pub fn progress(&mut self, task: Option<&TaskId>, progress: &Progress, at: Timestamp) {
        if let Some(bar) = self.bar(task) {
            bar.pace.saw(progress, at);
            bar.progress = Some(progress.clone());
        }
    }

    /// A task has a child now.
    pub fn started(&mut self, parent: Option<&TaskId>, child: &TaskId, name: &str, at: Timestamp) {
        // Below its parent, behind the children that are there.
        let (place, depth) = match self.place(parent) {
            Some(at) => (self.behind(at), self.below[at].depth + 1),
            None => (self.below.len(), 1),
        };
        self.below.insert(place, Bar::new(Some(child.clone()), depth, name.to_owned(), at));
    }

    /// A child has ended, and with it all below it.
    pub fn ended(&mut self, child: &TaskId) {
        if let Some(at) = self.place(Some(child)) {
            self.below.drain(at..self.behind(at));
        }
    }

    /// A task asks something.
    pub fn asked(&mut self, task: Option<&TaskId>) {
        if let Some(bar) = self.bar(task) {
            bar.asks += 1;
        }
    }

    /// A question of a task is settled.
    pub fn settled(&mut self, task: Option<&TaskId>) {
        if let Some(bar) = self.bar(task) {
            bar.asks = bar.asks.saturating_sub(1);
        }
    }

    fn bar(&mut self, task: Option<&TaskId>) -> Option<&mut Bar> {
        match task {
            None => Some(&mut self.root),
            Some(_) => self.below.iter_mut().find(|bar| bar.task.as_ref() == task),
        }
    }

    fn place(&self, task: Option<&TaskId>) -> Option<usize> {
        task.and_then(|_| self.below.iter().position(|bar| bar.task.as_ref() == task))
    }

    /// The place behind a bar and all below it.
    fn behind(&self, at: usize) -> usize {
        let below = self.below.iter().skip(at + 1).take_while(|bar| bar.depth > self.below[at].depth);
        at + 1 + below.count()
    }

    /// The rows for a terminal of that size: none is wider, nor are they more than fit.
    pub fn rows(&self, (height, width): (usize, usize), now: Timestamp) -> Vec<String> {
        // A column is left free, so that no row is broken by the terminal.
        let width = width.saturating_sub(1);
        let room = height.saturating_sub(2);
        let shown = if self.below.len() > room { room.saturating_sub(1) } else { self.below.len() };
        let names = self.below.iter().take(shown).map(Bar::name_width).max().unwrap_or(0);
        let children = self.below.iter().take(shown).map(|bar| bar.child_row(width, names, now));
        let mut rows: Vec<_> = std::iter::once(self.root.root_row(width, now)).chain(children).collect();
        let hidden = self.below.len() - shown;
        if hidden > 0 && room > 0 {
            rows.push(style(format!("  … and {hidden} more")).dim().for_stderr().to_string());
        }
        rows.iter().map(|row| truncate_str(row.trim_end(), width, "…").into_owned()).collect()
    }
}

impl Bar {
    fn new(task: Option<TaskId>, depth: usize, name: String, since: Timestamp) -> Self {
        Self { task, depth, name, since, progress: None, pace: Pace::default(), asks: 0 }
    }

    fn root_row(&self, width: usize, now: Timestamp) -> String {
        let elapsed = (width >= WIDE).then(|| time::duration(now.since(self.since)));
        joined([Some(self.spinner(now)), elapsed, Some(self.state(width, 20, now))])
    }

    fn child_row(&self, width: usize, names: usize, now: Timestamp) -> String {
        let name = self.name();
        let padding = " ".repeat(names.saturating_sub(self.name_width()));
        let row = joined([
            Some(self.spinner(now)),
            Some(format!("{}{padding}", style(name).cyan().for_stderr())),
            Some(self.state(width, 10, now)),
        ]);
        format!("{}{row}", self.indent())
    }

    fn indent(&self) -> String {
        "  ".repeat(self.depth)
    }

    fn name(&self) -> String {
        truncate_str(&self.name, NAME, "…").into_owned()
    }

    /// With what it is indented by.
    fn name_width(&self) -> usize {
        self.indent().len() + measure_text_width(&self.name())
    }

    fn spinner(&self, now: Timestamp) -> String {
        let turns = now.since(self.since).as_millis() / TURN.as_millis();
        let frame = usize::try_from(turns).unwrap_or(0) % SPINNER.len();
        style(SPINNER[frame]).cyan().for_stderr().to_string()
    }

    /// How far it is, in bars, numbers and words, as much as is known.
    fn state(&self, width: usize, columns: usize, now: Timestamp) -> String {
        let message = match (self.asks, &self.progress) {
            (0, None) => None,
            (0, Some(progress)) => Some(line(&progress.message)),
            _ => Some(style("? waits for an answer").yellow().for_stderr().to_string()),
        };
        let Some(progress) = &self.progress else { return joined([message]) };
        let share = words::share(progress);
        let percent = share.map(|share| format!("{:>3.0}%", (share * 100.0).floor()));
        if width < WIDE {
            return joined([percent, message]);
        }
        let pace = share.and_then(|_| self.pace.told(progress, now));
        let numbers = [words::counted(progress), pace.unwrap_or_default()];
        let numbers = numbers.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" · ");
        let numbers = (!numbers.is_empty()).then(|| style(numbers).dim().for_stderr().to_string());
        joined([share.map(|share| bar(share, columns)), percent, numbers, message])
    }
}

fn bar(share: f64, columns: usize) -> String {
    // The share is from 0 to 1.
    let done = (share * columns as f64) as usize;
    let (done, left) = ("█".repeat(done), "░".repeat(columns.saturating_sub(done)));
    format!("{}{}", style(done).cyan().for_stderr(), style(left).dim().for_stderr())
}

fn joined<const N: usize>(parts: [Option<String>; N]) -> String {
    parts.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;

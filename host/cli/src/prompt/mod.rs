//! A question at the prompt: keys go in, rows to show and in the end an outcome come out.
//!
//! It touches no terminal, so that it can be closed at any moment (the question may be settled elsewhere, or its time
//! may be up), drawn again below a line that is logged meanwhile, and tested by keys.

pub mod ask;
mod check;
mod decode;
mod editor;
pub mod given;
mod input;
pub mod keys;
pub mod list;

use console::{Key, style, truncate_str};
use longhaul::{FieldKind, OpenQuestion, Timestamp};
use serde_json::Value;

use self::ask::Entry;
use self::editor::Editor;
use self::input::Input;
use self::list::List;
use crate::text::{line, lines, wrapped};
use crate::time;
use crate::view::Frame;

/// A question that is being answered.
pub struct Prompt {
    question: OpenQuestion,
    entries: Vec<Entry>,
    /// What was entered before the current entry; `None` left one out.
    entered: Vec<Option<Value>>,
    input: Input,
    /// Why the last entry was not taken.
    reason: Option<String>,
    menu: Option<Menu>,
}

/// Opened by Esc: what else can be done with the question.
enum Menu {
    Choose(List),
    Reason(Editor),
}

const GO_ON: &str = "go on answering";
const BACK: &str = "back to the field before";
const DECLINE: &str = "decline to answer";
const LATER: &str = "leave it open and answer later";

/// What the person decided.
#[derive(Debug, PartialEq)]
pub enum Outcome {
    Answer(Value),
    Decline(Option<String>),
    /// Not now.
    Later,
}

impl Prompt {
    pub fn new(question: &OpenQuestion) -> Self {
        let entries = ask::entries(question);
        let input = entries.first().map_or_else(|| Input::Line(Editor::default()), |entry| Input::of(entry, None));
        Self { question: question.clone(), entries, entered: Vec::new(), input, reason: None, menu: None }
    }

    pub fn question(&self) -> &OpenQuestion {
        &self.question
    }

    /// The answer was not taken: ask again, and say why.
    pub fn refused(&mut self, reason: &str) {
        self.reason = Some(line(reason));
        self.go_back();
    }

    /// Takes a key.
    pub fn key(&mut self, key: &Key) -> Option<Outcome> {
        if self.menu.is_some() {
            return self.menu_key(key);
        }
        match key {
            Key::Escape => self.menu = Some(Menu::Choose(List::one(self.menu_labels(), Some(0)))),
            Key::Char('\u{4}') => return Some(Outcome::Later),
            Key::Enter => return self.enter(),
            key => {
                self.input.key(key);
                if self.decides(key) {
                    return self.enter();
                }
            }
        }
        None
    }

    fn current(&self) -> Option<&Entry> {
        self.entries.get(self.entered.len())
    }

    /// Whether a key says it all: `y` and `n` do, where yes or no is asked for.
    fn decides(&self, key: &Key) -> bool {
        self.confirms() && matches!(key, Key::Char('y' | 'Y' | 'n' | 'N'))
    }

    fn confirms(&self) -> bool {
        let field = self.current().and_then(|entry| entry.field.as_ref());
        field.is_some_and(|field| matches!(field.kind, FieldKind::Confirm))
    }

    fn enter(&mut self) -> Option<Outcome> {
        match self.input.value(self.current()?) {
            Err(reason) => self.reason = Some(reason),
            Ok(value) => {
                self.reason = None;
                self.entered.push(value);
                let Some(next) = self.current() else {
                    let answer = ask::answer(self.entries.iter().zip(self.entered.iter().cloned()));
                    return Some(Outcome::Answer(answer));
                };
                self.input = Input::of(next, None);
            }
        }
        None
    }

    /// To the entry before, with what was entered there.
    fn go_back(&mut self) {
        if let Some(value) = self.entered.pop()
            && let Some(entry) = self.current()
        {
            self.input = Input::of(entry, value.as_ref());
        }
    }

    fn menu_labels(&self) -> Vec<String> {
        let back = (!self.entered.is_empty()).then_some(BACK);
        [Some(GO_ON), back, Some(DECLINE), Some(LATER)].into_iter().flatten().map(str::to_owned).collect()
    }

    fn menu_key(&mut self, key: &Key) -> Option<Outcome> {
        let labels = self.menu_labels();
        match (key, self.menu.as_mut()?) {
            (Key::Escape, _) => self.menu = None,
            (Key::Enter, Menu::Reason(editor)) => {
                let reason = editor.text();
                return Some(Outcome::Decline((!reason.trim().is_empty()).then_some(reason)));
            }
            (Key::Enter, Menu::Choose(list)) => match list.at().and_then(|at| labels.get(at)).map(String::as_str) {
                Some(DECLINE) => self.menu = Some(Menu::Reason(Editor::default())),
                Some(LATER) => return Some(Outcome::Later),
                Some(BACK) => {
                    self.menu = None;
                    self.go_back();
                }
                _ => self.menu = None,
            },
            (key, Menu::Choose(list)) => list.key(key),
            (key, Menu::Reason(editor)) => editor.key(key),
        }
        None
    }

    /// The question's details as rows, unless there are none or too many to keep them in sight.
    fn details(&self, (height, width): (usize, usize)) -> Option<Vec<String>> {
        // What else needs room: a list, and the rows around it.
        const OTHERS: usize = 14;
        let detail = self.question.detail.as_deref()?.trim_end();
        let rows = wrapped(&lines(detail).replace('\t', "    "), width.saturating_sub(3), usize::MAX);
        (rows.len() + OTHERS <= height).then_some(rows)
    }

    /// Whether there are details that are not kept in sight in a terminal of that size.
    pub fn hides_details(&self, size: (usize, usize)) -> bool {
        self.question.detail.is_some() && self.details(size).is_none()
    }

    /// What to show in a terminal of that size.
    pub fn view(&self, size: (usize, usize), now: Timestamp) -> Frame {
        let (height, width) = size;
        let dim = |text: String| style(text).dim().for_stderr().to_string();
        // A column is left free, so that no row is broken by the terminal.
        let width = width.saturating_sub(1);
        let prompt = wrapped(&line(&self.question.prompt), width.saturating_sub(2), 4);
        let mark = style("?").yellow().bold().for_stderr();
        let mut rows: Vec<_> = prompt
            .iter()
            .enumerate()
            .map(|(i, row)| {
                let text = style(row).bold().for_stderr();
                if i == 0 { format!("{mark} {text}") } else { format!("  {text}") }
            })
            .collect();

        rows.extend(self.details(size).into_iter().flatten().map(|row| format!("  {row}")));

        if let Some(entry) = self.current().filter(|entry| entry.name.is_some()) {
            for (done, value) in self.entries.iter().zip(&self.entered) {
                rows.push(dim(format!("  {}: {}", line(&done.label), self.shown(done, value.as_ref()))));
            }
            let count = format!("({} of {})", self.entered.len() + 1, self.entries.len());
            rows.push(format!("  {} {}", line(&entry.label), dim(count)));
        }
        let field = self.current().and_then(|entry| entry.field.as_ref());
        if let Some(about) = field.and_then(|field| field.description.as_deref()) {
            rows.extend(
                wrapped(&line(about), width.saturating_sub(2), 3).into_iter().map(|row| dim(format!("  {row}"))),
            );
        }

        let hint = wrapped(&self.hint(now), width.saturating_sub(2), 2);
        // The hint, the reason and the line itself need room below the list.
        let room = height.saturating_sub(rows.len() + 3 + hint.len());
        let editor = match (&self.menu, &self.input) {
            (Some(Menu::Choose(list)), _) | (None, Input::List(list)) => {
                rows.extend(list.view(room));
                None
            }
            (Some(Menu::Reason(editor)), _) => {
                rows.push("  why? (may be left empty)".to_owned());
                Some((editor, false))
            }
            (None, Input::Line(editor)) => Some((editor, self.is_sensitive())),
        };
        if let Some(reason) = self.reason.as_ref().filter(|_| self.menu.is_none()) {
            let reason = wrapped(reason, width.saturating_sub(4), 3).join("\n    ");
            rows.extend(format!("  ✗ {reason}").split('\n').map(|row| style(row).red().for_stderr().to_string()));
        }
        rows.extend(hint.into_iter().map(|row| dim(format!("  {row}"))));
        let mut cursor = 0;
        if let Some((editor, masked)) = editor {
            let (text, column) = editor.view(width.saturating_sub(2), masked);
            rows.push(format!("{} {text}", style("›").cyan().for_stderr()));
            cursor = column + 2;
        }
        // In a terminal of few rows, what is entered is more use than what was asked.
        let hidden = rows.len().saturating_sub(height.max(1));
        let rows = rows.iter().skip(hidden).map(|row| truncate_str(row, width, "…").into_owned()).collect();
        Frame { rows, cursor }
    }

    fn hint(&self, now: Timestamp) -> String {
        let mut parts = Vec::new();
        if self.menu.is_none() {
            parts.extend(self.current().map(check::wanted).filter(|wanted| !wanted.is_empty()));
        }
        if let Some(deadline) = self.question.deadline {
            parts.push(time::is_up(deadline, now));
        }
        let keys = match (&self.menu, &self.input) {
            (Some(_), _) => "Enter, Esc to go back",
            (None, Input::Line(_)) => "Enter to answer, Esc for more",
            (None, Input::List(list)) if list.is_several() => "↑↓ and Space, Enter to answer, Esc for more",
            (None, Input::List(_)) if self.confirms() => "y or n, or ↑↓ and Enter to answer, Esc for more",
            (None, Input::List(_)) => "↑↓ or its first letter, Enter to answer, Esc for more",
        };
        parts.push(keys.to_owned());
        parts.join(" · ")
    }

    fn shown(&self, entry: &Entry, value: Option<&Value>) -> String {
        match value {
            None => "(left out)".to_owned(),
            Some(_) if self.is_sensitive() => "•••".to_owned(),
            Some(value) => line(&entry.in_words(value)),
        }
    }

    fn is_sensitive(&self) -> bool {
        is_sensitive(&self.question)
    }
}

/// Whether what is answered must not be shown.
pub fn is_sensitive(question: &OpenQuestion) -> bool {
    question.options.as_ref().and_then(|options| options.get("sensitive")) == Some(&Value::Bool(true))
}

#[cfg(test)]
mod tests;

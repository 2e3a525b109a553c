//! A list of choices, of which one or several are taken.

use console::{Key, style};

use crate::text::line;

/// The choices, and where the person is.
#[derive(Debug, Clone)]
pub struct List {
    labels: Vec<String>,
    /// None until the person moves: Enter alone then takes nothing.
    at: Option<usize>,
    /// Which are taken, where several can be.
    taken: Option<Vec<bool>>,
}

/// At most so many rows are shown at once; the others scroll in.
const ROWS: usize = 10;

impl List {
    /// One of these is to be taken.
    pub fn one(labels: Vec<String>, at: Option<usize>) -> Self {
        Self { labels, at, taken: None }
    }

    /// Any of these may be taken; `taken` are at the beginning.
    pub fn several(labels: Vec<String>, taken: Vec<bool>) -> Self {
        Self { labels, at: Some(0), taken: Some(taken) }
    }

    pub fn is_several(&self) -> bool {
        self.taken.is_some()
    }

    /// The one that Enter takes.
    pub fn at(&self) -> Option<usize> {
        self.at
    }

    /// The places of those that are taken.
    pub fn taken(&self) -> impl Iterator<Item = usize> {
        let taken = self.taken.as_deref().unwrap_or_default();
        taken.iter().enumerate().filter(|(_, taken)| **taken).map(|(i, _)| i)
    }

    /// Takes a key that moves or marks. Enter and the like are for the caller.
    pub fn key(&mut self, key: &Key) {
        let last = self.labels.len().saturating_sub(1);
        match key {
            Key::ArrowDown | Key::Tab => self.at = Some(self.at.map_or(0, |at| if at >= last { 0 } else { at + 1 })),
            Key::ArrowUp | Key::BackTab => self.at = Some(self.at.map_or(last, |at| at.checked_sub(1).unwrap_or(last))),
            Key::PageDown => self.at = Some((self.at.unwrap_or(0) + ROWS).min(last)),
            Key::PageUp => self.at = Some(self.at.unwrap_or(0).saturating_sub(ROWS)),
            Key::Home => self.at = Some(0),
            Key::End => self.at = Some(last),
            Key::Char(' ') => self.mark(),
            Key::Char(c) => {
                if let Some(at) = self.numbered(*c).or_else(|| self.next_with(*c)) {
                    self.at = Some(at);
                }
            }
            _ => {}
        }
    }

    fn mark(&mut self) {
        if let (Some(taken), Some(at)) = (&mut self.taken, self.at)
            && let Some(mark) = taken.get_mut(at)
        {
            *mark = !*mark;
        }
    }

    /// `2` goes to the second.
    fn numbered(&self, c: char) -> Option<usize> {
        let number = c.to_digit(10)? as usize;
        (1..=self.labels.len()).contains(&number).then(|| number - 1)
    }

    /// A letter goes to the next choice that begins with it: `y` to `yes`.
    fn next_with(&self, c: char) -> Option<usize> {
        let n = self.labels.len();
        let from = self.at.map_or(0, |at| at + 1);
        (from..from + n).map(|i| i % n).find(|&i| {
            let first = self.labels[i].chars().next();
            first.is_some_and(|first| first.to_lowercase().eq(c.to_lowercase()))
        })
    }

    /// The rows to show, as many as `rows` allows.
    pub fn view(&self, rows: usize) -> Vec<String> {
        let rows = rows.clamp(1, ROWS);
        let at = self.at.unwrap_or(0);
        let first =
            if self.labels.len() <= rows { 0 } else { (at + 1).saturating_sub(rows).min(self.labels.len() - rows) };
        let shown = self.labels.iter().enumerate().skip(first).take(rows);
        let mut view: Vec<_> = shown
            .map(|(i, label)| {
                let here = self.at == Some(i);
                let pointer = if here { "›" } else { " " };
                let mark = match &self.taken {
                    Some(taken) if taken.get(i) == Some(&true) => "[x] ",
                    Some(_) => "[ ] ",
                    None => "",
                };
                let row = format!("  {pointer} {mark}{}", line(label));
                if here { style(row).cyan().for_stderr().to_string() } else { row }
            })
            .collect();
        let hidden = self.labels.len().saturating_sub(rows);
        if hidden > 0 {
            view.push(style(format!("    {} of {}", at + 1, self.labels.len())).dim().for_stderr().to_string());
        }
        view
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(labels: &[&str]) -> List {
        List::one(labels.iter().map(ToString::to_string).collect(), None)
    }

    fn after(mut list: List, keys: &[Key]) -> Option<usize> {
        for key in keys {
            list.key(key);
        }
        list.at()
    }

    #[test]
    fn arrows_numbers_and_first_letters_move() {
        let choices = list(&["done", "skip", "abort", "again"]);
        assert_eq!(after(choices.clone(), &[]), None);
        assert_eq!(after(choices.clone(), &[Key::ArrowDown]), Some(0));
        assert_eq!(after(choices.clone(), &[Key::ArrowUp]), Some(3));
        assert_eq!(after(choices.clone(), &[Key::End, Key::ArrowDown]), Some(0));
        assert_eq!(after(choices.clone(), &[Key::Char('2')]), Some(1));
        assert_eq!(after(choices.clone(), &[Key::Char('a')]), Some(2));
        assert_eq!(after(choices.clone(), &[Key::Char('A'), Key::Char('a')]), Some(3));
        assert_eq!(after(choices.clone(), &[Key::Char('9'), Key::Char('z')]), None);
    }

    #[test]
    fn space_marks_where_several_can_be_taken() {
        let mut several = List::several(vec!["a".into(), "b".into(), "c".into()], vec![false, true, false]);
        for key in [Key::Char(' '), Key::ArrowDown, Key::Char(' ')] {
            several.key(&key);
        }
        assert_eq!(several.taken().collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn a_long_list_scrolls_with_the_pointer() {
        let labels: Vec<_> = (0..40).map(|i| format!("choice {i}")).collect();
        let mut list = List::one(labels, Some(0));
        assert_eq!(list.view(5).len(), 6);
        list.key(&Key::End);
        let view = list.view(5);
        assert!(view[4].contains("choice 39") && view[5].contains("40 of 40"), "{view:?}");
    }

    #[test]
    fn an_empty_list_takes_nothing() {
        assert_eq!(after(list(&[]), &[Key::Char('a'), Key::Char('1'), Key::Char(' ')]), None);
    }
}

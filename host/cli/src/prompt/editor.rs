//! A line of text that is being typed.

use console::{Key, measure_text_width};

/// The text and the place in it where the next character goes.
#[derive(Debug, Default, Clone)]
pub struct Editor {
    text: Vec<char>,
    at: usize,
}

/// The longest text that is taken: more than any question allows, and little enough to redraw on every key.
const MOST: usize = 64 * 1024;

impl Editor {
    pub fn with(text: &str) -> Self {
        let text: Vec<_> = text.chars().collect();
        Self { at: text.len(), text }
    }

    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// Takes a key that edits. Enter and the like are for the caller.
    pub fn key(&mut self, key: &Key) {
        match key {
            Key::Char('\u{15}') => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            Key::Char('\u{0b}') => self.text.truncate(self.at),
            Key::Char('\u{17}') => self.delete_word(),
            // A line break arrives here only by pasting.
            Key::Char(c) if (!c.is_control() || *c == '\n') && self.text.len() < MOST => {
                self.text.insert(self.at, *c);
                self.at += 1;
            }
            Key::Backspace if self.at > 0 => {
                self.at -= 1;
                self.text.remove(self.at);
            }
            Key::Del if self.at < self.text.len() => {
                self.text.remove(self.at);
            }
            Key::ArrowLeft => self.at = self.at.saturating_sub(1),
            Key::ArrowRight => self.at = (self.at + 1).min(self.text.len()),
            Key::Home => self.at = 0,
            Key::End => self.at = self.text.len(),
            _ => {}
        }
    }

    fn delete_word(&mut self) {
        let before = &self.text[..self.at];
        let word_end = before.iter().rposition(|c| !c.is_whitespace()).map_or(0, |i| i + 1);
        let start = before[..word_end].iter().rposition(|c| c.is_whitespace()).map_or(0, |i| i + 1);
        self.text.drain(start..self.at);
        self.at = start;
    }

    /// What fits into `width` columns around the cursor, and the cursor's column in it.
    pub fn view(&self, width: usize, masked: bool) -> (String, usize) {
        let shown: Vec<String> =
            self.text.iter().map(|c| if masked { "•".to_owned() } else { crate::text::line(&c.to_string()) }).collect();
        let widths: Vec<_> = shown.iter().map(|cell| measure_text_width(cell)).collect();
        // One column is left for the cursor behind the last character.
        let room = width.saturating_sub(1);
        let mut start = self.at;
        let mut column = 0;
        while start > 0 && column + widths[start - 1] <= room {
            start -= 1;
            column += widths[start];
        }
        let mut end = self.at;
        let mut used = column;
        while end < shown.len() && used + widths[end] <= room {
            used += widths[end];
            end += 1;
        }
        (shown[start..end].concat(), column)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(editor: &mut Editor, keys: &[Key]) {
        for key in keys {
            editor.key(key);
        }
    }

    #[test]
    fn keys_edit_where_the_cursor_is() {
        let mut editor = Editor::with("größer");
        press(&mut editor, &[Key::Home, Key::Char('x'), Key::End, Key::Backspace, Key::ArrowLeft, Key::Del]);
        assert_eq!(editor.text(), "xgröß");
        press(&mut editor, &[Key::Backspace, Key::ArrowRight, Key::ArrowRight, Key::Char('!')]);
        assert_eq!(editor.text(), "xgrö!");
    }

    #[test]
    fn control_keys_delete_a_word_or_the_line() {
        let mut editor = Editor::with("one two  ");
        editor.key(&Key::Char('\u{17}'));
        assert_eq!(editor.text(), "one ");
        press(&mut editor, &[Key::ArrowLeft, Key::Char('\u{0b}')]);
        assert_eq!(editor.text(), "one");
        editor.key(&Key::Char('\u{15}'));
        assert_eq!(editor.text(), "");
        press(&mut editor, &[Key::Backspace, Key::Del, Key::ArrowLeft, Key::Char('\u{17}'), Key::Char('\u{4}')]);
        assert_eq!(editor.text(), "");
    }

    #[test]
    fn the_view_keeps_the_cursor_in_sight() {
        let mut editor = Editor::with("abcdefgh");
        assert_eq!(editor.view(20, false), ("abcdefgh".into(), 8));
        assert_eq!(editor.view(5, false), ("efgh".into(), 4));
        editor.key(&Key::Home);
        assert_eq!(editor.view(5, false), ("abcd".into(), 0));
        assert_eq!(Editor::with("寸法").view(4, false), ("法".into(), 2));
        assert_eq!(Editor::with("secret").view(20, true), ("••••••".into(), 6));
        assert_eq!(Editor::with("a").view(0, false), (String::new(), 0));
    }

    #[test]
    fn pasted_control_characters_are_dropped_and_line_breaks_shown() {
        let mut editor = Editor::default();
        press(&mut editor, &[Key::Char('a'), Key::Char('\n'), Key::Char('\u{1b}'), Key::Char('b')]);
        assert_eq!(editor.text(), "a\nb");
        assert_eq!(editor.view(20, false).0, "a␊b");
    }
}

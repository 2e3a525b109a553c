//! Text that somebody else wrote, made safe to show.
//!
//! Whatever comes from a plugin, a task or a question passes through here before it reaches a terminal: an escape
//! sequence could otherwise repaint the screen, and a bidirectional override could make a line read as another.

use std::fmt::Write as _;

use console::{measure_text_width, truncate_str};

/// For a place of one line: line breaks and tabs are shown as signs too.
pub fn line(text: &str) -> String {
    visible(text, false)
}

/// For a place where several lines are expected: line breaks and tabs stay.
pub fn lines(text: &str) -> String {
    visible(text, true)
}

fn visible(text: &str, keep_lines: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\n' | '\t' if keep_lines => shown.push(c),
            // The line break of other systems.
            '\r' if keep_lines && chars.peek() == Some(&'\n') => {}
            '\0'..='\x1f' => shown.push(picture(c)),
            '\x7f' => shown.push('␡'),
            // C1 controls, line and paragraph separators, and what changes the writing direction or is seen by nobody. Of what
            // has no width, the joiners stay: scripts and emoji need them.
            '\u{80}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{61c}'
            | '\u{200b}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{e0000}'..='\u{e007f}' => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
            }
            _ => shown.push(c),
        }
    }
    shown
}

/// The sign that Unicode has for a control character: `␛` for ESC.
fn picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or('\u{fffd}')
}

/// The beginning of a text, for a place that has room for `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(most.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// Breaks shown text into rows of at most `width` columns, and ends it with `…` after `most` rows.
pub fn wrapped(text: &str, width: usize, most: usize) -> Vec<String> {
    let width = width.max(8);
    let mut rows = Vec::new();
    for line in text.split('\n') {
        let mut row = String::new();
        for word in line.split_inclusive(' ') {
            if !row.is_empty() && measure_text_width(&row) + measure_text_width(word.trim_end()) > width {
                rows.push(std::mem::take(&mut row));
            }
            row.push_str(word);
            // A word longer than a row.
            while measure_text_width(row.trim_end()) > width {
                let head = truncate_str(&row, width, "").into_owned();
                row = row.split_off(head.len());
                rows.push(head);
            }
        }
        rows.push(row);
    }
    if rows.len() > most {
        rows.truncate(most);
        if let Some(last) = rows.last_mut() {
            *last = format!("{}…", truncate_str(last.trim_end(), width.saturating_sub(1), ""));
        }
    }
    rows.iter().map(|row| row.trim_end().to_owned()).collect()
}

/// `3 B`, `1.5 KiB`, `64.0 MiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut size = n as f64;
    let mut unit = "B";
    for larger in UNITS {
        if size < 1_024.0 {
            break;
        }
        (size, unit) = (size / 1_024.0, larger);
    }
    if unit == "B" { format!("{n} B") } else { format!("{size:.1} {unit}") }
}

/// `1 tool`, `2 tools`.
pub fn count(n: usize, one: &str) -> String {
    if n == 1 { format!("1 {one}") } else { format!("{n} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_shown_not_obeyed() {
        assert_eq!(line("\x1b[2J\x1b]0;title\x07 ok"), "␛[2J␛]0;title␇ ok");
        assert_eq!(lines("\x1b[31mred"), "␛[31mred");
        assert_eq!(line("\u{9b}2J\u{85}"), "\\u{9b}2J\\u{85}");
        assert_eq!(line("a\x7f\x08\0"), "a␡␈␀");
    }

    #[test]
    fn nothing_can_change_the_writing_direction() {
        assert_eq!(line("a\u{202e}b\u{2066}c\u{2069}"), "a\\u{202e}b\\u{2066}c\\u{2069}");
        assert_eq!(line("a\u{200f}b\u{61c}"), "a\\u{200f}b\\u{61c}");
    }

    #[test]
    fn nothing_is_there_that_nobody_sees() {
        assert_eq!(line("pay\u{200b}pal \u{feff}\u{e0041}"), "pay\\u{200b}pal \\u{feff}\\u{e0041}");
    }

    #[test]
    fn line_breaks_stay_only_where_several_lines_are_expected() {
        assert_eq!(lines("a\r\nb\n\tc\rd"), "a\nb\n\tc␍d");
        assert_eq!(line("a\r\nb\tc\u{2028}"), "a␍␊b␉c\\u{2028}");
    }

    #[test]
    fn ordinary_text_of_any_script_stays_as_it_is() {
        let text = "Größe 寸法 שלום 👩‍👩‍👧 e\u{301}";
        assert_eq!(line(text), text);
    }

    #[test]
    fn no_control_character_survives() {
        for code in 0..=0x2100_u32 {
            let Some(c) = char::from_u32(code) else { continue };
            assert!(!line(&c.to_string()).chars().any(char::is_control), "{code:x}");
        }
    }

    #[test]
    fn text_is_broken_into_rows_by_its_width() {
        assert_eq!(wrapped("one two three", 8, 9), ["one two", "three"]);
        assert_eq!(wrapped("a\n\nb", 8, 9), ["a", "", "b"]);
        assert_eq!(wrapped("0123456789ab", 8, 9), ["01234567", "89ab"]);
        assert_eq!(wrapped("寸法寸法寸法", 8, 9), ["寸法寸法", "寸法"]);
        assert_eq!(wrapped("one two three four", 8, 2), ["one two", "three…"]);
        assert_eq!(wrapped("", 8, 2), [""]);
    }

    #[test]
    fn sizes_are_told_in_the_largest_unit_that_has_one_of_it() {
        let sizes = [(0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_572_864, "1.5 MiB"), (5 << 50, "5.0 PiB")];
        for (n, told) in sizes {
            assert_eq!(bytes(n), told);
        }
    }

    #[test]
    fn long_text_is_shortened_by_characters() {
        assert_eq!(shortened("größer", 6), "größer");
        assert_eq!(shortened("größer", 4), "grö…");
    }
}

//! From the bytes that a terminal sends to keys.

use console::Key;

/// Takes bytes as they arrive; a key may come in pieces.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    /// Between the marks of pasted text: everything is text.
    pasting: bool,
}

const PASTE_BEGINS: &[u8] = b"[200~";
const PASTE_ENDS: &[u8] = b"[201~";

impl Decoder {
    /// The keys that are complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.pending.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((used, key)) = self.next() {
            self.pending.drain(..used);
            keys.extend(key);
        }
        keys
    }

    /// Whether the bytes of a key are still missing.
    pub fn is_within_key(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Nothing more came: what is there was all.
    pub fn flush(&mut self) -> Vec<Key> {
        let was_escape = self.pending.first() == Some(&0x1b);
        self.pending.clear();
        if was_escape { vec![Key::Escape] } else { Vec::new() }
    }

    /// The first key and how many bytes it takes; none while it is incomplete. Bytes that mean nothing are skipped.
    fn next(&mut self) -> Option<(usize, Option<Key>)> {
        match *self.pending.first()? {
            0x1b => self.sequence(),
            b'\r' | b'\n' if self.pasting => {
                let crlf = self.pending.starts_with(b"\r\n");
                Some((if crlf { 2 } else { 1 }, Some(Key::Char('\n'))))
            }
            b'\r' | b'\n' => Some((1, Some(Key::Enter))),
            0x01 => Some((1, Some(Key::Home))),
            0x05 => Some((1, Some(Key::End))),
            0x08 | 0x7f => Some((1, Some(Key::Backspace))),
            b'\t' if self.pasting => Some((1, Some(Key::Char(' ')))),
            b'\t' => Some((1, Some(Key::Tab))),
            byte if byte < 0x80 => Some((1, Some(Key::Char(char::from(byte))))),
            _ => self.character(),
        }
    }

    /// A character of several bytes.
    fn character(&self) -> Option<(usize, Option<Key>)> {
        let length = match self.pending[0] {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return Some((1, None)),
        };
        let bytes = self.pending.get(..length)?;
        let text = std::str::from_utf8(bytes).ok();
        Some(text.map_or((1, None), |text| (length, text.chars().next().map(Key::Char))))
    }

    /// An escape sequence: `ESC [ parameters letter`, or `ESC O letter`.
    fn sequence(&mut self) -> Option<(usize, Option<Key>)> {
        let rest = &self.pending[1..];
        match rest.first()? {
            b'[' => {}
            b'O' => return Some((3, key_of(*rest.get(1)?))),
            // Esc, and then a key of its own.
            _ => return Some((1, Some(Key::Escape))),
        }
        let end = rest.iter().skip(1).position(|byte| (0x40..=0x7e).contains(byte))? + 1;
        let sequence = &rest[..=end];
        let key = match sequence {
            PASTE_BEGINS | PASTE_ENDS => {
                self.pasting = sequence == PASTE_BEGINS;
                None
            }
            b"[1~" | b"[7~" => Some(Key::Home),
            b"[3~" => Some(Key::Del),
            b"[4~" | b"[8~" => Some(Key::End),
            b"[5~" => Some(Key::PageUp),
            b"[6~" => Some(Key::PageDown),
            _ => key_of(sequence[end]),
        };
        Some((end + 2, key))
    }
}

fn key_of(letter: u8) -> Option<Key> {
    Some(match letter {
        b'A' => Key::ArrowUp,
        b'B' => Key::ArrowDown,
        b'C' => Key::ArrowRight,
        b'D' => Key::ArrowLeft,
        b'H' => Key::Home,
        b'F' => Key::End,
        b'Z' => Key::BackTab,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_however_their_bytes_arrive() {
        let bytes = "aö寸\r\x7f\x1b[A\x1b[3~\x1bOH\x1b[1;5C\t".as_bytes();
        let wanted = [
            Key::Char('a'),
            Key::Char('ö'),
            Key::Char('寸'),
            Key::Enter,
            Key::Backspace,
            Key::ArrowUp,
            Key::Del,
            Key::Home,
            Key::ArrowRight,
            Key::Tab,
        ];
        assert_eq!(Decoder::default().feed(bytes), wanted);
        let mut slowly = Decoder::default();
        let keys: Vec<_> = bytes.iter().flat_map(|byte| slowly.feed(&[*byte])).collect();
        assert_eq!(keys, wanted);
    }

    #[test]
    fn escape_is_a_key_when_nothing_follows() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.feed(b"\x1b"), []);
        assert!(decoder.is_within_key());
        assert_eq!(decoder.flush(), [Key::Escape]);
        assert!(!decoder.is_within_key());
        assert_eq!(decoder.feed(b"\x1bq"), [Key::Escape, Key::Char('q')]);
    }

    #[test]
    fn a_line_break_in_pasted_text_is_text() {
        let keys = Decoder::default().feed(b"\x1b[200~a\r\nb\rc\x1b[201~\r");
        let wanted = ['a', '\n', 'b', '\n', 'c'].map(Key::Char);
        assert_eq!(keys[..5], wanted);
        assert_eq!(keys[5..], [Key::Enter]);
    }

    #[test]
    fn bytes_that_mean_nothing_are_skipped() {
        assert_eq!(Decoder::default().feed(b"\xff\xc3(\x1b[99Xa"), [Key::Char('('), Key::Char('a')]);
    }
}

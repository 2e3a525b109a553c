//! Undoing what texts do to characters that mean something in them.

use std::collections::VecDeque;

/// A byte, and the part of the original text that it came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    pub byte: u8,
    pub start: usize,
    pub end: usize,
}

/// A text, byte by byte.
pub(super) fn units(text: &[u8]) -> impl Iterator<Item = Unit> {
    text.iter().enumerate().map(|(at, &byte)| Unit { byte, start: at, end: at + 1 })
}

/// Units that an escape has at most: `\ud83d\ude00`.
const LONGEST: usize = 12;

/// What escapes begin with.
pub(super) const KINDS: [u8; 3] = [b'%', b'\\', b'&'];

/// A text without its escapes and line breaks. What only looks like an escape stays as it is.
pub(super) struct Unescape<I> {
    inner: I,
    /// The one kind that is undone; all if there is none.
    only: Option<u8>,
    ahead: VecDeque<Unit>,
    /// What is left of a character that is several bytes.
    rest: VecDeque<Unit>,
}

impl<I: Iterator<Item = Unit>> Unescape<I> {
    pub fn of(inner: I) -> Self {
        Self::new(inner, None)
    }

    /// Without the escapes that begin so: the secret may hold what looks like one of another kind, or end in the beginning of
    /// one.
    pub fn only(kind: u8, inner: I) -> Self {
        Self::new(inner, Some(kind))
    }

    fn new(inner: I, only: Option<u8>) -> Self {
        Self { inner, only, ahead: VecDeque::with_capacity(LONGEST), rest: VecDeque::new() }
    }

    fn byte(&mut self, at: usize) -> Option<u8> {
        while self.ahead.len() <= at {
            self.ahead.push_back(self.inner.next()?);
        }
        self.ahead.get(at).map(|unit| unit.byte)
    }

    /// The number that `count` digits of that base make, from `at`.
    fn digits(&mut self, at: usize, count: usize, base: u32) -> Option<u32> {
        let mut number = 0;
        for place in at..at + count {
            number = number * base + char::from(self.byte(place)?).to_digit(base)?;
        }
        Some(number)
    }

    /// What the units in front escape: its code, and how many they are. A byte has no code above 255 of its own.
    fn escape(&mut self) -> Option<(Escaped, usize)> {
        match self.byte(0)? {
            b'%' => match self.byte(1)? {
                b'u' | b'U' => Some((Escaped::Character(self.digits(2, 4, 16)?), 6)),
                _ => Some((Escaped::Byte(self.digits(1, 2, 16)?), 3)),
            },
            b'\\' => self.backslash(),
            b'&' => self.entity(),
            _ => None,
        }
    }

    fn backslash(&mut self) -> Option<(Escaped, usize)> {
        let next = self.byte(1)?;
        let plain = Some((Escaped::Byte(next.into()), 2));
        match next {
            b'u' | b'U' if self.byte(2) == Some(b'{') => self.braced(),
            b'u' | b'U' => {
                let Some(high) = self.digits(2, 4, 16) else { return plain };
                let pair = (0xd800..0xdc00).contains(&high)
                    && self.byte(6) == Some(b'\\')
                    && matches!(self.byte(7), Some(b'u' | b'U'));
                match self.digits(8, 4, 16).filter(|low| pair && (0xdc00..0xe000).contains(low)) {
                    Some(low) => Some((Escaped::Character(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)), 12)),
                    None => Some((Escaped::Character(high), 6)),
                }
            }
            b'x' | b'X' => match self.digits(2, 2, 16) {
                Some(byte) => Some((Escaped::Byte(byte), 4)),
                None => plain,
            },
            b'0'..=b'3' => match self.digits(1, 3, 8) {
                Some(byte) => Some((Escaped::Byte(byte), 4)),
                None => plain,
            },
            b'n' | b'r' => Some((Escaped::Byte(b'\n'.into()), 2)),
            b't' => Some((Escaped::Byte(b'\t'.into()), 2)),
            b'b' => Some((Escaped::Byte(8), 2)),
            b'f' => Some((Escaped::Byte(12), 2)),
            _ => plain,
        }
    }

    /// `\u{41}`.
    fn braced(&mut self) -> Option<(Escaped, usize)> {
        let digits = (1..=6).find(|&digits| self.byte(3 + digits) == Some(b'}'))?;
        Some((Escaped::Character(self.digits(3, digits, 16)?), digits + 4))
    }

    /// `&#65;`, `&#x41;`, `&amp;`.
    fn entity(&mut self) -> Option<(Escaped, usize)> {
        let end = (2..LONGEST).find(|&at| self.byte(at) == Some(b';'))?;
        let name: Vec<u8> = (1..end).filter_map(|at| self.byte(at)).collect();
        let code = match name.as_slice() {
            b"amp" => b'&'.into(),
            b"lt" => b'<'.into(),
            b"gt" => b'>'.into(),
            b"quot" => b'"'.into(),
            b"apos" => b'\''.into(),
            b"sol" => b'/'.into(),
            b"plus" => b'+'.into(),
            b"equals" => b'='.into(),
            [b'#', b'x' | b'X', ..] => self.digits(3, end - 3, 16).filter(|_| end > 3)?,
            [b'#', ..] => self.digits(2, end - 2, 10).filter(|_| end > 2)?,
            _ => return None,
        };
        Some((Escaped::Character(code), end + 1))
    }
}

enum Escaped {
    Byte(u32),
    Character(u32),
}

impl<I: Iterator<Item = Unit>> Iterator for Unescape<I> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        if let Some(unit) = self.rest.pop_front() {
            return Some(unit);
        }
        loop {
            let first = self.byte(0)?;
            let escaped = match self.only {
                Some(kind) if kind != first => None,
                _ => self.escape(),
            };
            let Some((escaped, length)) = escaped else {
                let unit = self.ahead.pop_front()?;
                match unit.byte {
                    // Long texts are folded.
                    b'\r' | b'\n' => continue,
                    _ => return Some(unit),
                }
            };
            let (start, end) = (self.ahead.front()?.start, self.ahead.get(length - 1)?.end);
            self.ahead.drain(..length);
            let mut bytes = [0; 4];
            let bytes: &[u8] = match escaped {
                Escaped::Byte(byte) => {
                    bytes[0] = byte.to_le_bytes()[0];
                    &bytes[..1]
                }
                Escaped::Character(code) => {
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut bytes).as_bytes()
                }
            };
            if matches!(bytes, b"\r" | b"\n") {
                continue;
            }
            self.rest.extend(bytes.iter().map(|&byte| Unit { byte, start, end }));
            return self.rest.pop_front();
        }
    }
}

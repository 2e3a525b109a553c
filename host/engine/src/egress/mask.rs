//! Finding secrets in what comes back, in the forms that servers give them.
//!
//! A secret is found plain in any case of its letters; in base64, with the usual alphabet and the one for URLs, wherever it
//! lies in what was encoded; in hex; in UTF-16. And each of these is found when all or some of its characters are written as
//! `%41`, `\u0041`, `\x41`, `\101`, `\/`, `&#65;`, `&#x41;` or `&amp;`, once or twice, and with line breaks in between. What
//! is compressed, encrypted, or turned into something else by a server is not found: a secret's `to` is a list of hosts
//! that are trusted not to do that.

mod forms;
#[cfg(test)]
mod tests;
mod unescape;

use aho_corasick::Anchored;
use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue};

use super::secret::SecretValue;
use super::{Code, Failure, Incoming};
use forms::Form;
use unescape::{KINDS, Unescape, Unit, units};

/// What masks some secrets.
pub(super) struct Masker {
    automaton: NFA,
    forms: Vec<Form>,
    /// The names of the secrets, which stand where they were.
    names: Vec<String>,
    /// Units that are remembered, so that it is known where a match began: a power of two.
    memory: usize,
}

/// Part of a text that is a secret, and which.
#[derive(Debug, Clone, Copy)]
struct Found {
    start: usize,
    end: usize,
    secret: usize,
}

impl Masker {
    /// For these secrets, by name; none if there are none.
    pub fn new(secrets: &[(&str, &SecretValue)]) -> Result<Option<Self>, Failure> {
        if secrets.is_empty() {
            return Ok(None);
        }
        let mut forms = Vec::new();
        for (secret, (_, value)) in secrets.iter().enumerate() {
            forms::of(secret, value.bytes(), &mut forms);
        }
        let mut builder = NFA::builder();
        let automaton = builder.ascii_case_insensitive(true).build(forms.iter().map(|form| form.bytes.as_slice()));
        let automaton = automaton.map_err(|_| {
            Failure::unsent(Code::ConfigurationError, "the secrets of this plugin are too many to be looked for")
        })?;
        let longest = forms.iter().map(|form| form.bytes.len() + form.before).max().unwrap_or_default();
        let names = secrets.iter().map(|(name, _)| (*name).to_owned()).collect();
        Ok(Some(Self { automaton, forms, names, memory: (longest + 1).next_power_of_two() }))
    }

    /// A response without the secrets that were in it.
    pub fn response(&self, response: Incoming) -> Incoming {
        let length = response.body.len();
        let mut headers = self.headers(response.headers);
        let body = self.bytes(response.body);
        // A response to HEAD announces the length of what it does not have.
        if body.len() != length && headers.contains_key(CONTENT_LENGTH) {
            headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
        }
        let trailers = response.trailers.map(|trailers| self.headers(trailers));
        Incoming { status: response.status, headers, body, trailers }
    }

    /// A failure's words without secrets.
    pub fn failure(&self, failure: Failure) -> Failure {
        match self.masked(failure.why.as_bytes()) {
            Some(why) => Failure { why: String::from_utf8_lossy(&why).into_owned(), ..failure },
            None => failure,
        }
    }

    fn bytes(&self, bytes: Bytes) -> Bytes {
        self.masked(&bytes).map_or(bytes, Bytes::from)
    }

    fn headers(&self, headers: HeaderMap) -> HeaderMap {
        let mut kept = HeaderMap::with_capacity(headers.len());
        let mut last = None;
        for (name, value) in headers {
            last = name.or(last);
            // There is no name that could stand for a masked one.
            let Some(name) = last.as_ref().filter(|name| self.masked(name.as_str().as_bytes()).is_none()) else {
                continue;
            };
            match self.masked(value.as_bytes()).map(HeaderValue::try_from) {
                None => kept.append(name, value),
                Some(Ok(masked)) => kept.append(name, masked),
                Some(Err(_)) => continue,
            };
        }
        kept
    }

    /// The text with `[secret:NAME]` in the place of each secret; none if there is none in it.
    fn masked(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut found = Vec::new();
        self.scan(units(text), &mut found);
        // Escapes are undone twice, for what was escaped twice; and a line may end anywhere in a long text.
        self.scan(Unescape::of(units(text)), &mut found);
        self.scan(Unescape::of(Unescape::of(units(text))), &mut found);
        // Where there is one kind of escape alone, that was the same.
        let kinds = KINDS.iter().filter(|kind| text.contains(kind));
        if kinds.clone().count() > 1 {
            for &kind in kinds {
                self.scan(Unescape::only(kind, units(text)), &mut found);
                self.scan(Unescape::only(kind, Unescape::only(kind, units(text))), &mut found);
            }
        }
        if found.is_empty() {
            return None;
        }
        found.sort_by_key(|found| (found.start, found.end));
        let mut masked = Vec::with_capacity(text.len());
        let mut done = 0;
        let mut all = found.into_iter().peekable();
        while let Some(mut one) = all.next() {
            while let Some(next) = all.next_if(|next| next.start < one.end) {
                one.end = one.end.max(next.end);
            }
            masked.extend_from_slice(&text[done..one.start]);
            masked.extend_from_slice(format!("[secret:{}]", self.names[one.secret]).as_bytes());
            done = one.end;
        }
        masked.extend_from_slice(&text[done..]);
        Some(masked)
    }

    fn scan(&self, units: impl Iterator<Item = Unit>, found: &mut Vec<Found>) {
        // Any start is as good as another; this kind of search cannot fail to have one.
        let Ok(mut state) = self.automaton.start_state(Anchored::No) else { return };
        let mut starts = vec![0; self.memory];
        // A match that takes the next character with it, if that is one of base64.
        let mut open: Vec<usize> = Vec::new();
        for (place, unit) in units.enumerate() {
            starts[place % self.memory] = unit.start;
            for at in open.drain(..) {
                if forms::is_base64(unit.byte) {
                    found[at].end = unit.end;
                }
            }
            state = self.automaton.next_state(Anchored::No, state, unit.byte);
            if !self.automaton.is_match(state) {
                continue;
            }
            for at in 0..self.automaton.match_len(state) {
                let form = &self.forms[self.automaton.match_pattern(state, at).as_usize()];
                let first = (place + 1).saturating_sub(form.bytes.len() + form.before);
                if form.and_next {
                    open.push(found.len());
                }
                found.push(Found { start: starts[first % self.memory], end: unit.end, secret: form.secret });
            }
        }
    }
}

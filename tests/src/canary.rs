//! A secret that is looked for: the forms in which it may be found, and whether it is somewhere in one of them.

use std::path::Path;

use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use rusqlite::types::ValueRef;

/// The secret. Nothing else looks like its beginning.
pub const SECRET: &str = "c4n4ryT0kenQz81w/+=&%41\"x y";

/// The part of it that stands as it is in most forms.
const CORE: &str = "c4n4ryT0kenQz81w";

/// The forms in which servers give back what they were sent; those for which a promise is given. docs/http.md names them.
pub fn forms() -> Vec<(&'static str, Vec<u8>)> {
    let percent = |keep: fn(u8) -> bool, text: &str| {
        each(text, |byte| if keep(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
    };
    let escaped = percent(|byte| byte.is_ascii_alphanumeric(), SECRET);
    let json = serde_json::to_string(SECRET).expect("a text");
    let behind = |before: &str| format!("{before}{SECRET}");
    let utf16 = |bytes: fn(u16) -> [u8; 2]| SECRET.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
    let lines = STANDARD.encode(behind("u:")).as_bytes().chunks(7).collect::<Vec<_>>().join(&b"\r\n"[..]);
    let mut forms: Vec<(&str, Vec<u8>)> = [
        ("plain", SECRET.to_owned()),
        ("upper case", SECRET.to_ascii_uppercase()),
        ("percent", escaped.clone()),
        ("percent, all", each(SECRET, |byte| format!("%{byte:02x}"))),
        ("percent, twice", percent(|byte| byte.is_ascii_alphanumeric(), &escaped)),
        ("form", percent(|byte| byte.is_ascii_alphanumeric() || byte == b' ', SECRET).replace(' ', "+")),
        ("JSON", json.clone()),
        ("JSON, slashes", json.replace('/', "\\/")),
        ("JSON, all", each(SECRET, |byte| format!("\\u{byte:04X}"))),
        ("JSON in JSON", serde_json::to_string(&json).expect("a text")),
        ("JavaScript", each(SECRET, |byte| format!("\\x{byte:02x}"))),
        ("JavaScript, braces", each(SECRET, |byte| format!("\\u{{{byte:x}}}"))),
        ("octal", each(SECRET, |byte| format!("\\{byte:03o}"))),
        ("HTML", SECRET.replace('&', "&amp;").replace('"', "&quot;")),
        ("HTML, decimal", each(SECRET, |byte| format!("&#{byte};"))),
        ("HTML, hex", each(SECRET, |byte| format!("&#x{byte:x};"))),
        ("hex", each(SECRET, |byte| format!("{byte:02x}"))),
        ("hex, upper case", each(SECRET, |byte| format!("{byte:02X}"))),
        ("base64", STANDARD.encode(SECRET)),
        ("base64, one before", STANDARD.encode(behind("u"))),
        ("base64, two before", STANDARD.encode(behind("u:"))),
        ("base64, no padding", STANDARD_NO_PAD.encode(behind("u:"))),
        ("base64 for URLs", URL_SAFE.encode(SECRET)),
        ("base64 for URLs, one before", URL_SAFE_NO_PAD.encode(behind("u"))),
        ("base64, in a URL", percent(|byte| byte.is_ascii_alphanumeric(), &STANDARD.encode(behind("u:")))),
    ]
    .map(|(name, form)| (name, form.into_bytes()))
    .into();
    forms.push(("base64, in lines", lines));
    forms.push(("UTF-16, little end first", utf16(u16::to_le_bytes)));
    forms.push(("UTF-16, big end first", utf16(u16::to_be_bytes)));
    forms
}

fn each(text: &str, write: impl Fn(u8) -> String) -> String {
    text.bytes().map(write).collect()
}

/// Looks for the secret.
pub struct Search {
    forms: AhoCorasick,
}

impl Default for Search {
    fn default() -> Self {
        let mut forms: Vec<Vec<u8>> = [
            CORE.to_owned(),
            each(CORE, |byte| format!("%{byte:02x}")),
            each(CORE, |byte| format!("\\u{byte:04x}")),
            each(CORE, |byte| format!("\\u{{{byte:x}}}")),
            each(CORE, |byte| format!("\\x{byte:02x}")),
            each(CORE, |byte| format!("\\{byte:03o}")),
            each(CORE, |byte| format!("&#{byte};")),
            each(CORE, |byte| format!("&#x{byte:x};")),
            each(CORE, |byte| format!("{byte:02x}")),
        ]
        .map(String::into_bytes)
        .into();
        for before in 0..3_usize {
            let text = [&vec![0; before], CORE.as_bytes()].concat();
            // What the core alone decides.
            let (first, last) = ((before * 8).div_ceil(6), text.len() * 8 / 6);
            forms.push(STANDARD_NO_PAD.encode(&text).as_bytes()[first..last].to_vec());
        }
        let forms = AhoCorasick::builder().ascii_case_insensitive(true).build(forms).expect("a few forms");
        Self { forms }
    }
}

impl Search {
    /// The secret's surroundings, if it is in there in some form.
    pub fn found(&self, bytes: &[u8]) -> Option<String> {
        // What is escaped where something else is kept; lines, and every second byte of UTF-16.
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        for _ in 0..4 {
            text = text.replace("\\\\", "\\").replace("%25", "%").replace("&amp;", "&");
        }
        for gap in ["\\u0000", "\\r", "\\n", "\r", "\n", "\0"] {
            text = text.replace(gap, "");
        }
        let text = text.replace("%2B", "+").replace("%2F", "/").into_bytes();
        [bytes, &text].into_iter().find_map(|bytes| {
            let found = self.forms.find(bytes)?;
            let around = found.start().saturating_sub(80)..(found.end() + 80).min(bytes.len());
            Some(String::from_utf8_lossy(&bytes[around]).into_owned())
        })
    }

    /// Fails the test if the secret is in a file below a directory.
    pub fn in_files(&self, dir: &Path) {
        for entry in std::fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                self.in_files(&path);
                continue;
            }
            // One that is gone by now, such as the database's log, was looked through elsewhere.
            let bytes = std::fs::read(&path).unwrap_or_default();
            assert_eq!(self.found(&bytes), None, "in {}", path.display());
        }
    }

    /// Fails the test if the secret is in a column of a database: in the file a long value is in pieces. Says how many
    /// values were looked at.
    pub fn in_database(&self, path: &Path) -> usize {
        let sql = rusqlite::Connection::open(path).expect("the database opens");
        let mut tables = sql.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").expect("a query");
        let tables = tables.query_map([], |row| row.get::<_, String>(0)).expect("tables");
        let mut looked = 0;
        for table in tables.map(|name| name.expect("a name")) {
            let mut all = sql.prepare(&format!("SELECT * FROM \"{table}\"")).expect("a table");
            let columns = all.column_count();
            let mut rows = all.query([]).expect("rows");
            while let Some(row) = rows.next().expect("a row") {
                for column in 0..columns {
                    if let ValueRef::Text(bytes) | ValueRef::Blob(bytes) = row.get_ref(column).expect("a value") {
                        looked += 1;
                        assert_eq!(self.found(bytes), None, "in table {table}, column {column}");
                    }
                }
            }
        }
        looked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_is_found_and_nothing_else_is() {
        let search = Search::default();
        for (name, form) in forms() {
            assert!(search.found(&[b"<", form.as_slice(), b">"].concat()).is_some(), "{name}");
            let kept = serde_json::to_vec(&String::from_utf8_lossy(&form)).unwrap();
            assert!(search.found(&kept).is_some(), "{name}, kept in JSON");
        }
        assert_eq!(search.found(b"[secret:token] c4n4ry T0ken"), None);
    }
}

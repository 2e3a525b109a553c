//! The rules for names and versions, checked while the author's crate is compiled.

/// `[a-z][a-z0-9-]{0,63}`
pub const fn is_plugin_name(name: &str) -> bool {
    is_name(name.as_bytes(), b'-')
}

/// `[a-z][a-z0-9_]{0,63}`
pub const fn is_tool_name(name: &str) -> bool {
    is_name(name.as_bytes(), b'_')
}

const fn is_name(name: &[u8], also: u8) -> bool {
    if name.is_empty() || name.len() > 64 || !name[0].is_ascii_lowercase() {
        return false;
    }
    let mut at = 1;
    while at < name.len() {
        if !(name[at].is_ascii_lowercase() || name[at].is_ascii_digit() || name[at] == also) {
            return false;
        }
        at += 1;
    }
    true
}

/// <https://semver.org>: three numbers, then perhaps `-` and identifiers, then perhaps `+` and identifiers.
pub const fn is_version(version: &str) -> bool {
    let text = version.as_bytes();
    let mut at = 0;
    let mut numbers = 0;
    while numbers < 3 {
        let start = at;
        while at < text.len() && text[at].is_ascii_digit() {
            at += 1;
        }
        if at == start || (text[start] == b'0' && at > start + 1) {
            return false;
        }
        numbers += 1;
        if numbers < 3 {
            if at == text.len() || text[at] != b'.' {
                return false;
            }
            at += 1;
        }
    }
    if at < text.len() && text[at] == b'-' {
        at = match identifiers(text, at + 1, true) {
            Some(end) => end,
            None => return false,
        };
    }
    if at < text.len() && text[at] == b'+' {
        at = match identifiers(text, at + 1, false) {
            Some(end) => end,
            None => return false,
        };
    }
    at == text.len()
}

/// Where identifiers joined by dots end; none if one is empty, or is a number with leading zeros where that is
/// forbidden.
const fn identifiers(text: &[u8], mut at: usize, canonical_numbers: bool) -> Option<usize> {
    loop {
        let start = at;
        let mut is_number = true;
        while at < text.len() && (text[at].is_ascii_alphanumeric() || text[at] == b'-') {
            is_number &= text[at].is_ascii_digit();
            at += 1;
        }
        if at == start || (canonical_numbers && is_number && text[start] == b'0' && at > start + 1) {
            return None;
        }
        if at == text.len() || text[at] != b'.' {
            return Some(at);
        }
        at += 1;
    }
}

/// Whether there is any text.
pub const fn is_said(text: &str) -> bool {
    !text.is_empty()
}

/// Whether no name is there twice.
pub const fn are_different(names: &[&str]) -> bool {
    let mut one = 0;
    while one < names.len() {
        let mut other = one + 1;
        while other < names.len() {
            if is_equal(names[one].as_bytes(), names[other].as_bytes()) {
                return false;
            }
            other += 1;
        }
        one += 1;
    }
    true
}

const fn is_equal(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(is_plugin_name("csv-profile2"));
        assert!(is_tool_name("profile_csv"));
        for name in ["", "-a", "2a", "Csv", "a_b", "ü", &"a".repeat(65)] {
            assert!(!is_plugin_name(name), "{name}");
        }
        assert!(is_plugin_name(&"a".repeat(64)));
        assert!(!is_tool_name("a-b"));
    }

    #[test]
    fn versions() {
        for version in
            ["0.1.0", "1.0.0-alpha.1", "1.0.0-0.3.7", "1.2.3+20130313", "1.0.0-beta-x+exp.sha.007", "10.20.30"]
        {
            assert!(is_version(version), "{version}");
        }
        for version in [
            "",
            "1",
            "1.2",
            "1.2.",
            "1.2.3.4",
            "v1.2.3",
            "01.2.3",
            "1.2.3-",
            "1.2.3-01",
            "1.2.3+",
            "1.2.3-a..b",
            "1.2.3 ",
        ] {
            assert!(!is_version(version), "{version}");
        }
    }

    #[test]
    fn doubles() {
        assert!(are_different(&["a", "b", "ab"]));
        assert!(!are_different(&["a", "b", "a"]));
    }
}

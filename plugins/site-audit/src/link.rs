//! Links as URLs, each in one spelling.

/// Scheme, host and port.
pub fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |at| at + 3);
    let end = url[host..].find(['/', '?']).map_or(url.len(), |at| host + at);
    &url[..end]
}

/// A link of the page `base` as a URL, without its fragment; `None` if it leads to nothing that is fetched.
pub fn resolve(base: &str, link: &str) -> Option<String> {
    let link = link.trim().split('#').next()?;
    let base = base.split('#').next()?;
    let url = match link {
        "" => base.to_owned(),
        link if link.starts_with("//") => format!("{}:{link}", base.split("://").next()?),
        link if link.starts_with('/') => format!("{}{link}", origin(base)),
        link if link.starts_with('?') => format!("{}{link}", base.split('?').next()?),
        link if has_scheme(link) => link.to_owned(),
        link => {
            let path = base[origin(base).len()..].split('?').next()?;
            let folder = path.rfind('/').map_or("/", |at| &path[..=at]);
            format!("{}{folder}{link}", origin(base))
        }
    };
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    if !matches!(scheme.as_str(), "http" | "https") || rest.chars().any(char::is_whitespace) {
        return None;
    }
    let (host, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    (!host.is_empty()).then(|| format!("{scheme}://{}{}{query}", host.to_ascii_lowercase(), normal(path)))
}

/// Whether it is of another kind altogether: `mailto:`, `https:`.
fn has_scheme(link: &str) -> bool {
    let Some((scheme, _)) = link.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
}

/// A path without `.` and `..`.
fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut folder = true;
    for part in path.split('/').skip(1) {
        folder = matches!(part, "" | "." | "..");
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let end = if folder && !parts.is_empty() { "/" } else { "" };
    format!("/{}{end}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_resolved_as_a_browser_does_and_spelled_in_one_way() {
        let base = "https://www.example.com/a/b?x#y";
        for (link, url) in [
            ("", "https://www.example.com/a/b?x"),
            ("c", "https://www.example.com/a/c"),
            ("./c/", "https://www.example.com/a/c/"),
            ("../c?d=1#e", "https://www.example.com/c?d=1"),
            ("../../../c", "https://www.example.com/c"),
            ("/", "https://www.example.com/"),
            ("?p=2", "https://www.example.com/a/b?p=2"),
            ("//cdn.example.com", "https://cdn.example.com/"),
            ("HTTP://Other.Example", "http://other.example/"),
        ] {
            assert_eq!(resolve(base, link).as_deref(), Some(url), "{link}");
        }
        for link in ["mailto:a@example.com", "javascript:void(0)", "tel:1", "https://", "a b", "data:text/plain,x"] {
            assert_eq!(resolve(base, link), None, "{link}");
        }
        assert_eq!(resolve("nonsense", ""), None);
        assert_eq!(origin("https://www.example.com:8443?x"), "https://www.example.com:8443");
    }
}

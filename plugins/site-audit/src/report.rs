//! What was found, as data and for people.

use std::collections::BTreeMap;

use markdown_table::{Align, Table};
use schemars::JsonSchema;
use serde::Serialize;

/// Pages that the report names as the largest.
const LARGEST: usize = 10;

#[derive(Debug, Default, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Page {
    pub url: String,
    /// The page that the link to it is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why it was not to be had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Empty if it has none; absent if it is no page of HTML.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub bytes: usize,
}

#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    pub url: String,
    pub pages: Vec<Page>,
    /// Links that were not followed, since nobody wanted more.
    pub not_visited: usize,
    /// The URLs of pages that were not to be had.
    pub broken: Vec<String>,
    /// Pages of HTML without a title.
    pub untitled: Vec<String>,
    /// Titles that several pages have.
    pub same_title: BTreeMap<String, Vec<String>>,
}

impl Page {
    fn is_broken(&self) -> bool {
        self.error.is_some() || self.status.is_some_and(|status| status >= 400)
    }
}

impl Report {
    pub fn of(url: String, pages: Vec<Page>, not_visited: usize) -> Self {
        let urls = |is: &dyn Fn(&Page) -> bool| -> Vec<String> {
            pages.iter().filter(|page| is(page)).map(|page| page.url.clone()).collect()
        };
        let mut same_title: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for page in &pages {
            if let Some(title) = page.title.as_ref().filter(|title| !title.is_empty()) {
                same_title.entry(title.clone()).or_default().push(page.url.clone());
            }
        }
        same_title.retain(|_, pages| pages.len() > 1);
        let broken = urls(&Page::is_broken);
        let untitled = urls(&|page| page.title.as_ref().is_some_and(String::is_empty));
        Self { url, not_visited, broken, untitled, same_title, pages }
    }

    pub fn markdown(&self) -> String {
        let bytes: usize = self.pages.iter().map(|page| page.bytes).sum();
        let mut text = format!("# {}\n\n{} pages, {} in all", self.url, self.pages.len(), size(bytes));
        if self.not_visited > 0 {
            text.push_str(&format!("; {} more were not visited", self.not_visited));
        }
        text.push_str(".\n\n## Broken links\n\n");
        if self.broken.is_empty() {
            text.push_str("None.\n");
        } else {
            let mut table = Table::new([("Link", Align::Left), ("Problem", Align::Left), ("On", Align::Left)]);
            for page in self.pages.iter().filter(|page| page.is_broken()) {
                let status = page.status.map(|status| format!("status {status}"));
                let problem = page.error.clone().or(status).unwrap_or_default();
                table.row([page.url.as_str(), &problem, page.on.as_deref().unwrap_or_default()]);
            }
            text.push_str(&table.to_string());
        }
        if !self.untitled.is_empty() {
            text.push_str("\n## Without a title\n\n");
            text.extend(self.untitled.iter().map(|url| format!("- {url}\n")));
        }
        if !self.same_title.is_empty() {
            text.push_str("\n## The same title\n\n");
            text.extend(self.same_title.iter().map(|(title, urls)| format!("- {title}: {}\n", urls.join(", "))));
        }
        text.push_str("\n## Largest\n\n");
        let mut largest: Vec<_> = self.pages.iter().collect();
        largest.sort_by_key(|page| std::cmp::Reverse(page.bytes));
        let mut table = Table::new([("Page", Align::Left), ("Size", Align::Right)]);
        for page in largest.iter().take(LARGEST) {
            table.row([page.url.as_str(), &size(page.bytes)]);
        }
        text + &table.to_string()
    }
}

fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(url: &str, status: u16, title: &str, bytes: usize) -> Page {
        Page {
            url: url.into(),
            on: Some("/".into()),
            status: Some(status),
            title: Some(title.into()),
            bytes,
            error: None,
        }
    }

    #[test]
    fn the_report_says_what_is_wrong_and_where() {
        let gone = Page { title: None, ..page("/gone", 404, "", 0) };
        let pages =
            vec![page("/", 200, "Home", 1_500), page("/a", 200, "Home", 2_000_000), page("/b", 200, "", 12), gone];
        let report = Report::of("https://a.example/".into(), pages, 3);
        assert_eq!((report.broken.as_slice(), report.untitled.as_slice()), (&["/gone".into()][..], &["/b".into()][..]));
        assert_eq!(report.same_title["Home"], ["/", "/a"]);
        let text = report.markdown();
        for part in [
            "4 pages, 2.0 MB in all; 3 more were not visited.",
            "| /gone | status 404 | /  |",
            "- /b",
            "- Home: /, /a",
            "1.5 kB",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}

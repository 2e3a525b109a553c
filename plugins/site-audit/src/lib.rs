//! The plugin `site-audit`: its tool crawls a site and reports what is wrong with it.

mod html;
mod link;
mod report;

use std::collections::{BTreeMap, HashSet, VecDeque};

use longhaul_sdk::{Http, HttpError, Output, Question, Reply, Response, Task, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

use report::{Page, Report};

longhaul_sdk::plugin! {
    tools: [audit_site],
    needs: [http("*", why = "it fetches the pages of the site that it is asked to audit", required)],
}

/// Pages that are fetched at once.
const AT_ONCE: usize = 8;

/// Redirects that are followed for one page.
const REDIRECTS: usize = 5;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Where to begin: `https://www.example.com/`. Only pages of this host are visited.
    url: String,
    /// Pages after which a person is asked whether to go on.
    #[serde(default = "many")]
    #[schemars(range(min = 1, max = 900))]
    ask_after: usize,
}

fn many() -> usize {
    100
}

/// Crawls a web site within its host: fetches each page that can be reached from the first one, and reports broken links
/// with the pages they are on, titles that are missing or used twice, and the largest pages. Asks before it goes past a
/// number of pages. Returns the report as data and as Markdown.
#[longhaul_sdk::tool(title = "Audit a web site", read_only, idempotent, pace = long)]
fn audit_site(task: &Task, input: Input) -> Result<Output<Report>, ToolError> {
    let Some(first) = link::resolve(&input.url, "") else {
        return Err(ToolError::invalid_input(format!("`{}` is no URL such as https://www.example.com/", input.url)));
    };
    let host = link::origin(&first).to_owned();
    let mut known = HashSet::from([first.clone()]);
    let mut waiting = VecDeque::from([first.clone()]);
    // On which page a link was first seen.
    let mut seen_on: BTreeMap<String, String> = BTreeMap::new();
    let mut pages = Vec::new();
    let mut next_ask = input.ask_after;
    let mut stopped = false;
    while !waiting.is_empty() && !stopped {
        if task.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        if pages.len() >= next_ask {
            stopped = !go_on(task, pages.len(), waiting.len())?;
            next_ask += input.ask_after;
            continue;
        }
        let room = AT_ONCE.min(next_ask - pages.len()).min(waiting.len());
        let batch: Vec<_> = waiting.drain(..room).collect();
        for (url, response) in batch.iter().zip(fetch(&task.http(), &batch)) {
            let (page, links) = look(url, response, seen_on.get(url));
            // The first page says at once what is wrong with all: a missing grant, a name that nobody knows.
            if let (true, Some(error)) = (pages.is_empty(), &page.error) {
                return Err(ToolError::failed(error));
            }
            pages.push(page);
            for link in links.into_iter().filter(|link| link::origin(link) == host) {
                if known.insert(link.clone()) {
                    seen_on.insert(link.clone(), url.clone());
                    waiting.push_back(link);
                }
            }
        }
        task.progress(format!("{} of {} pages", pages.len(), known.len())).done(pages.len()).of(known.len());
    }
    let report = Report::of(first, pages, waiting.len());
    let markdown = report.markdown();
    Ok(Output::new(report).markdown(markdown))
}

fn go_on(task: &Task, pages: usize, waiting: usize) -> Result<bool, ToolError> {
    let question = Question::confirm(format!("{pages} pages are fetched and {waiting} more are known. Go on?"));
    Ok(match task.ask(question)? {
        Reply::Answered(answer) => answer.value,
        Reply::Declined(_) | Reply::TimedOut => false,
    })
}

/// What the pages are, redirects within the site followed.
fn fetch(http: &Http, urls: &[String]) -> Vec<Result<Response, HttpError>> {
    let request = |url: &String| http.get(url).header("accept", "text/html, */*;q=0.5");
    let responses = http.send_all(urls.iter().map(request));
    let follow = |(url, response): (&String, Result<Response, HttpError>)| {
        let (mut at, mut response) = (url.clone(), response?);
        for _ in 0..REDIRECTS {
            let to = response.header("location").filter(|_| (300..400).contains(&response.status()));
            let Some(to) = to.and_then(|to| link::resolve(&at, to)) else { break };
            // What another host says is another site's business.
            if link::origin(&to) != link::origin(url) {
                break;
            }
            response = request(&to).send()?;
            at = to;
        }
        Ok(response)
    };
    urls.iter().zip(responses).map(follow).collect()
}

/// What a page is, and where it leads.
fn look(url: &str, response: Result<Response, HttpError>, seen_on: Option<&String>) -> (Page, Vec<String>) {
    let mut page = Page { url: url.to_owned(), on: seen_on.cloned(), ..Page::default() };
    let mut links = Vec::new();
    match response {
        Err(error) => page.error = Some(error.to_string()),
        Ok(response) => {
            page.status = Some(response.status());
            page.bytes = response.bytes().len();
            let is_html = response.header("content-type").is_none_or(|kind| kind.contains("html"));
            if response.is_success() && is_html {
                let text = response.text();
                page.title = Some(html::title(&text).unwrap_or_default());
                links.extend(html::links(&text).iter().filter_map(|link| link::resolve(url, link)));
            }
        }
    }
    (page, links)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_manifest_is_sound() {
        let manifest = crate::Plugin::manifest();
        assert_eq!((manifest.name.as_str(), manifest.tools[0].name.as_str()), ("site-audit", "audit_site"));
    }
}

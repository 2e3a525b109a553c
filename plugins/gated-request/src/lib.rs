//! The plugin `gated-request`: its tool sends an HTTP request that a person has seen and approved of, byte by byte.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use longhaul_sdk::{Output, Question, Reply, Request, Task, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

longhaul_sdk::plugin! {
    tools: [send_request],
    needs: [http("*", why = "it sends the requests that people approve of", required)],
}

/// Characters of the body that the person sees; the rest is in the seal.
const SHOWN: usize = 20_000;

/// Characters of the response that are returned.
const RETURNED: usize = 50_000;

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Such as `POST`.
    #[serde(default = "post")]
    method: String,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    body: String,
    /// Why it is to be sent, in the words of whoever asks. The person sees it beside the request, marked as such.
    reason: Option<String>,
    /// Who is to be asked, such as `finance`.
    audience: Option<String>,
    /// How long to wait for the person. As long as the task may live if not given.
    wait_seconds: Option<u64>,
}

fn post() -> String {
    "POST".into()
}

#[derive(Debug, Serialize, JsonSchema)]
struct Sent {
    status: u16,
    /// The response as text, its beginning if it is long.
    body: String,
    content_type: Option<String>,
    approved_by: Option<String>,
    /// SHA-256 over the request that was shown, and sent.
    seal: String,
}

/// Sends one HTTP request after a person has approved of exactly this one: they are shown its method, URL, headers and
/// body. Nothing is sent if they say no, or nothing in time. Use it for what cannot be undone: payments, orders, messages,
/// deletions.
#[longhaul_sdk::tool(title = "Send an approved request", destructive, idempotent = false, pace = long)]
fn send_request(task: &Task, input: Input) -> Result<Output<Sent>, ToolError> {
    let seal = seal(&input);
    let mut question = Question::confirm(format!("Send this {} request to {}?", input.method, host(&input.url)))
        .detail(shown(&input, &seal));
    if let Some(audience) = &input.audience {
        question = question.audience(audience);
    }
    if let Some(seconds) = input.wait_seconds {
        question = question.timeout(Duration::from_secs(seconds));
    }
    let approved_by = match task.ask(question)? {
        Reply::Answered(answer) if answer.value => answer.by,
        Reply::Answered(answer) => {
            let by = answer.by.unwrap_or_else(|| "the person who was asked".into());
            return Err(ToolError::failed(format!("not sent: {by} said no")));
        }
        Reply::Declined(why) => {
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return Err(ToolError::failed(format!("not sent: nobody wants to decide{why}")));
        }
        Reply::TimedOut => return Err(ToolError::failed("not sent: nobody answered in time")),
    };
    // What was approved of is what is in hand: the same bytes, or nothing.
    if self::seal(&input) != seal {
        return Err(ToolError::failed("not sent: it is not the request that was approved of"));
    }
    task.progress(format!("approved; sending {} {}", input.method, input.url));
    let response = request(task, &input).send()?;
    let content_type = response.header("content-type").map(str::to_owned);
    let body: String = response.text().chars().take(RETURNED).collect();
    let text = format!("{} {} was answered with status {}.", input.method, input.url, response.status());
    Ok(Output::new(Sent { status: response.status(), body, content_type, approved_by, seal }).text(text))
}

fn request(task: &Task, input: &Input) -> Request {
    let request = task.http().request(&input.method, &input.url).body(input.body.as_bytes());
    input.headers.iter().fold(request, |request, (name, value)| request.header(name, value))
}

/// SHA-256 over all that is sent, each part with its length before it, so that none passes for the end of another.
fn seal(input: &Input) -> String {
    let mut hash = Sha256::new();
    let headers = input.headers.iter().flat_map(|(name, value)| [name, value]);
    for part in [&input.method, &input.url].into_iter().chain(headers).chain([&input.body]) {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// The request for a person to read, in fences that nothing within can end.
fn shown(input: &Input, seal: &str) -> String {
    let mut detail = String::new();
    if let Some(reason) = &input.reason {
        let _ = writeln!(detail, "The reason that was given:\n\n{}\n", fenced(reason));
    }
    let mut head = format!("{} {}\n", input.method, input.url);
    for (name, value) in &input.headers {
        let _ = writeln!(head, "{name}: {value}");
    }
    let _ = writeln!(detail, "The request:\n\n{}\n", fenced(head.trim_end()));
    let characters = input.body.chars().count();
    if characters == 0 {
        detail.push_str("It has no body.\n");
    } else {
        let body: String = input.body.chars().take(SHOWN).collect();
        let _ = writeln!(detail, "Its body, {} bytes:\n\n{}\n", input.body.len(), fenced(&body));
        if characters > SHOWN {
            let _ = writeln!(detail, "**{} more characters are not shown.**\n", characters - SHOWN);
        }
    }
    let _ = writeln!(detail, "\nSHA-256 of what is sent: `{seal}`");
    detail
}

/// A fence longer than any run of backticks within. What would reorder or hide text is written out.
fn fenced(text: &str) -> String {
    let plain: String = text
        .chars()
        .flat_map(|c| match c {
            '\n' | '\t' => vec![c],
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200b}'..='\u{200f}' | '\u{feff}' => {
                c.escape_unicode().collect()
            }
            c if c.is_control() => c.escape_unicode().collect(),
            c => vec![c],
        })
        .collect();
    let longest = plain.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat((longest + 1).max(3));
    format!("{fence}\n{plain}\n{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input() -> Input {
        serde_json::from_value(serde_json::json!({
            "url": "https://bank.example/pay?to=ada", "body": "{\"amount\": 7}", "headers": { "content-type": "application/json" },
        }))
        .unwrap()
    }

    #[test]
    fn the_seal_is_another_for_any_other_request() {
        let sealed = seal(&input());
        assert_eq!(sealed.len(), 64);
        assert_eq!(sealed, seal(&input()));
        let others = [
            Input { method: "PUT".into(), ..input() },
            Input { url: "https://bank.example/pay?to=eve".into(), ..input() },
            Input { body: "{\"amount\": 8}".into(), ..input() },
            Input { headers: BTreeMap::new(), ..input() },
        ];
        assert!(others.iter().all(|other| seal(other) != sealed));
    }

    #[test]
    fn the_person_sees_everything_and_nothing_in_disguise() {
        let all = shown(&input(), "0123");
        for part in
            ["POST https://bank.example/pay?to=ada", "content-type: application/json", "{\"amount\": 7}", "0123"]
        {
            assert!(all.contains(part), "{part} is not in {all}");
        }
        let sly = Input { body: "```\nlooks harmless\u{202e}\r".into(), ..input() };
        let all = shown(&sly, "");
        assert!(all.contains("````\n```\nlooks harmless\\u{202e}\\u{d}\n````"), "{all}");
        let long = Input { body: "x".repeat(SHOWN + 5), ..input() };
        assert!(shown(&long, "").contains("**5 more characters are not shown.**"));
        assert_eq!(host("https://bank.example:8443/pay"), "bank.example:8443");
    }

    #[test]
    fn the_manifest_is_sound() {
        let manifest = crate::Plugin::manifest();
        assert_eq!((manifest.name.as_str(), manifest.tools[0].name.as_str()), ("gated-request", "send_request"));
    }
}

//! Entries of a journal in a person's words. Everything that a guest wrote passes through [`crate::text`].

use console::{StyledObject, style};
use longhaul::{EventKind, Level, OpenQuestion, Progress, Reply, Task, TaskError, TaskState, Timestamp, WaitingOn};

use crate::prompt::ask::{in_words, plain};
use crate::prompt::is_sensitive;
use crate::text::{bytes, line, lines};
use crate::time;

/// How an entry is told, in one or several lines. None: there is nothing to tell. Of a child it does not say which.
///
/// `at` is when it was written, if that is known: what was planned then is told as of then, whoever reads it and when.
pub fn event(kind: &EventKind, at: Option<Timestamp>) -> Option<String> {
    let after = |until: Timestamp| match at {
        Some(at) => format!("after {}", time::length(until.since(at))),
        None => format!("at {}", time::seconds(until)),
    };
    Some(match kind {
        EventKind::Started { plugin, version, tool, .. } => {
            format!("{} {}", bold(format!("{}/{}", line(plugin), line(tool))), dim(line(version)))
        }
        EventKind::Attempt { attempt: 1 } => return None,
        EventKind::Attempt { attempt } => dim(format!("attempt {attempt}")).to_string(),
        EventKind::Progress(update) => progress(update),
        EventKind::Log { text, .. } => log(text),
        EventKind::Question(asked) => {
            asked_until(asked, asked.deadline.map(|deadline| format!("time is up {}", after(deadline))))
        }
        EventKind::Reply { question, reply } => format!("  {} question {question}", self::reply(reply)),
        EventKind::Sleep { until } => {
            let long = at.map_or_else(String::new, |at| format!("for {}, ", time::length(until.since(at))));
            dim(format!("sleeps {long}until {}", time::seconds(*until))).to_string()
        }
        EventKind::ChildStarted { plugin, tool, .. } => {
            dim(format!("started {}/{}", line(plugin), line(tool))).to_string()
        }
        EventKind::ChildEnded { state, error, .. } => ended(*state, error.as_ref()),
        EventKind::Child { event, .. } => return self::event(event, at),
        EventKind::CancelRequested => warn("asked to stop").to_string(),
        EventKind::Refused { what, why } => {
            format!("{} {}: {}", warn("refused"), line(what), line(why))
        }
        EventKind::Http { method, url, status, error, sent, received, millis, .. } => {
            let request = format!("{} {}", line(method), line(url));
            let outcome = match (status, error) {
                (Some(status), _) => status.to_string(),
                (None, error) => warn(line(error.as_deref().unwrap_or("no response"))).to_string(),
            };
            let took = dim(format!("{} sent, {} received, {}", bytes(*sent), bytes(*received), time::brief(*millis)));
            format!("{request} → {outcome} {took}")
        }
        EventKind::LimitNear(near) => format!("{} {near}", warn("nearly used up:")),
        EventKind::Checkpoint { until, .. } => {
            dim(format!("left work pending outside; looks again {}", after(*until))).to_string()
        }
        EventKind::Retry { attempt, until, error } => {
            format!("{} {}: {}", warn("tries again"), after(*until), line(&error.message))
                + &dim(format!(" (attempt {attempt})")).to_string()
        }
        EventKind::Ended { state, error, .. } => ended(*state, error.as_ref()),
        EventKind::Unknown(_) => dim("an entry of a kind that this version does not know").to_string(),
        _ => return None,
    })
}

fn ended(state: TaskState, error: Option<&TaskError>) -> String {
    match error {
        Some(error) => format!("{state}: {}", line(&error.message)),
        None => state.to_string(),
    }
}

/// What a guest printed. Each line is marked, so that it can't pass for one of ours.
fn log(text: &str) -> String {
    let bar = dim("│").to_string();
    let text = lines(text.strip_suffix('\n').unwrap_or(text));
    let marked: Vec<_> = text.split('\n').map(|line| format!("{bar} {line}")).collect();
    marked.join("\n")
}

/// A question that is open, with its details.
pub fn question(asked: &OpenQuestion, now: Timestamp) -> String {
    asked_until(asked, asked.deadline.map(|deadline| time::is_up(deadline, now)))
}

fn asked_until(asked: &OpenQuestion, until: Option<String>) -> String {
    let mut told = format!("{} {}", style("?").yellow().bold().for_stderr(), bold(line(&asked.prompt)));
    if let Some(detail) = &asked.detail {
        told.push('\n');
        told.push_str(&indented(detail.trim_end()));
    }
    if let Some(until) = until {
        told.push_str(&dim(format!("\n  {until}")).to_string());
    }
    told
}

/// A guest's text of several lines, set off from ours.
pub fn indented(text: &str) -> String {
    let text = lines(text);
    let rows: Vec<_> = text.split('\n').map(|row| format!("  {row}")).collect();
    rows.join("\n")
}

/// How a question was settled, by the reply alone.
pub fn reply(reply: &Reply) -> String {
    match reply {
        Reply::Answered { value, .. } => reply_with(reply, &plain(value)),
        _ => reply_with(reply, ""),
    }
}

/// How this question was settled. An answer that must not be shown is not.
pub fn reply_to(question: &OpenQuestion, reply: &Reply) -> String {
    match reply {
        Reply::Answered { .. } if is_sensitive(question) => reply_with(reply, "•••"),
        Reply::Answered { value, .. } => reply_with(reply, &in_words(question, value)),
        _ => reply_with(reply, ""),
    }
}

/// A question that is settled, and how.
pub fn settled(question: &OpenQuestion, how: &str) -> String {
    format!("{} {}\n  {how}", style("?").yellow().bold().for_stderr(), line(&question.prompt))
}

/// What settled a question, and when.
pub fn first(question: &OpenQuestion, reply: &Reply, at: Timestamp, now: Timestamp) -> String {
    format!("{}, {} ({})", reply_to(question, reply), time::relative(at, now), time::seconds(at))
}

fn reply_with(reply: &Reply, answer: &str) -> String {
    let by = |by: &Option<String>| by.as_ref().map_or_else(String::new, |by| format!(" by {}", line(by)));
    match reply {
        Reply::Answered { by: name, .. } => {
            format!("{} {}{}", style("✓").green().for_stderr(), line(answer), dim(by(name)))
        }
        Reply::Declined { reason, by: name } => {
            let reason = reason.as_ref().map_or_else(String::new, |reason| format!(": {}", line(reason)));
            format!("{} declined{reason}{}", warn("✗"), dim(by(name)))
        }
        Reply::TimedOut => format!("{} nobody answered in time", warn("✗")),
        Reply::Closed => dim("no longer needed").to_string(),
    }
}

/// How far a task is: `warning: 12% 3/25 message`.
pub fn progress(update: &Progress) -> String {
    let level = match update.level {
        Level::Debug | Level::Info => String::new(),
        Level::Warning => format!("{} ", style("warning:").yellow().for_stderr()),
        Level::Error => format!("{} ", style("error:").red().for_stderr()),
    };
    let far = far(update);
    format!("  {level}{}{}{}", dim(&far), if far.is_empty() { "" } else { " " }, line(&update.message))
}

/// How far a task is, in a line; or how far it was, where it is not at work on it now. None: it never said, or has come to its end.
pub fn standing(task: &Task) -> Option<String> {
    let told = progress(task.progress.as_ref()?);
    let retries = task.waiting.as_ref().is_some_and(|waiting| waiting.on == WaitingOn::Retry);
    let told = told.trim_start();
    match task.state {
        TaskState::Completed => None,
        TaskState::Running | TaskState::Waiting if !task.stalled && !retries => Some(told.to_owned()),
        _ => Some(format!("was at {told}")),
    }
}

/// `12% 3/25`, as much as is known.
pub fn far(update: &Progress) -> String {
    let counted = counted(update);
    match share(update) {
        Some(share) if counted.is_empty() => format!("{:.0}%", share * 100.0),
        Some(share) => format!("{:.0}% {counted}", share * 100.0),
        None => counted,
    }
}

/// The part that is done, from 0 to 1.
pub fn share(update: &Progress) -> Option<f64> {
    let (done, total) = (update.done?, update.total?);
    (total > 0.0).then(|| (done / total).clamp(0.0, 1.0))
}

/// `3/25`, or `3` without a total; nothing where the total is 1 or 100, which is a share already.
#[allow(clippy::float_cmp)]
pub fn counted(update: &Progress) -> String {
    match (update.done, update.total) {
        (Some(_), Some(total)) if total == 1.0 || total == 100.0 => String::new(),
        (Some(done), Some(total)) => format!("{}/{}", number(done), number(total)),
        (Some(done), None) => number(done),
        (None, _) => String::new(),
    }
}

/// A number without more decimals than a person reads.
fn number(n: f64) -> String {
    if n.fract() == 0.0 { format!("{n:.0}") } else { format!("{n:.2}") }
}

/// Why a task ended without a result, in a line or two.
pub fn task_error(error: &TaskError) -> String {
    let whose = match error.class {
        longhaul::ErrorClass::Tool => "the tool failed",
        longhaul::ErrorClass::Run => "the run broke",
    };
    format!("{whose} ({}): {}", line(&error.code), lines(error.message.trim_end()).replace('\n', "\n  "))
}

fn dim<T>(text: T) -> StyledObject<T> {
    style(text).dim().for_stderr()
}

fn bold<T>(text: T) -> StyledObject<T> {
    style(text).bold().for_stderr()
}

fn warn<T>(text: T) -> StyledObject<T> {
    style(text).yellow().for_stderr()
}

#[cfg(test)]
mod tests {
    use console::strip_ansi_codes;
    use serde_json::{Value, json};

    use super::*;

    fn told(kind: Value) -> String {
        let kind: EventKind = serde_json::from_value(kind).unwrap();
        let told = event(&kind, Some(Timestamp::from_millis(0))).unwrap();
        strip_ansi_codes(&told).into_owned()
    }

    #[test]
    fn entries_are_told_in_a_persons_words() {
        let warning = json!({"kind": "progress", "message": "slow", "done": 3.0, "total": 25.0, "level": "warning"});
        assert_eq!(told(warning), "  warning: 12% 3/25 slow");
        assert_eq!(told(json!({"kind": "progress", "message": "half", "done": 0.5, "total": 1.0})), "  50% half");
        assert_eq!(
            told(json!({"kind": "sleep", "until": "1970-01-01T00:01:00Z"})),
            "sleeps for 1m, until 1970-01-01T00:01:00Z"
        );
        let asked = json!({"kind": "question", "question": 1, "prompt": "Well?", "answer": {}, "deadline": "1970-01-01T00:05:00Z"});
        assert_eq!(told(asked), "? Well?\n  time is up after 5m");
        let reply = json!({"kind": "reply", "question": 2, "outcome": "answered", "value": {"a": 1}, "by": "ana"});
        assert_eq!(told(reply), "  ✓ {\"a\":1} by ana question 2");
    }

    #[test]
    fn what_left_the_sandbox_is_told_in_a_line() {
        let request = json!({"kind": "http", "method": "POST", "url": "https://a.example/x?y=1", "status": 201, "sent": 12,
            "received": 3_500, "millis": 1_234, "key": "k"});
        assert_eq!(told(request), "POST https://a.example/x?y=1 → 201 12 B sent, 3.4 KiB received, 1.2 s");
        let failed = json!({"kind": "http", "method": "GET", "url": "https://a.example/\u{1b}[2J", "sent": 0, "received": 0,
            "millis": 30, "error": "no rule allows\u{202e} it"});
        assert_eq!(
            told(failed),
            "GET https://a.example/␛[2J → no rule allows\\u{202e} it 0 B sent, 0 B received, 30 ms"
        );
        let refused = json!({"kind": "refused", "what": "https://a.example", "why": "no rule allows it; add `http`"});
        assert_eq!(told(refused), "refused https://a.example: no rule allows it; add `http`");
        let near = json!({"kind": "limit-near", "limit": "fuel", "unit": "count", "used": 9_000, "allowed": 10_000});
        assert_eq!(told(near), "nearly used up: fuel 9 k of 10 k");
    }

    #[test]
    fn what_a_guest_prints_is_marked_and_harmless() {
        let log = json!({"kind": "log", "stream": "stdout", "text": "one\n\u{1b}[2Jerror: two\n"});
        assert_eq!(told(log), "│ one\n│ ␛[2Jerror: two");
    }

    #[test]
    fn a_share_stays_between_nothing_and_all() {
        let far = |done, total| far(&Progress { message: String::new(), done, total, level: Level::Info });
        assert_eq!(far(Some(30.0), Some(20.0)), "100% 30/20");
        assert_eq!(far(Some(-1.0), Some(20.0)), "0% -1/20");
        assert_eq!(far(Some(1.0), Some(0.0)), "1/0");
        assert_eq!(far(Some(f64::NAN), None), "NaN");
        assert_eq!(far(None, Some(2.0)), "");
    }
}

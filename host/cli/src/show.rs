//! `tasks ls` and `tasks show`: tasks for a person to read.

use std::collections::HashSet;
use std::io::Write as _;
use std::iter::repeat;

use console::{Term, strip_ansi_codes, style};
use longhaul::{Event, EventKind, Host, LimitUse, OpenQuestion, Task, TaskId, TaskState, Timestamp};

use crate::app::App;
use crate::exit::Problem;
use crate::family::{self, Names};
use crate::table::Table;
use crate::text::{line, shortened};
use crate::{answer, result, time, words};

/// So many entries of the journal are shown.
const RECENT: usize = 20;

/// An ending of an id that is shown for it has so many characters at least.
const ENDING: usize = 6;

/// One line a task. At a terminal each is named by the end of its id, which is enough for every command; to programs by all of it.
pub fn list(tasks: &[Task]) -> Result<(), Problem> {
    let now = time::now();
    let ids: Vec<_> = tasks.iter().map(|task| &task.id).collect();
    let ending = if Term::stdout().is_term() { ending(&ids) } else { ID };
    let mut table = Table::new(&["ID", "STATE", "TOOL", "AGE", ""]);
    for task in tasks {
        table.row(vec![
            split(&task.id, ending).1.to_owned(),
            state(task),
            format!("{}{}", if task.parent.is_some() { "↳ " } else { "" }, tool(&task.plugin, &task.tool)),
            time::duration(now.since(task.created_at)),
            about(task),
        ]);
    }
    table.print()
}

/// Characters of an id.
const ID: usize = 26;

/// How many characters at the end of these ids tell them apart.
pub fn ending(ids: &[&TaskId]) -> usize {
    let apart = |length: &usize| {
        let mut seen = HashSet::new();
        ids.iter().all(|id| seen.insert(split(id, *length).1))
    };
    (ENDING..ID).find(apart).unwrap_or(ID)
}

/// An id taken apart before its last `ending` characters.
pub fn split(id: &TaskId, ending: usize) -> (&str, &str) {
    let id = id.as_str();
    id.split_at_checked(id.len().saturating_sub(ending)).unwrap_or(("", id))
}

pub fn tool(plugin: &str, tool: &str) -> String {
    line(&format!("{plugin}/{tool}"))
}

/// What is most worth knowing about a task, in a few words.
fn about(task: &Task) -> String {
    let text = if let Some(error) = &task.error {
        line(&error.message)
    } else if let Some(question) = task.questions.first() {
        format!("? {}", line(&question.prompt))
    } else {
        words::standing(task).unwrap_or_default()
    };
    shortened(&strip_ansi_codes(&text), 60)
}

/// The state, with what a waiting task waits for and whether anybody runs it.
pub fn state(task: &Task) -> String {
    let mut state = task.state.to_string();
    if let Some(waiting) = &task.waiting {
        state = format!("{state}:{}", waiting.on.as_str());
    }
    if task.cancel_requested && !task.state.is_terminal() {
        state.push_str(", cancelling");
    }
    if task.stalled {
        state.push_str(", stalled");
    }
    state
}

/// The last entries of a task's journal, and before them as many as are needed to know the questions that they settle.
pub async fn recent(host: &Host, task: &Task) -> Result<Vec<Event>, Problem> {
    let mut back = RECENT as u64;
    loop {
        let after = task.last_seq.saturating_sub(back);
        let entries = host.journal(&task.id, after, usize::MAX).await?;
        // Not every number is a public entry.
        let enough = entries.len() >= RECENT
            && last(&entries).iter().all(|entry| match whose(entry) {
                (child, EventKind::Reply { question, .. }) => asked(child, *question, &entries).is_some(),
                _ => true,
            });
        if enough || after == 0 {
            return Ok(entries);
        }
        back = back.saturating_mul(8);
    }
}

fn last(entries: &[Event]) -> &[Event] {
    &entries[entries.len().saturating_sub(RECENT)..]
}

/// All about one task.
pub fn page(app: &App, task: &Task, journal: &[Event]) -> Result<(), Problem> {
    let page = written(app, task, journal, time::now());
    let page = if console::colors_enabled() { page } else { strip_ansi_codes(&page).into_owned() };
    let mut out = std::io::stdout().lock();
    out.write_all(page.as_bytes()).and_then(|()| out.flush()).map_err(|e| Problem::output(&e))
}

fn written(app: &App, task: &Task, journal: &[Event], now: Timestamp) -> String {
    let mut page = Page::default();
    let (beginning, ending) = split(&task.id, ENDING);
    page.fact("task", &format!("{}{ending}", style(beginning).dim()));
    page.fact("tool", &format!("{} {}", tool(&task.plugin, &task.tool), line(&task.version)));
    if let Some(parent) = &task.parent {
        page.fact("parent", &parent.to_string());
    }
    page.fact("state", &state(task));
    if let Some(until) = task.waiting.as_ref().and_then(|waiting| waiting.until) {
        page.fact("until", &planned(task, until, now));
    }
    if task.stalled {
        page.fact("", &format!("no process runs it; {}", app.again("tasks watch", &task.id)));
    }
    if let Some(standing) = words::standing(task) {
        page.fact("progress", &standing);
    }
    if task.attempt > 1 {
        page.fact("attempt", &task.attempt.to_string());
    }
    page.fact("started", &time::both(task.created_at, now));
    match task.ended_at {
        Some(ended) => page.fact("ended", &time::both(ended, now)),
        None => page.fact("deadline", &planned(task, task.deadline, now)),
    }
    if let Some(session) = &task.session {
        page.fact("session", &line(session));
    }
    page.used(&task.usage);

    let names = names(task, journal);
    for question in &task.questions {
        let whose = question.task.as_ref().map_or_else(String::new, |child| format!(" of {}", names.get(child)));
        page.heading(&format!("question {}{whose}", question.question));
        page.text(&words::question(question, now));
        page.text(&format!("  {}", answer::command(app, &task.id, question)));
    }
    if !task.children.is_empty() {
        page.heading("children");
        for child in &task.children {
            let what = tool(&child.plugin, &child.tool);
            page.text(&format!("  #{:<3} {} {:<9} {what}", child.handle, child.task, child.state.as_str()));
        }
    }
    if let Some(output) = task.output.as_ref().filter(|_| task.state == TaskState::Completed) {
        page.heading("result");
        page.text(&result::shown(output));
    }
    // Of one that was stopped there is no more to say than what the journal ends with.
    if let Some(error) = task.error.as_ref().filter(|_| task.state != TaskState::Cancelled) {
        page.heading("error");
        page.text(&format!("  {}", words::task_error(error)));
    }
    page.heading("journal");
    for entry in last(journal) {
        page.entry(entry, journal, &names);
    }
    page.text
}

/// A moment at which a task that has not ended is to go on, or to be ended; or what it waits for since.
fn planned(task: &Task, at: Timestamp, now: Timestamp) -> String {
    if at > now {
        return time::both(at, now);
    }
    let waits = if task.stalled { "a process that runs it" } else { "its turn" };
    format!("{} (due {}; waits for {waits})", time::seconds(at), time::relative(at, now))
}

/// The last things that a task did before it asked, for whoever is to answer: `most` at most.
pub fn so_far(task: &Task, journal: &[Event], most: usize) -> String {
    let names = names(task, journal);
    let of_use = |entry: &&Event| !matches!(whose(entry).1, EventKind::Started { .. } | EventKind::Question(_));
    let entries: Vec<_> = journal.iter().filter(of_use).collect();
    let mut page = Page::default();
    for entry in entries.iter().skip(entries.len().saturating_sub(most)) {
        page.entry(entry, journal, &names);
    }
    page.text
}

fn names(task: &Task, journal: &[Event]) -> Names {
    let mut names = Names::of(task);
    journal.iter().for_each(|entry| match &entry.kind {
        EventKind::Child { child, event } => names.learn(Some(child), event),
        own => names.learn(None, own),
    });
    names
}

#[derive(Default)]
struct Page {
    text: String,
    /// Of the last entry.
    day: Option<String>,
}

impl Page {
    fn fact(&mut self, name: &str, value: &str) {
        self.text.push_str(&format!("{} {value}\n", style(format!("{name:<9}")).dim()));
    }

    fn heading(&mut self, name: &str) {
        self.text.push_str(&format!("\n{}\n", style(name).bold()));
    }

    fn text(&mut self, text: &str) {
        self.text.push_str(text.trim_end_matches('\n'));
        self.text.push('\n');
    }

    /// What is used of each limit of which anything is.
    fn used(&mut self, usage: &[LimitUse]) {
        for (usage, name) in usage.iter().filter(|usage| usage.used > 0).zip(std::iter::once("used").chain(repeat("")))
        {
            self.fact(name, &line(&usage.to_string()));
        }
    }

    /// An entry with its time, its further lines below; and above it its day, if it is another one than that of the entry before.
    fn entry(&mut self, entry: &Event, journal: &[Event], names: &Names) {
        let (child, kind) = whose(entry);
        let told = match kind {
            EventKind::Reply { question: number, reply } => {
                let question = asked(child, *number, journal);
                let told = question.map_or_else(|| words::reply(reply), |question| words::reply_to(question, reply));
                Some(format!("  {told} (question {number})"))
            }
            kind => words::event(kind, Some(entry.at)),
        };
        let named = match (child, kind) {
            (_, EventKind::ChildStarted { child, .. } | EventKind::ChildEnded { child, .. }) => Some(child),
            (child, _) => child,
        };
        let told = told.map(|told| named.map_or(told.clone(), |child| family::indented(&names.get(child), &told)));
        let Some(told) = told else { return };
        let at = time::seconds(entry.at);
        let (day, clock) = (at.get(..10).unwrap_or(&at), at.get(11..19).unwrap_or(&at));
        if self.day.replace(day.to_owned()).is_some_and(|before| before != day) {
            self.text.push_str(&format!("  {}\n", style(day).dim()));
        }
        for (i, row) in told.split('\n').enumerate() {
            let margin = if i == 0 { clock } else { "        " };
            self.text.push_str(&format!("  {} {row}\n", style(margin).dim()));
        }
    }
}

/// The child that an entry is of, if it is of one, and what happened.
pub fn whose(entry: &Event) -> (Option<&TaskId>, &EventKind) {
    match &entry.kind {
        EventKind::Child { child, event } => (Some(child), event),
        own => (None, own),
    }
}

fn asked<'a>(child: Option<&TaskId>, number: u32, journal: &'a [Event]) -> Option<&'a OpenQuestion> {
    journal.iter().find_map(|entry| match whose(entry) {
        (of, EventKind::Question(question)) if of == child && question.question == number => Some(question),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_entry_of_another_day_stands_below_its_day() {
        let entry = |seq: u64, at: &str| -> Event {
            serde_json::from_value(json!({"seq": seq, "at": at, "kind": "progress", "message": "on"})).unwrap()
        };
        let entries =
            [entry(1, "2026-11-29T23:59:59Z"), entry(2, "2026-11-30T00:00:01Z"), entry(3, "2026-11-30T00:00:02Z")];
        let mut page = Page::default();
        entries.iter().for_each(|entry| page.entry(entry, &entries, &Names::default()));
        let shown = strip_ansi_codes(&page.text).into_owned();
        assert_eq!(shown, "  23:59:59   on\n  2026-11-30\n  00:00:01   on\n  00:00:02   on\n");
    }

    #[test]
    fn ids_are_told_apart_by_as_few_characters_as_do() {
        let id = |text: &str| -> TaskId { serde_json::from_value(json!(text)).unwrap() };
        let ids =
            [id("01m8nchejpkmmta7t8vsw09cwh"), id("01m8nchejpkmmta7t8vqw09cwh"), id("01m8ncha5cvmcw8ktc8mrj86yb")];
        assert_eq!(ending(&ids.iter().collect::<Vec<_>>()), 7);
        assert_eq!(ending(&[&ids[0], &ids[2]]), 6);
        assert_eq!(split(&ids[0], 6), ("01m8nchejpkmmta7t8vs", "w09cwh"));
    }
}

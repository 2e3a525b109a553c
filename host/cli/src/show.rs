//! `tasks ls` and `tasks show`: tasks for a person to read.

use std::io::Write as _;
use std::iter::repeat;

use console::{strip_ansi_codes, style};
use longhaul::{Event, EventKind, Host, LimitUse, OpenQuestion, Task, TaskId, TaskState, Timestamp};

use crate::app::App;
use crate::exit::Problem;
use crate::family::{self, Names};
use crate::prompt::ask;
use crate::table::Table;
use crate::text::{line, shortened};
use crate::{result, time, words};

/// So many entries of the journal are shown.
const RECENT: usize = 20;

/// One line a task.
pub fn list(tasks: &[Task]) -> Result<(), Problem> {
    let now = time::now();
    let mut table = Table::new(&["ID", "STATE", "TOOL", "AGE", ""]);
    for task in tasks {
        table.row(vec![
            task.id.to_string(),
            state(task),
            format!("{}{}", if task.parent.is_some() { "↳ " } else { "" }, tool(&task.plugin, &task.tool)),
            time::duration(now.since(task.created_at)),
            about(task),
        ]);
    }
    table.print()
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
    } else if let Some(progress) = task.progress.as_ref().filter(|_| !task.state.is_terminal()) {
        words::progress(progress).trim_start().to_owned()
    } else {
        String::new()
    };
    shortened(&strip_ansi_codes(&text), 60)
}

/// The state, with what a waiting task waits for and whether anybody runs it.
fn state(task: &Task) -> String {
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
    page.fact("task", &task.id.to_string());
    page.fact("tool", &format!("{} {}", tool(&task.plugin, &task.tool), line(&task.version)));
    if let Some(parent) = &task.parent {
        page.fact("parent", &parent.to_string());
    }
    page.fact("state", &state(task));
    if let Some(until) = task.waiting.as_ref().and_then(|waiting| waiting.until) {
        page.fact("until", &time::both(until, now));
    }
    if task.stalled {
        page.fact("", &format!("no process runs it; {}", app.again("tasks watch", &task.id)));
    }
    if let Some(progress) = &task.progress {
        page.fact("progress", words::progress(progress).trim_start());
    }
    if task.attempt > 1 {
        page.fact("attempt", &task.attempt.to_string());
    }
    page.fact("started", &time::both(task.created_at, now));
    match task.ended_at {
        Some(ended) => page.fact("ended", &time::both(ended, now)),
        None => page.fact("deadline", &time::both(task.deadline, now)),
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
        let several = task.questions.iter().filter(|other| other.task == question.task).count() > 1;
        let which = if several { format!(" --question {}", question.question) } else { String::new() };
        let answer = app.again("tasks answer", question.task.as_ref().unwrap_or(&task.id));
        page.text(&format!("  {answer}{which} '{}'", line(&ask::example(question))));
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
    if let Some(error) = &task.error {
        page.heading("error");
        page.text(&format!("  {}", words::task_error(error)));
    }
    page.heading("journal");
    for entry in last(journal) {
        page.entry(entry, journal, &names, now);
    }
    page.0
}

/// The last things that a task did before it asked, for whoever is to answer: `most` at most.
pub fn so_far(task: &Task, journal: &[Event], most: usize, now: Timestamp) -> String {
    let names = names(task, journal);
    let of_use = |entry: &&Event| !matches!(whose(entry).1, EventKind::Started { .. } | EventKind::Question(_));
    let entries: Vec<_> = journal.iter().filter(of_use).collect();
    let mut page = Page::default();
    for entry in entries.iter().skip(entries.len().saturating_sub(most)) {
        page.entry(entry, journal, &names, now);
    }
    page.0
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
struct Page(String);

impl Page {
    fn fact(&mut self, name: &str, value: &str) {
        self.0.push_str(&format!("{} {value}\n", style(format!("{name:<9}")).dim()));
    }

    fn heading(&mut self, name: &str) {
        self.0.push_str(&format!("\n{}\n", style(name).bold()));
    }

    fn text(&mut self, text: &str) {
        self.0.push_str(text.trim_end_matches('\n'));
        self.0.push('\n');
    }

    /// What is used of each limit of which anything is.
    fn used(&mut self, usage: &[LimitUse]) {
        for (usage, name) in usage.iter().filter(|usage| usage.used > 0).zip(std::iter::once("used").chain(repeat("")))
        {
            self.fact(name, &line(&usage.to_string()));
        }
    }

    /// An entry with its time, its further lines below.
    fn entry(&mut self, entry: &Event, journal: &[Event], names: &Names, now: Timestamp) {
        let (child, kind) = whose(entry);
        let told = match kind {
            EventKind::Reply { question: number, reply } => {
                let question = asked(child, *number, journal);
                let told = question.map_or_else(|| words::reply(reply), |question| words::reply_to(question, reply));
                Some(format!("  {told} (question {number})"))
            }
            kind => words::event(kind, now),
        };
        let named = match (child, kind) {
            (_, EventKind::ChildStarted { child, .. } | EventKind::ChildEnded { child, .. }) => Some(child),
            (child, _) => child,
        };
        let told = told.map(|told| named.map_or(told.clone(), |child| family::indented(&names.get(child), &told)));
        let Some(told) = told else { return };
        let at = time::seconds(entry.at);
        let clock = at.get(11..19).unwrap_or(&at);
        for (i, row) in told.split('\n').enumerate() {
            let margin = if i == 0 { clock } else { "        " };
            self.0.push_str(&format!("  {} {row}\n", style(margin).dim()));
        }
    }
}

/// The child that an entry is of, if it is of one, and what happened.
fn whose(entry: &Event) -> (Option<&TaskId>, &EventKind) {
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

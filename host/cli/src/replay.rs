//! `longhaul tasks replay` and `longhaul plugin check-upgrade`: running tasks again from their journals.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::Path;

use console::{strip_ansi_codes, style};
use longhaul::{Diverged, EventKind, Heard, Host, OpenQuestion, ReplayOptions, TaskUpgrade, Upgrade};

use crate::app::App;
use crate::exit::{Exit, Problem};
use crate::plugin::short;
use crate::table::Table;
use crate::text::{count, line};
use crate::view::say;
use crate::{json, tasks, words};

pub async fn replay(
    app: &App,
    host: &Host,
    id: &str,
    plugin: Option<&Path>,
    until: Option<u64>,
) -> Result<Exit, Problem> {
    let id = tasks::find(host, id).await?;
    let mut options = ReplayOptions::default();
    options.component = plugin.map(read).transpose()?;
    options.until = until;
    let (mut written, mut asked) = (Ok(()), HashMap::new());
    let hear = |heard: Heard| {
        if written.is_ok() {
            written = match app.json {
                true => json::print(&json::Line::Replay { task: &id, heard: &heard }),
                false => show(&heard, &mut asked),
            };
        }
    };
    let replayed = host.replay(&id, options, hear).await?;
    written?;
    if app.json {
        json::print(&json::Line::Replayed(&replayed))?;
    } else if let Some(diverged) = &replayed.diverged {
        say(&format!("diverged: {}", told(diverged)));
    } else {
        let same = match replayed.recorded_fuel {
            Some(recorded) if recorded == replayed.fuel => ", and used the same fuel".to_owned(),
            // Another build may compute differently and do the same.
            Some(recorded) => format!(", with {} fuel instead of {recorded}", replayed.fuel),
            None => String::new(),
        };
        say(&format!("matched: it did the same up to entry {}{same}", replayed.seq));
    }
    Ok(if replayed.diverged.is_some() { Exit::Diverged } else { Exit::Done })
}

/// One entry, after its number. `asked`: the questions before it, some of whose answers are not to be shown.
fn show(heard: &Heard, asked: &mut HashMap<u32, OpenQuestion>) -> Result<(), Problem> {
    let seq = heard.seq.map_or_else(String::new, |seq| seq.to_string());
    if let EventKind::Question(question) = &heard.kind {
        asked.insert(question.question, question.clone());
    }
    let told = match &heard.kind {
        EventKind::Reply { question, reply } => asked
            .get(question)
            .map(|asked| format!("  {} question {question}", words::reply_to(asked, reply)))
            .or_else(|| words::event(&heard.kind, None)),
        kind => words::event(kind, None),
    };
    let Some(told) = told else { return Ok(()) };
    let mut out = std::io::stdout().lock();
    for (place, row) in told.split('\n').enumerate() {
        let row = format!("{} {row}", style(format!("{:>6}", if place == 0 { &seq } else { "" })).dim());
        let row = if console::colors_enabled() { row } else { strip_ansi_codes(&row).into_owned() };
        writeln!(out, "{row}").map_err(|e| Problem::output(&e))?;
    }
    out.flush().map_err(|e| Problem::output(&e))
}

fn told(diverged: &Diverged) -> String {
    line(&diverged.to_string())
}

pub async fn check_upgrade(app: &App, host: &Host, file: &Path) -> Result<Exit, Problem> {
    let check = host.check_upgrade(read(file)?).await?;
    if app.json {
        check.tasks.iter().try_for_each(|task| json::print(&json::Line::Upgrade(task)))?;
    } else if check.tasks.is_empty() {
        say(&format!("no unfinished task of `{}`", line(&check.plugin.name)));
    } else {
        let mut table = Table::new(&["TASK", "TOOL", "BUILD", "UPGRADE", ""]);
        for task in &check.tasks {
            let (verdict, why) = verdict(task);
            table.row(vec![
                task.task.to_string(),
                line(&task.tool),
                short(&task.digest).to_owned(),
                verdict.to_owned(),
                line(&why),
            ]);
        }
        table.print()?;
        let going = check.tasks.iter().filter(|task| matches!(task.upgrade, Upgrade::GoesOn { .. })).count();
        say(&format!(
            "{going} of {} would go on with {} {} ({}); they stay on the build that they were started with",
            count(check.tasks.len(), "unfinished task"),
            line(&check.plugin.name),
            line(&check.plugin.version),
            short(&check.plugin.digest)
        ));
    }
    Ok(if check.is_safe() { Exit::Done } else { Exit::Diverged })
}

fn verdict(task: &TaskUpgrade) -> (&'static str, String) {
    match &task.upgrade {
        Upgrade::GoesOn { entries: 0 } => ("goes on", "it begins afresh".into()),
        Upgrade::GoesOn { entries } => (
            "goes on",
            if *entries == 1 { "1 entry is the same".into() } else { format!("{entries} entries are the same") },
        ),
        Upgrade::Diverges(diverged) => ("diverges", told(diverged)),
        Upgrade::Unjudged { why } => ("can't be judged", why.clone()),
        _ => ("unknown", String::new()),
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Problem> {
    std::fs::read(file).map_err(|e| Problem::new(format!("cannot read {}: {e}", file.display())))
}

//! `longhaul tasks`: what was started, and what can be done with it.

use std::time::Duration;

use longhaul::{Error, Host, TaskFilter, TaskId, TaskState};

use crate::app::App;
use crate::args::{Asked, Tasks};
use crate::exit::{Exit, Problem};
use crate::follow::{Begun, Follow};
use crate::signals::{RELEASE, Signals};
use crate::text::line;
use crate::view::say;
use crate::{answer, family, json, replay, show};

/// A cancelled task has this long to end: a guest is stopped 10 s after it was asked.
pub const CANCEL_WAIT: Duration = Duration::from_secs(15);

pub async fn tasks(app: &App, command: Tasks) -> Result<Exit, Problem> {
    let host = app.open().await?;
    let done = match command {
        Tasks::Ls { state, session, limit } => list(app, &host, state, session, limit).await,
        Tasks::Show { id } => show_one(app, &host, &id).await,
        Tasks::Watch { id, asked } => watch(app, &host, &id, asked).await,
        Tasks::Answer(args) => answer::answer(app, &host, args).await,
        Tasks::Cancel { id } => cancel(app, &host, &id).await,
        Tasks::Replay { id, plugin, until } => replay::replay(app, &host, &id, plugin.as_deref(), until).await,
        Tasks::Rm { id } => remove(app, &host, &id).await,
    };
    host.shutdown().await;
    done
}

/// The task that a person means, by its id, a beginning or an ending of it, or as `@last`.
pub async fn find(host: &Host, given: &str) -> Result<TaskId, Problem> {
    let tasks = match host.find_task(given).await {
        Err(Error::AmbiguousTask { tasks, .. }) => tasks,
        found => return Ok(found?),
    };
    let mut rows = vec!["give more of it; it could be".to_owned()];
    for id in tasks {
        // It may be removed by now.
        if let Ok(task) = host.task(&id).await {
            rows.push(format!("  {id}  {}  {}", show::tool(&task.plugin, &task.tool), show::state(&task)));
        }
    }
    Err(Problem::new(format!("`{}` could be several tasks", line(given))).hint(rows.join("\n  ")))
}

async fn list(
    app: &App,
    host: &Host,
    state: Option<TaskState>,
    session: Option<String>,
    limit: usize,
) -> Result<Exit, Problem> {
    let tasks = host.tasks(TaskFilter { state, session, limit, ..TaskFilter::default() }).await?;
    if app.json {
        for task in &tasks {
            json::print(&json::Line::Task(task))?;
        }
    } else if tasks.is_empty() {
        say("no tasks");
    } else {
        show::list(&tasks)?;
        if tasks.len() == limit {
            say(&format!("there may be more than these {limit}; `--limit N` shows more"));
        }
    }
    Ok(Exit::Done)
}

async fn show_one(app: &App, host: &Host, id: &str) -> Result<Exit, Problem> {
    let id = find(host, id).await?;
    let task = host.task(&id).await?;
    if app.json {
        json::print(&json::Line::Task(&task))?;
    } else {
        let journal = show::recent(host, &task).await?;
        show::page(app, &task, &journal)?;
    }
    Ok(Exit::Done)
}

async fn watch(app: &App, host: &Host, id: &str, asked: Asked) -> Result<Exit, Problem> {
    let id = find(host, id).await?;
    let mut signals = Signals::listen(RELEASE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
    let begun = Begun::Before { ours: host.adopt(&id).await? };
    Follow::new(app, host, &id, begun, asked).until_the_end(&mut signals).await
}

async fn cancel(app: &App, host: &Host, id: &str) -> Result<Exit, Problem> {
    let id = find(host, id).await?;
    let found = host.cancel(&id).await?;
    if app.json {
        json::print(&json::Line::Cancel { task: &id, found: found.as_str() })?;
    } else if found.is_terminal() {
        say(&format!("task {id} was {found} already"));
    } else {
        say(&format!("task {id} was {found}; it is asked to stop"));
    }
    // Nobody else would let it clean up and end, and its children with it.
    if !found.is_terminal() && host.adopt(&id).await? {
        match tokio::time::timeout(CANCEL_WAIT, host.wait(&id)).await {
            Ok(task) => family::settled(host, &task?, CANCEL_WAIT).await?,
            Err(_) => say("it has not ended yet; the next process that runs it goes on stopping it"),
        }
    }
    let task = host.task(&id).await?;
    if app.json {
        json::print(&json::Line::Task(&task))?;
    } else if !found.is_terminal() && task.state.is_terminal() {
        say(&format!("it is {}", task.state));
    }
    Ok(Exit::Done)
}

async fn remove(app: &App, host: &Host, id: &str) -> Result<Exit, Problem> {
    let id = find(host, id).await?;
    host.remove(&id).await?;
    if app.json {
        json::print(&json::Line::Removed { task: Some(&id), plugin: None, digest: None })?;
    } else {
        say(&format!("removed task {id}"));
    }
    Ok(Exit::Done)
}

//! `longhaul tasks`: what was started, and what can be done with it.

use std::time::Duration;

use longhaul::{Host, OpenQuestion, Reply, Task, TaskFilter, TaskId, TaskState};

use crate::app::App;
use crate::args::{Answer, Asked, Tasks};
use crate::exit::{Exit, Problem};
use crate::follow::{Begun, Follow};
use crate::prompt::keys::Keys;
use crate::prompt::{Outcome, Prompt, ask};
use crate::run::{answer, answers};
use crate::signals::{RELEASE, Signal, Signals};
use crate::text::line;
use crate::view::{Kind, View, say};
use crate::{family, json, replay, show, time, words};

/// A cancelled task has this long to end: a guest is stopped 10 s after it was asked.
pub const CANCEL_WAIT: Duration = Duration::from_secs(15);

pub async fn tasks(app: &App, command: Tasks) -> Result<Exit, Problem> {
    let given = match &command {
        Tasks::Watch { asked, .. } => answers(&asked.answers)?,
        Tasks::Answer(Answer { answer: Some(text), .. }) => vec![answer(text)?],
        _ => Vec::new(),
    };
    let host = app.open().await?;
    let done = match command {
        Tasks::Ls { state, session, limit } => list(app, &host, state, session, limit).await,
        Tasks::Show { id } => show_one(app, &host, &id).await,
        Tasks::Watch { id, asked } => watch(app, &host, &id, asked, given).await,
        Tasks::Answer(args) => settle(app, &host, args, given).await,
        Tasks::Cancel { id } => cancel(app, &host, &id).await,
        Tasks::Replay { id, plugin, until } => replay::replay(app, &host, &id, plugin.as_deref(), until).await,
        Tasks::Rm { id } => remove(app, &host, &id).await,
    };
    host.shutdown().await;
    done
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
    }
    Ok(Exit::Done)
}

async fn show_one(app: &App, host: &Host, id: &str) -> Result<Exit, Problem> {
    let id = host.find_task(id).await?;
    let task = host.task(&id).await?;
    if app.json {
        json::print(&json::Line::Task(&task))?;
    } else {
        let journal = show::recent(host, &task).await?;
        show::page(app, &task, &journal)?;
    }
    Ok(Exit::Done)
}

async fn watch(app: &App, host: &Host, id: &str, asked: Asked, given: Vec<serde_json::Value>) -> Result<Exit, Problem> {
    let id = host.find_task(id).await?;
    let mut signals = Signals::listen(RELEASE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
    let begun = Begun::Before { ours: host.adopt(&id).await? };
    Follow::new(app, host, &id, begun, given, asked).until_the_end(&mut signals).await
}

async fn settle(app: &App, host: &Host, args: Answer, given: Vec<serde_json::Value>) -> Result<Exit, Problem> {
    let id = host.find_task(&args.id).await?;
    let task = host.task(&id).await?;
    let by = args.by;
    let question = asked(app, &task, args.question)?;
    // A child's question is answered to the child.
    let id = question.and_then(|question| question.task.clone()).unwrap_or(id);
    let Some(number) = question.map(|question| question.question).or(args.question) else {
        return Err(Problem::new(format!("task {id} asks nothing; it is {}", task.state)));
    };
    if let Some(value) = given.into_iter().next() {
        send(host, &id, number, Reply::Answered { value, by }, question).await?;
    } else if let Some(reason) = args.decline {
        let reason = (!reason.is_empty()).then_some(reason);
        send(host, &id, number, Reply::Declined { reason, by }, question).await?;
    } else if let Some(question) = question {
        if !prompt(app, host, &id, question, by).await? {
            return Ok(Exit::WaitingForPerson);
        }
    } else {
        // The host knows why it can't be answered: settled already, or never asked.
        let probe = Reply::Declined { reason: None, by };
        send(host, &id, number, probe, None).await?;
    }

    let task = host.task(&id).await?;
    if app.json {
        json::print(&json::Line::Task(&task))?;
    } else {
        say("the answer counts");
        if task.stalled {
            say(&format!("no process runs this task; go on with: {}", app.again("tasks watch", &id)));
        }
    }
    Ok(Exit::Done)
}

/// The question that is meant: the only one, or the one of that number, the task's own before those of its children.
fn asked<'a>(app: &App, task: &'a Task, number: Option<u32>) -> Result<Option<&'a OpenQuestion>, Problem> {
    let own = |question: &&OpenQuestion| question.task.is_none() && Some(question.question) == number;
    if let Some(question) = task.questions.iter().find(own) {
        return Ok(Some(question));
    }
    let meant: Vec<_> =
        task.questions.iter().filter(|question| number.is_none_or(|number| question.question == number)).collect();
    match meant.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only)),
        several => {
            let open: Vec<_> = several
                .iter()
                .map(|question| match &question.task {
                    None => format!("{}: {}", question.question, line(&question.prompt)),
                    Some(child) => format!("`{}`: {}", app.again("tasks answer", child), line(&question.prompt)),
                })
                .collect();
            Err(Problem::new(format!("task {} has {} open questions", task.id, open.len()))
                .hint(format!("say which with `--question N`\n  {}", open.join("\n  "))))
        }
    }
}

async fn send(
    host: &Host,
    id: &TaskId,
    number: u32,
    reply: Reply,
    question: Option<&OpenQuestion>,
) -> Result<(), Problem> {
    host.answer(id, number, reply).await.map_err(|e| {
        let example = question.filter(|_| matches!(e, longhaul::Error::Answer { .. })).map(ask::example);
        let problem = Problem::from(e);
        match example {
            Some(example) => problem.hint(format!("an answer looks like this: '{}'", line(&example))),
            None => problem,
        }
    })
}

/// Asks at the prompt. False: the person leaves the question open.
async fn prompt(
    app: &App,
    host: &Host,
    id: &TaskId,
    question: &OpenQuestion,
    by: Option<String>,
) -> Result<bool, Problem> {
    let mut view = View::new(Kind::for_stderr(app.json, app.verbose));
    if !view.can_ask() {
        return Err(Problem::new("there is no terminal to ask at")
            .hint(format!("give the answer as JSON, such as '{}'", line(&ask::example(question)))));
    }
    let mut prompt = Prompt::new(question);
    if prompt.hides_details(view.size()) {
        view.line(&words::question(question, time::now()));
    }
    let mut signals = Signals::listen(RELEASE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
    let mut keys = Keys::open().map_err(|e| Problem::new(format!("cannot ask here: {e}")))?;
    let mut tick = tokio::time::interval(Duration::from_secs(1));
    loop {
        view.question(prompt.view(view.size(), time::now()));
        let key = tokio::select! {
            signal = signals.next() => match signal {
                Signal::Interrupt => return Ok(false),
                Signal::Leave(exit) => return Err(Problem { exit, ..Problem::new("") }),
            },
            key = keys.next() => key,
            _ = tick.tick() => {
                still_open(host, id, question.question).await?;
                continue;
            }
        };
        let Some(key) = key else { return Ok(false) };
        let reply = match prompt.key(&key) {
            None => continue,
            Some(Outcome::Later) => return Ok(false),
            Some(Outcome::Answer(value)) => Reply::Answered { value, by: by.clone() },
            Some(Outcome::Decline(reason)) => Reply::Declined { reason, by: by.clone() },
        };
        match host.answer(id, question.question, reply).await {
            Ok(()) => return Ok(true),
            Err(longhaul::Error::Answer { problem, .. }) => prompt.refused(&problem),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Ends the prompt when the question is settled elsewhere.
async fn still_open(host: &Host, id: &TaskId, number: u32) -> Result<(), Problem> {
    let task = host.task(id).await?;
    if task.questions.iter().any(|question| question.question == number) {
        return Ok(());
    }
    Err(Problem::new(format!("question {number} was settled meanwhile; task {id} is {}", task.state)))
}

async fn cancel(app: &App, host: &Host, id: &str) -> Result<Exit, Problem> {
    let id = host.find_task(id).await?;
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
    let id = host.find_task(id).await?;
    host.remove(&id).await?;
    if app.json {
        json::print(&json::Line::Removed { task: Some(&id), plugin: None, digest: None })?;
    } else {
        say(&format!("removed task {id}"));
    }
    Ok(Exit::Done)
}

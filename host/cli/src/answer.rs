//! `longhaul tasks answer`: a question settled by a command, or at the prompt.

use std::time::Duration;

use longhaul::{AskedQuestion, Error, EventKind, Host, OpenQuestion, Reply, Task, TaskId, Timestamp};

use crate::app::{App, quoted};
use crate::args::Answer;
use crate::exit::{Exit, Problem};
use crate::inbox::introduction;
use crate::prompt::keys::Keys;
use crate::prompt::{Outcome, Prompt, ask, given};
use crate::show::whose;
use crate::signals::{RELEASE, Signal, Signals};
use crate::tasks::find;
use crate::text::line;
use crate::view::{Kind, View, say};
use crate::{json, time, words};

pub async fn answer(app: &App, host: &Host, args: Answer) -> Result<Exit, Problem> {
    let id = find(host, &args.id).await?;
    let task = host.task(&id).await?;
    let Some(question) = asked(app, &task, args.question)? else {
        return Err(not_open(host, &task, args.question).await?);
    };
    // A child's question is answered to the child.
    let id = question.task.as_ref().unwrap_or(&id);
    let by = args.by;
    if let Some(text) = args.answer {
        let value = given::value(question, &text).map_err(|why| {
            Problem::new(format!("this is no answer to question {}: {why}", question.question))
                .hint(format!("such as `{}`", command(app, id, question)))
        })?;
        send(app, host, id, question, Reply::Answered { value, by }).await?;
    } else if let Some(reason) = args.decline {
        let reason = (!reason.is_empty()).then_some(reason);
        send(app, host, id, question, Reply::Declined { reason, by }).await?;
    } else {
        return match prompt(app, host, id, question.question, by).await? {
            true => tell(app, &host.task(id).await?, None),
            false => Ok(Exit::WaitingForPerson),
        };
    }

    tell(app, &host.task(id).await?, Some("the answer counts"))
}

/// What an answer has come to.
fn tell(app: &App, task: &Task, what: Option<&str>) -> Result<Exit, Problem> {
    if app.json {
        json::print(&json::Line::Task(task))?;
        return Ok(Exit::Done);
    }
    what.into_iter().for_each(say);
    if task.stalled {
        say(&format!("no process runs this task; go on with: {}", app.again("tasks watch", &task.id)));
    }
    Ok(Exit::Done)
}

/// A command that answers a question of this task, or of one below it, with an answer that fits. The question is always named: by
/// the time that somebody runs it, the task may ask another one.
pub fn command(app: &App, id: &TaskId, question: &OpenQuestion) -> String {
    let answer = app.again("tasks answer", question.task.as_ref().unwrap_or(id));
    format!("{answer} --question {} {}", question.question, quoted(&line(&ask::example(question))))
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

/// Why there is nothing to answer: somebody was first, who and when; or the task never asked.
async fn not_open(host: &Host, task: &Task, number: Option<u32>) -> Result<Problem, Problem> {
    if let Some(settled) = settled(host, task, number).await? {
        return Ok(settled);
    }
    if let Some(number) = number {
        host.question(&task.id, number).await?;
    }
    Ok(Problem::new(format!("task {} asks nothing; it is {}", task.id, task.state)))
}

/// That a question of a task, or of one below it, is settled: the one of that number, or the one that was settled last by somebody or
/// by time. None: there is none.
async fn settled(host: &Host, task: &Task, number: Option<u32>) -> Result<Option<Problem>, Problem> {
    let journal = host.journal(&task.id, 0, usize::MAX).await?;
    let told = journal.iter().rev().find_map(|entry| match whose(entry) {
        (_, EventKind::Reply { reply: Reply::Closed, .. }) if number.is_none() => None,
        (child, EventKind::Reply { question, reply }) if number.is_none_or(|number| number == *question) => {
            Some((child, *question, reply, entry.at))
        }
        _ => None,
    });
    let Some((child, number, reply, at)) = told else { return Ok(None) };
    let (asked, _) = host.question(child.unwrap_or(&task.id), number).await?;
    Ok(Some(too_late(&asked, reply, at)))
}

/// Somebody was first: who, and when.
fn too_late(asked: &AskedQuestion, reply: &Reply, at: Timestamp) -> Problem {
    // It is shown as an error is: without colours.
    let first = words::first(&asked.question, reply, at, time::now());
    let first = console::strip_ansi_codes(&first);
    let (number, prompt) = (asked.question.question, line(&asked.question.prompt));
    Problem::new(format!("question {number} of task {} is settled already, and that counts", asked.task))
        .hint(format!("? {prompt}\n  {first}"))
}

async fn send(app: &App, host: &Host, id: &TaskId, question: &OpenQuestion, reply: Reply) -> Result<(), Problem> {
    match host.answer(id, question.question, reply).await {
        Err(e @ Error::Answer { .. }) => {
            Err(Problem::from(e).hint(format!("an answer looks like this: `{}`", command(app, id, question))))
        }
        Err(Error::AlreadySettled { at, reply, .. }) => {
            let (asked, _) = host.question(id, question.question).await?;
            Err(too_late(&asked, &reply, at))
        }
        sent => Ok(sent?),
    }
}

/// Asks at the prompt. False: the person leaves the question open.
async fn prompt(app: &App, host: &Host, id: &TaskId, number: u32, by: Option<String>) -> Result<bool, Problem> {
    let (asked, _) = host.question(id, number).await?;
    let question = &asked.question;
    let mut view = View::new(Kind::for_stderr(app.json, app.verbose));
    if !view.can_ask() {
        return Err(Problem::new("there is no terminal to ask at")
            .hint(format!("give the answer too, such as `{}`", command(app, id, question))));
    }
    view.line(&introduction(host, &asked).await?);
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
                still_open(host, id, number).await?;
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
        match host.answer(id, number, reply.clone()).await {
            Ok(()) => {
                view.close();
                view.line(&words::settled(question, &words::reply_to(question, &reply)));
                return Ok(true);
            }
            Err(Error::Answer { problem, .. }) => prompt.refused(&problem),
            Err(Error::AlreadySettled { at, reply, .. }) => return Err(too_late(&asked, &reply, at)),
            Err(e) => return Err(e.into()),
        }
    }
}

/// Ends the prompt when the question is settled elsewhere.
async fn still_open(host: &Host, id: &TaskId, number: u32) -> Result<(), Problem> {
    let task = host.task(id).await?;
    if task.questions.iter().any(|question| question.task.is_none() && question.question == number) {
        return Ok(());
    }
    Err(not_open(host, &task, Some(number)).await?)
}

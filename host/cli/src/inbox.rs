//! `longhaul inbox`: what the tasks of a namespace ask, to be answered here, whichever process runs them.

mod open;

use std::io::Write as _;
use std::pin::pin;
use std::time::Duration;

use console::Key;
use futures_util::{FutureExt as _, StreamExt as _};
use longhaul::{AskedQuestion, Error, EventKind, FeedItem, Host, Reply, TaskId};

use self::open::Open;
use crate::app::App;
use crate::exit::{Exit, Problem};
use crate::family::QuestionId;
use crate::prompt::keys::Keys;
use crate::prompt::{Outcome, Prompt};
use crate::signals::{RELEASE, Signal, Signals};
use crate::text::line;
use crate::view::{Kind, View, say};
use crate::{answer, json, show, time, words};

/// So many questions are looked at. Nobody reads more; those behind move up as these are answered.
const MOST: usize = 500;

/// How often countdowns move.
const TICK: Duration = Duration::from_secs(1);

/// So many of the things that a task did are shown with its question.
const SO_FAR: usize = 5;

pub async fn inbox(app: &App, by: Option<String>) -> Result<Exit, Problem> {
    let host = app.open().await?;
    let view = View::new(Kind::for_stderr(app.json, app.verbose));
    let done = match view.can_ask() {
        true => Inbox { app, host: &host, view, by, open: Open::default(), asking: None }.until_left().await,
        false => list(app, &host).await,
    };
    host.shutdown().await;
    done
}

/// Where nobody can be asked: what is open, and how it is answered.
async fn list(app: &App, host: &Host) -> Result<Exit, Problem> {
    let questions = host.questions(MOST).await?;
    if app.json {
        questions.iter().try_for_each(|asked| json::print(&json::Line::Question(asked)))?;
        return Ok(Exit::Done);
    }
    if questions.is_empty() {
        say("no open questions");
    }
    let mut out = std::io::stdout().lock();
    for asked in &questions {
        let answer = answer::command(app, &asked.task, &asked.question);
        let written = writeln!(out, "{}", console::strip_ansi_codes(&words::question(&asked.question, time::now())))
            .and_then(|()| writeln!(out, "  {}", about(asked)))
            .and_then(|()| writeln!(out, "  {answer}"));
        written.map_err(|e| Problem::output(&e))?;
    }
    if questions.len() == MOST {
        say(&format!("there may be more than these {MOST}"));
    }
    Ok(Exit::Done)
}

/// Who asks and whom, in a line.
fn about(asked: &AskedQuestion) -> String {
    let mut parts = vec![format!("{} {}", show::tool(&asked.plugin, &asked.tool), line(&asked.version))];
    parts.push(format!("task {}", asked.task));
    parts.extend(asked.session.as_ref().map(|session| format!("session {}", line(session))));
    parts.extend(audience(asked).map(|whom| format!("asks {}", line(whom))));
    parts.join(" · ")
}

/// What somebody should know before they answer: who asks, and what its task has done last.
pub async fn introduction(host: &Host, asked: &AskedQuestion) -> Result<String, Problem> {
    let task = host.task(&asked.task).await?;
    let journal = show::recent(host, &task).await?;
    let about = console::style(about(asked)).dim().for_stderr();
    let so_far = show::so_far(&task, &journal, SO_FAR);
    Ok(format!("{about}\n{so_far}").trim_end().to_owned())
}

/// Who should answer, where the tool has said so.
fn audience(asked: &AskedQuestion) -> Option<&str> {
    asked.question.options.as_ref()?.get("audience")?.as_str()
}

/// The inbox at a terminal.
struct Inbox<'a> {
    app: &'a App,
    host: &'a Host,
    view: View,
    /// Who answers.
    by: Option<String>,
    open: Open,
    /// The question that is being answered.
    asking: Option<(AskedQuestion, Prompt)>,
}

/// What the loop woke up for.
enum Happened {
    Signal(Signal),
    Key(Option<Key>),
    News(Vec<Result<FeedItem, Error>>),
    Tick,
}

impl Inbox<'_> {
    async fn until_left(mut self) -> Result<Exit, Problem> {
        let mut signals =
            Signals::listen(RELEASE).map_err(|e| Problem::new(format!("cannot listen for signals: {e}")))?;
        let mut keys = Keys::open().map_err(|e| Problem::new(format!("cannot ask here: {e}")))?;
        // From here, and then what is there: nothing comes in between unseen.
        let mut feed = pin!(self.host.feed(Some(self.host.feed_end().await?)));
        self.look().await?;
        let mut tick = tokio::time::interval(TICK);
        loop {
            self.draw();
            let happened = tokio::select! {
                biased;
                signal = signals.next() => Happened::Signal(signal),
                key = keys.next() => Happened::Key(key),
                item = feed.next() => {
                    // Of many at once the list is read once.
                    let more = std::iter::from_fn(|| feed.next().now_or_never().flatten());
                    Happened::News(item.into_iter().chain(more).collect())
                }
                _ = tick.tick() => Happened::Tick,
            };
            match happened {
                Happened::Signal(Signal::Leave(exit)) => return Ok(exit),
                Happened::Signal(Signal::Interrupt) => return Ok(Exit::Signal(2)),
                // The terminal is gone, and nobody with it.
                Happened::Key(None) => return Ok(Exit::Done),
                Happened::Key(Some(key)) if self.asking.is_some() => self.answering(&key).await?,
                Happened::Key(Some(Key::Escape | Key::Char('\u{4}'))) => return Ok(Exit::Done),
                Happened::Key(Some(Key::Enter)) => self.choose().await?,
                Happened::Key(Some(key)) => self.open.key(&key),
                Happened::News(items) => {
                    for item in items {
                        self.heard(&item?);
                    }
                    self.look().await?;
                }
                // A question whose time is up can't be answered, even where nobody has written that down.
                Happened::Tick => self.look_at_deadlines(),
            }
        }
    }

    fn draw(&mut self) {
        let (size, now) = (self.view.size(), time::now());
        let frame = match &self.asking {
            Some((_, prompt)) => prompt.view(size, now),
            None => self.open.view(size, now),
        };
        self.view.question(frame);
    }

    /// Reads what is open.
    async fn look(&mut self) -> Result<(), Problem> {
        self.open.set(self.host.questions(MOST).await?);
        self.leave_what_is_not_open();
        Ok(())
    }

    fn look_at_deadlines(&mut self) {
        self.open.expire(time::now());
        self.leave_what_is_not_open();
    }

    /// Ends a prompt whose question is not open any more, however that came.
    fn leave_what_is_not_open(&mut self) {
        if let Some((asked, _)) = self.asking.take_if(|(asked, _)| !self.open.has(asked)) {
            let past = asked.question.deadline.is_some_and(|deadline| deadline <= time::now());
            self.settled(&asked, if past { "nobody answered in time" } else { "no longer open" });
        }
    }

    /// Somebody settled the question that is at the prompt.
    fn heard(&mut self, item: &FeedItem) {
        let (task, kind) = match &item.event.kind {
            EventKind::Child { child, event } => (child, &**event),
            own => (&item.task, own),
        };
        let EventKind::Reply { question, reply } = kind else { return };
        let is_it = |asked: &AskedQuestion| asked.task == *task && asked.question.question == *question;
        if let Some((asked, _)) = self.asking.take_if(|(asked, _)| is_it(asked)) {
            self.settled(&asked, &format!("{} (elsewhere)", words::reply_to(&asked.question, reply)));
        }
    }

    fn settled(&mut self, asked: &AskedQuestion, how: &str) {
        self.view.line(&words::settled(&asked.question, how));
    }

    /// Opens the question under the pointer.
    async fn choose(&mut self) -> Result<(), Problem> {
        let Some(asked) = self.open.chosen().cloned() else { return Ok(()) };
        match self.host.task(&asked.task).await {
            Err(Error::UnknownTask(_)) => return self.look().await,
            task => task?,
        };
        self.view.line(&introduction(self.host, &asked).await?);
        let prompt = Prompt::new(&asked.question);
        if prompt.hides_details(self.view.size()) {
            self.view.line(&words::question(&asked.question, time::now()));
        }
        self.asking = Some((asked, prompt));
        Ok(())
    }

    async fn answering(&mut self, key: &Key) -> Result<(), Problem> {
        let Some((asked, prompt)) = &mut self.asking else { return Ok(()) };
        let by = self.by.clone();
        let reply = match prompt.key(key) {
            None => return Ok(()),
            Some(Outcome::Later) => {
                self.asking = None;
                self.open.pass();
                return Ok(());
            }
            Some(Outcome::Answer(value)) => Reply::Answered { value, by },
            Some(Outcome::Decline(reason)) => Reply::Declined { reason, by },
        };
        let how = match self.host.answer(&asked.task, asked.question.question, reply.clone()).await {
            Ok(()) => words::reply_to(&asked.question, &reply),
            Err(Error::Answer { problem, .. }) => {
                prompt.refused(&problem);
                return Ok(());
            }
            Err(Error::AlreadySettled { at, reply, .. }) => {
                let (first, ago) = (words::reply_to(&asked.question, &reply), time::both(at, time::now()));
                format!("{first} (elsewhere, before this answer: {ago})")
            }
            Err(Error::UnknownQuestion { .. } | Error::UnknownTask(_)) => "no longer open".to_owned(),
            Err(e) => return Err(e.into()),
        };
        let asked = asked.clone();
        self.asking = None;
        self.settled(&asked, &how);
        self.tell_if_nobody_runs_it(&asked.task).await;
        self.look().await
    }

    async fn tell_if_nobody_runs_it(&mut self, id: &TaskId) {
        // It may be gone by now, and there is nothing to tell then.
        if self.host.task(id).await.is_ok_and(|task| task.stalled) {
            let again = self.app.again("tasks watch", id);
            self.view.line(&format!("  no process runs this task; go on with: {again}"));
        }
    }
}

/// Which question it is.
fn id_of(asked: &AskedQuestion) -> QuestionId {
    (Some(asked.task.clone()), asked.question.question)
}

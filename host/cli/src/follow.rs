//! Following a task: its events as they come, its questions as they are asked, until it ends or is left.
//!
//! `run` and `tasks watch` are this loop, begun differently.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::pin::pin;
use std::time::Duration;

use console::Key;
use futures_util::StreamExt as _;
use longhaul::{Error, Event, EventKind, Host, OpenQuestion, Reply, TaskId, Timestamp};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

use crate::app::App;
use crate::args::Asked;
use crate::exit::{Exit, Problem};
use crate::family::{self, Names, QuestionId, id_of};
use crate::prompt::keys::Keys;
use crate::prompt::{Outcome, Prompt, given};
use crate::signals::{Signal, Signals};
use crate::tasks::CANCEL_WAIT;
use crate::text::line;
use crate::view::{Kind, View, say};
use crate::{answer, json, result, time, words};

/// How often bars and the countdown of a question move, and a task that waits is looked at.
const TICK: Duration = Duration::from_millis(100);
/// Every so many ticks it is looked whether the host that runs the task is still alive.
const OWNER_TICKS: u32 = 20;

/// A tool that sleeps for less is not worth a line.
const LONG_SLEEP: Duration = Duration::from_secs(10);

/// A task that is being followed.
pub struct Follow<'a> {
    app: &'a App,
    host: &'a Host,
    id: &'a TaskId,
    view: View,
    /// Given on the command line, for the next questions.
    answers: VecDeque<String>,
    /// Who answers.
    by: Option<String>,
    /// Whether there is somebody to ask.
    interactive: bool,
    /// This process runs the task.
    ours: bool,
    /// The last entry that came.
    seen: u64,
    /// What was there at the beginning has come. Before that, a question may be settled already.
    caught_up: bool,
    open: BTreeMap<QuestionId, OpenQuestion>,
    /// Questions that were shown, so that their reply needs no introduction.
    told: BTreeSet<QuestionId>,
    /// Questions with which nothing more is to be done here: answered just now, or left for later.
    done_with: BTreeSet<QuestionId>,
    /// What the tasks below this one are called.
    names: Names,
    /// The task was asked to stop by this process.
    cancelled_here: bool,
    prompt: Option<Prompt>,
    keys: Option<Keys>,
}

/// How a task came to be followed.
#[derive(Debug, Clone, Copy)]
pub enum Begun {
    /// This process has just started it: whatever comes of it is new.
    Now,
    /// It was there before; perhaps this process runs it now.
    Before { ours: bool },
}

/// What the loop woke up for.
enum Happened {
    Signal(Signal),
    Key(Option<Key>),
    Event(Option<Result<Box<Event>, Error>>),
    Cancelled(Result<(), String>),
    Tick,
}

impl<'a> Follow<'a> {
    pub fn new(app: &'a App, host: &'a Host, id: &'a TaskId, begun: Begun, asked: Asked) -> Self {
        let view = View::new(Kind::for_stderr(app.json, app.verbose));
        let interactive = view.can_ask() && !asked.no_input;
        Self {
            app,
            host,
            id,
            view,
            answers: asked.answers.into(),
            by: asked.by,
            interactive,
            ours: matches!(begun, Begun::Now | Begun::Before { ours: true }),
            seen: 0,
            caught_up: matches!(begun, Begun::Now),
            open: BTreeMap::new(),
            told: BTreeSet::new(),
            done_with: BTreeSet::new(),
            names: Names::default(),
            cancelled_here: false,
            prompt: None,
            keys: None,
        }
    }

    /// Until the task ended, or only waits for people, or the program is to leave.
    pub async fn until_the_end(mut self, signals: &mut Signals) -> Result<Exit, Problem> {
        signals.set_farewell(format!(
            "left at once; take the task up again with `{}`",
            self.app.again("tasks watch", self.id)
        ));
        self.view.show_bars();
        let left = self.until_ended(signals).await;
        self.view.close();
        self.keys = None;
        match left? {
            Some(exit) => Ok(exit),
            None => self.finish(signals).await,
        }
    }

    async fn until_ended(&mut self, signals: &mut Signals) -> Result<Option<Exit>, Problem> {
        let mut events = pin!(self.host.events(self.id, 0));
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut ticks = 0_u32;
        let mut cancelling: Option<JoinHandle<Result<(), String>>> = None;
        loop {
            let happened = tokio::select! {
                biased;
                signal = signals.next() => Happened::Signal(signal),
                key = next_key(&mut self.keys) => Happened::Key(key),
                cancelled = finished(&mut cancelling) => Happened::Cancelled(cancelled),
                event = events.next() => Happened::Event(event.map(|event| event.map(Box::new))),
                _ = tick.tick() => Happened::Tick,
            };
            match happened {
                Happened::Signal(Signal::Leave(exit)) => {
                    self.leave("left");
                    return Ok(Some(exit));
                }
                Happened::Signal(Signal::Interrupt) if !self.ours => {
                    self.view.line("no longer watching; the task goes on");
                    return Ok(Some(Exit::Signal(2)));
                }
                // On a task of its own: a second Ctrl-C must be heard while this one waits for the database.
                Happened::Signal(Signal::Interrupt) => {
                    self.view.line("asking the tool to stop; Ctrl-C again leaves at once");
                    self.cancelled_here = true;
                    let (host, id) = (self.host.clone(), self.id.clone());
                    cancelling =
                        Some(tokio::spawn(
                            async move { host.cancel(&id).await.map(|_| ()).map_err(|e| e.to_string()) },
                        ));
                }
                Happened::Cancelled(Ok(())) => {}
                Happened::Cancelled(Err(why)) => self.view.line(&format!("cannot ask it to stop: {}", line(&why))),
                Happened::Key(Some(key)) => self.key(&key).await?,
                // The terminal is gone, and nobody with it.
                Happened::Key(None) => {
                    self.interactive = false;
                    self.close_prompt();
                }
                Happened::Event(None) => return Ok(None),
                Happened::Event(Some(event)) => {
                    let event = event?;
                    self.event(&event)?;
                }
                Happened::Tick => {
                    ticks = ticks.wrapping_add(1);
                    self.redraw_prompt();
                    self.view.draw_bars();
                    if !self.caught_up {
                        self.caught_up = self.has_seen_all().await?;
                    }
                    if !self.ours && ticks.is_multiple_of(OWNER_TICKS) {
                        self.take_up_if_nobody_runs_it().await?;
                    }
                    if self.waits_for_people_only().await? {
                        self.leave("the task waits for an answer");
                        return Ok(Some(Exit::WaitingForPerson));
                    }
                }
            }
            if self.caught_up {
                self.attend().await?;
            }
        }
    }

    fn event(&mut self, event: &Event) -> Result<(), Problem> {
        if self.app.json {
            json::print(&json::Line::Event { task: self.id, event })?;
        }
        self.seen = event.seq;
        match &event.kind {
            EventKind::Child { child, event: kind } => self.happened(Some(child), kind, event.at),
            kind => self.happened(None, kind, event.at),
        }
        Ok(())
    }

    /// Something happened, to the task or to the child of that id.
    fn happened(&mut self, child: Option<&TaskId>, kind: &EventKind, at: Timestamp) {
        self.names.learn(child, kind);
        match kind {
            EventKind::Started { .. } => {
                self.view.change(|bars| bars.began(at));
                let id = console::style(self.id).dim().for_stderr();
                self.view.line(&format!("{} {id}", words::event(kind, Some(at)).unwrap_or_default()));
            }
            EventKind::Progress(progress) => {
                let named = child.map(|child| (child, self.names.get(child)));
                self.view.progress(named.as_ref().map(|(child, name)| (*child, name.as_str())), progress, at);
            }
            EventKind::Question(question) => {
                self.view.change(|bars| bars.asked(child));
                let question = OpenQuestion { task: child.cloned(), ..question.clone() };
                // At the prompt it is shown with its input, and once more when it is settled.
                if !(self.interactive && self.answers.is_empty()) {
                    self.tell(&question);
                }
                self.open.insert(id_of(&question), question);
            }
            EventKind::Reply { question, reply } => {
                self.view.change(|bars| bars.settled(child));
                self.settled(&(child.cloned(), *question), reply);
            }
            // Said already, when it was done here.
            EventKind::CancelRequested if self.cancelled_here => {}
            // The result says it.
            EventKind::Ended { .. } => {}
            // Over before anybody has read of it.
            EventKind::Sleep { until } if until.since(at) < LONG_SLEEP => {}
            EventKind::ChildStarted { child: other, .. } | EventKind::ChildEnded { child: other, .. } => {
                let name = self.names.get(other);
                self.say(&name, kind, at);
                self.view.change(|bars| match kind {
                    EventKind::ChildStarted { .. } => bars.started(child, other, family::last(&name), at),
                    _ => bars.ended(other),
                });
            }
            _ => {
                let name = child.map(|child| self.names.get(child)).unwrap_or_default();
                self.say(&name, kind, at);
            }
        }
    }

    /// Tells of an event, under the name of the child that it is of.
    fn say(&mut self, name: &str, kind: &EventKind, at: Timestamp) {
        if let Some(told) = words::event(kind, Some(at)) {
            self.line(name, &told);
        }
    }

    fn line(&mut self, name: &str, told: &str) {
        match name {
            "" => self.view.line(told),
            name => self.view.line(&family::indented(name, told)),
        }
    }

    /// The name of the child whose question it is; empty for the task's own.
    fn asked_by(&self, question: &QuestionId) -> String {
        question.0.as_ref().map(|child| self.names.get(child)).unwrap_or_default()
    }

    fn tell(&mut self, question: &OpenQuestion) {
        let id = id_of(question);
        let name = self.asked_by(&id);
        if self.told.insert(id) {
            self.line(&name, &words::question(question, time::now()));
        }
    }

    fn settled(&mut self, id: &QuestionId, reply: &Reply) {
        let asked_here = self.prompt.as_ref().is_some_and(|prompt| id_of(prompt.question()) == *id);
        let name = self.asked_by(id);
        if asked_here {
            self.close_prompt();
        }
        let among_others = self.open.len() > 1;
        let question = self.open.remove(id);
        let told = question.as_ref().map_or_else(|| words::reply(reply), |question| words::reply_to(question, reply));
        // The answer came from another place while this one was still asking.
        let by_somebody = matches!(reply, Reply::Answered { .. } | Reply::Declined { .. });
        let elsewhere = if asked_here && by_somebody { " (elsewhere)" } else { "" };
        match question {
            Some(question) if among_others || !self.told.contains(id) => {
                self.line(&name, &words::settled(&question, &format!("{told}{elsewhere}")));
            }
            _ => self.line(&name, &format!("  {told}{elsewhere}")),
        }
    }

    /// Turns to the next question that something can be done about.
    async fn attend(&mut self) -> Result<(), Problem> {
        if self.prompt.is_some() {
            return Ok(());
        }
        let Some(question) = self.open.values().find(|q| !self.done_with.contains(&id_of(q))).cloned() else {
            return Ok(());
        };
        if let Some(text) = self.answers.pop_front() {
            self.tell(&question);
            let refused = match given::value(&question, &text) {
                Ok(value) => self.answer(&question, Reply::Answered { value, by: self.by.clone() }).await?,
                Err(why) => Some(format!("this is no answer to question {}: {why}", question.question)),
            };
            if let Some(problem) = refused {
                let how = answer::command(self.app, self.id, &question);
                return Err(Problem::new(problem).hint(format!("the task waits; answer with, for example: {how}")));
            }
        } else if self.interactive {
            let prompt = Prompt::new(&question);
            // The prompt itself does not say who asks.
            match self.asked_by(&id_of(&question)).as_str() {
                "" => {}
                name => self.line(name, "asks"),
            }
            if prompt.hides_details(self.view.size()) {
                self.tell(&question);
            }
            match Keys::open() {
                Ok(keys) => {
                    self.keys = Some(keys);
                    self.prompt = Some(prompt);
                    self.redraw_prompt();
                }
                Err(e) => {
                    self.view.line(&format!("cannot ask here: {e}"));
                    self.interactive = false;
                }
            }
        }
        Ok(())
    }

    /// Settles a question. Gives back why the answer does not fit, if it does not.
    async fn answer(&mut self, question: &OpenQuestion, reply: Reply) -> Result<Option<String>, Problem> {
        let task = question.task.as_ref().unwrap_or(self.id);
        match self.host.answer(task, question.question, reply).await {
            Ok(()) => {}
            Err(e @ Error::Answer { .. }) => return Ok(Some(e.to_string())),
            // Somebody was faster; their reply comes as an event.
            Err(Error::AlreadySettled { at, .. }) => {
                self.view.line(&format!("not taken: somebody was first, {}", time::both(at, time::now())));
            }
            Err(e @ Error::UnknownQuestion { .. }) => self.view.line(&format!("not taken: {}", line(&e.to_string()))),
            Err(e) => return Err(e.into()),
        }
        self.done_with.insert(id_of(question));
        Ok(None)
    }

    async fn key(&mut self, key: &Key) -> Result<(), Problem> {
        let Some(prompt) = &mut self.prompt else { return Ok(()) };
        let question = prompt.question().clone();
        let outcome = prompt.key(key);
        let reply = match outcome {
            None => {
                self.redraw_prompt();
                return Ok(());
            }
            Some(Outcome::Later) => {
                self.done_with.insert(id_of(&question));
                self.close_prompt();
                if self.open.contains_key(&id_of(&question)) {
                    self.tell(&question);
                }
                return Ok(());
            }
            Some(Outcome::Answer(value)) => Reply::Answered { value, by: self.by.clone() },
            Some(Outcome::Decline(reason)) => Reply::Declined { reason, by: self.by.clone() },
        };
        match (self.answer(&question, reply).await?, &mut self.prompt) {
            (Some(problem), Some(prompt)) => {
                prompt.refused(&problem);
                self.redraw_prompt();
            }
            _ => self.close_prompt(),
        }
        Ok(())
    }

    fn redraw_prompt(&mut self) {
        if let Some(prompt) = &self.prompt {
            self.view.question(prompt.view(self.view.size(), time::now()));
        }
    }

    fn close_prompt(&mut self) {
        self.prompt = None;
        self.keys = None;
        self.view.close_question();
    }

    async fn take_up_if_nobody_runs_it(&mut self) -> Result<(), Problem> {
        if self.host.adopt(self.id).await? {
            self.ours = true;
            self.view.line("the process that ran this task is gone; it goes on here");
        }
        Ok(())
    }

    /// Whether nothing happens until somebody answers, and nobody will here.
    async fn waits_for_people_only(&self) -> Result<bool, Problem> {
        let unattended =
            !self.open.is_empty() && self.open.keys().all(|n| self.done_with.contains(n) || !self.can_ask());
        if self.prompt.is_some() || !unattended {
            return Ok(false);
        }
        let task = self.host.task(self.id).await?;
        // The task may be further than what came of it: with a question, perhaps, that is answered here.
        Ok(family::waits_for_people(self.host, task).await? && self.has_seen_all().await?)
    }

    async fn has_seen_all(&self) -> Result<bool, Problem> {
        Ok(self.host.journal(self.id, self.seen, 1).await?.is_empty())
    }

    fn can_ask(&self) -> bool {
        self.interactive || !self.answers.is_empty()
    }

    fn leave(&mut self, what: &str) {
        self.view.close();
        let again = self.app.again("tasks watch", self.id);
        let how = self.open.values().map(|question| answer::command(self.app, self.id, question));
        let how: Vec<_> = how.map(|command| format!("\n  answer with, for example: {command}")).collect();
        say(&format!("{what}{}\n  take the task up again: {again}", how.concat()));
    }

    async fn finish(&self, signals: &mut Signals) -> Result<Exit, Problem> {
        let task = self.host.task(self.id).await?;
        if !task.state.is_terminal() {
            return Err(Problem::new(format!("the events of task {} ended, and it is {}", self.id, task.state)));
        }
        if !self.answers.is_empty() {
            say(&format!("{} not asked for", crate::text::count(self.answers.len(), "answer")));
        }
        if self.app.json {
            json::print(&json::Line::Task(&task))?;
        } else {
            result::print(&task)?;
        }
        if self.ours {
            // What is left of its children has been asked to stop, and has nobody else to run it.
            tokio::select! {
                settled = family::settled(self.host, &task, CANCEL_WAIT) => settled?,
                _ = signals.next() => {}
            }
        }
        Ok(Exit::of(&task))
    }
}

async fn next_key(keys: &mut Option<Keys>) -> Option<Key> {
    match keys {
        Some(keys) => keys.next().await,
        None => std::future::pending().await,
    }
}

async fn finished(work: &mut Option<JoinHandle<Result<(), String>>>) -> Result<(), String> {
    let Some(handle) = work else { return std::future::pending().await };
    let result = handle.await.unwrap_or_else(|e| Err(e.to_string()));
    *work = None;
    result
}

//! A person who answers by a script.

use futures_util::TryStreamExt as _;
use serde::Serialize;
use serde_json::Value;

use crate::{Error, EventKind, Host, OpenQuestion, Reply, Task, TaskId, TaskState};

/// A person who answers the questions of tasks by a script, for tests.
///
/// Each line of the script is for one question: the first whose prompt holds the line's words, and no earlier line was for.
/// A question that no line is for ends the test with an error, as does a line for which a task that completed did not ask.
///
/// ```no_run
/// use longhaul::testing::Person;
/// use longhaul::{Host, NewTask};
/// use serde_json::json;
///
/// # async fn doc(host: Host) -> Result<(), Box<dyn std::error::Error>> {
/// let csv = "id;weight;size|colour\n1;1.234;9|red\n2;2.500;7|blue\n";
/// let new = NewTask::new("csv-profile", "profile_csv").input(json!({ "csv": csv }));
/// let task = host.start(new).await?.id;
/// let mut ann = Person::new("ann").answers("between two fields", ";").declines("Which number", "I can't tell");
/// let done = ann.attend(&host, &task).await?;
/// assert!(done.output.is_some());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct Person {
    name: String,
    script: Vec<Line>,
}

#[derive(Debug, Clone)]
struct Line {
    words: String,
    reply: Reply,
    /// The question that it was for.
    said: Option<(TaskId, u32)>,
}

/// Why a task did not go by a [`Person`]'s script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// A question that no line of the script is for, or is left for.
    #[error("task {task} asks `{prompt}`, and the script of {name} has no line for that; left: {left:?}")]
    Unexpected {
        /// The person.
        name: String,
        /// The task that asks.
        task: TaskId,
        /// What it asks.
        prompt: String,
        /// The words of the lines that are left.
        left: Vec<String>,
    },
    /// The task has completed, and these lines were for nothing.
    #[error("the task has completed, and {name} was never asked about: {words:?}")]
    NotAsked {
        /// The person.
        name: String,
        /// The words of the lines.
        words: Vec<String>,
    },
    /// An answer that the script has is not accepted, or the host stops.
    #[error(transparent)]
    Host(#[from] Error),
}

impl Person {
    /// One who has nothing to say yet. The name is given with each reply.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), script: Vec::new() }
    }

    /// Answers a question whose prompt has these words in it. No words: any question.
    ///
    /// # Panics
    ///
    /// If the value can't be written as JSON.
    #[must_use]
    pub fn answers(self, words: impl Into<String>, value: impl Serialize) -> Self {
        let value: Value = serde_json::to_value(value).expect("the answer of a script is JSON");
        let by = Some(self.name.clone());
        self.line(words, Reply::Answered { value, by })
    }

    /// Declines to answer a question whose prompt has these words in it.
    #[must_use]
    pub fn declines(self, words: impl Into<String>, reason: impl Into<String>) -> Self {
        let by = Some(self.name.clone());
        self.line(words, Reply::Declined { reason: Some(reason.into()), by })
    }

    fn line(mut self, words: impl Into<String>, reply: Reply) -> Self {
        self.script.push(Line { words: words.into(), reply, said: None });
        self
    }

    /// Answers whatever the task and its children ask, until it has ended. After a crash, call it again with the next host: what
    /// was answered before the crash counts as said.
    ///
    /// # Errors
    ///
    /// [`ScriptError`].
    pub async fn attend(&mut self, host: &Host, task: &TaskId) -> Result<Task, ScriptError> {
        let mut events = std::pin::pin!(host.events(task, 0));
        while let Some(event) = events.try_next().await? {
            let asks = match &event.kind {
                EventKind::Question(_) => true,
                EventKind::Child { event, .. } => matches!(**event, EventKind::Question(_)),
                _ => false,
            };
            if asks {
                // What is open, not what was asked: an earlier host may have been told.
                for question in host.task(task).await?.questions {
                    self.reply(host, question.task.as_ref().unwrap_or(task), &question).await?;
                }
            }
        }
        let unsaid = self.script.iter().filter(|line| line.said.is_none());
        let words: Vec<_> = unsaid.map(|line| line.words.clone()).collect();
        let ended = host.task(task).await?;
        // One that failed did not come to its questions: why it failed is what there is to see.
        match words.is_empty() || ended.state != TaskState::Completed {
            true => Ok(ended),
            false => Err(ScriptError::NotAsked { name: self.name.clone(), words }),
        }
    }

    async fn reply(&mut self, host: &Host, task: &TaskId, question: &OpenQuestion) -> Result<(), ScriptError> {
        let asked = (task.clone(), question.question);
        let again = self.script.iter().position(|line| line.said.as_ref() == Some(&asked));
        let fits = |line: &Line| line.said.is_none() && question.prompt.contains(&line.words);
        let Some(line) = again.or_else(|| self.script.iter().position(fits)) else {
            let left = self.script.iter().filter(|line| line.said.is_none()).map(|line| line.words.clone()).collect();
            let (name, prompt) = (self.name.clone(), question.prompt.clone());
            return Err(ScriptError::Unexpected { name, task: task.clone(), prompt, left });
        };
        let line = &mut self.script[line];
        line.said = Some(asked);
        match host.answer(task, question.question, line.reply.clone()).await {
            // Somebody else was first.
            Ok(()) | Err(Error::AlreadySettled { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

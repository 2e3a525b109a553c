//! What a namespace's people are asked, and what a task was given: what they see before they answer.

use serde::Serialize;
use serde_json::Value;

use super::Host;
use crate::task::{OpenQuestion, Progress, Reply, TaskId};
use crate::{Error, store};

/// A question that may be answered, and the task that asks it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct AskedQuestion {
    /// The task to answer to.
    pub task: TaskId,
    /// The task that nobody started from within another one, where that is another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<TaskId>,
    /// The conversation that the task was started from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The plugin's name.
    pub plugin: String,
    /// The plugin's version.
    pub version: String,
    /// The plugin's digest.
    pub digest: String,
    /// The tool's name.
    pub tool: String,
    /// What the task said last about how far it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<Progress>,
    /// The question.
    #[serde(flatten)]
    pub question: OpenQuestion,
}

impl Host {
    /// The questions of this namespace that may be answered, children's too: those whose time is up first, then those that can
    /// wait, the oldest first; `limit` at most.
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host) -> Result<(), longhaul::Error> {
    /// for asked in host.questions(100).await? {
    ///     println!("{}/{} asks: {}", asked.plugin, asked.tool, asked.question.prompt);
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn questions(&self, limit: usize) -> Result<Vec<AskedQuestion>, Error> {
        let (namespace, now) = (self.namespace.clone(), self.runner().clock.now());
        self.read(move |runner| Ok(runner.store.read(|sql| store::asked(sql, &namespace, now, limit))?)).await
    }

    /// A question that a task asks or has asked, and what settled it, if anything has.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownQuestion`]; [`Error::UnknownTask`].
    pub async fn question(&self, id: &TaskId, question: u32) -> Result<(AskedQuestion, Option<Reply>), Error> {
        let (task, namespace, now) = (id.clone(), self.namespace.clone(), self.runner().clock.now());
        self.read(move |runner| {
            runner.store.read(|sql| {
                let (n, _) = store::number(sql, &namespace, &task)?;
                let Some((asked, reply)) = store::one_asked(sql, n, question)? else {
                    let open = store::still_open(sql, n)?.iter().map(|open| open.question).collect();
                    return Err(Error::UnknownQuestion { task, question, open });
                };
                // Nobody has written down yet that its time is up; it is all the same.
                let late = asked.question.deadline.is_some_and(|deadline| deadline <= now);
                Ok((asked, reply.or(late.then_some(Reply::TimedOut))))
            })
        })
        .await
    }

    /// What a task was started with. Apart from [`task`](Self::task), because it may be large.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`].
    pub async fn input(&self, id: &TaskId) -> Result<Value, Error> {
        let (n, _) = self.number(id).await?;
        let text = self.read(move |runner| Ok(runner.store.read(|sql| store::input(sql, n))?)).await?;
        serde_json::from_str(&text).map_err(|error| Error::Fault(format!("a task's input is no JSON: {error}")))
    }
}

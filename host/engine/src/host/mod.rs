//! What an embedder holds.

mod builder;
mod feed;
mod follow;
mod list;
mod measure;
mod metrics;
mod new_task;
mod plugins;
mod questions;
mod replay;
mod start;
mod subscription;
mod tokens;
mod webhooks;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

pub use builder::HostBuilder;
pub use feed::{FeedItem, FeedPage};
pub use list::TaskFilter;
pub use metrics::{Histogram, Metrics, ToolMetrics};
pub use new_task::{NewTask, Started, is_traceparent};
pub use questions::AskedQuestion;
pub use replay::{ReplayOptions, TaskUpgrade, Upgrade, UpgradeCheck};
pub use subscription::Subscription;
pub use tokens::{IssuedToken, NewToken, Scope, Token};
pub(crate) use webhooks::{Callback, fresh_secret};
pub use webhooks::{Delivery, DeliveryState, NewWebhook, Webhook, WebhookEvent};

use crate::limits::{Limit, Limits};
use crate::policy::Policy;
use crate::runner::{Runner, blocking};
use crate::store::{self, Moved, Step};
use crate::task::{AnswerSchema, LifeEvent, Reply, Task, TaskId, TaskState};
use crate::{Error, EventKind, HostLimits};

/// What the newest task is called.
const NEWEST: &str = "@last";

/// An ending of an id that names a task has so many characters: fewer are too easily another task's as well.
const ENDING: usize = 4;

/// So many tasks are named where what was given could be several.
const MEANT: usize = 10;

/// The namespace of a [`Host`] that was not given another one.
pub const DEFAULT_NAMESPACE: &str = "default";

/// A host: it keeps tasks, and runs them. Cheap to clone; the last clone to be dropped stops it, and what it ran goes on
/// when the next one opens the same data.
#[derive(Clone)]
pub struct Host {
    handle: Arc<Handle>,
    namespace: Arc<str>,
}

/// Stops the host when the last of its clones is dropped.
struct Handle {
    runner: Arc<Runner>,
    /// What faces seal with, see [`Host::key`].
    key: [u8; 32],
    /// The subscriptions that this process delivers to, by namespace and name.
    delivering: Mutex<HashSet<(Arc<str>, Arc<str>)>>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.runner.stopping.send_replace(true);
    }
}

impl Host {
    /// Begins to set up a host.
    pub fn builder() -> HostBuilder {
        HostBuilder::default()
    }

    /// This host as one tenant sees it: the tasks that are started, listed and found through it are those of that
    /// namespace, and a task of another one does not exist. Plugins are common to all.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Self {
        Self { handle: self.handle.clone(), namespace: name.into() }
    }

    /// What any guest, and any file that is installed, may use of this host.
    pub fn host_limits(&self) -> HostLimits {
        self.runner().host_limits
    }

    /// What the operator allows, as of now.
    pub fn policy(&self) -> Arc<Policy> {
        self.runner().policy.current()
    }

    /// Allows something else from now on, and looks at no file any more. How the host is set up stays as it was when it was
    /// opened, and the limits of a task as when it started.
    pub fn set_policy(&self, policy: Policy) {
        self.runner().policy.set(policy);
    }

    /// A secret by which a face knows again what it gave to a caller to keep. All processes on the same data have the same,
    /// also after a restart.
    pub fn key(&self) -> [u8; 32] {
        self.handle.key
    }

    /// How long an ended task is kept, see [`HostBuilder::retention`].
    pub fn retention(&self) -> std::time::Duration {
        self.runner().retention
    }

    fn runner(&self) -> &Arc<Runner> {
        &self.handle.runner
    }

    /// Reads the database on a thread that may block.
    async fn read<T: Send + 'static>(
        &self,
        what: impl FnOnce(&Runner) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let runner = self.runner().clone();
        blocking(move || what(&runner)).await
    }

    /// A task's number in the database, and its state.
    async fn number(&self, id: &TaskId) -> Result<(i64, TaskState), Error> {
        let id = id.clone();
        let namespace = self.namespace.clone();
        self.read(move |runner| runner.store.read(|sql| store::number(sql, &namespace, &id))).await
    }

    /// As [`number`](Self::number), on this thread: one row by its key is read sooner than another thread is woken.
    fn number_now(&self, id: &TaskId) -> Result<(i64, TaskState), Error> {
        self.runner().store.read(|sql| store::number(sql, &self.namespace, id))
    }

    /// The task that a person means: by its whole id, by a beginning of it that no other task of the namespace has, or by such
    /// an ending of four characters at least. (Ids of one day begin alike, and end at random.) `@last` is the newest task that
    /// was not started by another one.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`]; [`Error::AmbiguousTask`], with the tasks that it could be.
    pub async fn find_task(&self, given: &str) -> Result<TaskId, Error> {
        let given = given.to_ascii_lowercase();
        let namespace = self.namespace.clone();
        self.read(move |runner| {
            runner.store.read(|sql| {
                let mut found = match given.as_str() {
                    "" => Vec::new(),
                    NEWEST => store::newest_task(sql, &namespace)?.into_iter().collect(),
                    given => store::named(sql, &namespace, given, ENDING, MEANT)?,
                };
                match found.len() {
                    0 => Err(Error::UnknownTask(given)),
                    1 => Ok(found.remove(0)),
                    _ => Err(Error::AmbiguousTask { given, tasks: found }),
                }
            })
        })
        .await
    }

    /// A task as it stands now.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`].
    pub async fn task(&self, id: &TaskId) -> Result<Task, Error> {
        let (id, missing) = (id.clone(), Error::UnknownTask(id.to_string()));
        let namespace = self.namespace.clone();
        self.read(move |runner| {
            let (n, _) = runner.store.read(|sql| store::number(sql, &namespace, &id))?;
            runner.store.read(|sql| store::view(sql, &runner.owners, n, runner.clock.now()))?.ok_or(missing)
        })
        .await
    }

    /// Answers a question, or declines to. When this returns, it counted.
    ///
    /// # Errors
    ///
    /// [`Error::Answer`] if the value does not fit the question, or has more bytes than the limit `answer` allows; [`Error::AlreadySettled`], with what counts and since when, if somebody
    /// was first; [`Error::UnknownQuestion`]; [`Error::UnknownTask`].
    pub async fn answer(&self, id: &TaskId, question: u32, reply: Reply) -> Result<(), Error> {
        let (task, namespace, now) = (id.clone(), self.namespace.clone(), self.runner().clock.now());
        self.runner()
            .store
            .write("the answer", move |tx| {
                let (n, state) = store::number(tx.sql, &namespace, &task)?;
                let Some((asked, settled)) = store::question(tx.sql, n, question)? else {
                    let open = store::still_open(tx.sql, n)?.iter().map(|open| open.question).collect();
                    return Err(Error::UnknownQuestion { task, question, open });
                };
                if let Some(reply) = settled {
                    let at = store::settled_at(tx.sql, n, question)?.unwrap_or(now);
                    return Err(Error::AlreadySettled { task, question, at, reply: Box::new(reply) });
                }
                // Nobody has written down yet that its time is up; it is all the same.
                if let Some(at) = asked.deadline.filter(|deadline| *deadline <= now) {
                    return Err(Error::AlreadySettled { task, question, at, reply: Box::new(Reply::TimedOut) });
                }
                let limits = store::limits_of(tx.sql, n)?;
                is_short(&reply, &limits).map_err(|problem| Error::Answer { question, problem })?;
                let fits = match &reply {
                    Reply::Answered { value, .. } => {
                        AnswerSchema::parse(&asked.answer).and_then(|schema| schema.check(value))
                    }
                    Reply::Declined { .. } => Ok(()),
                    Reply::TimedOut | Reply::Closed => Err("only the host can say so".into()),
                };
                fits.map_err(|problem| Error::Answer { question, problem })?;
                let kind = EventKind::Reply { question, reply };
                let entries = vec![crate::journal::NewEntry::outside(now, kind)];
                // Whoever runs it has something to do now; if nobody does, that is to be seen.
                let event = (state == TaskState::Waiting).then_some(LifeEvent::Wake);
                let step = Step { entries, event, ..Step::default() };
                step.take(tx, n, now)?.map_err(|misfit| Error::Fault(misfit.to_string()))?;
                tx.notices.push(store::Notice::Inbox { task: n });
                Ok(())
            })
            .await
    }

    /// Asks a task to stop, and gives the state that it was found in. Asking again, or for a task that has ended,
    /// changes nothing.
    ///
    /// The task ends when its tool has cleaned up, and 10 s later at the latest; if no host runs it, when one does.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`].
    pub async fn cancel(&self, id: &TaskId) -> Result<TaskState, Error> {
        let (id, namespace, now) = (id.clone(), self.namespace.clone(), self.runner().clock.now());
        self.runner()
            .store
            .write("the request to stop", move |tx| {
                let (n, _) = store::number(tx.sql, &namespace, &id)?;
                let step = Step { event: Some(LifeEvent::CancelRequested), ..Step::default() };
                let taken = step.take(tx, n, now)?.map_err(|misfit| Error::Fault(misfit.to_string()))?;
                Ok(taken.found)
            })
            .await
    }

    /// Removes an ended task, its journal, and its children with theirs. From then on none of them exists, but a
    /// `cancel-task` that is owed is called all the same.
    ///
    /// # Errors
    ///
    /// [`Error::NotEnded`], [`Error::ChildOf`], [`Error::UnknownTask`].
    pub async fn remove(&self, id: &TaskId) -> Result<(), Error> {
        let (id, namespace) = (id.clone(), self.namespace.clone());
        self.runner()
            .store
            .write("the removal", move |tx| {
                let (n, _) = store::number(tx.sql, &namespace, &id)?;
                store::remove_task(tx, n)
            })
            .await?;
        self.runner().sweep().await
    }

    /// Runs a task here that no living host runs, and everything below it. `false`: there is nothing to run here, since
    /// others do or all of it has ended.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`].
    pub async fn adopt(&self, id: &TaskId) -> Result<bool, Error> {
        let (n, state) = self.number(id).await?;
        let runner = self.runner();
        let (row, mut tree) = runner
            .store
            .read(|sql| Ok::<_, crate::StoreError>((store::run_row(sql, n)?, store::unfinished_below(sql, n)?)))?;
        if let Some(row) = row.filter(|_| !state.is_terminal()) {
            let owner = row.lease.map(|lease| lease.owner);
            let deadline = (!row.state.is_terminal()).then_some(row.deadline);
            tree.push((Moved { n, namespace: row.namespace, digest: row.digest, deadline }, owner));
        }
        let mut adopted = false;
        for (task, owner) in tree {
            adopted |= match owner {
                Some(owner) if owner == runner.owners.me() => {
                    runner.enqueue_moved(&task);
                    true
                }
                Some(owner) if runner.owners.lives(owner) => false,
                owner => runner.claim(task.n, owner).await?,
            };
        }
        Ok(adopted)
    }

    /// Writes everything that this host keeps, as of one moment, to a new file, while tasks go on: plugins, tasks, journals.
    /// When this returns it is on disk.
    ///
    /// The file is a database like the one it is of. To restore it, put it into an empty data directory as `longhaul.db`
    /// and open that: all tasks are nobody's there, and whoever opens it takes them over.
    ///
    /// # Errors
    ///
    /// [`Error::Backup`] if there is a file already, or it can't be written; [`Error::Store`]. Nothing is left then.
    pub async fn backup(&self, path: impl AsRef<std::path::Path>) -> Result<(), Error> {
        let path = path.as_ref().to_owned();
        self.read(move |runner| runner.store.back_up(&path)).await
    }

    /// Stops the host: what runs is put down where its journal stands, and the next host goes on with it. Takes 10 s at
    /// most. Nothing is lost if this is never called.
    pub async fn shutdown(self) {
        self.runner().stop().await;
    }
}

/// Whether a reply is within its limits.
fn is_short(reply: &Reply, limits: &Limits) -> Result<(), String> {
    let within = |what: &str, bytes: usize, limit: Limit| match bytes as u64 > limits.get(limit) {
        true => Err(format!("{what} has {bytes} bytes ({})", limits.said(limit))),
        false => Ok(()),
    };
    let text = |what: &str, text: Option<&String>| within(what, text.map_or(0, String::len), Limit::reply_text);
    match reply {
        Reply::Answered { value, by } => {
            within("its value as JSON", value.to_string().len(), Limit::answer)?;
            text("who gave it", by.as_ref())
        }
        Reply::Declined { by, reason } => {
            text("who declined it", by.as_ref())?;
            text("the reason", reason.as_ref())
        }
        Reply::TimedOut | Reply::Closed => Ok(()),
    }
}

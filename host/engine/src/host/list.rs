//! Lists of tasks: once, counted, and as they change.

use std::time::{Duration, Instant};

use futures_util::stream::{Stream, try_unfold};

use super::Host;
use crate::runner::ANY_TASK;
use crate::task::{Task, TaskId, TaskState};
use crate::{Error, store};

/// How often a list is read again when nothing happens: a host that is dead makes its tasks stall, and tells nobody.
const LOOK: Duration = Duration::from_secs(10);

/// Which tasks to list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskFilter {
    /// In this state; any if `None`.
    pub state: Option<TaskState>,
    /// Started from this session; any if `None`.
    pub session: Option<String>,
    /// Of the plugin of this name, or alias, in any version, or of this digest; any if `None`.
    pub plugin: Option<String>,
    /// Calls of a tool of this name; any if `None`.
    pub tool: Option<String>,
    /// With this in their id, plugin, tool, session, last progress or error, whatever the case of ASCII letters; any if
    /// `None`.
    pub text: Option<String>,
    /// Only tasks that come after this one in the list: give the last of a page to have the next. It need not exist any
    /// more.
    pub after: Option<TaskId>,
    /// At most so many.
    pub limit: usize,
}

impl Default for TaskFilter {
    fn default() -> Self {
        Self { state: None, session: None, plugin: None, tool: None, text: None, after: None, limit: 100 }
    }
}

impl Host {
    /// Tasks, newest first. Their outputs are left out, which may be large: [`task`](Self::task) has them.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn tasks(&self, filter: TaskFilter) -> Result<Vec<Task>, Error> {
        let (namespace, filter) = (self.namespace.clone(), self.meant(filter));
        self.read(move |runner| {
            Ok(runner.store.read(|sql| store::tasks(sql, &runner.owners, &namespace, &filter, runner.clock.now()))?)
        })
        .await
    }

    /// How many tasks there are, by their state; those in which there is none are left out. `after` and `limit` do not
    /// count.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn count_tasks(&self, filter: TaskFilter) -> Result<Vec<(TaskState, u64)>, Error> {
        let (namespace, filter) = (self.namespace.clone(), self.meant(filter));
        self.read(move |runner| Ok(runner.store.read(|sql| store::count_tasks(sql, &namespace, &filter))?)).await
    }

    fn meant(&self, filter: TaskFilter) -> TaskFilter {
        TaskFilter { plugin: filter.plugin.map(|called| self.called(&called)), ..filter }
    }

    /// The tasks of a list as they stand now, and again whenever something has happened to tasks, for as long as the host
    /// runs. What happens within `pause` is seen together.
    ///
    /// # Errors
    ///
    /// [`Error::Store`]; [`Error::ShuttingDown`] when the host stops.
    pub fn watch_tasks(
        &self,
        filter: TaskFilter,
        pause: Duration,
    ) -> impl Stream<Item = Result<Vec<Task>, Error>> + Send + use<> {
        let watch = self.runner().watchers.watch(ANY_TASK);
        let state = (self.clone(), filter, watch, None);
        try_unfold(state, move |(host, filter, watch, before)| async move {
            let mut stopping = host.runner().stopping.subscribe();
            if let Some((moved, took)) = before {
                // A list that takes long to read may not be all that this host does.
                let pause = pause.max(4 * took);
                let news = async {
                    tokio::select! {
                        () = moved => tokio::time::sleep(pause).await,
                        () = tokio::time::sleep(LOOK) => {}
                    }
                };
                tokio::select! {
                    () = news => {}
                    _ = stopping.wait_for(|stopping| *stopping) => return Err(Error::ShuttingDown),
                }
            }
            let moved = watch.moved();
            let begun = Instant::now();
            let tasks = host.tasks(filter.clone()).await?;
            Ok(Some((tasks, (host, filter, watch, Some((moved, begun.elapsed()))))))
        })
    }
}

//! Running tasks again from their journals, to see what they did and whether an upgrade is safe.

use std::sync::Arc;

use serde::Serialize;

use super::Host;
use super::plugins::of;
use crate::plugin::{Plugin, Ready};
use crate::runner::{Replayed, Runner, blocking};
use crate::store::{self, PluginRow};
use crate::task::TaskId;
use crate::{Diverged, Error, Heard};

/// How to replay a task.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ReplayOptions {
    /// A component to run in the place of the task's plugin. It is not installed.
    pub component: Option<Vec<u8>>,
    /// Go no further than this entry.
    pub until: Option<u64>,
}

/// What an upgrade would do to the tasks of a plugin.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct UpgradeCheck {
    /// The new build.
    pub plugin: Plugin,
    /// Each unfinished task of the plugin of that name, the oldest first.
    pub tasks: Vec<TaskUpgrade>,
}

/// What an upgrade would do to one task.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct TaskUpgrade {
    /// The task.
    pub task: TaskId,
    /// The tenant it belongs to.
    pub namespace: String,
    /// The digest of the plugin that it runs.
    pub digest: String,
    /// Its tool.
    pub tool: String,
    /// What would become of it.
    #[serde(flatten)]
    pub upgrade: Upgrade,
}

/// What would become of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "upgrade", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Upgrade {
    /// It would go on: the new build does what the task has done since it last returned a ticket, or began.
    GoesOn {
        /// How many entries were compared. None at all: it would begin afresh, or with a ticket.
        entries: usize,
    },
    /// The new build does something else.
    Diverges(Diverged),
    /// Nobody can say.
    Unjudged {
        /// Why.
        why: String,
    },
}

impl UpgradeCheck {
    /// Whether all tasks would go on.
    pub fn is_safe(&self) -> bool {
        self.tasks.iter().all(|task| matches!(task.upgrade, Upgrade::GoesOn { .. }))
    }
}

impl Host {
    /// Runs a task again from its journal, without effects: nothing is sent, asked, charged or written, and it does not
    /// matter who runs the task or whether it has ended. `hear` is given what the guest says as it is replayed, and the
    /// entries between.
    ///
    /// One that has not ended is replayed to the end of its journal.
    ///
    /// ```no_run
    /// # async fn doc(host: longhaul::Host, id: longhaul::TaskId) -> Result<(), longhaul::Error> {
    /// let replayed = host.replay(&id, longhaul::ReplayOptions::default(), |heard| println!("{heard:?}")).await?;
    /// if let Some(diverged) = replayed.diverged {
    ///     println!("it does not do the same again: {diverged}");
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::UnknownTask`]; [`Error::Plugin`] if the plugin, or the given component, can't be loaded;
    /// [`Error::Replay`] if something is missing in the journal. That a task diverges is no error.
    pub async fn replay(
        &self,
        id: &TaskId,
        options: ReplayOptions,
        mut hear: impl FnMut(Heard) + Send,
    ) -> Result<Replayed, Error> {
        let (n, _) = self.number(id).await?;
        let another = match options.component {
            Some(component) => Some(self.examined(component).await?.1),
            None => None,
        };
        self.runner().replay(n, another, options.until.unwrap_or(u64::MAX), &mut hear).await
    }

    /// Replays every unfinished task of a plugin, of all namespaces, against a new build of it, without effects and without
    /// installing it. Says of each whether the new build could go on with it.
    ///
    /// Tasks stay on the build that they were started with; this says whether the new one would have done the same.
    ///
    /// # Errors
    ///
    /// [`Error::Plugin`] with what is wrong with the new build; [`Error::Store`].
    pub async fn check_upgrade(&self, component: impl Into<Vec<u8>>) -> Result<UpgradeCheck, Error> {
        let (plugin, ready) = self.examined(component.into()).await?;
        let name = plugin.name.clone();
        let found = self.read(move |runner| Ok(runner.store.read(|sql| store::unfinished(sql, &name))?)).await?;
        let mut tasks = Vec::with_capacity(found.len());
        for (n, namespace) in found {
            let build = ready.clone();
            let judged = move |runner: &Runner| {
                let row = runner.store.read(|sql| store::run_row(sql, n))?;
                Ok(row.map(|row| (unfit(&build, &row), row)))
            };
            // It may have ended, and been removed, meanwhile.
            let Some((unfit, row)) = self.read(judged).await? else { continue };
            let upgrade = match unfit {
                Some(why) => Upgrade::Unjudged { why },
                None => match self.runner().would_go_on(n, &ready).await {
                    Ok(Ok(entries)) => Upgrade::GoesOn { entries },
                    Ok(Err(diverged)) => Upgrade::Diverges(diverged),
                    Err(Error::UnknownTask(_)) => continue,
                    Err(error @ Error::Replay { .. }) => Upgrade::Unjudged { why: error.to_string() },
                    Err(error) => return Err(error),
                },
            };
            tasks.push(TaskUpgrade { task: row.id, namespace, digest: row.digest, tool: row.tool, upgrade });
        }
        Ok(UpgradeCheck { plugin, tasks })
    }

    /// A component that is not, or not yet, installed.
    async fn examined(&self, component: Vec<u8>) -> Result<(Plugin, Arc<Ready>), Error> {
        let runtime = tokio::runtime::Handle::current();
        let (runner, now) = (self.runner().clone(), self.runner().clock.now());
        blocking(move || {
            let ready = runner.library.examine(&component, &runtime)?;
            let (digest, manifest) = (ready.digest.clone(), ready.manifest.clone());
            let row = PluginRow { digest, size: component.len() as u64, installed_at: now, manifest };
            Ok((of(row, false), Arc::new(ready)))
        })
        .await
    }
}

/// Why a build can't take a task at all.
fn unfit(ready: &Ready, row: &store::RunRow) -> Option<String> {
    let schemas = match ready.schemas(&row.tool) {
        Ok(Some(schemas)) => schemas,
        Ok(None) => {
            let has: Vec<_> = ready.manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
            return Some(format!("it has no tool `{}`; it has: {}", row.tool, has.join(", ")));
        }
        Err(error) => return Some(error.to_string()),
    };
    let input = serde_json::from_str(&row.input).unwrap_or_default();
    let refused = schemas.input.check(&input).err()?;
    Some(format!("`{}` does not accept the task's input any more: {refused}", row.tool))
}

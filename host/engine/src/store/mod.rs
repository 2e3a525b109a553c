//! SQLite: everything that outlives the process, in one file.
//!
//! One thread writes, with group commit ([`writer`]); a small pool of connections reads. Nothing here knows a guest.

mod backup;
mod children;
mod doctor;
mod events;
mod failure;
mod feed;
mod keys;
mod list;
mod names;
mod notice;
mod owners;
mod plugins;
mod questions;
mod removal;
mod schema;
mod step;
mod subscriptions;
mod tasks;
mod tokens;
mod webhooks;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, Transaction};

pub(crate) use children::{Kin, ended as ended_children, outcome, started as children_started, unfinished_below};
pub use doctor::{Examination, Finding, examine};
pub(crate) use events::{all as journal, first_seed, kept, kept_bytes, keys_before, of_segment, public, seed};
pub(crate) use feed::{last as feed_end, page as feed_page};
pub(crate) use keys::{code_key, faces_key};
pub(crate) use list::{count as count_tasks, page as tasks};
pub use names::{NamedPlugin, NamedTask, Names, names};
pub(crate) use notice::{Notice, Notify, Tally};
pub(crate) use owners::{
    Moved, Owners, Predecessor, beat, beats, claim, claim_batch, enrol, forget, others_with_work, release,
};
pub(crate) use plugins::{
    PluginRow, by_digest as plugin_row, component, find as find_plugin, insert as insert_plugin, list as plugins,
    newest, remove as remove_plugin,
};
pub(crate) use questions::{all as replies, asked, one as question, one_asked, settled_at, still_open};
pub(crate) use removal::{hide_ended, sweep};
pub(crate) use schema::SCHEMA;
pub(crate) use step::{HttpUse, Rebuild, Step, Taken};
pub(crate) use subscriptions::{
    Held, acknowledge as acknowledge_subscription, claim as claim_subscription, let_go as let_go_of_subscription,
    one as subscription, seek as seek_subscription,
};
pub(crate) use tasks::{
    Due, Inserted, Locality, NewRow, RunRow, due, expire, input, last_seq, limits_of, named, newest as newest_task,
    number, owe, remove as remove_task, run_row, unfinished, unfinished_by_state, view, written_since,
};
pub(crate) use tokens::{all as tokens, insert as insert_token, one as token, remove as remove_token};
pub(crate) use webhooks::{
    Outgo, Tried, callback_secret, deliveries, disable as disable_webhook, due as outbox, forget as forget_deliveries,
    insert as insert_webhook, let_go, list as webhooks, next_due, pending as pending_deliveries, redeliver,
    remove as remove_webhook, senders, take as take_deliveries, tried as delivery_tried, with_mail,
};
pub(crate) use writer::{Commits, Tx};

use crate::StoreError;
use crate::testing::CrashPlan;

/// Readers kept open. More may exist for a moment, and each that is opened first reads what all the tables are.
const READERS: usize = 32;

/// The database.
pub(crate) struct Store {
    path: PathBuf,
    writer: writer::Writer,
    readers: Mutex<Vec<Connection>>,
}

/// Reads that belong together: they see the database as of one moment.
pub(crate) fn snapshot(sql: &Connection) -> Result<Transaction<'_>, StoreError> {
    sql.unchecked_transaction().map_err(failure::failed("the database"))
}

impl Store {
    /// Opens the database, or makes a new one. `notify` hears of every commit.
    pub fn open(path: &Path, notify: Notify, crash: Arc<CrashPlan>) -> Result<Self, StoreError> {
        let connection = schema::open_writer(path)?;
        let writer = writer::Writer::spawn(connection, path.to_owned(), notify, crash)
            .map_err(|error| StoreError::Failed { what: "the database", problem: error.to_string() })?;
        Ok(Self { path: path.to_owned(), writer, readers: Mutex::default() })
    }

    /// Runs `job` in the next transaction; resolves when that is on disk. `what` is what was not taken if it can't be.
    pub fn write<T, E, F>(&self, what: &'static str, job: F) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.writer.write(what, job)
    }

    /// What was written so far.
    pub fn commits(&self) -> &Commits {
        &self.writer.commits
    }

    /// Runs `what` on a connection that only reads.
    pub fn read<T, E>(&self, what: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
    where
        E: From<StoreError>,
    {
        let pooled = self.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match pooled {
            Some(connection) => connection,
            None => schema::open_reader(&self.path)?,
        };
        let outcome = what(&connection);
        let mut readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        if readers.len() < READERS {
            readers.push(connection);
        }
        outcome
    }
}

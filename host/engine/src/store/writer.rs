//! The one thread that writes. Whatever is queued when a transaction begins is committed with it (group commit).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::oneshot;

use super::failure::failed;
use super::notice::{Notice, Notify};
use crate::StoreError;
use crate::testing::{CrashPlan, CrashPoint};

/// Jobs in one transaction at most, so that the first does not wait long for the last.
const GROUP: usize = 1024;

/// How soon a host sees what another process committed.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// What a job sees: the transaction, and a list of what others should hear once it is committed.
pub(crate) struct Tx<'a> {
    pub sql: &'a Connection,
    pub notices: &'a mut Vec<Notice>,
}

trait Job: Send {
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError>;
    fn reply(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Write<F, T, E> {
    /// What is to be written, in a word.
    what: &'static str,
    job: Option<F>,
    outcome: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
}

impl<F, T, E> Job for Write<F, T, E>
where
    F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send,
    T: Send,
    E: From<StoreError> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let Some(job) = self.job.take() else { return Ok(()) };
        // A mistake in one of them is not the end of all who write.
        let outcome = catch_unwind(AssertUnwindSafe(|| job(tx))).unwrap_or_else(|_| {
            Err(StoreError::Failed { what: self.what, problem: "the host made a mistake".into() }.into())
        });
        let refused = outcome.is_err();
        self.outcome = Some(outcome);
        // The reason travels with the outcome; here it only says that the savepoint is to be undone.
        if refused { Err(StoreError::NotOwner) } else { Ok(()) }
    }

    fn reply(self: Box<Self>, committed: Result<(), StoreError>) {
        let outcome = match (self.outcome, committed) {
            (Some(Err(error)), _) => Err(error),
            // The disk had no room for all of them together.
            (_, Err(StoreError::Full { .. })) => Err(StoreError::Full { what: self.what }.into()),
            (_, Err(error)) => Err(error.into()),
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => return,
        };
        // Nobody waits any more: the write stands all the same.
        let _ = self.reply.send(outcome);
    }
}

/// What the writer has done.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// Transactions.
    pub commits: AtomicU64,
    /// Writes in them.
    pub writes: AtomicU64,
}

/// Hands jobs to the thread that writes. Dropping the last one ends the thread.
pub(super) struct Writer {
    jobs: Option<Sender<Box<dyn Job>>>,
    thread: Option<JoinHandle<()>>,
    pub commits: Arc<Commits>,
}

impl Writer {
    pub fn spawn(
        connection: Connection,
        path: PathBuf,
        notify: Notify,
        crash: Arc<CrashPlan>,
    ) -> std::io::Result<Self> {
        let (jobs, queue) = channel();
        let commits = Arc::new(Commits::default());
        let counted = commits.clone();
        let thread = std::thread::Builder::new().name("longhaul-writer".into()).spawn(move || {
            Thread { connection, path, notify, crash, seen: 0, commits: counted }.run(&queue);
        })?;
        Ok(Self { jobs: Some(jobs), thread: Some(thread), commits })
    }

    /// Runs `job` in the next transaction; resolves when that is on disk. Jobs are run in the order of these calls,
    /// whether or not the future is awaited.
    pub fn write<T, E, F>(&self, what: &'static str, job: F) -> impl Future<Output = Result<T, E>> + Send + use<T, E, F>
    where
        F: FnOnce(&mut Tx<'_>) -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (reply, outcome) = oneshot::channel();
        let job = Write { what, job: Some(job), outcome: None, reply };
        if let Some(jobs) = &self.jobs {
            // The thread is gone only when the process is about to end.
            let _ = jobs.send(Box::new(job));
        }
        async move {
            outcome.await.unwrap_or_else(|_| {
                Err(StoreError::Failed { what: "anything", problem: "the writer has stopped".into() }.into())
            })
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // Whatever was queued is written before the database is closed.
            let _ = thread.join();
        }
    }
}

struct Thread {
    connection: Connection,
    path: PathBuf,
    notify: Notify,
    crash: Arc<CrashPlan>,
    /// The last `data_version` seen: it changes when another connection has committed.
    seen: i64,
    commits: Arc<Commits>,
}

impl Thread {
    fn run(mut self, queue: &Receiver<Box<dyn Job>>) {
        self.seen = self.data_version();
        loop {
            match queue.recv_timeout(LOOK_AROUND) {
                Ok(first) => {
                    let mut group = vec![first];
                    group.extend(queue.try_iter().take(GROUP - 1));
                    self.commit(group);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.crash.is_dead() {
                (self.notify)(vec![Notice::Crashed]);
                return;
            }
            let version = self.data_version();
            if version != self.seen {
                self.seen = version;
                (self.notify)(vec![Notice::Foreign]);
            }
        }
    }

    fn data_version(&self) -> i64 {
        let version = self.connection.prepare_cached("PRAGMA data_version");
        version.and_then(|mut version| version.query_row([], |row| row.get(0))).unwrap_or(self.seen)
    }

    fn commit(&mut self, mut group: Vec<Box<dyn Job>>) {
        let mut notices = Vec::new();
        if self.crash.is_dead() {
            return;
        }
        let committed = self.transaction(&mut group, &mut notices);
        if self.crash.is_dead() {
            // Whatever was committed, nobody hears of it.
            return;
        }
        if committed.is_ok() {
            self.commits.commits.fetch_add(1, Ordering::Relaxed);
            self.commits.writes.fetch_add(group.len() as u64, Ordering::Relaxed);
        }
        if committed.is_ok() && !notices.is_empty() {
            (self.notify)(notices);
        }
        for job in group {
            job.reply(committed.clone());
        }
    }

    fn transaction(&mut self, group: &mut [Box<dyn Job>], notices: &mut Vec<Notice>) -> Result<(), StoreError> {
        let what = "the last changes";
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(|error| {
                match error.sqlite_error_code() {
                    Some(rusqlite::ErrorCode::DatabaseBusy) => StoreError::Locked(self.path.clone()),
                    _ => failed(what)(error),
                }
            })?;
        for job in group.iter_mut() {
            // A job that is refused is undone alone, not with its neighbours.
            transaction.prepare_cached("SAVEPOINT job").and_then(|mut sql| sql.execute([])).map_err(failed(what))?;
            let before = notices.len();
            if job.run(&mut Tx { sql: &transaction, notices }).is_err() {
                notices.truncate(before);
                if transaction.is_autocommit() {
                    // SQLite has undone all of it: the disk is full, or failing <https://sqlite.org/lang_transaction.html>.
                    return Err(StoreError::Full { what });
                }
                let undo = transaction.prepare_cached("ROLLBACK TO job").and_then(|mut sql| sql.execute([]));
                undo.map_err(failed(what))?;
            }
            transaction.prepare_cached("RELEASE job").and_then(|mut sql| sql.execute([])).map_err(failed(what))?;
        }
        self.crash.at(CrashPoint::BeforeCommit);
        if self.crash.is_dead() {
            return Err(StoreError::Failed { what, problem: "the host died, as planned".into() });
        }
        let committed = match self.crash.disk_error() {
            Some(code) => Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)),
            None => transaction.commit(),
        };
        let committed = committed.map_err(|error| {
            if error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_IOERR_FSYNC) {
                fsync_failed(&self.path, &error.to_string());
            }
            failed(what)(error)
        });
        self.crash.at(CrashPoint::AfterCommit);
        committed
    }
}

/// After a failed fsync nobody knows what is on disk, and a second try may report success for pages that were dropped
/// (<https://lwn.net/Articles/752063/>). The only way to know is to start again and read.
fn fsync_failed(path: &std::path::Path, problem: &str) -> ! {
    tracing::error!("the disk could not sync {}: {problem}; the process ends, start it again", path.display());
    eprintln!("longhaul: the disk could not sync {}: {problem}; ending so that nothing is lost", path.display());
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::super::Store;
    use super::*;

    const INSERT: &str = "INSERT INTO owner (pid, started_at) VALUES (1, 1)";

    fn owners(store: &Store) -> i64 {
        let count = |sql: &Connection| sql.query_row("SELECT count(*) FROM owner", [], |row| row.get(0));
        store.read(|sql| count(sql).map_err(failed("a test"))).unwrap()
    }

    #[tokio::test]
    async fn a_write_that_panics_is_undone_alone_and_others_are_written_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("longhaul.db"), Box::new(|_| {}), Arc::default()).unwrap();
        let insert = |tx: &mut Tx<'_>| tx.sql.execute(INSERT, []).map_err(failed("a test"));
        let mistaken = store.write("a test", move |tx| {
            insert(tx)?;
            assert_eq!(tx.sql.changes(), 2, "a mistake");
            Ok::<_, StoreError>(())
        });
        let right = store.write("a test", insert);
        let error = mistaken.await.unwrap_err();
        assert!(matches!(error, StoreError::Failed { what: "a test", .. }), "{error}");
        assert_eq!((right.await.unwrap(), owners(&store)), (1, 1));
    }
}

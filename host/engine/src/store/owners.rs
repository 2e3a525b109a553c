//! Which host process owns which task, and whether it lives.
//!
//! Two signs. A process holds the lock on its file, which the system drops when the process dies, however it dies. And
//! it counts its row's `beats` up every now and then: one that is frozen keeps the lock, and its heart stands still.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::failure::failed;
use super::writer::Tx;
use crate::clock::Timestamp;
use crate::{Error, StoreError};

const WHAT: &str = "an owner";

/// Beats that an owner may miss before its tasks are another's.
const MISSED: u32 = 3;

/// How often a host looks after the others, at most.
const LOOK_AROUND: Duration = Duration::from_secs(1);

/// Tasks that change hands in one transaction: some ten milliseconds, so that what already runs here is written between.
const BATCH: usize = 1_000;

/// The lock files, this process's own, and what is known of the other processes.
pub(crate) struct Owners {
    dir: PathBuf,
    me: i64,
    heartbeat: Duration,
    /// Held for as long as this exists.
    _lock: File,
    others: Mutex<Others>,
}

struct Others {
    /// They were found dead, and stay so.
    dead: HashSet<i64>,
    pulses: HashMap<i64, Pulse>,
    /// When this process looked last, by its own monotonic clock.
    looked: Instant,
}

/// How another owner's heart beats, as far as this process has looked.
struct Pulse {
    beats: i64,
    /// How long it has stood still.
    still: Duration,
}

/// Gives this process its number, and its lock before anybody sees the number. Numbers are never used twice. `told` is what
/// others may know of it.
pub(crate) fn enrol(tx: &Tx<'_>, dir: &Path, told: &str, heartbeat: Duration, now: Timestamp) -> Result<Owners, Error> {
    tx.sql
        .execute(
            "INSERT INTO owner (pid, started_at) VALUES (?1, ?2)",
            params![std::process::id(), now.as_millis().cast_signed()],
        )
        .map_err(failed(WHAT))?;
    let me = tx.sql.last_insert_rowid();
    Owners::hold(dir, me, told, heartbeat)
        .map_err(|error| StoreError::ReadOnly { path: dir.join(me.to_string()), problem: error.to_string() }.into())
}

impl Owners {
    /// Takes the lock of the owner `me`.
    fn hold(dir: &Path, me: i64, told: &str, heartbeat: Duration) -> std::io::Result<Self> {
        std::fs::create_dir_all(dir)?;
        let mut lock = OpenOptions::new().create(true).truncate(false).write(true).open(dir.join(me.to_string()))?;
        lock.lock()?;
        lock.write_all(told.as_bytes())?;
        let others = Others { dead: HashSet::new(), pulses: HashMap::new(), looked: Instant::now() };
        Ok(Self { dir: dir.to_owned(), me, heartbeat, _lock: lock, others: Mutex::new(others) })
    }

    /// This process's number.
    pub fn me(&self) -> i64 {
        self.me
    }

    /// How often this process shows that it is not frozen.
    pub fn heartbeat(&self) -> Duration {
        self.heartbeat
    }

    /// How long to wait between two looks.
    pub fn look_around(&self) -> Duration {
        LOOK_AROUND.min(self.heartbeat)
    }

    /// Takes in the others' beats, as they were just read.
    pub fn feel(&self, beats: &[(i64, i64)]) {
        let most = 2 * self.look_around();
        let mut others = self.others();
        // Time in which this process did not look, frozen itself perhaps, tells nothing of the others.
        let passed = std::mem::replace(&mut others.looked, Instant::now()).elapsed().min(most);
        let mut pulses = HashMap::with_capacity(beats.len());
        for &(owner, beats) in beats.iter().filter(|(owner, _)| *owner != self.me) {
            let still = match others.pulses.get(&owner) {
                Some(pulse) if pulse.beats == beats => pulse.still + passed,
                _ => Duration::ZERO,
            };
            pulses.insert(owner, Pulse { beats, still });
        }
        others.pulses = pulses;
    }

    /// Whether the process with that number is there and not frozen.
    pub fn lives(&self, owner: i64) -> bool {
        let stale = |others: &Others| others.pulses.get(&owner).is_some_and(|p| p.still >= MISSED * self.heartbeat);
        owner == self.me || !(self.is_dead(owner) || stale(&self.others()))
    }

    /// The same of many, each looked at once: for a list, whose rows have few owners.
    pub fn living(&self) -> impl Fn(i64) -> bool {
        let known = RefCell::new(HashMap::new());
        move |owner| *known.borrow_mut().entry(owner).or_insert_with(|| self.lives(owner))
    }

    /// Whether the process with that number is gone for ever.
    pub fn is_dead(&self, owner: i64) -> bool {
        if owner == self.me {
            return false;
        }
        let mut others = self.others();
        if others.dead.contains(&owner) {
            return true;
        }
        let path = self.dir.join(owner.to_string());
        let dead = lock_is_free(&path).unwrap_or_else(|error| {
            // Too many open files, say. Whoever lives goes on, and one that does not is found by its heart.
            tracing::debug!("whether the process of {} lives can't be told: {error}", path.display());
            false
        });
        if dead {
            others.dead.insert(owner);
            // Whoever is dead does not come back under the same number. If it can't be removed, nothing is lost.
            let _ = std::fs::remove_file(path);
        }
        dead
    }

    /// Removes the lock file: nobody knows this process any more.
    pub fn leave(&self) {
        // If it can't be removed, nothing is lost.
        let _ = std::fs::remove_file(self.dir.join(self.me.to_string()));
    }

    fn others(&self) -> std::sync::MutexGuard<'_, Others> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nobody holds the lock of a file, or there is none.
fn lock_is_free(path: &Path) -> std::io::Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(true),
        Err(error) => return Err(error),
    };
    match file.try_lock_shared() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

impl Drop for Owners {
    fn drop(&mut self) {
        self.leave();
    }
}

/// One beat of this process.
pub(crate) fn beat(tx: &Tx<'_>, me: i64) -> Result<(), StoreError> {
    tx.sql
        .prepare_cached("UPDATE owner SET beats = beats + 1 WHERE id = ?1")
        .and_then(|mut update| update.execute(params![me]))
        .map_err(failed(WHAT))?;
    Ok(())
}

/// The processes that have opened this database and not left it in order: `(id, beats)`.
pub(crate) fn beats(sql: &Connection) -> Result<Vec<(i64, i64)>, StoreError> {
    let mut select = sql.prepare_cached("SELECT id, beats FROM owner").map_err(failed(WHAT))?;
    let rows = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// Who owns tasks with work left, other than this process; `None`: some are nobody's. A task that ended with a ticket has
/// work left. Jumps from owner to owner in the indexes, however many tasks they have.
pub(crate) fn others_with_work(sql: &Connection, me: i64) -> Result<Vec<Option<i64>>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "WITH RECURSIVE
               live(who) AS (
                 SELECT min(owner) FROM task WHERE ended_at IS NULL
                 UNION ALL SELECT (SELECT min(owner) FROM task WHERE ended_at IS NULL AND owner > who)
                 FROM live WHERE who IS NOT NULL),
               owing(who) AS (
                 SELECT min(owner) FROM task WHERE ticket IS NOT NULL
                 UNION ALL SELECT (SELECT min(owner) FROM task WHERE ticket IS NOT NULL AND owner > who)
                 FROM owing WHERE who IS NOT NULL)
             SELECT who FROM live WHERE who IS NOT NULL AND who <> ?1
             UNION SELECT who FROM owing WHERE who IS NOT NULL AND who <> ?1
             UNION SELECT NULL WHERE EXISTS (SELECT 1 FROM task WHERE ended_at IS NULL AND owner IS NULL)
                                  OR EXISTS (SELECT 1 FROM task WHERE ticket IS NOT NULL AND owner IS NULL)",
        )
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![me], |row| row.get(0)).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// Whom tasks are taken from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Predecessor {
    /// `None`: an owner that gave them up.
    pub owner: Option<i64>,
    /// It died, and may have by what one of its tasks did.
    pub dead: bool,
}

/// A task's change of hands. What ran stands in line again, as after [`LifeEvent::Dropped`](crate::task::LifeEvent). If
/// its owner died, it may be what the owner died of: that is counted, and of what was in line it is not known.
const CHANGE: &str = "UPDATE task SET owner = ?2, epoch = epoch + 1,
        deaths = deaths + (?3 AND state = 'running'),
        suspect = ?3 AND (state IN ('queued', 'running') OR (state = 'waiting' AND coalesce(due_at <= ?4, FALSE))),
        state = iif(state = 'running', 'queued', state)";

/// A task that changes hands, and what it is counted under.
#[derive(Debug, Clone)]
pub(crate) struct Moved {
    pub n: i64,
    pub namespace: String,
    pub digest: String,
    /// `None`: it has ended.
    pub deadline: Option<Timestamp>,
}

/// Takes a task over. `None`: it was not `from`'s any more, or has ended.
pub(crate) fn claim(
    tx: &Tx<'_>,
    task: i64,
    from: Predecessor,
    me: i64,
    now: Timestamp,
) -> Result<Option<Moved>, Error> {
    let moved = tx
        .sql
        .prepare_cached(&format!(
            "{CHANGE} WHERE n = ?5 AND owner IS ?1 AND (ended_at IS NULL OR ticket IS NOT NULL)
             RETURNING n, namespace, digest, iif(ended_at IS NULL, deadline, NULL)"
        ))
        .and_then(|mut update| {
            update.query_row(params![from.owner, me, from.dead, millis(now), task], moved).optional()
        })
        .map_err(failed(WHAT))?;
    Ok(moved)
}

/// What was taken over at once.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    /// How many tasks.
    pub tasks: usize,
    /// Those of them that have something to do now. What waits and is past its deadline needs nobody to run it.
    pub ready: Vec<Moved>,
}

/// Takes tasks over, some at once: first those that have something to do, then those that wait, the next due first, and
/// when there are no more, those that ended with a ticket. None: there is nothing left to take.
pub(crate) fn claim_batch(tx: &Tx<'_>, from: Predecessor, me: i64, now: Timestamp) -> Result<Claimed, Error> {
    // What waits has a `due_at`, and what does not, none: it sorts first.
    let live = "SELECT n FROM task WHERE owner IS ?1 AND ended_at IS NULL ORDER BY due_at LIMIT ?5";
    let owing = "SELECT n FROM task WHERE owner IS ?1 AND ticket IS NOT NULL LIMIT ?5";
    let mut claimed = Claimed::default();
    for which in [live, owing] {
        let mut update = tx
            .sql
            .prepare_cached(&format!(
                "{CHANGE} WHERE n IN ({which})
                 RETURNING n, namespace, digest, iif(ended_at IS NULL, deadline, NULL),
                     state <> 'waiting' OR coalesce(due_at <= ?4 AND deadline > ?4, FALSE)"
            ))
            .map_err(failed(WHAT))?;
        let rows = update
            .query_map(params![from.owner, me, from.dead, millis(now), BATCH as i64], |row| {
                Ok((moved(row)?, row.get(4)?))
            })
            .map_err(failed(WHAT))?;
        for row in rows {
            let (task, ready): (Moved, bool) = row.map_err(failed(WHAT))?;
            claimed.tasks += 1;
            claimed.ready.extend(ready.then_some(task));
        }
        if claimed.tasks > 0 {
            break;
        }
    }
    Ok(claimed)
}

/// Forgets a process that is gone, and has no tasks left.
pub(crate) fn forget(tx: &Tx<'_>, owner: i64) -> Result<(), StoreError> {
    tx.sql
        .execute(
            "DELETE FROM owner WHERE id = ?1
             AND NOT EXISTS (SELECT 1 FROM task WHERE owner = ?1 AND ended_at IS NULL)
             AND NOT EXISTS (SELECT 1 FROM task WHERE owner = ?1 AND ticket IS NOT NULL)",
            params![owner],
        )
        .map_err(failed(WHAT))?;
    Ok(())
}

/// Gives up everything that this process owns, so that the next one need not find out that it is gone.
pub(crate) fn release(tx: &Tx<'_>, me: i64) -> Result<(), StoreError> {
    for tasks in ["ended_at IS NULL", "ticket IS NOT NULL"] {
        tx.sql
            .execute(&format!("UPDATE task SET owner = NULL WHERE owner = ?1 AND {tasks}"), params![me])
            .map_err(failed(WHAT))?;
    }
    tx.sql.execute("DELETE FROM owner WHERE id = ?1", params![me]).map_err(failed(WHAT))?;
    Ok(())
}

pub(super) fn moved(row: &Row<'_>) -> rusqlite::Result<Moved> {
    let deadline = row.get::<_, Option<i64>>(3)?.map(|at| Timestamp::from_millis(at.max(0).cast_unsigned()));
    Ok(Moved { n: row.get(0)?, namespace: row.get(1)?, digest: row.get(2)?, deadline })
}

fn millis(at: Timestamp) -> i64 {
    at.as_millis().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(dir: &Path, me: i64) -> Owners {
        Owners::hold(dir, me, "", Duration::from_secs(5)).unwrap()
    }

    #[test]
    fn one_that_let_go_of_its_lock_is_dead_and_one_that_holds_it_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let (me, other) = (owner(dir.path(), 1), owner(dir.path(), 2));
        assert!(!me.is_dead(2) && me.lives(2));
        drop(other);
        assert!(me.is_dead(2) && !me.lives(2) && me.is_dead(3) && !me.is_dead(1));
    }

    /// A link to itself can't be opened, as nothing can be by a process with too many open files.
    #[cfg(unix)]
    #[test]
    fn promise_2_one_whose_lock_cant_be_looked_at_is_not_taken_for_dead() {
        let dir = tempfile::tempdir().unwrap();
        let me = owner(dir.path(), 1);
        let lock = dir.path().join("2");
        std::os::unix::fs::symlink(&lock, &lock).unwrap();
        assert!(!me.is_dead(2) && me.lives(2));
        assert!(std::fs::symlink_metadata(&lock).is_ok(), "and it is left alone");
    }
}

//! What others hear once a transaction is on disk.

use std::time::Duration;

use crate::task::TaskState;

/// How a task ended, in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tally {
    pub state: TaskState,
    /// Since its start.
    pub took: Duration,
    /// Its guest, waits left out.
    pub ran: Duration,
    pub fuel: u64,
    /// The most bytes that its guest had.
    pub memory: u64,
}

/// Something that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A task has new entries.
    Entries { task: i64 },
    /// A question of a task is settled, or the task is asked to stop: whoever runs it should look.
    Inbox { task: i64 },
    /// A task must be looked at by this time.
    Due { at: u64 },
    /// A namespace has news.
    News { namespace: String },
    /// There is something to send.
    Outbox,
    /// A task has ended.
    Ended { digest: String, tool: String, tally: Tally },
    /// A guest was refused something.
    Refused,
    /// Another process has committed something.
    Foreign,
    /// The host died, as a test had planned.
    Crashed,
}

/// Called by the writer after each commit, on its thread: it must be quick.
pub(crate) type Notify = Box<dyn Fn(Vec<Notice>) + Send>;

//! What others hear once a transaction is on disk.

/// Something that was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Notice {
    /// A task has new entries.
    Entries { task: i64 },
    /// A question of a task is settled, or the task is asked to stop: whoever runs it should look.
    Inbox { task: i64 },
    /// A task must be looked at by this time.
    Due { at: u64 },
    /// Another process has committed something.
    Foreign,
}

/// Called by the writer after each commit, on its thread: it must be quick.
pub(crate) type Notify = Box<dyn Fn(Vec<Notice>) + Send>;

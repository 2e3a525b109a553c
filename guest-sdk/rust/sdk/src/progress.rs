//! Progress reports.

use crate::bindings::longhaul::tool::{task as wit_task, types as wit};

/// A report that is published when the statement that makes it ends; see [`Task::progress`](crate::Task::progress).
///
/// ```no_run
/// # fn example(task: &longhaul_sdk::Task, rows: &[&str]) {
/// for (index, row) in rows.iter().enumerate() {
///     task.progress(format!("read {row}")).done(index + 1).of(rows.len());
/// }
/// task.progress("two rows were empty").warning();
/// # }
/// ```
#[derive(Debug)]
pub struct Progress(wit::Progress);

impl Progress {
    pub(crate) fn new(message: String) -> Self {
        Self(wit::Progress { message, done: None, total: None, level: wit::Level::Info })
    }

    /// How much is done, in a unit of your choice. It never falls within one task.
    pub fn done(mut self, done: impl Amount) -> Self {
        self.0.done = Some(done.amount());
        self
    }

    /// How much there is in all, in the same unit.
    pub fn of(mut self, total: impl Amount) -> Self {
        self.0.total = Some(total.amount());
        self
    }

    /// Only for who looks closely.
    pub fn debug(self) -> Self {
        self.level(wit::Level::Debug)
    }

    /// Something that the caller should know, and that does not stop the task.
    pub fn warning(self) -> Self {
        self.level(wit::Level::Warning)
    }

    /// Something that failed, and that the task goes on without.
    pub fn error(self) -> Self {
        self.level(wit::Level::Error)
    }

    fn level(mut self, level: wit::Level) -> Self {
        self.0.level = level;
        self
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        wit_task::report_progress(&self.0);
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A number that progress can be counted in: any of Rust's.
pub trait Amount: sealed::Sealed {
    /// As the contract counts.
    #[doc(hidden)]
    fn amount(self) -> f64;
}

macro_rules! amounts {
    ($($number:ty)*) => {$(
        impl sealed::Sealed for $number {}
        impl Amount for $number {
            fn amount(self) -> f64 {
                self as f64
            }
        }
    )*};
}

amounts!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64);

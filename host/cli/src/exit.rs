//! How the program ends: exit codes, and why a command was not done.

use longhaul::{ErrorClass, Task, TaskState};

/// The exit codes, as `--help` lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The task completed, or the command did what it was asked.
    Done,
    /// The tool said that it failed.
    ToolFailed,
    /// Bad usage, or refused: nothing was taken.
    Refused,
    /// The task was cancelled.
    Cancelled,
    /// The task waits for a person.
    WaitingForPerson,
    /// The run broke: a trap, a limit, a fault of the host.
    Broke,
    /// A replayed task did, or would do, something else than what is recorded.
    Diverged,
    /// The data is damaged.
    Damaged,
    /// Left because of a signal; what was running can be taken up again.
    Signal(u8),
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::ToolFailed => 1,
            Self::Refused => 2,
            Self::Cancelled => 3,
            Self::WaitingForPerson => 4,
            Self::Broke => 5,
            Self::Diverged => 6,
            Self::Damaged => 7,
            // As a shell reports a program that a signal ended.
            Self::Signal(signal) => 128 + signal,
        }
    }

    /// What an ended task means for the exit code.
    pub fn of(task: &Task) -> Self {
        Self::of_end(task.state, task.error.as_ref().map(|error| error.class))
    }

    fn of_end(state: TaskState, class: Option<ErrorClass>) -> Self {
        match (state, class) {
            (TaskState::Completed, _) => Self::Done,
            (TaskState::Cancelled, _) => Self::Cancelled,
            (TaskState::Failed, Some(ErrorClass::Tool)) => Self::ToolFailed,
            _ => Self::Broke,
        }
    }
}

/// Shown at the end of `longhaul --help`.
pub const EXIT_CODES: &str = "\
Exit codes:
  0  completed, or done as asked
  1  the tool said that it failed
  2  wrong usage, or refused: nothing was taken (but an --answer that does not fit leaves its task waiting)
  3  the task was cancelled
  4  the task waits for a person
  5  the run broke: a trap, a limit, a fault of the host
  6  replay, check-upgrade: a task does not do what is recorded, or nobody can say
  7  doctor: something is damaged
  128 + signal: left because of a signal; the task can be taken up with `longhaul tasks watch ID`";

/// Why a command was not done: one line, and what to do about it.
#[derive(Debug)]
pub struct Problem {
    pub exit: Exit,
    /// Empty when there is nobody left to read it.
    pub message: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(message: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, message: message.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Standard output can't be written to.
    pub fn output(error: &std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            const SIGPIPE: u8 = 13;
            return Self { exit: Exit::Signal(SIGPIPE), message: String::new(), hint: None };
        }
        Self::new(format!("cannot write to standard output: {error}"))
    }
}

impl From<longhaul::Error> for Problem {
    fn from(error: longhaul::Error) -> Self {
        use longhaul::{Error, NeedKind, PluginError, StoreError};
        let problem = Self::new(error.to_string());
        match error {
            Error::Fault(_) => Self { exit: Exit::Broke, ..problem },
            Error::UnknownTask(_) => problem.hint(
                "a task is named by its id, a beginning of it, an ending of four characters or more, or @last\n  \
                 `longhaul tasks ls` lists the tasks, with `--namespace NS` those of another tenant",
            ),
            Error::UndeclaredSetting { plugin, .. } | Error::UndeclaredGrant { plugin, .. } => {
                problem.hint(format!("`longhaul plugin inspect {plugin}` shows what it declares"))
            }
            Error::Policy { .. } => problem.hint("docs/longhaul.toml has every key"),
            Error::ChildOf { root, .. } => problem.hint(format!("`longhaul tasks rm {root}`")),
            Error::UnknownPlugin(_) => problem.hint("`longhaul plugin ls` lists what is"),
            Error::PluginInUse { .. } => problem.hint("`longhaul tasks ls` lists the tasks"),
            Error::MissingGrant { plugin, kind, name, .. } => problem.hint(match kind {
                NeedKind::Setting => format!(
                    "or `longhaul plugin grant {plugin} setting:{name}=VALUE`; for this task alone, `--set {name}=VALUE`"
                ),
                NeedKind::Secret => {
                    format!("or `longhaul plugin grant {plugin} secret:{name} --from env:VARIABLE --to HOST --as bearer`")
                }
                NeedKind::Http | NeedKind::Tool => format!(
                    "or `longhaul plugin grant {plugin} {kind}:{name}`; for this task alone, `--grant {kind}:{name}`"
                ),
            }),
            Error::UnknownQuestion { task, open, .. } if !open.is_empty() => {
                problem.hint(format!("`longhaul tasks show {task}` shows the open ones"))
            }
            Error::NotEnded { task, .. } => problem.hint(format!("`longhaul tasks cancel {task}`")),
            Error::Plugin(PluginError::NoInterface { .. } | PluginError::OtherVersion { .. }) => {
                problem.hint("the plugin's author has to build it for this contract")
            }
            Error::Store(StoreError::ReadOnly { .. }) => {
                problem.hint("`--data DIR` or LONGHAUL_DATA names another data directory")
            }
            Error::Store(StoreError::Corrupt { .. }) => problem.hint(
                "`longhaul doctor` says what is wrong; a backup can take its place; `--data DIR` names another directory",
            ),
            _ => problem,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_of_a_task_has_its_exit_code() {
        let ends = [
            (TaskState::Completed, None, 0),
            (TaskState::Failed, Some(ErrorClass::Tool), 1),
            (TaskState::Cancelled, Some(ErrorClass::Tool), 3),
            (TaskState::Cancelled, Some(ErrorClass::Run), 3),
            (TaskState::Failed, Some(ErrorClass::Run), 5),
            (TaskState::Failed, None, 5),
        ];
        for (state, class, code) in ends {
            assert_eq!(Exit::of_end(state, class).code(), code, "{state} {class:?}");
        }
    }

    #[test]
    fn refusals_exit_2_and_faults_of_the_host_exit_5() {
        assert_eq!(Problem::from(longhaul::Error::UnknownPlugin("x".into())).exit.code(), 2);
        assert_eq!(Problem::from(longhaul::Error::ShuttingDown).exit.code(), 2);
        assert_eq!(Problem::from(longhaul::Error::Fault("x".into())).exit.code(), 5);
    }

    #[test]
    fn every_exit_code_is_documented() {
        for exit in [
            Exit::Done,
            Exit::ToolFailed,
            Exit::Refused,
            Exit::Cancelled,
            Exit::WaitingForPerson,
            Exit::Broke,
            Exit::Diverged,
            Exit::Damaged,
        ] {
            assert!(EXIT_CODES.contains(&format!("\n  {}  ", exit.code())), "{exit:?}");
        }
    }
}

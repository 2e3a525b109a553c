//! What a task is, and the pure state machine that its life follows.

mod base64_bytes;
mod machine;
mod model;
mod question;

pub use machine::{Effect, Ending, ErrorKind, Given, Life, LifeEvent, Misfit, RetryPolicy, Verdict, ticket_delay};
pub(crate) use machine::{cancel_delay, jitter};
pub use model::{
    Broke, Child, ErrorClass, Level, OpenQuestion, Output, Part, PartData, Progress, Reply, Task, TaskError, TaskId,
    TaskState, Waiting, WaitingOn,
};
pub use question::{AnswerSchema, Choice, Field, FieldKind, Form, FormField, TextFormat};

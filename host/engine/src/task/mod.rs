//! What a task is, and the pure state machine that its life follows.

mod base64_bytes;
mod model;

pub use model::{
    Broke, ErrorClass, Level, OpenQuestion, Output, Part, PartData, Progress, Reply, Task, TaskError, TaskId,
    TaskState, Waiting, WaitingOn,
};

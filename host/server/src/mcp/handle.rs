//! What a call answers when the task is not done: what it is called, how it stands, and what to do next.

use longhaul::{OpenQuestion, Task};
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use super::question::is_askable;
use super::view::status_message;

/// The task as the companion tools speak of it, in words for a model and as structure for a program.
pub fn handle(task: &Task) -> CallToolResult {
    let mut result = CallToolResult::success(vec![ContentBlock::text(words(task))]);
    result.structured_content = Some(structure(task));
    result
}

/// Where a task stands: `working`, `input_required`, or how it ended.
pub fn status(task: &Task) -> &'static str {
    match task.state.is_terminal() {
        true => task.state.as_str(),
        false if task.questions.is_empty() => "working",
        false => "input_required",
    }
}

pub fn structure(task: &Task) -> Value {
    let mut about = json!({
        "task_id": task.id,
        "tool": format!("{}/{}", task.plugin, task.tool),
        "status": status(task),
        "created_at": task.created_at,
    });
    if let Some(message) = status_message(task) {
        about["message"] = message.into();
    }
    if let Some(progress) = &task.progress {
        about["progress"] = json!(progress);
    }
    if !task.questions.is_empty() {
        about["questions"] = task.questions.iter().map(|question| asked(task, question)).collect();
    }
    if !task.state.is_terminal() {
        about["next"] = if task.questions.iter().any(is_askable) { "task_answer" } else { "task_wait" }.into();
    }
    about
}

fn asked(task: &Task, question: &OpenQuestion) -> Value {
    let mut about = json!({
        "task_id": question.task.as_ref().unwrap_or(&task.id),
        "question": question.question,
        "prompt": question.prompt,
        "answer_schema": question.answer,
    });
    if let Some(detail) = &question.detail {
        about["detail"] = detail.as_str().into();
    }
    if let Some(deadline) = question.deadline {
        about["deadline"] = json!(deadline);
    }
    about
}

fn words(task: &Task) -> String {
    let id = &task.id;
    let mut words = format!("Task {id} ({}/{}) ", task.plugin, task.tool);
    if task.questions.is_empty() {
        words += "goes on in the background";
        match status_message(task) {
            Some(message) => words += &format!(": {}.", message.trim_end_matches('.')),
            None => words += ".",
        }
        words += &format!(
            " Its result is not here yet. Call task_wait with task_id \"{id}\" to get it; you may do other things before."
        );
        return words;
    }
    words += "waits for a person's answer.";
    for question in &task.questions {
        let of = question.task.as_ref().unwrap_or(id);
        words += &format!("\n\nQuestion {} of task {of}: {}", question.question, question.prompt);
        if let Some(detail) = &question.detail {
            words += &format!("\n{detail}");
        }
        words += &match is_askable(question) {
            true => format!("\nAn answer is JSON that fits this schema: {}", question.answer),
            false => "\nThe answer is confidential: the person gives it to the host themselves, not to you.".into(),
        };
    }
    words += &format!(
        "\n\nAsk your user, do not answer for them. Then call task_answer with what they said, and task_wait with task_id \"{id}\" \
         for the result."
    );
    words
}

//! What people see before they answer: open questions, a task's input, what a plugin needs and is granted.

use longhaul::TaskId;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::document::shapes;
use super::extract::{Path, Query, limit};
use crate::{Principal, Problem};

/// Questions of one answer.
const PAGE: usize = 500;

/// How many.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Most {
    /// Questions at most: 500 if left out.
    #[param(minimum = 1, maximum = 500)]
    limit: Option<usize>,
}

/// Lists the questions that may be answered, children's too: those whose time is up first, then the oldest.
#[utoipa::path(
    get, path = "/v1/questions", tag = "tasks", params(Most),
    responses((status = 200, description = "The questions, each with the task that asks it", body = shapes::QuestionList)),
)]
pub(super) async fn questions(caller: Principal, Query(most): Query<Most>) -> Result<axum::Json<Value>, Problem> {
    let host = caller.to_see_questions()?;
    let limit = limit(most.limit, PAGE, PAGE)?;
    // One more than is shown: whether there are others.
    let mut questions = host.questions(limit + 1).await?;
    let more = questions.len() > limit;
    questions.truncate(limit);
    Ok(axum::Json(json!({ "questions": questions, "more": more })))
}

/// Shows a question, open or not, and what settled it.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/questions/{question}", tag = "tasks",
    params(("id" = String, Path, description = "The task"), ("question" = u32, Path, description = "The question's number")),
    responses(
        (status = 200, description = "The question with the task that asks it, and its reply", body = shapes::SettledQuestion),
        (status = 404, description = "Refused: there is no such task, or it has no such question"),
    ),
)]
pub(super) async fn question(
    caller: Principal,
    Path((id, question)): Path<(TaskId, u32)>,
) -> Result<axum::Json<Value>, Problem> {
    let (asked, reply) = caller.to_see_questions()?.question(&id, question).await?;
    let mut said = json!(asked);
    if let Some(reply) = reply {
        said["reply"] = json!(reply);
    }
    Ok(axum::Json(said))
}

/// Shows what a task was started with.
#[utoipa::path(
    get, path = "/v1/tasks/{id}/input", tag = "tasks", params(("id" = String, Path, description = "The task")),
    responses(
        (status = 200, description = "The input, valid against the tool's schema", body = Value),
        (status = 404, description = "Refused: there is no such task"),
    ),
)]
pub(super) async fn input(caller: Principal, Path(id): Path<TaskId>) -> Result<axum::Json<Value>, Problem> {
    Ok(axum::Json(caller.to_look()?.input(&id).await?))
}

/// Shows what becomes, in the caller's namespace, of each need that a plugin declares, and what it is granted without need.
#[utoipa::path(
    get, path = "/v1/plugins/{plugin}/needs", tag = "tools",
    params(("plugin" = String, Path, description = "A name, alias or digest")),
    responses(
        (status = 200, description = "The needs, in the plugin's order", body = shapes::NeedList),
        (status = 404, description = "Refused: there is no such plugin"),
    ),
)]
pub(super) async fn needs(caller: Principal, Path(plugin): Path<String>) -> Result<axum::Json<Value>, Problem> {
    let host = caller.to_see_questions()?;
    let plugin = host.plugin(&plugin).await?;
    let needs = host.policy().verdicts(&caller.token().namespace, &plugin.manifest);
    Ok(axum::Json(json!({ "digest": plugin.digest, "needs": needs })))
}

//! Answering a question.

use longhaul::{Reply, TaskId};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::document::shapes;
use super::extract::{Json, Path};
use crate::{Principal, Problem};

/// A reply: a `value`, or that there will be none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    /// The answer, valid against the question's schema.
    #[serde(default, deserialize_with = "given")]
    value: Option<Value>,
    /// Refuse to answer.
    #[serde(default)]
    decline: bool,
    /// Why, when declining.
    reason: Option<String>,
    /// Who answers, as the tool and the journal know them: what is given here, with the name of the token behind it, as in
    /// `ann (desk)`; the name of the token alone if left out.
    by: Option<String>,
}

/// `null` is an answer too; only a member that is left out is none.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// Answers a question, or declines to. The first answer counts.
#[utoipa::path(
    post, path = "/v1/tasks/{id}/questions/{question}/answer", tag = "tasks", request_body = Answer,
    params(("id" = String, Path, description = "The task"), ("question" = u32, Path, description = "The question's number")),
    responses(
        (status = 200, description = "It counted", body = shapes::Settled),
        (status = 404, description = "Refused: there is no such task, or it has no such question"),
        (status = 409, description = "Refused: it is settled; `reply` is what counts, since `at`"),
        (status = 422, description = "Refused: the value does not fit the question"),
    ),
)]
pub(super) async fn answer(
    caller: Principal,
    Path((id, question)): Path<(TaskId, u32)>,
    Json(answer): Json<Answer>,
) -> Result<axum::Json<Value>, Problem> {
    let host = caller.to_answer()?;
    // Whoever has a token may say to speak for anybody; whose word that is stays plain.
    let token = &caller.token().name;
    let by = Some(answer.by.map_or_else(|| token.clone(), |by| format!("{by} ({token})")));
    let reply = match (answer.value, answer.decline) {
        (Some(value), false) if answer.reason.is_none() => Reply::Answered { value, by },
        (None, true) => Reply::Declined { reason: answer.reason, by },
        _ => return Err(Problem::invalid("give either `value`, or `decline: true` and perhaps a `reason`")),
    };
    host.answer(&id, question, reply.clone()).await?;
    Ok(axum::Json(json!({ "task": id, "question": question, "reply": reply })))
}

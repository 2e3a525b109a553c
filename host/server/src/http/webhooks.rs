//! Webhooks: who is sent word of what, and how that fares.

use ::http::StatusCode;
use longhaul::{NewWebhook, WebhookEvent};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use super::document::shapes;
use super::extract::{Json, Path, Query, limit};
use crate::{Principal, Problem};

/// Deliveries of one page.
const PAGE: usize = 100;

/// Deliveries of one page at most.
const MOST: usize = 1_000;

/// A webhook to set up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Wanted {
    /// Where messages are sent to: `https`.
    url: String,
    /// What it is sent word of: `task.completed`, `task.failed`, `task.cancelled`, `question.asked`, `question.settled`. All of
    /// them if left out.
    #[schema(value_type = Option<Vec<String>>)]
    events: Option<Vec<WebhookEvent>>,
    /// What messages are signed with, if the receiver has a secret already: `whsec_` and 24 to 64 bytes in Base64.
    secret: Option<String>,
}

/// Lists the webhooks of the namespace.
#[utoipa::path(
    get, path = "/v1/webhooks", tag = "webhooks", operation_id = "list_webhooks",
    responses((status = 200, description = "The webhooks, the oldest first", body = shapes::WebhookList)),
)]
pub(super) async fn list(caller: Principal) -> Result<axum::Json<Value>, Problem> {
    let webhooks = caller.to_administer()?.webhooks().await?;
    Ok(axum::Json(json!({ "webhooks": webhooks })))
}

/// Sets up a webhook. Messages are as Standard Webhooks has it; the secret is shown this once.
#[utoipa::path(
    post, path = "/v1/webhooks", tag = "webhooks", request_body = Wanted,
    responses(
        (status = 201, description = "It is set up", body = shapes::Webhook),
        (status = 422, description = "Refused: this host does not send there, the secret is none, or there are too many"),
    ),
)]
pub(super) async fn add(
    caller: Principal,
    Json(wanted): Json<Wanted>,
) -> Result<(StatusCode, axum::Json<Value>), Problem> {
    let host = caller.to_administer()?;
    let mut new = NewWebhook::new(wanted.url);
    if let Some(events) = wanted.events {
        new = new.events(events);
    }
    if let Some(secret) = wanted.secret {
        new = new.secret(secret);
    }
    let (webhook, secret) = host.add_webhook(new).await?;
    let mut said = json!(webhook);
    said["secret"] = secret.into();
    Ok((StatusCode::CREATED, axum::Json(said)))
}

/// Removes a webhook, with what was not delivered to it yet.
#[utoipa::path(
    delete, path = "/v1/webhooks/{webhook}", tag = "webhooks", operation_id = "remove_webhook",
    params(("webhook" = String, Path, description = "The webhook")),
    responses(
        (status = 204, description = "It is removed"),
        (status = 404, description = "Refused: there is no such webhook"),
    ),
)]
pub(super) async fn remove(caller: Principal, Path(webhook): Path<String>) -> Result<StatusCode, Problem> {
    caller.to_administer()?.remove_webhook(&webhook).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Sends to a webhook again that was disabled, because its receiver had answered 410.
#[utoipa::path(
    post, path = "/v1/webhooks/{webhook}/enable", tag = "webhooks",
    params(("webhook" = String, Path, description = "The webhook")),
    responses(
        (status = 204, description = "It is sent word of what happens from now on"),
        (status = 404, description = "Refused: there is no such webhook"),
    ),
)]
pub(super) async fn enable(caller: Principal, Path(webhook): Path<String>) -> Result<StatusCode, Problem> {
    caller.to_administer()?.enable_webhook(&webhook).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Shows what messages to the callbacks of tasks are signed with, where the start brought no secret of its own.
#[utoipa::path(
    get, path = "/v1/callback-secret", tag = "webhooks",
    responses((status = 200, description = "The secret", body = shapes::Secret)),
)]
pub(super) async fn callback_secret(caller: Principal) -> Result<axum::Json<Value>, Problem> {
    let secret = caller.to_act()?.callback_secret().await?;
    Ok(axum::Json(json!({ "secret": secret })))
}

/// Which deliveries.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct Before {
    /// `cursor` of the last one of the page before.
    #[param(maximum = 9_000_000_000_000_000_000_u64)]
    cursor: Option<u64>,
    /// Deliveries of a page: 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Lists messages to webhooks and callbacks, the newest first: whether they were received, and what the receiver said.
#[utoipa::path(
    get, path = "/v1/deliveries", tag = "webhooks", params(Before),
    responses((status = 200, description = "A page of deliveries", body = shapes::DeliveryList)),
)]
pub(super) async fn deliveries(caller: Principal, Query(before): Query<Before>) -> Result<axum::Json<Value>, Problem> {
    let host = caller.to_administer()?;
    let limit = limit(before.limit, PAGE, MOST)?;
    let cursor = before.cursor.map(|cursor| cursor.min(u64::MAX / 2));
    Ok(axum::Json(json!({ "deliveries": host.deliveries(cursor, limit).await? })))
}

/// Sends a message again, under the same id, whatever became of it.
#[utoipa::path(
    post, path = "/v1/deliveries/{delivery}/redeliver", tag = "webhooks",
    params(("delivery" = String, Path, description = "The message's id")),
    responses(
        (status = 202, description = "It is sent again"),
        (status = 404, description = "Refused: there is no such message"),
    ),
)]
pub(super) async fn redeliver(caller: Principal, Path(delivery): Path<String>) -> Result<StatusCode, Problem> {
    caller.to_administer()?.redeliver(&delivery).await?;
    Ok(StatusCode::ACCEPTED)
}

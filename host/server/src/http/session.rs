//! Signing in: a link that is good once becomes a token for a browser.

use std::sync::Arc;

use ::http::StatusCode;
use axum::extract::State;
use longhaul::{NewToken, Scope, Token};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::document::shapes;
use super::extract::Json;
use crate::server::Shared;
use crate::{Principal, Problem, codes};

/// Bytes of the body of who signs in, which anybody may send.
pub(super) const BYTES: usize = 4 << 10;

/// What the link carried.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Code {
    /// The part behind `#code=`.
    code: String,
}

/// Gives a token of some hours for the code of a link that `longhaul serve` printed. Each code is good once.
#[utoipa::path(
    post, path = "/v1/session", tag = "session", request_body = Code, security(()),
    responses(
        (status = 201, description = "A token to answer and to look after tasks with", body = shapes::Session),
        (status = 401, description = "Refused: the code is unknown, was used or is too old"),
    ),
)]
pub(super) async fn sign_in(
    State(shared): State<Arc<Shared>>,
    Json(given): Json<Code>,
) -> Result<(StatusCode, axum::Json<Value>), Problem> {
    if !shared.codes.redeem(&given.code) {
        let detail = "the link was used, or is too old; start `longhaul serve` again for another, or paste a token";
        return Err(Problem::new(StatusCode::UNAUTHORIZED, "unknown-code", "The link is of no use", detail));
    }
    let new = NewToken::new("inbox").scopes([Scope::Tasks, Scope::Answer]).expires_in(codes::SESSION);
    let issued = shared.host.create_token(new).await?;
    let mut said = caller(&issued.token);
    said["token"] = issued.secret.as_str().into();
    Ok((StatusCode::CREATED, axum::Json(said)))
}

/// Shows whose token the caller uses, and what it may do.
#[utoipa::path(
    get, path = "/v1/session", tag = "session",
    responses((status = 200, description = "The caller", body = shapes::Caller)),
)]
pub(super) async fn who(principal: Principal) -> axum::Json<Value> {
    axum::Json(caller(principal.token()))
}

fn caller(token: &Token) -> Value {
    let mut said = json!({ "name": token.name, "namespace": token.namespace, "scopes": token.scopes });
    if let Some(at) = token.expires_at {
        said["expires_at"] = at.to_string().into();
    }
    said
}

//! What a request says, or a [`Problem`] that names what is wrong with it.

use ::http::request::Parts;
use ::http::{StatusCode, header};
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use serde::de::DeserializeOwned;

use crate::Problem;

/// A body of JSON.
pub(super) struct Json<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        // Also a guard: a form of a web page can't send this without asking first.
        if !essence.eq_ignore_ascii_case("application/json") {
            let detail = format!("the body must be `application/json`, and is `{}`", kind.escape_default());
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported-media-type",
                "The body is of another kind",
                detail,
            ));
        }
        let body = body(request, state).await?;
        let value = serde_json::from_slice(&body)
            .map_err(|error| Problem::invalid(format!("the body is not what is expected: {error}")))?;
        Ok(Self(value))
    }
}

/// The whole body, within the route's limit.
pub(super) async fn body<S: Send + Sync>(request: Request, state: &S) -> Result<Bytes, Problem> {
    Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            let detail =
                "the body is larger than is taken here (limit `body_bytes` in [server], and `component` for plugins)";
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too large", detail)
        }
        _ => Problem::invalid("the body ended before it was whole"),
    })
}

/// The query.
pub(super) struct Query<T>(pub T);

impl<S: Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        axum::extract::Query::try_from_uri(&parts.uri).map(|query| Self(query.0)).map_err(|rejection| {
            Problem::invalid(format!("the query is not what is expected: {}", rejection.body_text()))
        })
    }
}

/// How many a page may have: `usual` if nothing is said.
pub(super) fn limit(given: Option<usize>, usual: usize, most: usize) -> Result<usize, Problem> {
    let limit = given.unwrap_or(usual);
    let wrong = || Problem::invalid(format!("`limit` must be 1 to {most}"));
    (1..=most).contains(&limit).then_some(limit).ok_or_else(wrong)
}

/// What stands in the path.
pub(crate) struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(path) => Ok(Self(path.0)),
            // Whatever it is, there is nothing of that name.
            Err(rejection) => Err(Problem::not_found(rejection.body_text())),
        }
    }
}

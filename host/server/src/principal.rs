//! Who calls: a bearer token becomes a [`Principal`], which is the only way for a handler to a host.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode, header};
use http_body_util::BodyExt as _;
use longhaul::{Host, Scope, Token};

use crate::Problem;
use crate::connections::Seat;
use crate::server::Shared;

/// How often a stream looks whether its token is still good.
const LOOK: Duration = Duration::from_secs(5);

/// Who calls. Every route behind the server's authentication finds one among the request's extensions.
#[derive(Clone)]
pub struct Principal {
    token: Arc<Token>,
    host: Host,
}

impl Principal {
    /// The token that the caller showed.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The host as the caller's namespace sees it, if the token has one of these scopes.
    ///
    /// # Errors
    ///
    /// 403 with the scopes that would do.
    pub fn host(&self, any_of: &[Scope]) -> Result<&Host, Problem> {
        if any_of.iter().any(|scope| self.token.scopes.contains(scope)) {
            return Ok(&self.host);
        }
        let names: Vec<_> = any_of.iter().map(|scope| scope.as_str()).collect();
        let detail = format!("this token may not do that: it needs the scope {}", names.join(" or "));
        Err(Problem::new(StatusCode::FORBIDDEN, "missing-scope", "The token may not do that", detail)
            .with("scopes", names))
    }

    /// The host, to start, stop and remove tasks with.
    pub(crate) fn to_act(&self) -> Result<&Host, Problem> {
        self.host(&[Scope::Tasks])
    }

    /// The host, to look at tasks with.
    pub(crate) fn to_look(&self) -> Result<&Host, Problem> {
        self.host(&[Scope::Tasks])
    }

    /// The host, to look at questions with, and at who asks.
    pub(crate) fn to_see_questions(&self) -> Result<&Host, Problem> {
        self.host(&[Scope::Tasks, Scope::Answer])
    }

    /// Whether it sees questions, and nothing else of tasks.
    pub(crate) fn sees_questions_alone(&self) -> bool {
        self.to_look().is_err()
    }

    /// The host, to answer questions with.
    pub(crate) fn to_answer(&self) -> Result<&Host, Problem> {
        self.host(&[Scope::Answer])
    }

    /// The host, to administer.
    pub(crate) fn to_administer(&self) -> Result<&Host, Problem> {
        self.host(&[Scope::Admin])
    }
}

impl<S: Sync> FromRequestParts<S> for Principal {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get().cloned().ok_or_else(|| unauthorized(false))
    }
}

/// Lets in who shows a token, as often as it may.
pub(crate) async fn authenticate(State(shared): State<Arc<Shared>>, mut request: Request, next: Next) -> Response {
    match principal(&shared, request.headers()) {
        Ok(principal) => {
            let held = request.extensions().get::<Arc<Seat>>().map(Seat::hold);
            let secret = bearer(request.headers()).map(str::to_owned);
            request.extensions_mut().insert(principal);
            let mut response = next.run(request).await;
            let is_stream =
                response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
            if let (true, Some(secret)) = (is_stream, secret) {
                let ended = async move { while_good(&shared, &secret).await };
                response = response.map(|body| Body::from_stream(body.into_data_stream().take_until(Box::pin(ended))));
            }
            match held {
                // Until the answer is out.
                Some(held) => response.map(|body| {
                    Body::new(body.map_err(move |error| {
                        let _ = &held;
                        error
                    }))
                }),
                None => response,
            }
        }
        Err(problem) => problem.into_response(),
    }
}

/// Resolves when the token is revoked or expires.
async fn while_good(shared: &Shared, secret: &str) {
    loop {
        tokio::time::sleep(LOOK).await;
        // A database that can't be read for the moment says nothing of the token.
        if let Ok(None) = shared.host.authenticate(secret) {
            return;
        }
    }
}

fn principal(shared: &Shared, headers: &HeaderMap) -> Result<Principal, Problem> {
    let bearer = bearer(headers).ok_or_else(|| unauthorized(false))?;
    let token = shared.host.authenticate(bearer)?.ok_or_else(|| unauthorized(true))?;
    shared.rates.request(&token.id)?;
    let host = shared.host.namespace(&token.namespace);
    Ok(Principal { token: Arc::new(token), host })
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    // Of two, who knows which one a proxy has looked at.
    let (Some(given), None) = (given.next(), given.next()) else { return None };
    let (scheme, token) = given.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
}

/// As RFC 6750 has it: without a token the challenge names no error.
fn unauthorized(invalid: bool) -> Problem {
    let (detail, challenge) = match invalid {
        false => (
            "give a token: `Authorization: Bearer TOKEN`; `longhaul token create` makes one",
            "Bearer realm=\"longhaul\"",
        ),
        true => (
            "the token is unknown, revoked or expired; `longhaul token create` makes a new one",
            "Bearer realm=\"longhaul\", error=\"invalid_token\"",
        ),
    };
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", "The caller is not known", detail)
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static(challenge))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearer_token_is_found_whatever_the_case_of_its_scheme() {
        let with =
            |value: &'static str| HeaderMap::from_iter([(header::AUTHORIZATION, HeaderValue::from_static(value))]);
        assert_eq!(bearer(&with("Bearer abc")), Some("abc"));
        assert_eq!(bearer(&with("bearer  abc")), Some("abc"));
        assert_eq!(bearer(&with("Basic abc")), None);
        assert_eq!(bearer(&with("Bearer")), None);
        assert_eq!(bearer(&HeaderMap::new()), None);
        let mut twice = with("Bearer abc");
        twice.append(header::AUTHORIZATION, HeaderValue::from_static("Bearer abc"));
        assert_eq!(bearer(&twice), None);
    }
}

//! MCP over Streamable HTTP, at `/mcp`, for whoever shows a token.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use axum::{Json, Router};
use futures_util::StreamExt as _;
use http::request::Parts;
use http::uri::Authority;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use longhaul::Scope;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, Tool};
use rmcp::service::RequestContext;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::client::Client;
use super::companions;
use super::message::{self, Refusal};
use super::sessions::Sessions;
use super::tools::Catalog;
use super::{Face, Session, Whose, edge};
use crate::server::Shared;
use crate::{Principal, Problem, principal};

const METADATA: &str = "/.well-known/oauth-protected-resource";
/// Bytes of what the SDK says of what it refuses.
const SAID: usize = 64 << 10;

const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

tokio::task_local! {
    /// What the request calls that is answered in this task.
    static CALLED: Tool;
}

/// The tool that is being called: the SDK holds the headers of a call against its schema (`x-mcp-header`, SEP-2243), and asks
/// for it by name alone.
pub(super) fn called_tool() -> Option<Tool> {
    CALLED.try_with(Tool::clone).ok()
}

/// The tools, if they were read for this request already.
pub(super) fn catalog_of(cx: &RequestContext<RoleServer>) -> Option<Arc<Catalog>> {
    cx.extensions.get::<Parts>()?.extensions.get().cloned()
}

/// The endpoint behind its tokens, and the document that says that there are tokens.
pub(crate) fn routes(shared: &Arc<Shared>) -> Router {
    let face = Arc::new(Face::new(Whose::Bearers, &shared.host, shared.config.mcp.clone()));
    let stop = CancellationToken::new();
    let (mut closing, stopped) = (shared.closing(), stop.clone());
    tokio::spawn(async move {
        // An error is a server that is gone.
        let _ = closing.wait_for(|closing| *closing).await;
        stopped.cancel();
    });
    // `Host` and `Origin` are checked for all routes, and more strictly.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(shared.config.body_bytes)
        .with_cancellation_token(stop);
    let sessions = Arc::new(Sessions::default());
    let manager = sessions.manager.clone();
    let service = StreamableHttpService::new(move || Ok(Session::new(face.clone())), manager, config);
    let endpoint = Router::new()
        .route_service("/mcp", service)
        .layer(from_fn_with_state(shared.clone(), repair))
        .layer(from_fn_with_state((shared.clone(), sessions), own))
        .layer(from_fn_with_state(shared.clone(), principal::authenticate))
        .layer(from_fn(challenge));
    let metadata = Router::new().route(METADATA, get(metadata)).route(&format!("{METADATA}/mcp"), get(metadata));
    metadata.merge(endpoint)
}

/// Lets nobody into another's session, nor begin any number of them.
async fn own(
    State((shared, sessions)): State<(Arc<Shared>, Arc<Sessions>)>,
    principal: Principal,
    request: Request,
    next: Next,
) -> Response {
    let (token, most) = (&principal.token().id, shared.config.streams);
    if sessions.is_anothers(request.headers(), token) {
        // As one that is over, or never was.
        return Problem::not_found("there is no such session; begin one by `initialize`").into_response();
    }
    if request.method() == Method::POST
        && sessions.before(request.headers(), token).await.is_some_and(|had| had >= most)
    {
        let detail = format!("this token has {most} sessions (limit `streams`); end one by DELETE, or use one of them");
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate-limited", "Too much at once", detail);
        return problem.retry_after(Duration::from_secs(60)).into_response();
    }
    let answer = next.run(request).await;
    sessions.begun(answer.headers(), token);
    answer
}

/// Repairs what clients leave out, and counts the answer as a stream while it is open.
async fn repair(State(shared): State<Arc<Shared>>, principal: Principal, request: Request, next: Next) -> Response {
    let open = match shared.rates.stream(&principal.token().id) {
        Ok(open) => open,
        Err(problem) => return problem.into_response(),
    };
    let (mut parts, body) = request.into_parts();
    let Ok(mut body) = to_bytes(body, shared.config.body_bytes).await else {
        let detail = format!("a message may have {} bytes (limit `body_bytes`)", shared.config.body_bytes);
        let problem = Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The message is too large", detail);
        return problem.into_response();
    };
    let message = (parts.method == Method::POST && is_json(&parts.headers)).then(|| body.clone());
    if let Some(Err(refusal)) = message.as_deref().map(message::check) {
        return (StatusCode::BAD_REQUEST, Json(refusal.to_json())).into_response();
    }
    if let Some(renamed) = edge::renamed(&body) {
        body = renamed.into();
        // A header that says something else is for the SDK to refuse.
        if parts.headers.get(METHOD).is_some_and(|method| method == "subscriptions/listen") {
            parts.headers.insert(METHOD, HeaderValue::from_static(edge::LISTEN));
        }
    }
    if !parts.headers.contains_key(NAME)
        && let Some(name) = edge::task_named(&body).and_then(|task| HeaderValue::from_str(&task).ok())
    {
        parts.headers.insert(NAME, name);
    }
    let called = match called(&parts, &principal).await {
        Ok(called) => called,
        Err(problem) => return problem.into_response(),
    };
    let tool = called.map(|(catalog, tool)| {
        parts.extensions.insert(catalog);
        tool
    });
    let is_goodbye = parts.method == Method::DELETE;
    let answer = next.run(Request::from_parts(parts, Body::from(body)));
    let mut answer = match tool {
        Some(tool) => CALLED.scope(tool, answer).await,
        None => answer.await,
    };
    if is_goodbye && answer.status() == StatusCode::ACCEPTED {
        *answer.status_mut() = StatusCode::NO_CONTENT;
    }
    if answer.status().is_client_error() && !is_json(answer.headers()) {
        answer = refused(message.as_deref(), answer).await;
    }
    answer.map(|body| Body::from_stream(body.into_data_stream().inspect(move |_| _ = &open)))
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|essence| essence.trim().eq_ignore_ascii_case("application/json"))
}

/// What the SDK refuses with a line of text, in the form that its caller reads: an error for a message, else a problem.
async fn refused(message: Option<&[u8]>, answer: Response) -> Response {
    let (parts, body) = answer.into_parts();
    let said = to_bytes(body, SAID).await.unwrap_or_default();
    let said = String::from_utf8_lossy(&said);
    let said = said.split_once(": ").map_or(&*said, |(_, rest)| rest);
    if let (Some(message), StatusCode::BAD_REQUEST | StatusCode::UNSUPPORTED_MEDIA_TYPE) = (message, parts.status) {
        let error = match said {
            "Session ID is required" => message::wrong_beginning(message).unwrap_or_else(|| {
                ErrorData::invalid_request(format!("there is no session: {}", message::BEGIN), None)
            }),
            said => ErrorData::invalid_request(said.to_owned(), None),
        };
        let refusal = Refusal { id: message::id(message), error };
        return (StatusCode::BAD_REQUEST, Json(refusal.to_json())).into_response();
    }
    let (name, title) = match parts.status {
        StatusCode::NOT_FOUND => ("not-found", "There is no such thing"),
        StatusCode::METHOD_NOT_ALLOWED => ("unknown-method", "There is no such method here"),
        StatusCode::NOT_ACCEPTABLE => ("not-acceptable", "The caller takes no answer of this kind"),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => ("unsupported-media-type", "The body is of another kind"),
        _ => ("invalid-request", "The request can't be understood"),
    };
    let problem = Problem::new(parts.status, name, title, said);
    match parts.headers.get(header::ALLOW).cloned() {
        Some(allowed) => problem.header(header::ALLOW, allowed),
        None => problem,
    }
    .into_response()
}

/// The tool that a call names in its header, as modern ones do, and all there are. What it says in its body has to be the same,
/// which the SDK sees to.
async fn called(parts: &Parts, principal: &Principal) -> Result<Option<(Arc<Catalog>, Tool)>, Problem> {
    let name = parts.headers.get(NAME).and_then(|name| name.to_str().ok());
    let (Some(name), true) = (name, parts.headers.get(METHOD).is_some_and(|method| method == "tools/call")) else {
        return Ok(None);
    };
    // Who may not look is refused where the call is answered.
    let (None, Ok(host)) = (companions::named(name), principal.to_look()) else { return Ok(None) };
    let catalog = Catalog::read(host, &principal.token().namespace).await?;
    let tool = catalog.get(name).map(|offered| offered.shown(name, &Client::default()));
    Ok(tool.map(|tool| (Arc::new(catalog), tool)))
}

/// Says to whom it refuses where to read what it wants (RFC 9728).
async fn challenge(request: Request, next: Next) -> Response {
    let base = base(request.headers());
    let mut response = next.run(request).await;
    if response.status() == StatusCode::UNAUTHORIZED
        && let Some(base) = base
    {
        let asked = response.headers().get(header::WWW_AUTHENTICATE).and_then(|asked| asked.to_str().ok());
        let challenge = format!("{}, resource_metadata=\"{base}{METADATA}/mcp\"", asked.unwrap_or("Bearer"));
        if let Ok(challenge) = challenge.parse() {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        }
    }
    response
}

/// There is no authorization server: an operator makes tokens.
async fn metadata(headers: HeaderMap) -> Result<Json<Value>, Problem> {
    let base = base(&headers).ok_or_else(|| Problem::invalid("the header `Host` names no host"))?;
    Ok(Json(json!({
        "resource": format!("{base}/mcp"),
        "resource_name": "Longhaul",
        "bearer_methods_supported": ["header"],
        "scopes_supported": [Scope::Tasks.as_str(), Scope::Answer.as_str()],
    })))
}

/// What this server is called by its caller. In the clear only on loopback: elsewhere a proxy speaks TLS.
fn base(headers: &HeaderMap) -> Option<String> {
    let host: Authority = headers.get(header::HOST)?.as_bytes().try_into().ok()?;
    let scheme = if crate::origin::is_loopback(host.host()) { "http" } else { "https" };
    Some(format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_called_by_the_name_that_the_caller_uses() {
        let of = |host: &'static str| base(&HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]));
        assert_eq!(of("127.0.0.1:7420").as_deref(), Some("http://127.0.0.1:7420"));
        assert_eq!(of("jobs.example.com").as_deref(), Some("https://jobs.example.com"));
        assert_eq!(of("a b"), None);
        assert_eq!(base(&HeaderMap::new()), None);
    }
}

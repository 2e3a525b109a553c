//! Who a request is for and which page it comes from: a web page that a person looks at must not reach a server on their
//! machine, neither directly (`Origin`) nor by a name of its own that points to loopback (`Host`, DNS rebinding).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::uri::Authority;
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};

use crate::server::Shared;
use crate::{Config, Problem};

/// Lets through what is for this server.
pub(crate) async fn check(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    match allowed(&shared.config, request.uri(), request.headers()) {
        Ok(()) => match request.headers().get(header::ORIGIN).cloned() {
            Some(origin) => of_a_page(origin, request, next).await,
            None => next.run(request).await,
        },
        Err(problem) => problem.into_response(),
    }
}

/// Lets a page read its answer, and ask first as browsers do (CORS). There are no cookies that it would send along.
async fn of_a_page(origin: HeaderValue, request: Request, next: Next) -> Response {
    let asks_first =
        request.method() == Method::OPTIONS && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let names = request.headers().get(header::ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    let mut response = if asks_first {
        let mut allowed = HeaderMap::new();
        allowed.insert(header::ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"));
        allowed.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
        allowed.extend(names.map(|names| (header::ACCESS_CONTROL_ALLOW_HEADERS, names)));
        (StatusCode::NO_CONTENT, allowed).into_response()
    } else {
        next.run(request).await
    };
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(
        header::ACCESS_CONTROL_EXPOSE_HEADERS,
        HeaderValue::from_static("location, retry-after, mcp-session-id"),
    );
    headers.append(header::VARY, HeaderValue::from_static("origin"));
    response
}

fn allowed(config: &Config, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let host = match uri.authority() {
        Some(authority) => Some(authority.clone()),
        None => headers.get(header::HOST).and_then(|host| host.as_bytes().try_into().ok()),
    };
    let host: Authority = host.ok_or_else(|| Problem::invalid("the header `Host` is missing, or names no host"))?;
    for name in [header::HOST, header::ORIGIN] {
        if headers.get_all(&name).iter().count() > 1 {
            return Err(Problem::invalid(format!("there is more than one header `{name}`")));
        }
    }
    let any = config.allowed_hosts.is_empty() && !config.listen.ip().is_loopback();
    if !any && !names_us(config, host.host()) {
        let detail = format!(
            "this server is not called `{}`; an operator adds a name to `allowed_hosts` in [server]",
            host.host().escape_default()
        );
        return Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, "unknown-host", "It is for another server", detail));
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    if config.allowed_origins.iter().any(|allowed| allowed == origin) {
        return Ok(());
    }
    let from: Option<Authority> = origin.split_once("://").and_then(|(_, rest)| rest.parse().ok());
    // A page of this server itself, as the browser sees it.
    if from.is_some_and(|from| from == host || (config.listen.ip().is_loopback() && is_loopback(from.host()))) {
        return Ok(());
    }
    let detail = format!(
        "web pages of `{}` may not call this server; an operator adds an origin to `allowed_origins` in [server]",
        origin.escape_default()
    );
    Err(Problem::new(StatusCode::FORBIDDEN, "unknown-origin", "The page may not call this server", detail))
}

fn names_us(config: &Config, host: &str) -> bool {
    is_loopback(host) || config.allowed_hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host))
}

pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || address.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(config: &Config, host: &str, origin: Option<&str>) -> u16 {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().unwrap());
        }
        allowed(config, &Uri::from_static("/v1/tasks"), &headers)
            .map_or_else(|problem| problem.status().as_u16(), |()| 200)
    }

    #[test]
    fn on_loopback_only_loopback_s_names_and_pages_are_let_in() {
        let config = Config::default();
        for host in ["localhost:7420", "127.0.0.1:7420", "[::1]:7420", "LOCALHOST"] {
            assert_eq!(verdict(&config, host, None), 200, "{host}");
        }
        for host in ["evil.example.com", "evil.example.com:7420", "127.0.0.1.evil.example.com", "localhost.evil.com"] {
            assert_eq!(verdict(&config, host, None), 421, "{host}");
        }
        assert_eq!(verdict(&config, "localhost", Some("http://localhost:5173")), 200);
        for origin in ["https://evil.example.com", "null", "http://localhost.evil.com", ""] {
            assert_eq!(verdict(&config, "localhost", Some(origin)), 403, "{origin}");
        }
    }

    #[test]
    fn an_operator_names_further_hosts_and_origins() {
        let mut config = Config { allowed_hosts: vec!["jobs.example.com".into()], ..Config::default() };
        config.allowed_origins = vec!["https://desk.example.com".into()];
        assert_eq!(verdict(&config, "jobs.example.com", None), 200);
        assert_eq!(verdict(&config, "other.example.com", None), 421);
        assert_eq!(verdict(&config, "jobs.example.com", Some("https://desk.example.com")), 200);
        assert_eq!(verdict(&config, "jobs.example.com", Some("https://jobs.example.com")), 200);
        assert_eq!(verdict(&config, "jobs.example.com", Some("https://desk.example.com.evil.com")), 403);
        config.listen = "0.0.0.0:80".parse().unwrap();
        assert_eq!(verdict(&config, "other.example.com", None), 421);
        config.allowed_hosts.clear();
        assert_eq!(verdict(&config, "other.example.com", None), 200);
        assert_eq!(verdict(&config, "other.example.com", Some("https://evil.com")), 403);
    }
}

//! The web inbox: files that `cargo xtask web` has built, in the binary. Without them one plain page says so.

use axum::Router;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::Problem;
use crate::http::extract::Path;

/// A file of the inbox.
struct File {
    path: &'static str,
    media_type: &'static str,
    bytes: &'static [u8],
}

include!(concat!(env!("OUT_DIR"), "/web_files.rs"));

/// What stands in for the inbox where it was not built.
const WITHOUT: &str = include_str!("without_web.html");

/// Nothing is loaded from elsewhere, nothing runs that is not a file of ours, text never becomes markup, and no page holds
/// this one in a frame.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// The inbox and the addresses within it.
pub(crate) fn routes() -> Router {
    let mut router = Router::new().route("/assets/{file}", get(asset));
    for page in ["/", "/q/{task}/{question}", "/tasks", "/tasks/{id}", "/plugins", "/plugins/{plugin}"] {
        router = router.route(page, get(index));
    }
    router
}

/// Whether there is one.
pub(crate) fn is_built() -> bool {
    find(FILES, "index.html").is_some()
}

async fn index() -> Response {
    answer("text/html; charset=utf-8", "no-cache", page_of(FILES))
}

/// The page, or the one that says that there is none.
fn page_of(files: &'static [File]) -> &'static [u8] {
    find(files, "index.html").map_or(WITHOUT.as_bytes(), |file| file.bytes)
}

/// Their names change with what is in them.
async fn asset(Path(name): Path<String>) -> Result<Response, Problem> {
    let path = format!("assets/{name}");
    let file =
        find(FILES, &path).ok_or_else(|| Problem::not_found(format!("there is no /{}", path.escape_default())))?;
    Ok(answer(file.media_type, "public, max-age=31536000, immutable", file.bytes))
}

fn find(files: &'static [File], path: &str) -> Option<&'static File> {
    files.iter().find(|file| file.path == path)
}

fn answer(media_type: &'static str, caching: &'static str, bytes: &'static [u8]) -> Response {
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, caching),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    let headers: HeaderMap = headers.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect();
    (headers, bytes).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_built_without_the_inbox_says_so_and_what_does_without_it() {
        let page = String::from_utf8_lossy(page_of(&[]));
        for said in ["built without", "cargo xtask web", "longhaul tasks answer"] {
            assert!(page.contains(said), "`{said}` is not in {page}");
        }
    }
}

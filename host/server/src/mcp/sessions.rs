//! Whose the sessions are that clients of older revisions have over HTTP. `rmcp` 3.11 knows no callers: whoever shows an id is
//! let in, and there may be any number of sessions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, HeaderName};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

const ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// The tokens by which sessions were begun.
#[derive(Default)]
pub(super) struct Sessions {
    pub manager: Arc<LocalSessionManager>,
    tokens: Mutex<HashMap<String, String>>,
}

impl Sessions {
    fn tokens(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the session that a request names, if it does, is another's.
    pub fn is_anothers(&self, request: &HeaderMap, token: &str) -> bool {
        let named = request.get(ID).and_then(|id| id.to_str().ok());
        named.is_some_and(|id| self.tokens().get(id).is_some_and(|owner| owner != token))
    }

    /// How many a token has that begins one more by a request with these headers; `None`: it begins none.
    pub async fn before(&self, request: &HeaderMap, token: &str) -> Option<usize> {
        if request.contains_key(ID) {
            return None;
        }
        let live = self.manager.sessions.read().await;
        let mut tokens = self.tokens();
        // They end when nobody has used them for a while, too.
        tokens.retain(|id, _| live.contains_key(id.as_str()));
        Some(tokens.values().filter(|owner| *owner == token).count())
    }

    /// The session that an answer gives is that token's.
    pub fn begun(&self, answer: &HeaderMap, token: &str) {
        if let Some(id) = answer.get(ID).and_then(|id| id.to_str().ok()) {
            self.tokens().entry(id.to_owned()).or_insert_with(|| token.to_owned());
        }
    }
}

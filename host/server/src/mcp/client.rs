//! What the client of a request can do: it says so with each request, or did when it connected.

use rmcp::RoleServer;
use rmcp::model::{ErrorData, ProtocolVersion};
use rmcp::service::RequestContext;

/// What the client of one request can do.
#[derive(Debug, Clone, Default)]
pub struct Client {
    /// It speaks 2026-07-28 or newer: requests stand alone, and nothing is asked but in answers.
    pub modern: bool,
    /// It follows tasks by the extension. The extension exists from 2026-07-28 on; a client of an older revision that
    /// names it must not be given a task (SEP-2663), which the SDK would allow.
    pub tasks: bool,
    /// It can put a form before a person.
    pub elicits: bool,
    /// What it calls itself.
    pub name: Option<String>,
}

impl Client {
    pub fn of(cx: &RequestContext<RoleServer>) -> Self {
        let modern = cx.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
        let capabilities = cx.client_capabilities().unwrap_or_default();
        // `{}` was the whole of it before there were kinds: forms.
        let elicits =
            capabilities.elicitation.as_ref().is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none());
        Self {
            modern,
            tasks: modern && capabilities.supports_tasks(),
            elicits,
            name: cx.client_info().map(|client| client.name).filter(|name| !name.is_empty()),
        }
    }

    /// Whether it can do all that the companion tools do by the protocol alone.
    pub fn needs_no_companions(&self) -> bool {
        self.tasks && self.elicits
    }

    /// Refuses a client that cannot follow tasks.
    pub fn must_follow_tasks(&self) -> Result<(), ErrorData> {
        if self.tasks {
            return Ok(());
        }
        let needed = rmcp::model::ClientCapabilities::builder().enable_tasks().build();
        Err(ErrorData::missing_required_client_capability(needed))
    }
}

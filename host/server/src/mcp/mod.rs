//! The Model Context Protocol: tools as an agent's client knows them, over stdio and Streamable HTTP.
//!
//! A call starts a task. How it is answered depends on what the client can do:
//!
//! | client | a call is answered by |
//! |---|---|
//! | speaks 2026-07-28 and the tasks extension (SEP-2663) | the task, durable before the reply; by the result where the tool's pace is `quick` |
//! | any other | the result if it comes within [`Config::wait`], with notifications of progress; else by the task's id, and the tools `task_wait`, `task_answer`, `task_cancel` and `task_list` go on from there |
//!
//! A question is put to the client as a form: in the task, by an answer that asks for input (2026-07-28), or by a request
//! within the call (before). Where the client can do none of these, the answer to the call says what is asked, for the
//! model to ask its user.
//!
//! Nothing of a task lives here: what is not in the database is only for as long as a call waits.

mod answers;
mod call;
mod client;
mod companions;
mod content;
mod edge;
mod handle;
mod handler;
pub(crate) mod http;
mod listen;
mod message;
mod meta;
mod question;
mod sessions;
mod stdio;
mod tools;
mod view;
mod wait;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longhaul::{Error, Host, TaskId};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId, RequestStateCodec};
use rmcp::service::RequestContext;

pub use stdio::serve_stdio;

use serde::{Deserialize, Deserializer};

use self::client::Client;
use crate::{Principal, Problem};

/// What an operator decides about this face. In `longhaul.toml` it is the section `[server.mcp]`, with `wait_seconds`.
///
/// ```
/// use longhaul_server::mcp::Config;
/// use std::time::Duration;
///
/// let config = Config { wait: Duration::from_secs(40), ..Config::default() };
/// assert!(config.require_tasks.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How long a call waits for its task where it does not answer with the task: 25 s by default. Clients give up on calls
    /// after 60 s, many of them.
    #[serde(rename = "wait_seconds", deserialize_with = "seconds")]
    pub wait: Duration,
    /// Tools (`plugin/tool`) that only clients with the tasks extension may call.
    pub require_tasks: BTreeSet<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { wait: Duration::from_secs(25), require_tasks: BTreeSet::new() }
    }
}

pub(crate) fn seconds<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_secs)
}

/// What all sessions of a process share.
struct Face {
    whose: Whose,
    config: Config,
    /// Seals what a client has to send back.
    states: RequestStateCodec,
}

impl Face {
    fn new(whose: Whose, host: &Host, config: Config) -> Self {
        Self { whose, config, states: RequestStateCodec::new_unchecked(host.key()) }
    }
}

/// Whose tasks they are.
enum Whose {
    /// Those of whoever started this process, in one namespace.
    User { host: Host, namespace: String },
    /// Those of the namespace of the token that each request shows.
    Bearers,
}

/// A client that is connected; by HTTP since 2026-07-28 one request of it.
#[derive(Clone)]
struct Session {
    face: Arc<Face>,
    /// The tasks that calls wait for, so that giving up a call stops its task.
    calls: Arc<Mutex<HashMap<RequestId, Called>>>,
}

/// What is known of a call.
enum Called {
    /// It was given up. Its task is not known yet, or there is none any more.
    GivenUp,
    /// It has a task, for itself alone.
    Runs(Host, TaskId),
}

/// Calls that are kept in mind as given up: more than a client makes before the first of them has begun.
const GIVEN_UP: usize = 256;

/// Who makes a request.
struct Caller {
    /// The host as they see it.
    host: Host,
    namespace: String,
    /// By a token; not whoever started this process, who may do anything.
    principal: Option<Principal>,
}

impl Session {
    fn new(face: Arc<Face>) -> Self {
        Self { face, calls: Arc::default() }
    }

    fn caller(&self, cx: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        if let Whose::User { host, namespace } = &self.face.whose {
            return Ok(Caller { host: host.clone(), namespace: namespace.clone(), principal: None });
        }
        let parts = cx.extensions.get::<::http::request::Parts>();
        let principal = parts.and_then(|parts| parts.extensions.get::<Principal>()).cloned();
        let principal = principal.ok_or_else(|| ErrorData::internal_error("the caller is not known", None))?;
        let host = principal.to_see_questions().map_err(forbidden)?.clone();
        Ok(Caller { host, namespace: principal.token().namespace.clone(), principal: Some(principal) })
    }

    fn calls(&self) -> MutexGuard<'_, HashMap<RequestId, Called>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on, whoever gives up this call wants the task stopped. Tells whether it was given up before anybody knew of it.
    fn runs(&self, call: &RequestId, host: &Host, task: &TaskId) -> bool {
        let before = self.calls().insert(call.clone(), Called::Runs(host.clone(), task.clone()));
        matches!(before, Some(Called::GivenUp))
    }

    /// The call is given up: the task to stop, if there is one yet.
    fn given_up(&self, call: &RequestId) -> Option<(Host, TaskId)> {
        let mut calls = self.calls();
        if let Some(Called::Runs(host, task)) = calls.remove(call) {
            return Some((host, task));
        }
        if calls.len() >= GIVEN_UP {
            calls.retain(|_, called| matches!(called, Called::Runs(..)));
        }
        calls.insert(call.clone(), Called::GivenUp);
        None
    }

    /// The call is answered, or its task is no longer its alone.
    fn called(&self, call: &RequestId) {
        self.calls().remove(call);
    }
}

impl Caller {
    /// Who is written down as having answered.
    fn by<'a>(&'a self, client: &'a Client) -> Option<&'a str> {
        match &self.principal {
            Some(principal) => Some(&principal.token().name),
            None => client.name.as_deref(),
        }
    }

    fn may_look(&self) -> Result<(), ErrorData> {
        self.principal.as_ref().map_or(Ok(()), |principal| principal.to_look().map(drop).map_err(forbidden))
    }

    fn may_answer(&self) -> Result<(), ErrorData> {
        self.principal.as_ref().map_or(Ok(()), |principal| principal.to_answer().map(drop).map_err(forbidden))
    }

    fn may_act(&self) -> Result<(), ErrorData> {
        self.principal.as_ref().map_or(Ok(()), |principal| principal.to_act().map(drop).map_err(forbidden))
    }
}

fn forbidden(problem: Problem) -> ErrorData {
    ErrorData::invalid_request(problem.detail().to_owned(), None)
}

/// What is nobody's fault but ours.
fn fault(error: Error) -> ErrorData {
    if !matches!(error, Error::ShuttingDown) {
        tracing::error!(%error, "a request over MCP could not be done");
    }
    ErrorData::internal_error(error.to_string(), None)
}

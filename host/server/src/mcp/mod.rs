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
mod listen;
mod meta;
mod question;
mod stdio;
mod tools;
mod view;
mod wait;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use longhaul::{Error, Host, TaskId};
use rmcp::RoleServer;
use rmcp::model::{ErrorData, RequestId, RequestStateCodec};
use rmcp::service::RequestContext;

pub use stdio::serve_stdio;

use self::client::Client;

/// What an operator decides about this face.
///
/// ```
/// use longhaul_server::mcp::Config;
/// use std::time::Duration;
///
/// let config = Config { wait: Duration::from_secs(40), ..Config::default() };
/// assert!(config.require_tasks.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How long a call waits for its task where it does not answer with the task: 25 s by default. Clients give up on calls
    /// after 60 s, many of them.
    pub wait: Duration,
    /// Tools (`plugin/tool`) that only clients with the tasks extension may call.
    pub require_tasks: BTreeSet<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self { wait: Duration::from_secs(25), require_tasks: BTreeSet::new() }
    }
}

/// What all sessions of a process share.
struct Face {
    host: Host,
    namespace: String,
    config: Config,
    /// Seals what a client has to send back.
    states: RequestStateCodec,
}

impl Face {
    fn new(host: &Host, namespace: &str, config: Config) -> Result<Self, Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)
            .map_err(|error| Error::Fault(format!("the system has no random numbers: {error}")))?;
        let states = RequestStateCodec::try_new(key).map_err(|error| Error::Fault(error.to_string()))?;
        Ok(Self { host: host.namespace(namespace), namespace: namespace.to_owned(), config, states })
    }
}

/// A client that is connected; by HTTP since 2026-07-28 one request of it.
#[derive(Clone)]
struct Session {
    face: Arc<Face>,
    /// The tasks that calls wait for, so that giving up a call stops its task.
    calls: Arc<Mutex<HashMap<RequestId, (Host, TaskId)>>>,
}

/// Who makes a request.
struct Caller {
    /// The host as they see it.
    host: Host,
    namespace: String,
}

impl Session {
    fn new(face: Arc<Face>) -> Self {
        Self { face, calls: Arc::default() }
    }

    fn caller(&self, _cx: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        Ok(Caller { host: self.face.host.clone(), namespace: self.face.namespace.clone() })
    }

    /// From now on, whoever gives up this call wants the task stopped.
    fn calls(&self, call: &RequestId, host: &Host, task: &TaskId) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(call.clone(), (host.clone(), task.clone()));
    }

    /// The call is answered, or its task is no longer its alone.
    fn called(&self, call: &RequestId) -> Option<(Host, TaskId)> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(call)
    }
}

impl Caller {
    /// Who is written down as having answered.
    fn by<'a>(&self, client: &'a Client) -> Option<&'a str> {
        client.name.as_deref()
    }

    fn may_answer(&self) -> Result<(), ErrorData> {
        Ok(())
    }
}

/// What is nobody's fault but ours.
fn fault(error: Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

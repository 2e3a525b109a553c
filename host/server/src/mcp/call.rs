//! `tools/call`: starts a task, and answers with it, with its result, or with what it asks.

use std::collections::BTreeSet;
use std::time::Duration;

use longhaul::{Error, Host, NewTask, Pace, TaskId};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CreateTaskResult, ErrorData, InputRequiredResult, RequestMetaObject,
    SealOptions,
};
use rmcp::service::RequestContext;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::answers::{self, Rest};
use super::client::Client;
use super::content::{result, said_error};
use super::handle::handle;
use super::question::{self, Said};
use super::tools::{Catalog, Offered};
use super::wait::{Came, Reporter, Wait};
use super::{Caller, Session, companions, fault, http, meta, view};

/// How long a person has for a form that the client shows within a call.
const FORM: Duration = Duration::from_secs(600);
/// How often a form is shown again when what was filled in is not accepted.
const TRIES: usize = 3;
/// How long a call that asked something can be sent again with the answer.
const STATE: Duration = Duration::from_secs(7 * 24 * 3_600);

/// What a client sends back when it repeats a call with answers.
#[derive(Serialize, Deserialize)]
struct State {
    task: TaskId,
}

/// Carries out a call.
pub async fn call(
    session: &Session,
    params: CallToolRequestParams,
    cx: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let caller = session.caller(cx)?;
    let client = Client::of(cx);
    if let Some(companion) = companions::named(&params.name) {
        let arguments = Value::Object(params.arguments.unwrap_or_default());
        return companion.call(session, &caller, &client, arguments, cx).await.map(Into::into);
    }
    caller.may_look()?;
    let catalog = match http::catalog_of(cx) {
        Some(catalog) => catalog,
        None => Catalog::read(&caller.host, &caller.namespace).await.map_err(fault)?.into(),
    };
    let Some(offered) = catalog.get(&params.name) else {
        let message = format!("there is no tool `{}`; there are: {}", params.name, catalog.names());
        return Err(ErrorData::invalid_params(message, None));
    };
    if session.face.config.require_tasks.contains(&offered.full_name()) {
        client.must_follow_tasks()?;
    }
    Call { session, caller: &caller, client: &client, offered, params: &params, cx }.answer().await
}

struct Call<'a> {
    session: &'a Session,
    caller: &'a Caller,
    client: &'a Client,
    offered: &'a Offered,
    params: &'a CallToolRequestParams,
    cx: &'a RequestContext<RoleServer>,
}

impl Call<'_> {
    async fn answer(&self) -> Result<CallToolResponse, ErrorData> {
        let host = &self.caller.host;
        let (id, rest) = match self.begin().await? {
            Ok(begun) => begun,
            Err(refused) => return Ok(refused),
        };
        if self.client.tasks && self.offered.tool.pace != Pace::Quick {
            return self.task(host, &id).await;
        }
        if self.session.runs(&self.cx.id, host, &id) {
            host.cancel(&id).await.map_err(unknown)?;
        }
        let answer = tokio::select! {
            answer = self.within_the_time(host, &id, rest) => answer,
            // The task goes on; if the client said that it wants no result, it was asked to stop.
            () = self.cx.ct.cancelled() => return Err(ErrorData::internal_error("the call was given up", None)),
        };
        self.session.called(&self.cx.id);
        answer
    }

    /// Its task, new or sent back with answers, and what the answers left open; or why there is none, as a result.
    async fn begin(&self) -> Result<Result<(TaskId, Rest), CallToolResponse>, ErrorData> {
        let host = &self.caller.host;
        let Some(state) = &self.params.request_state else {
            self.caller.may_act()?;
            return match host.start(self.new_task()?).await {
                Ok(started) => Ok(Ok((started.id, Rest::default()))),
                Err(error) => refused(error).map(Err),
            };
        };
        let id = self.opened(state)?;
        let task = host.task(&id).await.map_err(unknown)?;
        let responses = self.params.input_responses.clone().unwrap_or_default();
        self.caller.may_answer()?;
        let rest = answers::take(host, &task, &responses, self.caller.by(self.client)).await.map_err(fault)?;
        Ok(Ok((id, rest)))
    }

    fn new_task(&self) -> Result<NewTask, ErrorData> {
        let Offered { digest, tool, .. } = self.offered;
        let input = Value::Object(self.params.arguments.clone().unwrap_or_default());
        let mut new = NewTask::new(digest, &tool.name).input(input);
        // The SDK takes it out of the parameters.
        let meta: &RequestMetaObject = &self.cx.meta;
        if let Some(key) = meta::text(meta, meta::IDEMPOTENCY_KEY)? {
            new = new.idempotency_key(key);
        }
        if let Some(conversation) = meta::text(meta, meta::SESSION)? {
            new = new.session(conversation);
        }
        if let Some(context) = meta::value(meta, meta::CONTEXT) {
            new = new.context(context);
        }
        if let Some(locale) = meta::text(meta, meta::LOCALE)? {
            new = new.locale(locale);
        }
        if let Some(zone) = meta::text(meta, meta::TIME_ZONE)? {
            new = new.time_zone(zone);
        }
        // One that is none counts as none, as over HTTP.
        if let Some(Value::String(trace)) = meta::value(meta, meta::TRACEPARENT)
            && longhaul::is_traceparent(&trace)
        {
            new = new.traceparent(trace);
        }
        Ok(new)
    }

    /// The task itself: for a client that follows tasks. It is on disk.
    async fn task(&self, host: &Host, id: &TaskId) -> Result<CallToolResponse, ErrorData> {
        let task = host.task(id).await.map_err(fault)?;
        let shown = view::detailed(&task, self.client, host.retention()).task;
        let created = CreateTaskResult::new(shown);
        Ok(match view::extra(&task) {
            Some(meta) => created.with_meta(meta),
            None => created,
        }
        .into())
    }

    /// The result if it comes within the time, else what the client has to know to get at it.
    async fn within_the_time(&self, host: &Host, id: &TaskId, rest: Rest) -> Result<CallToolResponse, ErrorData> {
        let wait = self.session.face.config.wait;
        let reporter = self.cx.meta.get_progress_token().map(|token| Reporter::new(self.cx.peer.clone(), token));
        let mut following = Wait::on(host, id, reporter).await.map_err(fault)?;
        let mut asked = rest.dismissed;
        let mut deadline = Instant::now() + wait;
        loop {
            match following.until(deadline, &asked).await.map_err(fault)? {
                Came::Ended => return Ok(result(&following.task).into()),
                Came::TimeUp => break,
                Came::Asks if self.client.tasks || !self.client.elicits => break,
                Came::Asks if self.client.modern => {
                    let mut requests = question::input_requests(&following.task, |key| rest.problems.get(key).cloned());
                    requests.retain(|key, _| !asked.contains(key));
                    if requests.is_empty() {
                        break;
                    }
                    return Ok(InputRequiredResult::new(Some(requests), Some(self.sealed(id)?)).into());
                }
                Came::Asks => {
                    self.ask(host, &mut following, &mut asked).await?;
                    // What the person took is not the tool's time.
                    deadline = Instant::now() + wait;
                }
            }
        }
        following.look().await.map_err(fault)?;
        if following.task.state.is_terminal() {
            return Ok(result(&following.task).into());
        }
        if self.client.tasks {
            return self.task(host, id).await;
        }
        let mut handle = handle(&following.task);
        // It is no output of the tool, which a client would hold it to be.
        handle.is_error = Some(self.offered.promises_output(self.client));
        Ok(handle.into())
    }

    /// Puts one question before the person at an older client, which answers within the call.
    async fn ask(&self, host: &Host, following: &mut Wait, asked: &mut BTreeSet<String>) -> Result<(), ErrorData> {
        self.caller.may_answer()?;
        // A client that gives up on a form gives up on its call. Who was asked may still answer elsewhere.
        self.session.called(&self.cx.id);
        let is_new =
            |asking: &&longhaul::OpenQuestion| question::is_askable(asking) && !asked.contains(&question::key(asking));
        let Some(asking) = following.task.questions.iter().find(is_new).cloned() else { return Ok(()) };
        let key = question::key(&asking);
        let mut problem = None;
        for _ in 0..TRIES {
            let Some(form) = question::elicitation(&asking, problem.as_deref()) else { break };
            let answer = tokio::select! {
                answer = self.cx.peer.create_elicitation_with_timeout(form, Some(FORM)) => answer,
                settled = following.settled(&key) => {
                    settled.map_err(fault)?;
                    self.session.runs(&self.cx.id, host, &following.task.id);
                    return Ok(());
                }
            };
            // It cannot after all, or the person went away.
            let Ok(answer) = answer else { break };
            let answer = serde_json::to_value(answer).unwrap_or_default();
            problem = match question::said(&asking, &answer, self.caller.by(self.client)) {
                Ok(Said::Reply(reply)) => {
                    answers::settle(host, &following.task, &asking, reply).await.map_err(fault)?
                }
                Ok(Said::Dismissed) => break,
                Err(problem) => Some(problem),
            };
            if problem.is_none() {
                self.session.runs(&self.cx.id, host, &following.task.id);
                return following.look().await.map_err(fault);
            }
        }
        asked.insert(key);
        Ok(())
    }

    fn sealed(&self, id: &TaskId) -> Result<String, ErrorData> {
        let bound = self.bound();
        let options = SealOptions::new().ttl(STATE).associated_data(&bound);
        self.session
            .face
            .states
            .seal_json_with(&State { task: id.clone() }, &options)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    fn opened(&self, state: &str) -> Result<TaskId, ErrorData> {
        let State { task } = self.session.face.states.open_json_with(state, &self.bound()).map_err(|error| {
            let message = format!("`requestState` is not what this call was answered with: {error}");
            ErrorData::invalid_params(message, None)
        })?;
        Ok(task)
    }

    /// What a repeated call must have in common with the first one.
    fn bound(&self) -> Vec<u8> {
        let arguments = serde_json::to_string(&self.params.arguments).unwrap_or_default();
        let mut hash = Sha256::new();
        for part in [&self.caller.namespace, &*self.params.name, &arguments] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        hash.finalize().to_vec()
    }
}

/// A start that was refused. What the caller can do something about is a result, since a model reads those.
fn refused(error: Error) -> Result<CallToolResponse, ErrorData> {
    match error {
        Error::Store(_) | Error::ShuttingDown | Error::Fault(_) => Err(fault(error)),
        Error::IdempotencyMismatch { .. } => Err(ErrorData::invalid_params(error.to_string(), None)),
        refused => Ok(said_error(format!("nothing was started: {refused}")).into()),
    }
}

/// A task that is not there is a wrong parameter (SEP-2663).
pub fn unknown(error: Error) -> ErrorData {
    match error {
        Error::UnknownTask(_) => ErrorData::invalid_params(error.to_string(), None),
        error => fault(error),
    }
}

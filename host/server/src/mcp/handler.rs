//! The methods of the protocol, handed on to what does them.

use longhaul::{Reply, Task};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CancelledNotificationParam, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetTaskParams, GetTaskResult, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, SubscriptionFilter,
    Tool, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};

use super::call::unknown;
use super::client::Client;
use super::tools::Catalog;
use super::{Caller, Session, answers, call, edge, fault, http, listen, message, question, view};

/// How long a list of tools may be kept by a client, in milliseconds: plugins come and go seldom.
const TOOLS_TTL_MS: u64 = 60_000;

const INSTRUCTIONS: &str = "\
Tools here may work for seconds or weeks. A call that takes long answers with a task: it goes on in the background, also when \
this conversation ends, and other work can be done meanwhile. A task may ask a person something; pass the question on to your \
user and do not answer for them.";

impl ServerHandler for Session {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        let server = Implementation::new("longhaul", env!("CARGO_PKG_VERSION")).with_title("Longhaul");
        ServerConfig::new(capabilities).with_server_info(server).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        cx.peer.set_peer_info(request.clone());
        let mut info = self.negotiate_initialize(&request)?;
        // Who connects so speaks an older revision, which has no such extension.
        info.capabilities.extensions = None;
        Ok(info)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&cx)?;
        caller.may_look()?;
        let catalog = Catalog::read(&caller.host, &caller.namespace).await.map_err(fault)?;
        let mut list = ListToolsResult::with_all_items(catalog.list(&Client::of(&cx)));
        list.ttl_ms = Some(TOOLS_TTL_MS);
        list.cache_scope = Some(CacheScope::Private);
        Ok(list)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        http::called_tool().filter(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        call::call(self, params, &cx).await
    }

    async fn get_task(
        &self,
        params: GetTaskParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let (caller, client, task) = self.task_of(&params.task_id, &cx).await?;
        caller.may_look()?;
        let mut result = GetTaskResult::new(view::detailed(&task, &client, caller.host.retention()));
        result.meta = view::extra(&task);
        Ok(result)
    }

    async fn update_task(&self, params: UpdateTaskParams, cx: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let (caller, client, task) = self.task_of(&params.task_id, &cx).await?;
        caller.may_answer()?;
        let by = caller.by(&client);
        let rest = answers::take(&caller.host, &task, &params.input_responses, by).await.map_err(unknown)?;
        // Who follows a task has no other way to answer, so a form that was put away is not shown for ever.
        for asking in task.questions.iter().filter(|asking| rest.dismissed.contains(&question::key(asking))) {
            let reply = Reply::Declined { reason: Some("dismissed".into()), by: by.map(str::to_owned) };
            answers::settle(&caller.host, &task, asking, reply).await.map_err(unknown)?;
        }
        if rest.problems.is_empty() {
            return Ok(());
        }
        let problems: Vec<_> = rest.problems.iter().map(|(key, problem)| format!("`{key}`: {problem}")).collect();
        let message = format!("not accepted, and still open: {}", problems.join("; "));
        Err(ErrorData::invalid_params(message, None))
    }

    async fn cancel_task(&self, params: CancelTaskParams, cx: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        let (caller, _, task) = self.task_of(&params.task_id, &cx).await?;
        caller.may_act()?;
        caller.host.cancel(&task.id).await.map_err(unknown)?;
        Ok(())
    }

    /// The list of tools is not watched, so there is nothing to tell but of tasks.
    fn accepted_subscription_filter(&self, _: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(SubscriptionFilter::new())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        match request.method.as_str() {
            edge::LISTEN => listen::listen(self, request.params, &cx).await,
            // The SDK hands over what it can't read, too. Since 2026-07-28 there is no `initialize`, however it is written.
            method => {
                let wrong = (method != "initialize").then(|| message::wrong_params(method, request.params)).flatten();
                Err(wrong.unwrap_or_else(|| {
                    let problem = format!("there is no method `{method}`");
                    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, problem, None)
                }))
            }
        }
    }

    async fn on_cancelled(&self, params: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        let Some((host, task)) = params.request_id.and_then(|call| self.given_up(&call)) else { return };
        if let Err(error) = host.cancel(&task).await {
            tracing::warn!(%task, %error, "a call was given up, and its task could not be asked to stop");
        }
    }
}

impl Session {
    /// The task that a method of the extension is about.
    async fn task_of(&self, id: &str, cx: &RequestContext<RoleServer>) -> Result<(Caller, Client, Task), ErrorData> {
        let client = Client::of(cx);
        // The SDK lets an older client through that names the extension.
        client.must_follow_tasks()?;
        let caller = self.caller(cx)?;
        let id = serde_json::from_value(id.into())
            .map_err(|error| ErrorData::invalid_params(format!("at `/taskId`: {error}"), None))?;
        let task = caller.host.task(&id).await.map_err(unknown)?;
        Ok((caller, client, task))
    }
}

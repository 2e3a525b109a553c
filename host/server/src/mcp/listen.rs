//! `subscriptions/listen` to tasks: `notifications/tasks` whenever one has moved.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt as _, StreamExt as _};
use longhaul::{Host, TaskId};
use rmcp::RoleServer;
use rmcp::model::{CustomNotification, CustomResult, ErrorData, ServerNotification};
use rmcp::service::{Peer, RequestContext};
use serde_json::{Value, json};

use super::client::Client;
use super::{Session, view};

/// Between two notifications of one task: what happens meanwhile is told together.
const PAUSE: Duration = Duration::from_millis(100);
/// Tasks that one request may listen to.
const MOST: usize = 100;

/// Tells of the tasks until all have ended, or the client goes.
pub async fn listen(
    session: &Session,
    params: Option<Value>,
    cx: &RequestContext<RoleServer>,
) -> Result<CustomResult, ErrorData> {
    let client = Client::of(cx);
    client.must_follow_tasks()?;
    let caller = session.caller(cx)?;
    caller.may_look()?;
    let host = caller.host;
    let wanted = params.as_ref().and_then(|params| params.pointer("/notifications/taskIds"));
    let mut wanted: Vec<TaskId> = serde_json::from_value(wanted.cloned().unwrap_or_default())
        .map_err(|error| ErrorData::invalid_params(format!("at `/notifications/taskIds`: {error}"), None))?;
    if wanted.len() > MOST {
        let message = format!("at `/notifications/taskIds`: {} tasks; {MOST} are allowed", wanted.len());
        return Err(ErrorData::invalid_params(message, None));
    }
    wanted.sort();
    wanted.dedup();
    // What is not theirs does not exist, and is left out.
    let mut accepted = Vec::new();
    for id in wanted {
        if host.task(&id).await.is_ok() {
            accepted.push(id);
        }
    }

    let teller = Teller { peer: cx.peer.clone(), id: json!(cx.id), client, host };
    teller.tell("notifications/subscriptions/acknowledged", json!({"notifications": {"taskIds": accepted}})).await?;
    tokio::select! {
        told = join_all(accepted.iter().map(|id| teller.follow(id))) => told.into_iter().collect::<Result<(), _>>()?,
        () = cx.ct.cancelled() => {}
    }
    Ok(CustomResult::new(json!({"resultType": "complete", "_meta": {SUBSCRIPTION: teller.id}})))
}

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

struct Teller {
    peer: Peer<RoleServer>,
    /// The request that everything told belongs to.
    id: Value,
    client: Client,
    host: Host,
}

impl Teller {
    async fn follow(&self, id: &TaskId) -> Result<(), ErrorData> {
        let fault = super::call::unknown;
        let mut task = self.host.task(id).await.map_err(fault)?;
        let mut events = Box::pin(self.host.events(id, task.last_seq));
        loop {
            let shown = view::detailed(&task, &self.client, self.host.retention());
            let mut params = serde_json::to_value(shown).unwrap_or_default();
            if let Some(extra) = view::extra(&task) {
                params["_meta"] = json!(extra);
            }
            self.tell("notifications/tasks", params).await?;
            if task.state.is_terminal() {
                return Ok(());
            }
            if let Some(event) = events.next().await {
                event.map_err(fault)?;
                tokio::time::sleep(PAUSE).await;
                while let Some(Some(event)) = events.next().now_or_never() {
                    event.map_err(fault)?;
                }
            }
            task = self.host.task(id).await.map_err(fault)?;
        }
    }

    async fn tell(&self, method: &str, mut params: Value) -> Result<(), ErrorData> {
        params["_meta"][SUBSCRIPTION] = self.id.clone();
        let notification = ServerNotification::CustomNotification(CustomNotification::new(method, Some(params)));
        let gone = |error: rmcp::ServiceError| ErrorData::internal_error(error.to_string(), None);
        self.peer.send_notification(notification).await.map_err(gone)
    }
}

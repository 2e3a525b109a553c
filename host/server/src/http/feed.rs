//! The feed: completions and questions of a namespace, as new input for its sessions.

use std::sync::Arc;

use ::http::HeaderMap;
use axum::extract::State;
use axum::response::sse;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, TryStreamExt as _};
use longhaul::{EventKind, FeedItem};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::IntoParams;

use super::document::shapes;
use super::events::{last_event_id, stream, wants_a_stream};
use super::extract::{Query, limit};
use super::wait;
use crate::server::Shared;
use crate::{Principal, Problem};

/// Items of one page.
const PAGE: usize = 100;

/// Items of one page at most.
const MOST: usize = 1_000;

/// From where, and how.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(super) struct From {
    /// `next` of the answer before, or a `cursor`: what came after it. `latest`: what comes from now on. Left out: from the
    /// oldest that are kept.
    #[param(pattern = "^(latest|[0-9]{1,18})$")]
    after: Option<String>,
    /// Wait so long at most if there is nothing yet: `30s`, `500ms`; 60 s at most.
    #[param(pattern = r"^[0-9]{1,5}(s|ms)?$")]
    wait: Option<String>,
    /// Items of a page: 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// Reads the feed of the namespace: questions, their replies and the ends of tasks, each with the task's session and context, in
/// the order in which they were committed.
///
/// Tell doubles by `task` and `event.seq`. With `Accept: text/event-stream` it is a stream that goes on, each item with its
/// `cursor` as `id`; `Last-Event-ID` then counts for more than `after`. A token of the scope `answer` alone is told of questions
/// and their replies, without the context.
#[utoipa::path(
    get, path = "/v1/feed", tag = "feed",
    params(
        From,
        ("Last-Event-ID" = Option<String>, Header, description = "For a stream: the `id` of the last item that was seen"),
    ),
    responses(
        (status = 200, description = "A page of items, or a stream of them", content(
            (shapes::FeedPage = "application/json"), (shapes::ServerEvent = "text/event-stream"))),
        (status = 410, description = "Refused: what came after that cursor is not kept any more"),
    ),
)]
pub(super) async fn feed(
    State(shared): State<Arc<Shared>>,
    caller: Principal,
    Query(from): Query<From>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let host = caller.to_see_questions()?.clone();
    let questions_alone = caller.sees_questions_alone();
    let streams = wants_a_stream(&headers);
    let last = last_event_id(&headers)?.filter(|_| streams);
    let after = match last.or(from.after.as_deref()) {
        None => None,
        Some("latest") => Some(host.feed_end().await?),
        Some(number) => {
            let wrong =
                || Problem::invalid("a cursor is the `next` of an answer, the `cursor` of an item, or `latest`");
            Some(number.parse().ok().filter(|cursor| *cursor <= u64::MAX / 2).ok_or_else(wrong)?)
        }
    };
    let time = wait::duration(from.wait.as_deref())?;
    let limit = limit(from.limit, PAGE, MOST)?;
    // What is wrong with the cursor is said before a stream begins.
    let mut page = host.feed_page(after, limit).await?;
    if streams {
        let open = shared.rates.stream(&caller.token().id)?;
        let items = host.feed(after).map(move |item| {
            let item = item.ok()?;
            let Some(item) = visible(item, questions_alone) else { return Some(None) };
            let data = serde_json::to_string(&item).ok()?;
            Some(Some(sse::Event::default().id(item.cursor.to_string()).event(item.event.kind.name()).data(data)))
        });
        // Of those that are not for this caller nothing is sent; the first that is none ends the stream.
        let items = items.filter_map(|item| std::future::ready(item.map_or(Some(None), |item| item.map(Some))));
        return Ok(stream(shared, open, items));
    }
    if page.items.is_empty() && !time.is_zero() {
        let _open = shared.rates.stream(&caller.token().id)?;
        let next = page.next;
        let mut news = std::pin::pin!(host.feed(Some(next)));
        tokio::select! {
            item = news.try_next() => match item {
                // A host that stops is no reason not to answer with what is known.
                Ok(_) | Err(longhaul::Error::ShuttingDown) => {}
                Err(error) => return Err(error.into()),
            },
            () = tokio::time::sleep(time) => {}
            () = shared.closed() => {}
        }
        page = host.feed_page(Some(next), limit).await?;
    }
    let next = page.next.to_string();
    let items: Vec<_> = page.items.into_iter().filter_map(|item| visible(item, questions_alone)).collect();
    Ok(axum::Json(json!({ "items": items, "next": next })).into_response())
}

/// What a caller may see of an item. Whoever may only answer hears of questions and their replies; results, and what the
/// caller of the task attached, are none of theirs.
fn visible(mut item: FeedItem, questions_alone: bool) -> Option<FeedItem> {
    if !questions_alone {
        return Some(item);
    }
    item.context = Value::Null;
    let kind = match &item.event.kind {
        EventKind::Child { event, .. } => event,
        kind => kind,
    };
    matches!(kind, EventKind::Question(_) | EventKind::Reply { .. }).then_some(item)
}

//! Webhooks and what is delivered to them: the outbox.

use std::collections::{HashMap, VecDeque};

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use super::failure::{damaged, failed};
use super::notice::Notice;
use super::writer::Tx;
use crate::clock::Timestamp;
use crate::host::{Callback, Delivery, DeliveryState, Webhook, WebhookEvent};
use crate::journal::{Body, EventKind, NewEntry};
use crate::task::TaskId;
use crate::{Error, StoreError};

const WHAT: &str = "a webhook";

/// Keeps a webhook and its secret.
pub(crate) fn insert(tx: &Tx<'_>, namespace: &str, webhook: &Webhook, secret: &str) -> Result<(), StoreError> {
    let events = text(&webhook.events)?;
    let created_at = webhook.created_at.as_millis().cast_signed();
    let sql = "INSERT INTO webhook (id, namespace, url, secret, events, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    tx.sql
        .prepare_cached(sql)
        .and_then(|mut insert| insert.execute(params![webhook.id, namespace, webhook.url, secret, events, created_at]))
        .map_err(failed(WHAT))?;
    count(tx, namespace)
}

/// Notes with the namespace how many there are that want news, so that one without any is asked no further.
fn count(tx: &Tx<'_>, namespace: &str) -> Result<(), StoreError> {
    tx.sql
        .prepare_cached(
            "INSERT INTO namespace (name, hooks) VALUES (?1, 1) ON CONFLICT (name) DO UPDATE
             SET hooks = (SELECT count(*) FROM webhook WHERE namespace = ?1 AND disabled IS NULL)",
        )
        .and_then(|mut update| update.execute(params![namespace]))
        .map_err(failed(WHAT))?;
    Ok(())
}

/// The webhooks of a namespace, the oldest first.
pub(crate) fn list(sql: &Connection, namespace: &str) -> Result<Vec<Webhook>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT id, url, events, created_at, disabled FROM webhook WHERE namespace = ?1 ORDER BY created_at, id",
        )
        .map_err(failed(WHAT))?;
    let rows = select.query_map(params![namespace], webhook).map_err(failed(WHAT))?;
    rows.map(|row| row.map_err(failed(WHAT))?).collect()
}

/// One of them.
pub(crate) fn one(sql: &Connection, namespace: &str, id: &str) -> Result<Webhook, Error> {
    sql.prepare_cached("SELECT id, url, events, created_at, disabled FROM webhook WHERE namespace = ?1 AND id = ?2")
        .and_then(|mut select| select.query_row(params![namespace, id], webhook).optional())
        .map_err(failed(WHAT))?
        .ok_or_else(|| Error::UnknownWebhook(id.to_owned()))?
        .map_err(Error::from)
}

fn webhook(row: &Row<'_>) -> rusqlite::Result<Result<Webhook, StoreError>> {
    let events: String = row.get(2)?;
    let (id, url, disabled) = (row.get(0)?, row.get(1)?, row.get(4)?);
    let created_at = at(row.get(3)?);
    Ok(serde_json::from_str(&events)
        .map(|events| Webhook { id, url, events, created_at, disabled })
        .map_err(damaged(WHAT)))
}

/// Removes it, with what was not delivered yet.
pub(crate) fn remove(tx: &Tx<'_>, namespace: &str, id: &str) -> Result<(), Error> {
    one(tx.sql, namespace, id)?;
    for sql in ["DELETE FROM delivery WHERE webhook = ?1", "DELETE FROM webhook WHERE id = ?1"] {
        let deleted = tx.sql.prepare_cached(sql).and_then(|mut delete| delete.execute(params![id]));
        deleted.map_err(failed(WHAT))?;
    }
    Ok(count(tx, namespace)?)
}

/// Turns it off, and says why; or on again. What is to be delivered to one that is off is not.
pub(crate) fn disable(tx: &Tx<'_>, namespace: &str, id: &str, why: Option<&str>, now: Timestamp) -> Result<(), Error> {
    one(tx.sql, namespace, id)?;
    tx.sql
        .prepare_cached("UPDATE webhook SET disabled = ?2 WHERE id = ?1")
        .and_then(|mut update| update.execute(params![id, why]))
        .map_err(failed(WHAT))?;
    if why.is_some() {
        tx.sql
            .prepare_cached(
                "UPDATE delivery SET state = 'failed', due_at = NULL, ended_at = ?2, problem = 'the webhook was disabled'
                 WHERE webhook = ?1 AND due_at IS NOT NULL",
            )
            .and_then(|mut update| update.execute(params![id, now.as_millis().cast_signed()]))
            .map_err(failed(WHAT))?;
    }
    Ok(count(tx, namespace)?)
}

/// What a namespace's callbacks are signed with, made when it is first asked for.
pub(crate) fn callback_secret(tx: &Tx<'_>, namespace: &str, fresh: &str) -> Result<String, StoreError> {
    tx.sql
        .prepare_cached(
            "INSERT INTO namespace (name, secret) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET secret = coalesce(secret, ?2) RETURNING secret",
        )
        .and_then(|mut upsert| upsert.query_row(params![namespace, fresh], |row| row.get(0)))
        .map_err(failed(WHAT))
}

/// What word is sent of.
pub(super) struct Tidings<'a> {
    pub namespace: &'a str,
    pub task: i64,
    pub callback: Option<&'a str>,
    /// The `seq` of the first of `entries`.
    pub first: u64,
    pub entries: &'a [NewEntry],
}

impl Tidings<'_> {
    /// Puts what is news into the outbox: for each webhook that wants it, and for the task's callback.
    pub fn post(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let hooks = list(tx.sql, self.namespace)?;
        let callback: Option<Callback> = self.callback.map(serde_json::from_str).transpose().map_err(damaged(WHAT))?;
        let about = self.about(tx.sql)?;
        let mut posted = false;
        for (entry, seq) in self.entries.iter().zip(self.first..) {
            let Body::Event(kind, _) = &entry.body else { continue };
            let Some(event) = WebhookEvent::of(kind) else { continue };
            let body = message(event, entry.at, seq, kind, &about).to_string();
            let wants = |hook: &&Webhook| hook.disabled.is_none() && hook.wants(event);
            let hooks = hooks.iter().filter(wants).map(|hook| (Some(hook.id.as_str()), hook.url.as_str(), None));
            let callback = callback.iter().map(|callback| (None, callback.url.as_str(), callback.secret.as_deref()));
            for (hook, url, secret) in hooks.chain(callback) {
                let id = format!("msg_{}", TaskId::random(entry.at));
                let at = entry.at.as_millis().cast_signed();
                tx.sql
                    .prepare_cached(
                        "INSERT INTO delivery
                             (id, namespace, webhook, url, secret, task, event, body, created_at, due_at, receiver)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?9, ?10)",
                    )
                    .and_then(|mut insert| {
                        let (task, event) = (about["task"].as_str(), event.as_str());
                        insert.execute(params![
                            id,
                            self.namespace,
                            hook,
                            url,
                            secret,
                            task,
                            event,
                            body,
                            at,
                            receiver(url)
                        ])
                    })
                    .map_err(failed(WHAT))?;
                posted = true;
            }
        }
        if posted {
            tx.notices.push(Notice::Outbox);
        }
        Ok(())
    }

    /// What is said of the task, whatever happened to it.
    fn about(&self, sql: &Connection) -> Result<Value, StoreError> {
        let (id, session, context, tool, plugin): (String, Option<String>, String, String, Option<String>) = sql
            .prepare_cached(
                "SELECT task.id, session, context, tool, plugin.name
                 FROM task LEFT JOIN plugin ON plugin.digest = task.digest WHERE task.n = ?1",
            )
            .and_then(|mut select| {
                select.query_row(params![self.task], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
                })
            })
            .map_err(failed(WHAT))?;
        let context: Value = serde_json::from_str(&context).map_err(damaged(WHAT))?;
        let mut about = json!({ "task": id, "plugin": plugin, "tool": tool, "context": context });
        if let Some(session) = session {
            about["session"] = session.into();
        }
        Ok(about)
    }
}

/// A message is small: whoever wants the result asks for the task.
fn message(event: WebhookEvent, at: Timestamp, seq: u64, kind: &EventKind, about: &Value) -> Value {
    let mut data = about.clone();
    data["seq"] = seq.into();
    let (child, kind) = match kind {
        EventKind::Child { child, event } => (Some(child), event.as_ref()),
        own => (None, own),
    };
    if let Some(child) = child {
        data["child"] = child.as_str().into();
    }
    match kind {
        EventKind::Question(question) => data["question"] = json!(question),
        EventKind::Reply { question, reply } => {
            data["question"] = json!({ "question": question });
            data["reply"] = json!(reply);
        }
        EventKind::Ended { state, error, .. } => {
            data["state"] = state.as_str().into();
            if let Some(error) = error {
                data["error"] = json!({ "class": error.class, "code": error.code, "message": error.message });
            }
        }
        _ => {}
    }
    json!({ "type": event.as_str(), "timestamp": at, "data": data })
}

/// Something that is to be sent now.
#[derive(Debug, Clone)]
pub(crate) struct Outgo {
    pub n: i64,
    pub id: String,
    pub namespace: String,
    /// `None`: a task's callback.
    pub webhook: Option<String>,
    pub url: String,
    /// Host and port of the URL.
    pub receiver: String,
    /// `None`: it is signed with the namespace's.
    pub secret: Option<String>,
    pub body: String,
    pub tries: u32,
}

/// The namespaces that have something to send, now or later.
pub(crate) fn with_mail(sql: &Connection) -> Result<Vec<String>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT min(namespace) FROM delivery WHERE due_at IS NOT NULL AND namespace > ?1")
        .map_err(failed(WHAT))?;
    let mut found: Vec<String> = Vec::new();
    // From one to the next by the index, however much each has.
    loop {
        let last = found.last().map_or("", String::as_str);
        match select.query_row(params![last], |row| row.get(0)).map_err(failed(WHAT))? {
            Some(next) => found.push(next),
            None => return Ok(found),
        }
    }
}

const DUE: &str = "SELECT delivery.n, delivery.id, delivery.namespace, delivery.webhook, delivery.url, receiver,
        coalesce(delivery.secret, webhook.secret, namespace.secret), body, tries
    FROM delivery LEFT JOIN webhook ON webhook.id = delivery.webhook
         LEFT JOIN namespace ON namespace.name = delivery.namespace
    WHERE delivery.namespace = ?1 AND due_at IS NOT NULL AND due_at <= ?2 AND owner IS NULL
          AND receiver NOT IN (SELECT value FROM json_each(?3))
    ORDER BY due_at, delivery.n LIMIT ?4";

/// What is due at `now` in a namespace and nobody sends, the oldest first. With what is `under_way`, by receiver, it is `most` in
/// all and `to_one` to each receiver.
pub(crate) fn due(
    sql: &Connection,
    namespace: &str,
    now: Timestamp,
    mut under_way: HashMap<String, usize>,
    most: usize,
    to_one: usize,
) -> Result<VecDeque<Outgo>, StoreError> {
    let mut chosen: VecDeque<Outgo> = VecDeque::new();
    let mut room = most.saturating_sub(under_way.values().sum());
    while room > 0 {
        let busy: Vec<_> = under_way.iter().filter(|(_, n)| **n >= to_one).map(|(to, _)| to.as_str()).collect();
        let mut found = due_but_for(sql, namespace, now, &busy, most)?;
        found.retain(|outgo| chosen.iter().all(|chosen| chosen.n != outgo.n));
        if found.is_empty() {
            break;
        }
        for outgo in found {
            let count = under_way.entry(outgo.receiver.clone()).or_default();
            if *count < to_one && room > 0 {
                (*count, room) = (*count + 1, room - 1);
                chosen.push_back(outgo);
            }
        }
    }
    Ok(chosen)
}

fn due_but_for(
    sql: &Connection,
    namespace: &str,
    now: Timestamp,
    busy: &[&str],
    limit: usize,
) -> Result<Vec<Outgo>, StoreError> {
    let mut select = sql.prepare_cached(DUE).map_err(failed(WHAT))?;
    let (now, busy) = (now.as_millis().cast_signed(), text(&busy)?);
    let rows = select
        .query_map(params![namespace, now, busy, limit as i64], |row| {
            Ok(Outgo {
                n: row.get(0)?,
                id: row.get(1)?,
                namespace: row.get(2)?,
                webhook: row.get(3)?,
                url: row.get(4)?,
                receiver: row.get(5)?,
                secret: row.get(6)?,
                body: row.get(7)?,
                tries: row.get(8)?,
            })
        })
        .map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// When the next is due in a namespace, after `now`.
pub(crate) fn next_due(sql: &Connection, namespace: &str, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
    let next: Option<i64> = sql
        .prepare_cached("SELECT min(due_at) FROM delivery WHERE namespace = ?1 AND due_at > ?2 AND owner IS NULL")
        .and_then(|mut select| select.query_row(params![namespace, now.as_millis().cast_signed()], |row| row.get(0)))
        .map_err(failed(WHAT))?;
    Ok(next.map(at))
}

/// The processes that say they are sending something.
pub(crate) fn senders(sql: &Connection) -> Result<Vec<i64>, StoreError> {
    let mut select = sql
        .prepare_cached("SELECT DISTINCT owner FROM delivery WHERE due_at IS NOT NULL AND owner IS NOT NULL")
        .map_err(failed(WHAT))?;
    let rows = select.query_map([], |row| row.get(0)).map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// What that process was sending is anybody's again.
pub(crate) fn let_go(tx: &Tx<'_>, owner: i64) -> Result<(), StoreError> {
    tx.sql
        .prepare_cached("UPDATE delivery SET owner = NULL WHERE due_at IS NOT NULL AND owner = ?1")
        .and_then(|mut update| update.execute(params![owner]))
        .map_err(failed(WHAT))?;
    Ok(())
}

/// Takes deliveries on, unless others have; gives those that were taken.
pub(crate) fn take(tx: &Tx<'_>, owner: i64, wanted: &[i64]) -> Result<Vec<i64>, StoreError> {
    let mut update = tx
        .sql
        .prepare_cached("UPDATE delivery SET owner = ?2 WHERE n = ?1 AND owner IS NULL AND due_at IS NOT NULL")
        .map_err(failed(WHAT))?;
    let mut taken = Vec::with_capacity(wanted.len());
    for &n in wanted {
        if update.execute(params![n, owner]).map_err(failed(WHAT))? == 1 {
            taken.push(n);
        }
    }
    Ok(taken)
}

/// How one try went.
#[derive(Debug, Clone)]
pub(crate) struct Tried {
    pub status: Option<u16>,
    /// `None`: it was delivered.
    pub problem: Option<String>,
    /// When to try again; `None`: never.
    pub again: Option<Timestamp>,
    /// The receiver wants no more of this.
    pub gone: bool,
}

/// Writes down how a try went.
pub(crate) fn tried(tx: &Tx<'_>, sent: &Outgo, how: &Tried, now: Timestamp) -> Result<(), StoreError> {
    let state = match (&how.problem, how.again) {
        (None, _) => DeliveryState::Delivered,
        (Some(_), Some(_)) => DeliveryState::Pending,
        (Some(_), None) => DeliveryState::Failed,
    };
    let now_millis = now.as_millis().cast_signed();
    let due = how.again.filter(|_| how.problem.is_some()).map(|at| at.as_millis().cast_signed());
    tx.sql
        .prepare_cached(
            "UPDATE delivery SET state = ?2, due_at = ?3, status = ?4, problem = ?5, tries = tries + 1, tried_at = ?6,
                 ended_at = iif(?3 IS NULL, ?6, NULL), owner = NULL WHERE n = ?1",
        )
        .and_then(|mut update| {
            update.execute(params![sent.n, state.as_str(), due, how.status, how.problem, now_millis])
        })
        .map_err(failed(WHAT))?;
    if let Some(hook) = sent.webhook.as_deref().filter(|_| how.gone) {
        // It may have been removed meanwhile.
        let why = Some("its receiver answered 410 Gone");
        if let Err(Error::Store(error)) = disable(tx, &sent.namespace, hook, why, now) {
            return Err(error);
        }
    }
    Ok(())
}

/// The deliveries of a namespace before `before`, the newest first.
pub(crate) fn deliveries(
    sql: &Connection,
    namespace: &str,
    before: Option<u64>,
    limit: usize,
) -> Result<Vec<Delivery>, StoreError> {
    let mut select = sql
        .prepare_cached(
            "SELECT n, id, webhook, url, task, event, state, tries, status, problem, created_at, tried_at, due_at
             FROM delivery WHERE namespace = ?1 AND n < ?2 ORDER BY n DESC LIMIT ?3",
        )
        .map_err(failed(WHAT))?;
    let before = before.map_or(i64::MAX, u64::cast_signed);
    let rows = select
        .query_map(params![namespace, before, i64::try_from(limit).unwrap_or(i64::MAX)], |row| {
            let state: String = row.get(6)?;
            Ok(Delivery {
                cursor: row.get::<_, i64>(0)?.cast_unsigned(),
                id: row.get(1)?,
                webhook: row.get(2)?,
                url: row.get(3)?,
                task: TaskId(row.get(4)?),
                event: row.get(5)?,
                state: DeliveryState::parse(&state),
                tries: row.get(7)?,
                status: row.get(8)?,
                problem: row.get(9)?,
                created_at: at(row.get(10)?),
                tried_at: row.get::<_, Option<i64>>(11)?.map(at),
                next_at: row.get::<_, Option<i64>>(12)?.map(at),
            })
        })
        .map_err(failed(WHAT))?;
    rows.collect::<Result<_, _>>().map_err(failed(WHAT))
}

/// Sends it once more, under the same id.
pub(crate) fn redeliver(tx: &mut Tx<'_>, namespace: &str, id: &str, now: Timestamp) -> Result<(), Error> {
    let changed = tx
        .sql
        .prepare_cached(
            "UPDATE delivery SET state = 'pending', due_at = ?3, tries = 0, ended_at = NULL
             WHERE namespace = ?1 AND id = ?2",
        )
        .and_then(|mut update| update.execute(params![namespace, id, now.as_millis().cast_signed()]))
        .map_err(failed(WHAT))?;
    if changed == 0 {
        return Err(Error::UnknownDelivery(id.to_owned()));
    }
    tx.notices.push(Notice::Outbox);
    Ok(())
}

/// How many deliveries are still to be made.
pub(crate) fn pending(sql: &Connection) -> Result<u64, StoreError> {
    sql.prepare_cached("SELECT count(*) FROM delivery WHERE due_at IS NOT NULL")
        .and_then(|mut select| select.query_row([], |row| row.get::<_, i64>(0)))
        .map(i64::cast_unsigned)
        .map_err(failed(WHAT))
}

/// Deletes deliveries that ended before `before`, some at once. Says whether there may be more.
pub(crate) fn forget(tx: &mut Tx<'_>, before: Timestamp) -> Result<bool, StoreError> {
    const ROWS: usize = 1_000;
    let gone = tx
        .sql
        .prepare_cached(
            "DELETE FROM delivery WHERE n IN (
                 SELECT n FROM delivery WHERE ended_at IS NOT NULL AND ended_at < ?1 LIMIT ?2)",
        )
        .and_then(|mut delete| delete.execute(params![before.as_millis().cast_signed(), ROWS as i64]))
        .map_err(failed(WHAT))?;
    Ok(gone == ROWS)
}

/// Whom a URL leads to, whatever it asks of them.
fn receiver(url: &str) -> String {
    let parsed = url::Url::parse(url).ok();
    let known = parsed.as_ref().and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    known.map_or_else(|| url.to_owned(), |(host, port)| format!("{host}:{port}"))
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis.max(0).cast_unsigned())
}

fn text(value: &impl serde::Serialize) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Failed { what: WHAT, problem: error.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::schema::{open_writer, plan};

    #[test]
    fn promise_8_what_is_due_in_a_namespace_is_found_without_looking_at_others() {
        let dir = tempfile::tempdir().unwrap();
        let sql = open_writer(&dir.path().join("longhaul.db")).unwrap();
        let plan = plan(&sql, DUE);
        let within = "SEARCH delivery USING INDEX delivery_due (namespace=? AND due_at";
        assert!(plan.iter().any(|step| step.starts_with(within)), "{plan:?}");
        assert!(!plan.iter().any(|step| step.contains("SCAN delivery")), "{plan:?}");
    }

    #[test]
    fn a_receiver_is_a_host_and_a_port() {
        assert_eq!(receiver("https://desk.example.com/a?b"), "desk.example.com:443");
        assert_eq!(receiver("https://desk.example.com:443/b"), "desk.example.com:443");
        assert_eq!(receiver("http://[::1]:9/"), "[::1]:9");
    }
}

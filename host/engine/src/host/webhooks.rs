//! Webhooks: word of what happened, sent to whoever wants it, until it was received.
//!
//! As [Standard Webhooks](https://www.standardwebhooks.com) has it: a message has an id that stays the same however often it is
//! sent, and is signed.

use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use url::{Host as UrlHost, Url};

use super::Host;
use crate::journal::EventKind;
use crate::task::{TaskId, TaskState};
use crate::{Error, Timestamp, store};

/// Bytes of a URL.
const URL_BYTES: usize = 2 << 10;

/// Webhooks of one namespace: each is a row for every message.
const WEBHOOKS: usize = 32;

/// What a message may be about. Children of a task are told of with the task that nobody started from within another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum WebhookEvent {
    /// A task returned a result.
    #[serde(rename = "task.completed")]
    Completed,
    /// A task failed.
    #[serde(rename = "task.failed")]
    Failed,
    /// A task was stopped, as it was asked to.
    #[serde(rename = "task.cancelled")]
    Cancelled,
    /// A task, or a child of it, asks something.
    #[serde(rename = "question.asked")]
    Asked,
    /// A question is settled: nobody needs to answer any more.
    #[serde(rename = "question.settled")]
    Settled,
}

impl WebhookEvent {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Completed, Self::Failed, Self::Cancelled, Self::Asked, Self::Settled];

    /// The name used as `type` of a message.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "task.completed",
            Self::Failed => "task.failed",
            Self::Cancelled => "task.cancelled",
            Self::Asked => "question.asked",
            Self::Settled => "question.settled",
        }
    }

    /// What an entry of a root's journal is told as.
    pub(crate) fn of(kind: &EventKind) -> Option<Self> {
        match kind {
            EventKind::Ended { state: TaskState::Completed, .. } => Some(Self::Completed),
            EventKind::Ended { state: TaskState::Cancelled, .. } => Some(Self::Cancelled),
            EventKind::Ended { .. } => Some(Self::Failed),
            EventKind::Question(_) => Some(Self::Asked),
            EventKind::Reply { .. } => Some(Self::Settled),
            EventKind::Child { event, .. } => match event.as_ref() {
                EventKind::Question(_) => Some(Self::Asked),
                EventKind::Reply { .. } => Some(Self::Settled),
                _ => None,
            },
            _ => None,
        }
    }
}

/// A webhook to set up.
///
/// ```
/// use longhaul::{NewWebhook, WebhookEvent};
///
/// let webhook = NewWebhook::new("https://desk.example.com/hooks/longhaul").events([WebhookEvent::Asked]);
/// ```
#[derive(Debug, Clone)]
pub struct NewWebhook {
    url: String,
    events: Vec<WebhookEvent>,
    secret: Option<String>,
}

impl NewWebhook {
    /// One that is sent word of everything, at that address: `https`, and public unless the host allows others
    /// ([`HostBuilder::webhooks_to_private`](crate::HostBuilder::webhooks_to_private)).
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), events: WebhookEvent::ALL.to_vec(), secret: None }
    }

    /// What it is sent word of.
    #[must_use]
    pub fn events(mut self, events: impl IntoIterator<Item = WebhookEvent>) -> Self {
        self.events = events.into_iter().collect();
        self
    }

    /// What its messages are signed with, if the receiver has a secret already: `whsec_` and 24 to 64 bytes in Base64.
    #[must_use]
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.secret = Some(secret.into());
        self
    }
}

/// A webhook, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Webhook {
    /// Its name.
    pub id: String,
    /// Where messages are sent to.
    pub url: String,
    /// What it is sent word of.
    pub events: Vec<WebhookEvent>,
    /// When it was set up.
    pub created_at: Timestamp,
    /// Why nothing is sent to it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled: Option<String>,
}

impl Webhook {
    pub(crate) fn wants(&self, event: WebhookEvent) -> bool {
        self.events.contains(&event)
    }
}

/// Where one task's caller wants to be told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Callback {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// A message to one receiver, and how it fares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Delivery {
    /// Where a list goes on.
    pub cursor: u64,
    /// The message's `webhook-id`: the same however often it is sent.
    pub id: String,
    /// The webhook that it is for; `None`: a task's callback.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub webhook: Option<String>,
    /// Where it is sent to.
    pub url: String,
    /// The task that it tells of.
    pub task: TaskId,
    /// What it tells.
    pub event: String,
    /// Whether it has been received.
    pub state: DeliveryState,
    /// How often it was sent.
    pub tries: u32,
    /// What the receiver answered last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why the last try was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// When what it tells happened.
    pub created_at: Timestamp,
    /// When it was sent last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tried_at: Option<Timestamp>,
    /// When it is sent next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_at: Option<Timestamp>,
}

/// Whether a message has been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryState {
    /// It is sent again until it is.
    Pending,
    /// It has.
    Delivered,
    /// It was sent for days, or its receiver wants no more.
    Failed,
}

impl DeliveryState {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Delivered => "delivered",
            Self::Failed => "failed",
        }
    }

    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "delivered" => Self::Delivered,
            "failed" => Self::Failed,
            _ => Self::Pending,
        }
    }
}

impl Host {
    /// Sets up a webhook for this namespace, and gives its secret, which can't be had again.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if the address or the secret is none that this host takes, or there are too many.
    pub async fn add_webhook(&self, new: NewWebhook) -> Result<(Webhook, String), Error> {
        let url = self.receiver("the webhook's URL", &new.url)?;
        if new.events.is_empty() {
            let allowed = "name at least one".to_owned();
            return Err(Error::OutOfRange { what: "the list of events", value: "empty".into(), allowed });
        }
        let secret = match new.secret {
            Some(secret) => signing_secret(secret)?,
            None => fresh_secret()?,
        };
        let now = self.runner().clock.now();
        let id = format!("wh_{}", TaskId::random(now));
        let webhook = Webhook { id, url, events: new.events, created_at: now, disabled: None };
        let (namespace, kept, key) = (self.namespace.clone(), webhook.clone(), secret.clone());
        self.runner()
            .store
            .write("the webhook", move |tx| {
                let there = store::webhooks(tx.sql, &namespace)?.len();
                if there >= WEBHOOKS {
                    let allowed = format!("a namespace may have {WEBHOOKS}; remove one");
                    let value = format!("{there} already");
                    return Err(Error::OutOfRange { what: "the number of webhooks", value, allowed });
                }
                Ok(store::insert_webhook(tx, &namespace, &kept, &key)?)
            })
            .await?;
        Ok((webhook, secret))
    }

    /// The webhooks of this namespace, the oldest first.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn webhooks(&self) -> Result<Vec<Webhook>, Error> {
        let namespace = self.namespace.clone();
        self.read(move |runner| Ok(runner.store.read(|sql| store::webhooks(sql, &namespace))?)).await
    }

    /// Removes a webhook, with what was not delivered to it yet.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownWebhook`].
    pub async fn remove_webhook(&self, id: &str) -> Result<(), Error> {
        let (namespace, id) = (self.namespace.clone(), id.to_owned());
        self.runner().store.write("the removal", move |tx| store::remove_webhook(tx, &namespace, &id)).await
    }

    /// Sends to a webhook again that was disabled, because its receiver had answered `410 Gone`.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownWebhook`].
    pub async fn enable_webhook(&self, id: &str) -> Result<(), Error> {
        let (namespace, id, now) = (self.namespace.clone(), id.to_owned(), self.runner().clock.now());
        self.runner().store.write("the webhook", move |tx| store::disable_webhook(tx, &namespace, &id, None, now)).await
    }

    /// What messages to callbacks of this namespace's tasks are signed with, where the task brought no secret of its own.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn callback_secret(&self) -> Result<String, Error> {
        let (namespace, fresh) = (self.namespace.clone(), fresh_secret()?);
        let secret = move |tx: &mut store::Tx<'_>| Ok::<_, Error>(store::callback_secret(tx, &namespace, &fresh)?);
        self.runner().store.write("the secret", secret).await
    }

    /// The messages of this namespace before the cursor `before`, the newest first, `limit` at most.
    ///
    /// # Errors
    ///
    /// [`Error::Store`].
    pub async fn deliveries(&self, before: Option<u64>, limit: usize) -> Result<Vec<Delivery>, Error> {
        let namespace = self.namespace.clone();
        self.read(move |runner| Ok(runner.store.read(|sql| store::deliveries(sql, &namespace, before, limit))?)).await
    }

    /// Sends a message again, under the same id, whatever became of it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownDelivery`].
    pub async fn redeliver(&self, id: &str) -> Result<(), Error> {
        let (namespace, id, now) = (self.namespace.clone(), id.to_owned(), self.runner().clock.now());
        self.runner().store.write("the delivery", move |tx| store::redeliver(tx, &namespace, &id, now)).await
    }

    /// The address of a receiver, if this host may send to it. Where its name leads is looked at when something is sent.
    pub(super) fn receiver(&self, what: &'static str, url: &str) -> Result<String, Error> {
        let private = self.runner().webhooks_to_private;
        let wrong = |allowed: &str| {
            let value = format!("`{}`", crate::json::cut(url));
            Err(Error::OutOfRange { what, value, allowed: allowed.to_owned() })
        };
        if url.len() > URL_BYTES {
            return wrong("it may have 2 KiB");
        }
        let Ok(parsed) = Url::parse(url) else {
            return wrong("it must be a URL such as https://desk.example.com/hook");
        };
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return wrong("it must have no user in it");
        }
        match parsed.scheme() {
            "https" => {}
            "http" if private => {}
            _ => return wrong("it must be https, unless this host sends to private addresses"),
        }
        let address = match parsed.host() {
            Some(UrlHost::Ipv4(address)) => Some(IpAddr::V4(address)),
            Some(UrlHost::Ipv6(address)) => Some(IpAddr::V6(address)),
            Some(UrlHost::Domain(_)) => None,
            None => return wrong("it must name a host"),
        };
        if address.is_some_and(|address| !crate::egress::is_public(address)) && !private {
            return wrong("its address must be public, unless this host sends to private ones");
        }
        Ok(parsed.into())
    }
}

/// A secret that somebody brought.
pub(super) fn signing_secret(secret: String) -> Result<String, Error> {
    let key = secret.strip_prefix("whsec_").and_then(|key| STANDARD.decode(key).ok());
    if key.is_none_or(|key| !(24..=64).contains(&key.len())) {
        let allowed = "it must be `whsec_` and 24 to 64 bytes in Base64".to_owned();
        return Err(Error::OutOfRange { what: "the signing secret", value: "another text".into(), allowed });
    }
    Ok(secret)
}

pub(crate) fn fresh_secret() -> Result<String, Error> {
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|error| Error::Fault(format!("the system has no random numbers: {error}")))?;
    Ok(format!("whsec_{}", STANDARD.encode(key)))
}

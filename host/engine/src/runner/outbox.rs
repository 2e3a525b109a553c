//! Sending what lies in the outbox, until it was received.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use standardwebhooks::Webhook as Signer;
use tokio::sync::watch as channel;
use tokio::task::JoinSet;

use super::{Runner, blocking};
use crate::clock::Timestamp;
use crate::egress::{Allowed, Bounds, HttpRule, Outgoing, Whose};
use crate::store::{self, Outgo, Tried};
use crate::task::jitter;
use crate::{Error, StoreError};

/// Waits between tries, as Standard Webhooks advises: some three days in all.
const WAITS: [Duration; 9] = [
    Duration::from_secs(5),
    Duration::from_secs(5 * 60),
    Duration::from_secs(30 * 60),
    Duration::from_secs(2 * 3_600),
    Duration::from_secs(5 * 3_600),
    Duration::from_secs(10 * 3_600),
    Duration::from_secs(14 * 3_600),
    Duration::from_secs(20 * 3_600),
    Duration::from_secs(24 * 3_600),
];

/// Messages on their way at once: each is a connection.
const TOGETHER: usize = 128;
/// Of these, from one namespace: however many receivers of a tenant are silent, those of others hear.
const OF_ONE: usize = 16;
/// Of these, to one receiver: a slow one does not hold up the others.
const TO_ONE: usize = 4;

/// How long a receiver may take. What it does with a message it should do afterwards.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a receiver may answer: nobody reads it.
const ANSWER: u64 = 64 << 10;

/// Sends what is due, until the host stops.
pub(super) async fn watch(runner: Weak<Runner>, mut stopping: channel::Receiver<bool>) {
    let mut outbox = Outbox::default();
    loop {
        let Some(runner) = runner.upgrade() else { return };
        // A command runs the task it was given, and sends no messages of others.
        if !runner.take_over {
            return;
        }
        let clock = runner.clock.clone();
        let posted = runner.outbox.notified();
        tokio::pin!(posted);
        posted.as_mut().enable();
        let next = match runner.pick_up(&mut outbox).await {
            Ok(next) => next,
            Err(error) => {
                tracing::warn!("the outbox could not be read, and is looked at again: {error}");
                Some(clock.now().after(Duration::from_secs(1)))
            }
        };
        let due = async {
            match next {
                Some(next) => clock.sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = stopping.wait_for(|stopping| *stopping) => return,
            Some(sent) = outbox.tasks.join_next_with_id() => outbox.arrived(match sent {
                Ok((id, ())) => id,
                Err(error) => error.id(),
            }),
            () = &mut posted => {}
            () = due => {}
            // Lets go of the runner now and then; and what a dead process was sending is found.
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
}

/// The messages that are on their way from this process.
#[derive(Default)]
struct Outbox {
    tasks: JoinSet<()>,
    /// From which namespace and to which receiver each of them is, by its task: that tells of it however it ends.
    lanes: HashMap<tokio::task::Id, (String, String)>,
    /// The namespace that was served last.
    last: String,
}

impl Outbox {
    fn arrived(&mut self, task: tokio::task::Id) {
        self.lanes.remove(&task);
    }

    /// How many there are of a namespace, by their receivers.
    fn of(&self, namespace: &str) -> HashMap<String, usize> {
        let mut count = HashMap::new();
        for (_, receiver) in self.lanes.values().filter(|(from, _)| from == namespace) {
            *count.entry(receiver.clone()).or_default() += 1;
        }
        count
    }
}

/// One of each in turns, as long as there is room.
fn in_turns(mut all: Vec<VecDeque<Outgo>>, room: usize) -> Vec<Outgo> {
    let mut chosen = Vec::new();
    while chosen.len() < room && !all.is_empty() {
        chosen.extend(all.iter_mut().filter_map(VecDeque::pop_front).take(room - chosen.len()));
        all.retain(|of_one| !of_one.is_empty());
    }
    chosen
}

impl Runner {
    /// Begins to send what is due; says when the next is.
    async fn pick_up(self: &Arc<Self>, outbox: &mut Outbox) -> Result<Option<Timestamp>, Error> {
        let room = TOGETHER.saturating_sub(outbox.tasks.len());
        if room == 0 {
            return Ok(None);
        }
        let (runner, last) = (self.clone(), outbox.last.clone());
        let namespaces = blocking(move || Ok(runner.store.read(store::with_mail)?)).await?;
        // Where there is not room for all, another is the first each time.
        let (before, after): (Vec<_>, Vec<_>) = namespaces.into_iter().partition(|namespace| *namespace <= last);
        let lanes: Vec<_> = after.into_iter().chain(before).map(|name| (outbox.of(&name), name)).collect();
        outbox.last = lanes.first().map(|(_, name)| name.clone()).unwrap_or_default();
        let runner = self.clone();
        let (senders, due, next) = blocking(move || {
            let now = runner.clock.now();
            let found = runner.store.read(|sql| {
                let (mut all, mut next) = (Vec::new(), None);
                for (under_way, namespace) in lanes {
                    all.push(store::outbox(sql, &namespace, now, under_way, OF_ONE, TO_ONE)?);
                    next = [next, store::next_due(sql, &namespace, now)?].into_iter().flatten().min();
                }
                Ok::<_, StoreError>((store::senders(sql)?, in_turns(all, room), next))
            });
            Ok(found?)
        })
        .await?;
        for owner in senders {
            // What was on its way when its sender died may have arrived: it is sent again, under the same id.
            if owner != self.owners.me() && !self.owners.lives(owner) {
                let let_go = move |tx: &mut store::Tx<'_>| Ok::<_, Error>(store::let_go(tx, owner)?);
                self.store.write("deliveries", let_go).await?;
                self.outbox.notify_one();
            }
        }
        let wanted: Vec<i64> = due.iter().map(|outgo| outgo.n).collect();
        if wanted.is_empty() {
            return Ok(next);
        }
        let me = self.owners.me();
        let take = move |tx: &mut store::Tx<'_>| Ok::<_, Error>(store::take_deliveries(tx, me, &wanted)?);
        let taken: HashSet<i64> = self.store.write("deliveries", take).await?.into_iter().collect();
        for outgo in due.into_iter().filter(|outgo| taken.contains(&outgo.n)) {
            let (runner, lane) = (self.clone(), (outgo.namespace.clone(), outgo.receiver.clone()));
            let task = outbox.tasks.spawn(async move {
                if let Err(error) = runner.deliver_message(outgo).await {
                    tracing::warn!("how a message fared could not be written down: {error}");
                }
            });
            outbox.lanes.insert(task.id(), lane);
        }
        Ok(next)
    }

    /// Sends one message, and writes down how that went.
    async fn deliver_message(self: &Arc<Self>, outgo: Outgo) -> Result<(), Error> {
        let mut stopping = self.stopping.subscribe();
        let answered = tokio::select! {
            answered = self.send_message(&outgo) => answered,
            // It stays what it is: somebody else's when this host is gone.
            _ = stopping.wait_for(|stopping| *stopping) => return Ok(()),
        };
        let now = self.clock.now();
        let how = tried(&outgo, answered, now);
        self.counts.message(&how);
        if let Some(problem) = &how.problem {
            tracing::debug!(id = outgo.id, url = outgo.url, "a message was not received: {problem}");
        }
        let write = move |tx: &mut store::Tx<'_>| Ok::<_, Error>(store::delivery_tried(tx, &outgo, &how, now)?);
        self.store.write("how a message fared", write).await
    }

    /// The status of the answer, and when its sender wants to be asked again.
    async fn send_message(&self, outgo: &Outgo) -> Result<(u16, Option<Duration>), String> {
        let secret = match &outgo.secret {
            Some(secret) => secret.clone(),
            None => {
                let (namespace, fresh) = (outgo.namespace.clone(), crate::host::fresh_secret());
                let fresh = fresh.map_err(|error| error.to_string())?;
                let make =
                    move |tx: &mut store::Tx<'_>| Ok::<_, Error>(store::callback_secret(tx, &namespace, &fresh)?);
                self.store.write("the secret", make).await.map_err(|error| error.to_string())?
            }
        };
        let seconds = i64::try_from(self.clock.now().as_millis() / 1_000).unwrap_or(i64::MAX);
        let signer = Signer::new(&secret).map_err(|error| format!("it can't be signed: {error}"))?;
        let signature = signer
            .sign(&outgo.id, seconds, outgo.body.as_bytes())
            .map_err(|error| format!("it can't be signed: {error}"))?;
        let request = request(outgo, seconds, &signature)?;
        let rules = [rule(&request.url, self.webhooks_to_private)?];
        let whose = Whose { namespace: &outgo.namespace, plugin: None };
        let allowed = Allowed { whose, rules: &rules, secrets: &[], seed: &[0; 32] };
        let bounds = Bounds { body_bytes: ANSWER, header_bytes: 64 << 10, first_byte: PATIENCE, total: PATIENCE };
        let response = self.egress.send(allowed, &bounds, request).await.map_err(|failure| failure.to_string())?;
        let after = response.headers.get(http::header::RETRY_AFTER).and_then(|after| after.to_str().ok());
        Ok((response.status.as_u16(), after.and_then(|after| after.parse().ok()).map(Duration::from_secs)))
    }
}

fn request(outgo: &Outgo, seconds: i64, signature: &str) -> Result<Outgoing, String> {
    let url = url::Url::parse(&outgo.url).map_err(|error| error.to_string())?;
    let mut headers = http::HeaderMap::new();
    let mut set = |name: &'static str, value: &str| {
        let value = http::HeaderValue::from_str(value).map_err(|error| error.to_string())?;
        headers.insert(name, value);
        Ok::<_, String>(())
    };
    set("content-type", "application/json")?;
    set("user-agent", concat!("longhaul/", env!("CARGO_PKG_VERSION")))?;
    set("webhook-id", &outgo.id)?;
    set("webhook-timestamp", &seconds.to_string())?;
    set("webhook-signature", signature)?;
    let body = bytes::Bytes::from(outgo.body.clone());
    Ok(Outgoing {
        method: http::Method::POST,
        url,
        headers,
        body,
        trailers: None,
        connect_timeout: None,
        first_byte_timeout: None,
        between_bytes_timeout: None,
    })
}

/// What lets a message go to its receiver and nowhere else.
fn rule(url: &url::Url, private: bool) -> Result<HttpRule, String> {
    let (host, port) = (url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(443));
    let named = matches!(url.host(), Some(url::Host::Domain(_)));
    let private = if named && private { " private" } else { "" };
    HttpRule::parse(&format!("{}://{host}:{port}{private}", url.scheme()))
}

fn tried(outgo: &Outgo, answered: Result<(u16, Option<Duration>), String>, now: Timestamp) -> Tried {
    let (status, asked, problem) = match answered {
        Ok((status @ 200..=299, _)) => return Tried { status: Some(status), problem: None, again: None, gone: false },
        Ok((status, asked)) => (Some(status), asked, format!("the receiver answered {status}")),
        Err(problem) => (None, None, problem),
    };
    let gone = status == Some(410);
    let wait = WAITS.get(outgo.tries as usize).filter(|_| !gone);
    let again = wait.map(|&wait| {
        // Those that failed together are not all sent together again. What is told here is no secret: the id will do for chance.
        let chance = jitter(&seed(&outgo.id, outgo.tries));
        let wait = wait.mul_f64(0.9 + 0.2 * chance);
        now.after(asked.map_or(wait, |asked| wait.max(asked.min(Duration::from_secs(24 * 3_600)))))
    });
    Tried { status, problem: Some(problem), again, gone }
}

fn seed(id: &str, tries: u32) -> [u8; 32] {
    use sha2::{Digest as _, Sha256};
    Sha256::digest(format!("{id} {tries}")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outgo(tries: u32) -> Outgo {
        Outgo {
            n: 1,
            id: "msg_1".into(),
            namespace: "default".into(),
            webhook: None,
            url: "https://desk.example.com/hook".into(),
            receiver: "desk.example.com:443".into(),
            secret: None,
            body: "{}".into(),
            tries,
        }
    }

    #[test]
    fn a_message_is_tried_ten_times_over_days_and_then_no_more() {
        let mut now = Timestamp::from_millis(0);
        for tries in 0..9 {
            let how = tried(&outgo(tries), Ok((500, None)), now);
            let again = how.again.expect("another try");
            let (wait, most) = (again.since(now), WAITS[tries as usize].mul_f64(1.1));
            assert!(wait <= most && wait >= WAITS[tries as usize].mul_f64(0.89), "{wait:?} after try {tries}");
            now = again;
        }
        assert!(now.as_millis() > 2 * 24 * 3_600_000, "days");
        let last = tried(&outgo(9), Err("refused".into()), now);
        assert_eq!((last.again, last.problem.as_deref()), (None, Some("refused")));
    }

    #[test]
    fn a_receiver_says_that_it_has_it_that_it_wants_no_more_or_when_to_come_again() {
        let now = Timestamp::from_millis(0);
        let done = tried(&outgo(0), Ok((204, None)), now);
        assert!(done.problem.is_none() && !done.gone);
        let gone = tried(&outgo(0), Ok((410, None)), now);
        assert!(gone.gone && gone.again.is_none());
        let busy = tried(&outgo(0), Ok((429, Some(Duration::from_secs(600)))), now);
        assert_eq!(busy.again, Some(Timestamp::from_millis(600_000)));
        let redirected = tried(&outgo(0), Ok((302, None)), now);
        assert!(redirected.problem.is_some(), "a redirect is not followed, and is no receipt");
    }

    #[test]
    fn a_message_may_go_to_its_receiver_and_to_private_addresses_only_where_that_is_allowed() {
        let rule = |url: &str, private| rule(&url.parse().unwrap(), private).unwrap().to_string();
        assert_eq!(rule("https://desk.example.com/hook", false), "desk.example.com");
        assert!(rule("https://desk.example.com:8443/hook", true).contains("8443 private"));
        assert!(rule("http://[::1]:9/hook", true).contains("[::1]:9"));
    }
}

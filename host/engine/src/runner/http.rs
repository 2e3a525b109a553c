//! HTTP requests of a running guest: counted, judged, sent, and what comes back.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::sync::oneshot;

use super::{Runner, trace};
use crate::clock::{Clock, Timestamp};
use crate::egress::{self, Allowed, Bounds, Code, Egress, Failure, HttpRule, Incoming, Outgoing, Whose};
use crate::error::remedy;
use crate::journal::EventKind;
use crate::limits::{CANCEL_GRACE, Limit, Limits};
use crate::plugin::{Manifest, Need, NeedKind};
use crate::policy::{Rights, allowed};
use crate::sandbox::{Inbox, Outcome, Run, Sent};
use crate::store::{HttpUse, RunRow};

type Sending = Pin<Box<dyn Future<Output = Back> + Send>>;

const SPENT: &str = "the bodies of its HTTP requests and responses have too many bytes in all";

/// The requests that are under way.
pub(super) struct UnderWay<'a> {
    runner: &'a Arc<Runner>,
    row: &'a RunRow,
    manifest: &'a Manifest,
    sending: FuturesUnordered<Sending>,
    /// What the task has used in all.
    used: HttpUse,
    /// What of it is not on disk.
    uncharged: HttpUse,
    seed: [u8; 32],
}

/// What came back, and who waits for it.
pub(super) struct Back {
    outcome: Outcome,
    done: oneshot::Sender<Outcome>,
}

impl<'a> UnderWay<'a> {
    /// `seed`: the task's.
    pub fn new(runner: &'a Arc<Runner>, row: &'a RunRow, manifest: &'a Manifest, seed: [u8; 32]) -> Self {
        let (sending, uncharged) = (FuturesUnordered::new(), HttpUse::default());
        Self { runner, row, manifest, sending, used: row.http, uncharged, seed }
    }

    /// Counts a request, or says which limit it is beyond. One that is sent again was counted when it was first sent.
    pub fn count(&mut self, sent: &Sent) -> Result<(), Failure> {
        let limits = &self.row.limits;
        let beyond =
            |limit, what: &str| Err(Failure::unsent(Code::Internal, format!("{what} ({})", limits.said(limit))));
        if self.sending.len() as u64 >= limits.http_in_flight {
            return beyond(Limit::http_in_flight, "too many HTTP requests are under way at once");
        }
        if sent.again {
            return Ok(());
        }
        if self.used.exchanges >= limits.http_exchanges {
            return beyond(Limit::http_exchanges, "the task has sent as many HTTP requests as it may");
        }
        if self.used.bytes.saturating_add(sent.request.body.len() as u64) > limits.http_bytes {
            return beyond(Limit::http_bytes, SPENT);
        }
        self.charge(HttpUse { exchanges: 1, bytes: sent.request.body.len() as u64 });
        Ok(())
    }

    /// Sends a request. Everything that explains it is on disk.
    pub fn send(&mut self, sent: Sent, inbox: &Arc<Inbox>) {
        let Sent { mut request, again, mut done } = sent;
        let (runner, row) = (self.runner, self.row);
        // After the journal's entry: it differs each time, and is the host's.
        if let Some(trace) = row.traceparent.as_deref().and_then(trace::next) {
            request.headers.entry("traceparent").or_insert(trace);
        }
        let rights = runner.rights(row, self.manifest);
        let limits = &row.limits;
        let left = limits.http_bytes.saturating_sub(self.used.bytes);
        let bounds = Bounds {
            body_bytes: limits.http_body.min(left),
            header_bytes: usize::try_from(limits.http_headers).unwrap_or(usize::MAX),
            first_byte: limits.http_first_byte,
            total: limits.http_time,
        };
        let (egress, seed) = (runner.egress.clone(), self.seed);
        let (namespace, plugin) = (row.namespace.clone(), self.manifest.name.clone());
        // What the task has left may be less than one body may have.
        let (limits, short) = (*limits, left < limits.http_body);
        let (clock, began) = (runner.clock.clone(), runner.clock.now());
        let stopped = stopped(clock.clone(), inbox.clone(), began);
        self.sending.push(Box::pin(async move {
            let whose = Whose { namespace: &namespace, plugin: Some(&plugin) };
            let result = tokio::select! {
                biased;
                // The guest has given it up: nobody hears what became of it.
                () = done.closed() => Err(Failure::sent(Code::Internal, "the tool has given it up")),
                result = judged(egress, whose, rights, seed, bounds, request, again) => result,
                () = stopped => {
                    Err(Failure::sent(Code::Internal, "the task is asked to stop, and there was no response yet"))
                }
            };
            let result = result.map_err(|failure| match failure.limit {
                Some(Limit::http_body) if short => spent(&limits),
                Some(limit) => {
                    Failure { why: format!("{} ({})", failure.why, limits.said(limit)), limit: None, ..failure }
                }
                None => failure,
            });
            let millis = u64::try_from(clock.now().since(began).as_millis()).unwrap_or(u64::MAX);
            Back { outcome: Outcome { result, millis }, done }
        }));
    }

    /// The next that comes back; for ever, if none is under way.
    pub async fn next(&mut self) -> Back {
        poll_fn(|cx| match self.sending.poll_next_unpin(cx) {
            Poll::Ready(Some(back)) => Poll::Ready(back),
            Poll::Ready(None) | Poll::Pending => Poll::Pending,
        })
        .await
    }

    /// Tells the guest, and its journal if it was refused.
    pub fn tell(&mut self, back: Back, run: &Run) {
        let Back { mut outcome, done } = back;
        if let Ok(Incoming { body, .. }) = &outcome.result {
            let limits = &self.row.limits;
            self.charge(HttpUse { exchanges: 0, bytes: body.len() as u64 });
            // Others came back while this one was under way.
            if self.used.bytes > limits.http_bytes {
                outcome.result = Err(spent(limits));
            }
        }
        if let Err(Failure { code: Code::Refused { what }, why, .. }) = &outcome.result {
            let why = format!("{why}; {}", self.remedy(what));
            run.recorder().aside(run.now(), EventKind::Refused { what: what.clone(), why });
        }
        // One that was given up has nobody who waits.
        let _ = done.send(outcome);
    }

    /// What would have to be added, and by whom, so that a request to that host is allowed.
    fn remedy(&self, what: &str) -> String {
        let granted = HttpRule::parse(what);
        let declares = |need: &Need| {
            need.kind == NeedKind::Http && granted.as_ref().is_ok_and(|rule| allowed(&need.name, rule).is_some())
        };
        match self.manifest.needs.iter().any(declares) {
            true => remedy(&self.manifest.name, NeedKind::Http, what),
            false => format!("`{}` declares no need of it: its manifest has to, under `needs`", self.manifest.name),
        }
    }

    /// What the task has used in all.
    pub fn used(&self) -> HttpUse {
        self.used
    }

    /// What the task has used since this was last asked.
    pub fn spent(&mut self) -> HttpUse {
        std::mem::take(&mut self.uncharged)
    }

    fn charge(&mut self, more: HttpUse) {
        self.used += more;
        self.uncharged += more;
    }
}

/// The task has no bytes left.
fn spent(limits: &Limits) -> Failure {
    Failure::sent(Code::ResponseBodySize, format!("{SPENT} ({})", limits.said(Limit::http_bytes)))
}

/// What became of a request.
async fn judged(
    egress: Egress,
    whose: Whose<'_>,
    rights: Rights,
    seed: [u8; 32],
    bounds: Bounds,
    request: Outgoing,
    again: bool,
) -> Result<Incoming, Failure> {
    if again {
        egress::resend(&rights.http, &request.method, &request.url)?;
    }
    let allowed = Allowed { whose, rules: &rights.http, secrets: &rights.secrets, seed: &seed };
    egress.send(allowed, &bounds, request).await
}

/// Returns when a task is asked to stop that was not when the request began, and the request has had half of the grace: the
/// guest hears of it while it can still clean up. A request that it sends to clean up is not cut short.
async fn stopped(clock: Arc<dyn Clock>, inbox: Arc<Inbox>, began: Timestamp) {
    loop {
        let version = inbox.version();
        match inbox.cancelled() {
            Some(at) if at <= began => return std::future::pending().await,
            Some(at) => return clock.sleep_until(at.after(CANCEL_GRACE / 2)).await,
            None => inbox.changed(version).await,
        }
    }
}

//! A request's way out, step by step.

use std::sync::Arc;

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, IF_RANGE, RANGE, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use tokio::time::{Instant, timeout, timeout_at};

use super::address::Kind;
use super::connect::{self, Talk};
use super::headers::without_forbidden;
use super::mask::Masker;
use super::proxy::{Proxy, tunnel};
use super::resolve::{self, Lookups, Resolve};
use super::secret::{Former, SecretValue};
use super::tls::Tls;
use super::transfer::transfer;
use super::{Allowed, Bounds, Code, Failure, HttpConfig, HttpRule, Incoming, Outgoing, Scheme, Secret, Target, Whose};
use crate::limits::Limit;

/// The way out. A copy shares all that the first has.
#[derive(Clone)]
pub(crate) struct Egress {
    shared: Arc<Shared>,
}

struct Shared {
    lookups: Lookups,
    tls: Tls,
    proxy: Option<Proxy>,
    /// What secrets were, as far as this process has seen it.
    former: Arc<Former>,
}

impl Egress {
    /// As the operator configured it.
    pub fn new(config: &HttpConfig) -> Result<Self, String> {
        Self::with_resolver(config, resolve::system())
    }

    /// By another way of finding addresses than the system's.
    pub fn with_resolver(config: &HttpConfig, resolve: Resolve) -> Result<Self, String> {
        let (lookups, former) = (Lookups::new(resolve), Arc::default());
        let shared = Shared { lookups, tls: Tls::new(config.ca.as_deref())?, proxy: Proxy::new(config)?, former };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Sends a request that is allowed, and reads its response. What it returns may be journaled: no secret is in it.
    pub async fn send(&self, allowed: Allowed<'_>, bounds: &Bounds, request: Outgoing) -> Result<Incoming, Failure> {
        let target = Target::of(&request.url)?;
        let rules = allowing(allowed.rules, &request.method, &target)?;
        let (secrets, former) = values(&self.shared.former, allowed.secrets, &request.method, &target).await?;
        let present = secrets.iter().map(|known| (known.secret.name.as_str(), &known.value));
        let known: Vec<_> = present.chain(former.iter().map(|(name, value)| (name.as_str(), value))).collect();
        let masker = Masker::new(&known)?;
        let outcome = self.exchange(&target, &rules, &secrets, allowed, bounds, request).await;
        match &outcome {
            Ok(response) => tracing::debug!(%target, status = response.status.as_u16(), "a request was answered"),
            Err(failure) => tracing::debug!(%target, code = ?failure.code, "a request failed"),
        }
        let Some(masker) = masker else { return outcome };
        // Looking through megabytes takes longer than the other tasks of this thread should wait.
        let masked = tokio::task::spawn_blocking(move || match outcome {
            Ok(response) => Ok(masker.response(response)),
            Err(failure) => Err(masker.failure(failure)),
        });
        masked.await.unwrap_or_else(|_| {
            Err(Failure::sent(Code::ProtocolError, format!("the answer of {target} could not be rid of secrets")))
        })
    }

    async fn exchange(
        &self,
        target: &Target,
        rules: &[&HttpRule],
        secrets: &[Known<'_>],
        allowed: Allowed<'_>,
        bounds: &Bounds,
        mut request: Outgoing,
    ) -> Result<Incoming, Failure> {
        let deadline = Instant::now() + bounds.total;
        request.headers = headers(request.headers, request.body.len())?;
        let connecting = request.connect_timeout.map_or(bounds.first_byte, |asked| asked.min(bounds.first_byte));
        let connecting = connecting.min(bounds.total);
        let (stream, h2, public) =
            timeout(connecting, self.connect(allowed.whose, target, rules)).await.unwrap_or_else(|_| {
                let why = format!("no connection to {target} within {connecting:?}");
                Err(Failure::unsent(Code::ConnectionTimeout, why).of_time(connecting, bounds))
            })?;
        let watched = secrets.iter().any(|known| may_know(target, known.secret));
        if watched {
            // A response that is compressed, or one that is cut in two, could not be looked through.
            request.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            request.headers.remove(RANGE);
            request.headers.remove(IF_RANGE);
        }
        for known in secrets.iter().filter(|known| known.goes) {
            if target.scheme == Scheme::Http && public {
                let why = format!(
                    "the secret `{}` may not go to {target} unencrypted: its address is not a private one",
                    known.secret.name
                );
                return Err(Failure::unsent(Code::ConfigurationError, why));
            }
            known.secret.put_into(&mut request, &known.value, allowed.seed)?;
        }
        let response =
            timeout_at(deadline, transfer(stream, h2, target, bounds, request)).await.unwrap_or_else(|_| {
                let why = format!("{target} had not answered within {:?}", bounds.total);
                Err(Failure::sent(Code::ResponseTimeout, why).of(Limit::http_time))
            })?;
        match watched && is_veiled(&response) {
            true => Err(Failure::sent(
                Code::ResponseContentCoding,
                format!("{target} may answer with a secret, and answered compressed or in part, though asked not to"),
            )),
            false => Ok(response),
        }
    }

    /// A connection to an address that was judged: with it, whether it is for HTTP/2, and whether the address is public.
    async fn connect(
        &self,
        whose: Whose<'_>,
        target: &Target,
        rules: &[&HttpRule],
    ) -> Result<(Box<dyn Talk>, bool, bool), Failure> {
        let Shared { lookups, tls, proxy, .. } = &*self.shared;
        let proxy = proxy.as_ref().and_then(|proxy| Some((proxy.of(target)?, proxy.resolves)));
        let (stream, public): (Box<dyn Talk>, bool) = match proxy {
            Some((proxy, true)) => (tunnel(&proxy, target, &[], lookups, whose, tls).await?, true),
            other => {
                let addresses = resolve::admitted(lookups, whose, target, rules).await?;
                let public = addresses.iter().any(|&address| Kind::of(address) == Kind::Public);
                match other {
                    Some((proxy, _)) => (tunnel(&proxy, target, &addresses, lookups, whose, tls).await?, public),
                    None => (Box::new(connect::tcp(&target.peer, &addresses, target.port).await?), public),
                }
            }
        };
        match target.scheme {
            Scheme::Http => Ok((stream, false, public)),
            Scheme::Https => {
                let config = tls.origin().await.map_err(|why| Failure::unsent(Code::ConfigurationError, why))?;
                let (stream, h2) = connect::tls(&target.peer, config, stream).await?;
                Ok((stream, h2, public))
            }
        }
    }
}

/// A secret that a task has, and its value.
struct Known<'a> {
    secret: &'a Secret,
    value: SecretValue,
    /// Whether it is put into this request.
    goes: bool,
}

/// Whether that host may know it, and so may answer with it.
fn may_know(target: &Target, secret: &Secret) -> bool {
    secret.usage.to.iter().any(|rule| rule.is_about(target))
}

/// The rules that allow a request.
fn allowing<'a>(rules: &'a [HttpRule], method: &Method, target: &Target) -> Result<Vec<&'a HttpRule>, Failure> {
    if matches!(method.as_str(), "CONNECT" | "TRACE" | "TRACK") {
        let why = format!("no request of method {method} is ever sent");
        return Err(Failure::unsent(Code::RequestMethodInvalid, why));
    }
    let allowing: Vec<_> = rules.iter().filter(|rule| rule.allows(method, target)).collect();
    if !allowing.is_empty() {
        return Ok(allowing);
    }
    let what = match target.scheme {
        Scheme::Https => target.authority(),
        Scheme::Http => target.to_string(),
    };
    let others = rules.iter().filter(|rule| rule.is_about(target)).map(|rule| format!("`{rule}`"));
    let why = match others.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => format!("no rule allows {method} {target}{}", target.path),
        others => format!("no rule allows {method} {target}{}, only {others}", target.path),
    };
    Err(Failure::unsent(Code::Refused { what }, why))
}

/// The secrets of a task that have a value, and by name what they were before. One that has none fails a request to a host
/// that may know it: whatever comes back could not be looked through for it. Other requests it does not concern.
async fn values<'a>(
    former: &Arc<Former>,
    secrets: &'a [Secret],
    method: &Method,
    target: &Target,
) -> Result<(Vec<Known<'a>>, Vec<(String, SecretValue)>), Failure> {
    if secrets.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let (all, former) = (secrets.to_vec(), former.clone());
    let read = tokio::task::spawn_blocking(move || {
        let read: Vec<_> = all.iter().map(Secret::read).collect();
        let before = all.iter().zip(&read).flat_map(|(secret, now)| former.of(secret, now.as_ref().ok()));
        let before = before.collect();
        (read, before)
    });
    let (read, before): (Vec<_>, Vec<_>) =
        read.await.map_err(|_| Failure::unsent(Code::ConfigurationError, "the secrets could not be read"))?;
    let mut known = Vec::new();
    for (secret, value) in secrets.iter().zip(read) {
        let goes = secret.usage.to.iter().any(|rule| rule.allows(method, target));
        match value {
            Ok(value) => known.push(Known { secret, value, goes }),
            Err(failure) if may_know(target, secret) => return Err(failure),
            Err(failure) => tracing::warn!("{failure}"),
        }
    }
    Ok((known, before))
}

/// A guest's headers as they may go out. The length is the host's to say; one that the guest says has to be right.
fn headers(headers: HeaderMap, body: usize) -> Result<HeaderMap, Failure> {
    for length in headers.get_all(CONTENT_LENGTH) {
        if length.to_str().ok().and_then(|length| length.trim().parse().ok()) != Some(body) {
            let why = format!("the request's `content-length` is not the {body} bytes that its body has");
            return Err(Failure::unsent(Code::RequestBodySize, why));
        }
    }
    let mut headers = without_forbidden(headers);
    headers.remove(CONTENT_LENGTH);
    if !headers.contains_key(USER_AGENT) {
        headers.insert(USER_AGENT, HeaderValue::from_static(concat!("longhaul/", env!("CARGO_PKG_VERSION"))));
    }
    Ok(headers)
}

/// Whether a response could hold a secret that nobody can find.
fn is_veiled(response: &Incoming) -> bool {
    let plain = |coding: &HeaderValue| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(b"identity");
    response.status == StatusCode::PARTIAL_CONTENT || !response.headers.get_all(CONTENT_ENCODING).iter().all(plain)
}

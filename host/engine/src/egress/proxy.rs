//! The way through a proxy. Everything goes by `CONNECT`, so that a proxy neither reads nor rewrites a request, and can be
//! asked for the address that was judged.

use std::net::IpAddr;

use bytes::Bytes;
use http::header::{HOST, PROXY_AUTHORIZATION};
use http::{Method, Request, StatusCode, Uri};
use http_body_util::Empty;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use url::Url;

use super::connect::{self, TRIED, Talk};
use super::resolve::Lookups;
use super::target::{Peer, Target};
use super::tls::Tls;
use super::{Code, Failure, HttpConfig, Scheme, Whose};

/// Which requests go through a proxy.
pub(super) struct Proxy {
    matcher: Matcher,
    /// Whether names are left to it.
    pub resolves: bool,
}

impl Proxy {
    /// The proxy of that configuration, if it names one.
    pub fn new(config: &HttpConfig) -> Result<Option<Self>, String> {
        let Some(proxy) = &config.proxy else {
            return match (config.proxy_resolves, config.no_proxy.is_empty()) {
                (false, true) => Ok(None),
                _ => Err("`no_proxy` and `proxy_resolves` mean nothing without a `proxy`".into()),
            };
        };
        let matcher = |no: &str| Matcher::builder().all(proxy.as_str()).no(no).build();
        // What the matcher cannot read it leaves out, and everything would go without the proxy.
        if matcher("").intercept(&Uri::from_static("https://host.example")).is_none() {
            return Err(format!("the proxy {proxy:?} cannot be used"));
        }
        Ok(Some(Self { matcher: matcher(&config.no_proxy.join(",")), resolves: config.proxy_resolves }))
    }

    /// The proxy through which that target is reached.
    pub fn of(&self, target: &Target) -> Option<Intercept> {
        self.matcher.intercept(&target.to_string().parse().ok()?)
    }
}

/// A connection through the proxy to the first of these addresses that it can reach; without addresses, to the name.
pub(super) async fn tunnel(
    proxy: &Intercept,
    target: &Target,
    addresses: &[IpAddr],
    lookups: &Lookups,
    whose: Whose<'_>,
    tls: &Tls,
) -> Result<Box<dyn Talk>, Failure> {
    if addresses.is_empty() {
        return through(proxy, &format!("{}:{}", target.peer, target.port), lookups, whose, tls).await;
    }
    let mut last = None;
    for &address in addresses.iter().take(TRIED) {
        match through(proxy, &format!("{}:{}", Peer::Address(address), target.port), lookups, whose, tls).await {
            Ok(stream) => return Ok(stream),
            Err(failure) => last = Some(failure),
        }
    }
    Err(last.unwrap_or_else(|| Failure::unsent(Code::DestinationUnavailable, "there is no address to connect to")))
}

async fn through(
    proxy: &Intercept,
    to: &str,
    lookups: &Lookups,
    whose: Whose<'_>,
    tls: &Tls,
) -> Result<Box<dyn Talk>, Failure> {
    let wrong = |what: String| Failure::unsent(Code::ConfigurationError, format!("the proxy {what}"));
    let url: Url = proxy.uri().to_string().parse().map_err(|_| wrong("has no URL".into()))?;
    let host = Target::of(&url)?;
    let found = match &host.peer {
        Peer::Address(address) => vec![*address],
        Peer::Name(name) => {
            lookups.find(whose, name).await.map_err(|error| wrong(format!("{name} was not found: {error}")))?
        }
    };
    let stream = connect::tcp(&host.peer, &found, host.port)
        .await
        .map_err(|failure| wrong(format!("is not reached: {failure}")))?;
    let stream: Box<dyn Talk> = match host.scheme {
        Scheme::Http => Box::new(stream),
        Scheme::Https => connect::tls(&host.peer, tls.proxy().await.map_err(wrong)?, stream).await?.0,
    };

    let mut request = Request::builder().method(Method::CONNECT).uri(to).header(HOST, to);
    if let Some(password) = proxy.basic_auth() {
        request = request.header(PROXY_AUTHORIZATION, password);
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|error| wrong(error.to_string()))?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|error| wrong(format!("went away: {error}")))?;
    // It ends when it has been upgraded, and when nobody holds its other end any more.
    tokio::spawn(connection.with_upgrades());
    let response = sender.send_request(request).await.map_err(|error| wrong(format!("went away: {error}")))?;
    match response.status() {
        status if status.is_success() => {
            let way = hyper::upgrade::on(response).await.map_err(|error| wrong(format!("opened no way: {error}")))?;
            Ok(Box::new(TokioIo::new(way)))
        }
        StatusCode::PROXY_AUTHENTICATION_REQUIRED => Err(wrong("wants a user and a password, or others".into())),
        status => Err(Failure::unsent(
            Code::DestinationUnavailable,
            format!("the proxy opens no way to {to}: it answered {status}"),
        )),
    }
}

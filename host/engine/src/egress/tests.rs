//! Real sockets, real certificates, on loopback.

mod addresses;
mod peer;
mod proxy;
mod responses;
mod secrets;
mod tls;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};

use super::{Allowed, Bounds, Egress, Failure, HttpConfig, HttpRule, Incoming, Outgoing, Secret, Whose};

const SEED: [u8; 32] = [7; 32];

const WHOSE: Whose<'_> = Whose { namespace: "default", plugin: Some("test") };

const BOUNDS: Bounds = Bounds {
    body_bytes: 1 << 20,
    header_bytes: 16 << 10,
    first_byte: Duration::from_secs(20),
    total: Duration::from_secs(60),
};

/// A way out on which these names lead to these addresses, and no others are known.
fn egress(names: &[(&str, &[&str])]) -> Egress {
    egress_by(&HttpConfig::default(), names)
}

fn egress_by(config: &HttpConfig, names: &[(&str, &[&str])]) -> Egress {
    let names: BTreeMap<String, Vec<IpAddr>> = names
        .iter()
        .map(|(name, found)| ((*name).to_owned(), found.iter().map(|address| address.parse().unwrap()).collect()))
        .collect();
    let resolve = Arc::new(move |name: String| {
        let found = names.get(&name).cloned().ok_or(std::io::ErrorKind::NotFound.into());
        Box::pin(std::future::ready(found)) as futures_util::future::BoxFuture<'static, _>
    });
    Egress::with_resolver(config, resolve).unwrap()
}

fn get(url: &str) -> Outgoing {
    Outgoing {
        method: Method::GET,
        url: url.parse().unwrap_or_else(|error| panic!("{url}: {error}")),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        trailers: None,
        connect_timeout: None,
        first_byte_timeout: None,
        between_bytes_timeout: None,
    }
}

fn post(url: &str, body: &'static str) -> Outgoing {
    Outgoing { method: Method::POST, body: Bytes::from_static(body.as_bytes()), ..get(url) }
}

fn rules(texts: &[&str]) -> Vec<HttpRule> {
    texts.iter().map(|text| HttpRule::parse(text).unwrap()).collect()
}

async fn send(egress: &Egress, rule: &str, request: Outgoing) -> Result<Incoming, Failure> {
    send_with(egress, &[rule], &[], &BOUNDS, request).await
}

async fn send_with(
    egress: &Egress,
    texts: &[&str],
    secrets: &[Secret],
    bounds: &Bounds,
    request: Outgoing,
) -> Result<Incoming, Failure> {
    egress.send(Allowed { whose: WHOSE, rules: &rules(texts), secrets, seed: &SEED }, bounds, request).await
}

//! From a name to addresses that a request may go to.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::address::Kind;
use super::target::Peer;
use super::{Code, Failure, HttpRule, Target};

/// Finds the addresses of a name.
pub(crate) type Resolve = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Names that are looked up at once: each takes a thread, and a name server that does not answer must not take all there are.
const LOOKUPS: usize = 32;

/// The system's way of finding them.
pub(super) fn system() -> Resolve {
    let lookups = Arc::new(Semaphore::new(LOOKUPS));
    Arc::new(move |name| {
        let lookups = lookups.clone();
        Box::pin(async move {
            let permit = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let looked_up = tokio::task::spawn_blocking(move || {
                let _held = permit;
                (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
            });
            looked_up.await.map_err(io::Error::other)?
        })
    })
}

/// The addresses of the target's host that one of the rules admits, the better ones first. Others that the name has are left
/// out: a connection is only ever made to an address from this list.
pub(super) async fn admitted(resolve: &Resolve, target: &Target, rules: &[&HttpRule]) -> Result<Vec<IpAddr>, Failure> {
    let found = match &target.peer {
        Peer::Address(address) => vec![*address],
        Peer::Name(name) => match resolve(name.clone()).await {
            Ok(found) => found,
            Err(error) => {
                let why = format!("the name {name} was not found: {error}");
                return Err(Failure::unsent(Code::DnsError, why));
            }
        },
    };
    let Some(&first) = found.first() else {
        return Err(Failure::unsent(Code::DnsError, format!("the name {} has no address", target.peer)));
    };
    let mut admitted = Vec::new();
    for address in found {
        if rules.iter().any(|rule| rule.admits(address)) && !admitted.contains(&address) {
            admitted.push(address);
        }
    }
    match admitted.is_empty() {
        // Which address it is would tell a guest about the operator's network.
        true => Err(Failure::unsent(
            Code::DestinationIpProhibited,
            format!(
                "{} leads to a {} address, which no rule names; where that is meant, a rule says so: `{} private`, or \
                 the address itself",
                target.peer,
                Kind::of(first),
                target.authority(),
            ),
        )),
        false => Ok(admitted),
    }
}

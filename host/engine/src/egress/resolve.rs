//! From a name to addresses that a request may go to.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

use super::address::Kind;
use super::target::Peer;
use super::{Code, Failure, HttpRule, Target, Whose};

/// Finds the addresses of a name.
pub(crate) type Resolve = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Names that are looked up at once: each takes a thread, and a name server that does not answer must not take all there are.
const LOOKUPS: usize = 128;
/// Of these, for one namespace.
const OF_NAMESPACE: usize = 32;
/// Of these, for one plugin: who asks for names of a silent name server waits for them alone.
const OF_PLUGIN: usize = 8;

/// The system's way of finding them.
pub(super) fn system() -> Resolve {
    Arc::new(move |name| {
        Box::pin(async move {
            let looked_up = tokio::task::spawn_blocking(move || {
                (name.as_str(), 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
            });
            looked_up.await.map_err(io::Error::other)?
        })
    })
}

/// A namespace, or a plugin in it.
type Group = (String, Option<String>);

/// Looking names up, so many at once and no more.
pub(super) struct Lookups {
    resolve: Resolve,
    all: Arc<Semaphore>,
    /// Of some, as long as one of their names is looked up.
    some: Mutex<HashMap<Group, Weak<Semaphore>>>,
}

impl Lookups {
    pub fn new(resolve: Resolve) -> Self {
        Self { resolve, all: Arc::new(Semaphore::new(LOOKUPS)), some: Mutex::default() }
    }

    /// The addresses of a name, when it is its turn.
    pub async fn find(&self, whose: Whose<'_>, name: &str) -> io::Result<Vec<IpAddr>> {
        let Whose { namespace, plugin } = whose;
        // The narrowest first: who waits there takes no place from others.
        let places = [
            plugin.map(|_| self.places(namespace, plugin, OF_PLUGIN)),
            Some(self.places(namespace, None, OF_NAMESPACE)),
            Some(self.all.clone()),
        ];
        let mut held = Vec::with_capacity(places.len());
        for places in places.into_iter().flatten() {
            held.push(places.acquire_owned().await.map_err(io::Error::other)?);
        }
        let looked_up = (self.resolve)(name.to_owned());
        // It goes on when nobody waits for it any more, and so does its place.
        let looked_up = tokio::spawn(async move {
            let _held = held;
            looked_up.await
        });
        looked_up.await.map_err(io::Error::other)?
    }

    fn places(&self, namespace: &str, plugin: Option<&str>, most: usize) -> Arc<Semaphore> {
        let mut some = self.some.lock().unwrap_or_else(PoisonError::into_inner);
        some.retain(|_, places| places.strong_count() > 0);
        let key = (namespace.to_owned(), plugin.map(str::to_owned));
        let found = some.get(&key).and_then(Weak::upgrade);
        found.unwrap_or_else(|| {
            let places = Arc::new(Semaphore::new(most));
            some.insert(key, Arc::downgrade(&places));
            places
        })
    }
}

/// The addresses of the target's host that one of the rules admits, the better ones first. Others that the name has are left
/// out: a connection is only ever made to an address from this list.
pub(super) async fn admitted(
    lookups: &Lookups,
    whose: Whose<'_>,
    target: &Target,
    rules: &[&HttpRule],
) -> Result<Vec<IpAddr>, Failure> {
    let found = match &target.peer {
        Peer::Address(address) => vec![*address],
        Peer::Name(name) => match lookups.find(whose, name).await {
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

//! What tasks have, and may be given: in general, by plugin, and now; and what the pool of instances has room for.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{LivePolicy, Policy};
use crate::limits::{Allowed, Limit};
use crate::{Error, HostLimits, Limits};

impl Policy {
    /// What tasks have, and may be given, and what any guest may use of the host.
    pub(crate) fn limits(&self) -> (Allowed, HostLimits) {
        let default = Limits::default();
        self.file.limits.host(Allowed::new(default, default), HostLimits::default())
    }

    /// What tasks of a plugin have, and may be given, where `host` is what any may.
    ///
    /// # Errors
    ///
    /// What is said of the plugin is above the host's.
    fn limits_of(&self, namespace: &str, plugin: &str, host: Allowed) -> Result<Allowed, Error> {
        self.sections(namespace, plugin).try_fold(host, |allowed, section| section.limits.plugin(allowed, &host.most))
    }
}

/// The limits of tasks that start now: what an embedder said when the host opened, or what the policy says by now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitsInForce {
    limits: Option<Limits>,
    ceilings: Option<Limits>,
    room: Room,
}

impl LimitsInForce {
    /// `limits` and `ceilings`: an embedder's, which count for more than the policy.
    pub fn new(limits: Option<Limits>, ceilings: Option<Limits>, policy: &Policy) -> Self {
        let (said, _) = policy.limits();
        let most = ceilings.or(limits).unwrap_or(said.most);
        Self { limits, ceilings, room: Room::of(&most) }
    }

    /// What any task has, and may be given, as far as there is room for it.
    pub fn now(&self, policy: &Policy) -> Allowed {
        self.room.cut(self.said(policy))
    }

    /// The same for tasks of a plugin.
    ///
    /// # Errors
    ///
    /// What is said of the plugin is above the host's.
    pub fn of(&self, policy: &Policy, namespace: &str, plugin: &str) -> Result<Allowed, Error> {
        Ok(self.room.cut(policy.limits_of(namespace, plugin, self.said(policy))?))
    }

    fn said(&self, policy: &Policy) -> Allowed {
        let (said, _) = policy.limits();
        let most = self.ceilings.or(self.limits).unwrap_or(said.most);
        Allowed::new(self.limits.unwrap_or(said.default), most)
    }

    /// What a policy allows, and this process has no room for.
    pub fn beyond(&self, policy: &Policy) -> Vec<String> {
        self.room.beyond(&self.said(policy).most)
    }

    /// What others may know of the room that there is, if the policy decides about it: where that is, and the room.
    pub fn told(&self, policy: &LivePolicy) -> Option<Told> {
        let by_policy = self.ceilings.is_none() && self.limits.is_none();
        Some(Told { policy: policy.file().filter(|_| by_policy)?, room: self.room })
    }
}

/// What the pool of instances was made for. It is made once, when a process opens the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Room {
    memory: u64,
    table_elements: u64,
}

impl Room {
    fn of(most: &Limits) -> Self {
        Self { memory: most.memory, table_elements: most.table_elements }
    }

    fn each(&self) -> [(Limit, u64); 2] {
        [(Limit::memory, self.memory), (Limit::table_elements, self.table_elements)]
    }

    fn cut(&self, Allowed { default, mut most }: Allowed) -> Allowed {
        for (limit, room) in self.each() {
            most.put(limit, most.get(limit).min(room));
        }
        Allowed::new(default, most)
    }

    fn beyond(&self, most: &Limits) -> Vec<String> {
        let beyond = self.each().into_iter().filter(|(limit, room)| most.get(*limit) > *room);
        beyond
            .map(|(limit, room)| {
                let (name, allowed, room) = (limit.row().label, limit.shown(most.get(limit)), limit.shown(room));
                format!(
                    "{name}: {allowed} is allowed by now, and the process was started with room for {room}; tasks get no \
                     more than that until it is started again"
                )
            })
            .collect()
    }
}

/// What a process lets others know of its room.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Told {
    /// The file that it reads.
    policy: PathBuf,
    room: Room,
}

impl Told {
    pub fn to_text(&self) -> String {
        toml::to_string(self).unwrap_or_default()
    }

    /// What the file allows by now, and that process has no room for. What can't be read says nothing.
    pub fn beyond(text: &str) -> Vec<String> {
        let beyond = || {
            let told: Self = toml::from_str(text).ok()?;
            let policy = Policy::parse(&std::fs::read_to_string(&told.policy).ok()?).ok()?;
            Some(told.room.beyond(&policy.limits().0.most))
        };
        beyond().unwrap_or_default()
    }
}

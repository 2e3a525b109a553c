//! What tasks have, and may be given: in general, by plugin, and now.

use super::Policy;
use crate::limits::Allowed;
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
    pub(crate) fn limits_of(&self, namespace: &str, plugin: &str, host: Allowed) -> Result<Allowed, Error> {
        self.sections(namespace, plugin).try_fold(host, |allowed, section| section.limits.plugin(allowed, &host.most))
    }
}

/// The limits of tasks that start now: what an embedder said when the host opened, or what the policy says by now.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LimitsInForce {
    limits: Option<Limits>,
    ceilings: Option<Limits>,
    /// What the pool of instances was made for. It is made once.
    pool: Limits,
}

impl LimitsInForce {
    /// `limits` and `ceilings`: an embedder's, which count for more than the policy.
    pub fn new(limits: Option<Limits>, ceilings: Option<Limits>, policy: &Policy) -> Self {
        let (said, _) = policy.limits();
        Self { limits, ceilings, pool: ceilings.or(limits).unwrap_or(said.most) }
    }

    /// What they are now. Of memory and tables no task has more than the pool has room for.
    pub fn now(&self, policy: &Policy) -> Allowed {
        let (said, _) = policy.limits();
        let mut most = self.ceilings.or(self.limits).unwrap_or(said.most);
        most.memory = most.memory.min(self.pool.memory);
        most.table_elements = most.table_elements.min(self.pool.table_elements);
        Allowed::new(self.limits.unwrap_or(said.default), most)
    }
}

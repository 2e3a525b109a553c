//! The line that tasks stand in: who is next, and what holds the others back.
//!
//! It is kept in memory, so what is counted here is counted in this process: a host beside it has a line of its own.
//! Namespaces take turns; within one, who came first goes first, unless a cap on its plugin holds it back.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::limits::QueueLimits;
use crate::sandbox::Crowd;

/// When to come again if too many stand in line: nobody knows how long the tasks before it will take.
const LATER: Duration = Duration::from_secs(1);

/// What a task is counted under.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lane {
    pub namespace: Arc<str>,
    /// The plugin, by its digest.
    pub plugin: Arc<str>,
}

impl Lane {
    pub fn new(namespace: &str, plugin: &str) -> Self {
        Self { namespace: namespace.into(), plugin: plugin.into() }
    }
}

/// A task that stands in line, or is to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entrant {
    pub task: i64,
    pub lane: Lane,
    /// When its time is over. `None`: it has ended, and something is owed for it.
    pub deadline: Option<Timestamp>,
}

/// Whose limit was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Host,
    Namespace,
    Plugin,
}

/// A task that the line does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full {
    pub whose: Whose,
    /// The limit by its name in [`QueueLimits`].
    pub limit: &'static str,
    pub value: usize,
    pub retry_after: Duration,
}

/// What a line is limited by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    /// Tasks that run at once in all.
    pub places: usize,
    /// Tasks that stand in line in all.
    pub queued: usize,
    pub namespaces: QueueLimits,
    pub plugins: QueueLimits,
}

/// The tasks in line, and how many run.
pub(super) struct Line {
    caps: Caps,
    /// Places that there are now: fewer than the caps allow after the pool of instances was found to be exhausted.
    places: usize,
    running: usize,
    queued: usize,
    /// Starts that are about to stand in line.
    admitted: usize,
    namespaces: HashMap<Arc<str>, Namespace>,
    plugins: HashMap<Arc<str>, Share>,
    /// The namespaces that have tasks in line and may run one more, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    /// Numbers for who comes next, and for who goes back to the front.
    last: i64,
    first: i64,
    /// The deadlines of the tasks in line.
    deadlines: BTreeMap<(Timestamp, i64), Lane>,
    /// How many names are kept before those are forgotten that nothing is known of.
    names: usize,
}

/// What is counted for one namespace or one plugin.
#[derive(Debug, Default)]
struct Share {
    running: usize,
    queued: usize,
    starts: Bucket,
}

#[derive(Clone, Copy)]
struct Standing {
    came: i64,
    task: i64,
    deadline: Option<Timestamp>,
}

#[derive(Default)]
struct Namespace {
    share: Share,
    /// The tasks in line by plugin, in the order in which they came.
    strands: HashMap<Arc<str>, VecDeque<Standing>>,
    /// The first of each strand: when it came, and its plugin.
    heads: BTreeMap<i64, Arc<str>>,
    /// It is among the turns.
    in_turn: bool,
}

/// A token bucket: a second's worth at once, then so many a second. Counted in thousandths of a start.
#[derive(Debug, Default)]
struct Bucket {
    used: u64,
    last: Option<Timestamp>,
}

impl Bucket {
    fn refill(&mut self, rate: u32, now: Timestamp) {
        let passed = self.last.map_or(0, |last| now.since(last).as_millis() as u64);
        self.last = Some(now);
        self.used = self.used.saturating_sub(passed.saturating_mul(u64::from(rate)));
    }

    /// How long until there is a token.
    fn wait(&mut self, rate: u32, now: Timestamp) -> Option<Duration> {
        self.refill(rate, now);
        let beyond = (self.used + 1_000).saturating_sub(u64::from(rate) * 1_000);
        (beyond > 0).then(|| Duration::from_millis(beyond.div_ceil(u64::from(rate.max(1)))))
    }
}

impl Share {
    fn refused(&mut self, whose: Whose, limits: &QueueLimits, now: Timestamp) -> Option<Full> {
        if self.queued >= limits.queued {
            return Some(Full { whose, limit: "queued", value: limits.queued, retry_after: LATER });
        }
        let value = limits.starts_per_second as usize;
        let wait = self.starts.wait(limits.starts_per_second, now);
        wait.map(|retry_after| Full { whose, limit: "starts_per_second", value, retry_after })
    }

    fn admit(&mut self) {
        self.queued += 1;
        self.starts.used += 1_000;
    }

    /// Nothing is known of it that a new one would not say.
    fn is_idle(&mut self, rate: u32, now: Timestamp) -> bool {
        self.starts.refill(rate, now);
        self.running == 0 && self.queued == 0 && self.starts.used == 0
    }
}

impl Line {
    pub fn new(caps: Caps) -> Self {
        Self {
            caps,
            places: caps.places,
            running: 0,
            queued: 0,
            admitted: 0,
            namespaces: HashMap::new(),
            plugins: HashMap::new(),
            turns: VecDeque::new(),
            last: 0,
            first: 0,
            deadlines: BTreeMap::new(),
            names: 1_024,
        }
    }

    /// Keeps room for a start, or says why there is none. [`enter`](Self::enter) or not, [`leave`](Self::leave) it.
    pub fn admit(&mut self, lane: &Lane, now: Timestamp) -> Result<(), Full> {
        self.forget(now);
        if self.queued + self.admitted >= self.caps.queued {
            let value = self.caps.queued;
            return Err(Full { whose: Whose::Host, limit: "queued", value, retry_after: LATER });
        }
        let caps = self.caps;
        let namespace = &mut self.namespaces.entry(lane.namespace.clone()).or_default().share;
        let plugin = self.plugins.entry(lane.plugin.clone()).or_default();
        let refused = namespace.refused(Whose::Namespace, &caps.namespaces, now);
        if let Some(full) = refused.or_else(|| plugin.refused(Whose::Plugin, &caps.plugins, now)) {
            return Err(full);
        }
        namespace.admit();
        plugin.admit();
        self.admitted += 1;
        Ok(())
    }

    /// Gives up the room that was kept for a start.
    pub fn leave(&mut self, lane: &Lane) {
        self.admitted -= 1;
        self.count(lane, |share| share.queued -= 1);
    }

    /// Puts a task in line. One that has been taken is never refused.
    pub fn enter(&mut self, entrant: Entrant) {
        self.last += 1;
        self.insert(self.last, entrant);
    }

    /// Puts a task where it stood before it was given a place.
    pub fn enter_in_front(&mut self, entrant: Entrant) {
        self.first -= 1;
        self.insert(self.first, entrant);
    }

    fn insert(&mut self, came: i64, entrant: Entrant) {
        let Entrant { task, lane, deadline } = entrant;
        let standing = Standing { came, task, deadline };
        self.queued += 1;
        self.plugins.entry(lane.plugin.clone()).or_default().queued += 1;
        let namespace = self.namespaces.entry(lane.namespace.clone()).or_default();
        namespace.share.queued += 1;
        let strand = namespace.strands.entry(lane.plugin.clone()).or_default();
        match strand.front() {
            Some(first) if first.came < came => strand.push_back(standing),
            first => {
                if let Some(first) = first {
                    namespace.heads.remove(&first.came);
                }
                strand.push_front(standing);
                namespace.heads.insert(came, lane.plugin.clone());
            }
        }
        if !namespace.in_turn && namespace.share.running < self.caps.namespaces.running {
            namespace.in_turn = true;
            self.turns.push_back(lane.namespace.clone());
        }
        if let Some(deadline) = deadline {
            self.deadlines.insert((deadline, task), lane);
        }
    }

    /// Takes a task out of the line; `false`: it does not stand there.
    pub fn remove(&mut self, task: i64, lane: &Lane) -> bool {
        let Some(namespace) = self.namespaces.get_mut(&lane.namespace) else { return false };
        let Some(strand) = namespace.strands.get_mut(&lane.plugin) else { return false };
        let Some(place) = strand.iter().position(|stands| stands.task == task) else { return false };
        let stood = match place {
            0 => {
                let came = strand[0].came;
                namespace.take(came, &lane.plugin)
            }
            place => strand.remove(place),
        };
        if let Some(deadline) = stood.and_then(|stood| stood.deadline) {
            self.deadlines.remove(&(deadline, task));
        }
        self.queued -= 1;
        self.count(lane, |share| share.queued -= 1);
        true
    }

    /// Gives a place to the task whose turn it is, if it may have one.
    ///
    /// What this costs does not depend on how many stand in line. Only where a cap on a plugin holds tasks back, the
    /// namespaces in which it does are looked at.
    pub fn next(&mut self) -> Option<Entrant> {
        if self.running >= self.places {
            return None;
        }
        for _ in 0..self.turns.len() {
            let name = self.turns.pop_front()?;
            let Some(namespace) = self.namespaces.get_mut(&name) else { continue };
            let may = |plugin: &Arc<str>| {
                self.plugins.get(plugin).is_none_or(|share| share.running < self.caps.plugins.running)
            };
            let Some((came, plugin)) = namespace.heads.iter().find(|(_, plugin)| may(plugin)) else {
                // All that it has in line are held back, or have left the line.
                namespace.in_turn = !namespace.heads.is_empty();
                if namespace.in_turn {
                    self.turns.push_back(name);
                }
                continue;
            };
            let (came, plugin) = (*came, plugin.clone());
            let Some(Standing { task, deadline, .. }) = namespace.take(came, &plugin) else { continue };
            namespace.share.queued -= 1;
            namespace.share.running += 1;
            namespace.in_turn = !namespace.heads.is_empty() && namespace.share.running < self.caps.namespaces.running;
            if namespace.in_turn {
                self.turns.push_back(name.clone());
            }
            let share = self.plugins.entry(plugin.clone()).or_default();
            share.queued -= 1;
            share.running += 1;
            self.queued -= 1;
            self.running += 1;
            if let Some(deadline) = deadline {
                self.deadlines.remove(&(deadline, task));
            }
            return Some(Entrant { task, lane: Lane { namespace: name, plugin }, deadline });
        }
        None
    }

    /// A task gives its place back.
    pub fn done(&mut self, lane: &Lane) {
        self.running -= 1;
        self.count(lane, |share| share.running -= 1);
        if let Some(namespace) = self.namespaces.get_mut(&lane.namespace)
            && !namespace.in_turn
            && !namespace.heads.is_empty()
        {
            namespace.in_turn = true;
            self.turns.push_back(lane.namespace.clone());
        }
        self.places = (self.places + 1).min(self.caps.places);
    }

    /// There was no instance for a task that had a place: as many run as can, until one of them ends. `false`: it was
    /// the only one.
    pub fn exhausted(&mut self) -> bool {
        let others = self.running.saturating_sub(1);
        // One more when this one gives its place back.
        self.places = others.saturating_sub(1);
        others > 0
    }

    /// Whose places would be of use to those in line, of which none may have one now. Looks at all namespaces.
    pub fn crowd(&self) -> Crowd {
        let mut crowd = Crowd { all: self.queued > 0 && self.running >= self.places, ..Crowd::default() };
        if self.queued == 0 || crowd.all {
            return crowd;
        }
        for (name, namespace) in self.namespaces.iter().filter(|(_, namespace)| !namespace.heads.is_empty()) {
            if namespace.share.running >= self.caps.namespaces.running {
                crowd.namespaces.insert(name.clone());
                continue;
            }
            let full = |share: &Share| share.running >= self.caps.plugins.running;
            let held = namespace.heads.values().filter(|plugin| self.plugins.get(*plugin).is_some_and(full));
            crowd.plugins.extend(held.cloned());
        }
        crowd
    }

    /// The first time at which the deadline of one in line passes.
    pub fn first_deadline(&self) -> Option<Timestamp> {
        self.deadlines.first_key_value().map(|((deadline, _), _)| *deadline)
    }

    /// The first of those in line whose deadlines have passed: tasks, and what they are counted under.
    pub fn expired(&self, now: Timestamp, most: usize) -> Vec<(i64, Lane)> {
        let passed = self.deadlines.iter().take_while(|((deadline, _), _)| *deadline <= now);
        passed.take(most).map(|((_, task), lane)| (*task, lane.clone())).collect()
    }

    /// Tasks that stand in line.
    pub fn queued(&self) -> usize {
        self.queued
    }

    /// Tasks that have a place.
    pub fn running(&self) -> usize {
        self.running
    }

    fn count(&mut self, lane: &Lane, change: impl Fn(&mut Share)) {
        if let Some(namespace) = self.namespaces.get_mut(&lane.namespace) {
            change(&mut namespace.share);
        }
        if let Some(share) = self.plugins.get_mut(&lane.plugin) {
            change(share);
        }
    }

    /// Forgets names, now and then, so that they do not pile up.
    fn forget(&mut self, now: Timestamp) {
        if self.namespaces.len() + self.plugins.len() < self.names {
            return;
        }
        let (namespaces, plugins) = (self.caps.namespaces.starts_per_second, self.caps.plugins.starts_per_second);
        self.namespaces.retain(|_, namespace| namespace.in_turn || !namespace.share.is_idle(namespaces, now));
        self.plugins.retain(|_, share| !share.is_idle(plugins, now));
        self.names = (2 * (self.namespaces.len() + self.plugins.len())).max(1_024);
    }
}

impl Namespace {
    /// Takes the first task of a strand.
    fn take(&mut self, came: i64, plugin: &Arc<str>) -> Option<Standing> {
        self.heads.remove(&came);
        let strand = self.strands.get_mut(plugin)?;
        let taken = strand.pop_front()?;
        match strand.front() {
            Some(next) => {
                self.heads.insert(next.came, plugin.clone());
            }
            None => {
                self.strands.remove(plugin);
            }
        }
        Some(taken)
    }
}

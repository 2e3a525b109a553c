//! Setting up a host.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::mpsc;

use super::{Handle, Host};
use crate::clock::{Clock, RealClock};
use crate::egress::{Egress, Resolve};
use crate::plugin::{Library, Starter, create_private_dir};
use crate::policy::{LimitsInForce, LivePolicy, Policy};
use crate::runner::{ANY_TASK, Parts, Runner, Watchers};
use crate::sandbox::Warm;
use crate::store::{Notice, Store, Tx, code_key, enrol, faces_key};
use crate::testing::CrashPlan;
use crate::{Error, HostLimits, Limits, PolicyError, QueueLimits, StoreError};

/// Each is a commit: more of them would be all that the disk does.
const FASTEST: Duration = Duration::from_millis(10);

/// Sets up a [`Host`].
///
/// ```no_run
/// # async fn doc() -> Result<(), longhaul::Error> {
/// let host = longhaul::Host::builder().data_dir("/var/lib/longhaul").open().await?;
/// # Ok(()) }
/// ```
pub struct HostBuilder {
    data_dir: PathBuf,
    clock: Arc<dyn Clock>,
    policy: Option<Policy>,
    policy_file: Option<PathBuf>,
    // What is not said here is what the policy says.
    limits: Option<Limits>,
    ceilings: Option<Limits>,
    host_limits: Option<HostLimits>,
    namespace_queue: Option<QueueLimits>,
    plugin_queue: Option<QueueLimits>,
    retention: Option<Duration>,
    warm: Option<Duration>,
    warm_memory: Option<u64>,
    heartbeat: Option<Duration>,
    webhooks_to_private: bool,
    take_over: bool,
    compiler: Option<Starter>,
    crash: Arc<CrashPlan>,
    resolve: Option<Resolve>,
}

impl Default for HostBuilder {
    fn default() -> Self {
        Self {
            data_dir: PathBuf::from("longhaul-data"),
            clock: Arc::new(RealClock),
            policy: None,
            policy_file: None,
            limits: None,
            ceilings: None,
            host_limits: None,
            namespace_queue: None,
            plugin_queue: None,
            retention: None,
            warm: None,
            warm_memory: None,
            heartbeat: None,
            webhooks_to_private: false,
            take_over: true,
            compiler: None,
            crash: Arc::default(),
            resolve: None,
        }
    }
}

impl HostBuilder {
    /// Where everything is kept: the database, compiled code, locks. Made if it is not there. `longhaul-data` in the
    /// current directory by default.
    #[must_use]
    pub fn data_dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.data_dir = dir.into();
        self
    }

    /// Where the time comes from: the machine by default.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// What the operator allows. By default that is read from `longhaul.toml` in the data directory, if it is there, and read
    /// anew whenever it has changed.
    #[must_use]
    pub fn policy(mut self, policy: Policy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// Where that is read from instead of `longhaul.toml` in the data directory. Other processes on the same data go by that one
    /// all the same, unless they are told too.
    #[must_use]
    pub fn policy_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.policy_file = Some(path.into());
        self
    }

    /// What a task may use if its start says nothing else; and the most that a start may say, unless there are
    /// [ceilings](Self::ceilings).
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// The most that a task may be given, whatever its start says.
    #[must_use]
    pub fn ceilings(mut self, most: Limits) -> Self {
        self.ceilings = Some(most);
        self
    }

    /// What any guest, and any file that is installed, may use of this host.
    #[must_use]
    pub fn host_limits(mut self, limits: HostLimits) -> Self {
        self.host_limits = Some(limits);
        self
    }

    /// How many tasks of one namespace are taken at once. Namespaces take turns, so that none has to wait for all of
    /// another's tasks.
    #[must_use]
    pub fn namespace_queue(mut self, limits: QueueLimits) -> Self {
        self.namespace_queue = Some(limits);
        self
    }

    /// How many tasks of one plugin (one digest) are taken at once.
    #[must_use]
    pub fn plugin_queue(mut self, limits: QueueLimits) -> Self {
        self.plugin_queue = Some(limits);
        self
    }

    /// How long an ended task is kept, with its journal and its children: 30 days by default. A host that does not
    /// [take over](Self::take_over) removes nothing.
    #[must_use]
    pub fn retention(mut self, retention: Duration) -> Self {
        self.retention = Some(retention);
        self
    }

    /// How long an instance is kept in memory while its task waits; then it is dropped, and rebuilt by replay. 2 s by
    /// default, and longer for one that takes long to rebuild: twenty times as long as that takes, ten minutes at most.
    /// A wait that is known to be longer is not begun warm.
    #[must_use]
    pub fn warm(mut self, warm: Duration) -> Self {
        self.warm = Some(warm);
        self
    }

    /// Bytes of memory that instances may keep in all while their tasks wait: 1 GiB by default. One that finds no room is
    /// dropped as soon as it waits.
    #[must_use]
    pub fn warm_memory(mut self, bytes: u64) -> Self {
        self.warm_memory = Some(bytes);
        self
    }

    /// Whether messages of webhooks and callbacks may go to addresses that are private or this machine's own, and by plain
    /// `http`: no by default, since whoever starts tasks names them.
    #[must_use]
    pub fn webhooks_to_private(mut self, yes: bool) -> Self {
        self.webhooks_to_private = yes;
        self
    }

    /// Whether to run every task that no living host runs: yes by default. If not, only those that are started or
    /// [adopted](Host::adopt) here.
    #[must_use]
    pub fn take_over(mut self, yes: bool) -> Self {
        self.take_over = yes;
        self
    }

    /// How often this process shows the others on the same data that it is not frozen, 5 s by default, and a third of the
    /// time after which it takes over from one that does not. All of them must say the same.
    #[must_use]
    pub fn heartbeat(mut self, every: Duration) -> Self {
        self.heartbeat = Some(every);
        self
    }

    /// Compiles plugins in processes of their own, which `start` starts, and which end by
    /// [`compile_child`](crate::compile_child): one that takes more than `compile_memory` or `compile_time` of the
    /// [`HostLimits`] is stopped, and the plugin refused. The process is given no environment; it needs no file but its own
    /// program.
    ///
    /// By default they are compiled in this process, where only the size of a component is limited: a component that was
    /// written to keep a compiler busy does that, here, for as long and with as much memory as it takes. Whoever installs
    /// what strangers wrote wants a process.
    ///
    /// ```
    /// use longhaul::Host;
    /// use std::process::Command;
    ///
    /// let host = Host::builder().compile_with(|| {
    ///     let mut itself = Command::new("/proc/self/exe");
    ///     itself.arg("compile");
    ///     itself
    /// });
    /// ```
    #[must_use]
    pub fn compile_with(mut self, start: impl Fn() -> std::process::Command + Send + Sync + 'static) -> Self {
        self.compiler = Some(Box::new(start));
        self
    }

    /// Finds the addresses of names in place of the system.
    #[doc(hidden)]
    #[must_use]
    pub fn resolve_with(mut self, resolve: impl Fn(&str) -> Vec<IpAddr> + Send + Sync + 'static) -> Self {
        self.resolve = Some(Arc::new(move |name: String| {
            let found = std::future::ready(Ok(resolve(&name)));
            Box::pin(found) as futures_util::future::BoxFuture<'static, _>
        }));
        self
    }

    /// Lets the process, or this host alone, die at a planned place: for tests of what a crash does.
    #[must_use]
    pub fn crash(mut self, plan: impl Into<Arc<CrashPlan>>) -> Self {
        self.crash = plan.into();
        self
    }

    /// Opens the data and begins to run tasks, on the current tokio runtime.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] if an option makes no sense; [`Error::Policy`] if `longhaul.toml` does not; [`Error::Store`] with what is wrong with the database. Nothing is
    /// touched then.
    pub async fn open(self) -> Result<Host, Error> {
        let policy_file = self.policy_file.unwrap_or_else(|| self.data_dir.join("longhaul.toml"));
        let live = match self.policy {
            Some(policy) => LivePolicy::given(policy),
            None => LivePolicy::open(policy_file.clone())?,
        };
        let policy = live.current();
        let said = policy.host();
        let egress = match self.resolve {
            Some(resolve) => Egress::with_resolver(policy.http(), resolve),
            None => Egress::new(policy.http()),
        };
        let egress =
            egress.map_err(|problem| Error::Policy { path: policy_file, error: PolicyError::at("http", problem) })?;
        let heartbeat = self.heartbeat.unwrap_or(said.heartbeat);
        if heartbeat < FASTEST {
            let (value, allowed) = (format!("{heartbeat:?}"), format!("at least {FASTEST:?} must lie between two"));
            return Err(Error::OutOfRange { what: "heartbeat", value, allowed });
        }
        let namespace_queue = self.namespace_queue.unwrap_or(said.namespace_queue);
        let namespace_queue = namespace_queue.checked("`namespace_queue`")?;
        let plugin_queue = self.plugin_queue.unwrap_or(said.plugin_queue).checked("`plugin_queue`")?;
        let warm = self.warm.unwrap_or(said.warm);
        let warm_memory = self.warm_memory.unwrap_or(said.warm_memory);
        let limits = LimitsInForce::new(self.limits, self.ceilings, &policy);
        live.is_limited_by(limits);
        let allowed = limits.now(&policy);
        let told = limits.told(&live).map(|told| told.to_text()).unwrap_or_default();
        let host_limits = self.host_limits.unwrap_or(policy.limits().1);
        let database = self.data_dir.join("longhaul.db");
        create_private_dir(&self.data_dir).map_err(|error| unwritable(&database, &error))?;
        let watchers = Arc::new(Watchers::default());
        let (sender, notices) = mpsc::unbounded_channel();
        let news = Arc::new(Watchers::default());
        let (following, reading) = (watchers.clone(), news.clone());
        let notify = Box::new(move |mut batch: Vec<Notice>| {
            // Who follows a task is told at once; what needs a look at the database is passed on.
            batch.retain(|notice| match notice {
                Notice::Entries { task } => {
                    following.moved(task);
                    following.moved(&ANY_TASK);
                    false
                }
                Notice::News { namespace } => {
                    reading.moved(namespace.as_str());
                    false
                }
                _ => true,
            });
            if !batch.is_empty() {
                // Nobody listens once the host is gone.
                let _ = sender.send(batch);
            }
        });
        let (path, plan) = (database.clone(), self.crash.clone());
        let store = crate::runner::blocking(move || Ok(Store::open(&path, notify, plan)?)).await?;
        let now = self.clock.now();
        let dir = self.data_dir.join("owners");
        let enrolled = move |tx: &mut Tx<'_>| {
            Ok::<_, Error>((enrol(tx, &dir, &told, heartbeat, now)?, code_key(tx)?, faces_key(tx)?))
        };
        let (owners, code_key, key) = store.write("this host", enrolled).await?;
        let fault = |error: wasmtime::Error| Error::Fault(format!("the engine does not start: {error}"));
        let library = Library::new(allowed.default, &allowed.most, host_limits, self.compiler).map_err(fault)?;
        let library = library.kept_in(&self.data_dir, &code_key);
        let runner = Runner::begin(Parts {
            store,
            owners,
            library,
            clock: self.clock,
            watchers,
            news,
            webhooks_to_private: self.webhooks_to_private,
            warm: Arc::new(Warm::new(warm, warm_memory)),
            take_over: self.take_over,
            crash: self.crash,
            policy: live,
            limits,
            host_limits,
            egress,
            namespace_queue,
            plugin_queue,
            retention: self.retention.unwrap_or(said.retention),
            notices,
        });
        let handle = Arc::new(Handle { runner, key, delivering: Mutex::default() });
        Ok(Host { handle, namespace: super::DEFAULT_NAMESPACE.into() })
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    StoreError::ReadOnly { path: path.to_owned(), problem: error.to_string() }.into()
}

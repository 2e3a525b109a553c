//! The plugins that are ready to run: compiled once, kept on disk and in memory.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, watch};

use super::cache::{Cache, KEY};
use super::{CompiledSchema, Compiler, Manifest, Starter};
use crate::clock::{SimulatedClock, Timestamp};
use crate::journal::Recorder;
use crate::limits::{HostLimit, HostLimits, Limits, Near};
use crate::sandbox::{self, Crowded, How, Instance, Loaded, Opened, Run, RunParts, Sandbox, Seed, Stop};
use crate::task::{Broke, TaskId};
use crate::{Error, PluginError};

/// How often one that describes itself is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// How many times its computing time one that describes itself may take, by the clock.
const WAITS: u32 = 10;

/// A plugin, ready to be instantiated.
pub(crate) struct Ready {
    pub loaded: Loaded,
    pub manifest: Manifest,
    pub digest: String,
    /// By the names of the tools, compiled when they are first needed: most tasks need those of one tool.
    schemas: HashMap<String, OnceLock<Schemas>>,
}

/// A tool's schemas, compiled.
pub(crate) struct Schemas {
    pub input: CompiledSchema,
    pub output: Option<CompiledSchema>,
}

impl Ready {
    fn new(loaded: Loaded, manifest: Manifest, digest: String) -> Self {
        let schemas = manifest.tools.iter().map(|tool| (tool.name.clone(), OnceLock::new())).collect();
        Self { loaded, manifest, digest, schemas }
    }

    /// A tool's schemas, if there is such a tool.
    pub fn schemas(&self, tool: &str) -> Result<Option<&Schemas>, PluginError> {
        let Some(schemas) = self.schemas.get(tool) else { return Ok(None) };
        if let Some(compiled) = schemas.get() {
            return Ok(Some(compiled));
        }
        let Some((place, tool)) = self.manifest.tools.iter().enumerate().find(|(_, known)| known.name == tool) else {
            return Ok(None);
        };
        // They were accepted when the plugin was installed, perhaps by a version of this host that accepted more.
        let compiled = |schema, member| {
            CompiledSchema::new(schema)
                .map_err(|problem| PluginError::Manifest { at: format!("/tools/{place}/{member}"), problem })
        };
        let input = compiled(&tool.input_schema, "inputSchema")?;
        let output = tool.output_schema.as_ref().map(|schema| compiled(schema, "outputSchema")).transpose()?;
        Ok(Some(schemas.get_or_init(|| Schemas { input, output })))
    }

    /// Whether a tool's schemas are compiled, if there is such a tool.
    pub fn has_compiled(&self, tool: &str) -> bool {
        self.schemas.get(tool).is_none_or(|schemas| schemas.get().is_some())
    }
}

/// Compiles plugins, and remembers what it has compiled.
pub(crate) struct Library {
    pub sandbox: Sandbox,
    /// Where compiled code is kept, if nobody else can write there.
    cache: Option<Cache>,
    /// Compiles what strangers wrote in processes of its own; `None`: in this one.
    compiler: Option<Compiler>,
    /// For `describe`.
    limits: Limits,
    host: HostLimits,
    ready: Mutex<HashMap<String, Arc<Ready>>>,
    /// By digest: who gets that plugin ready, so that another who wants it waits instead of doing it too.
    turns: Mutex<HashMap<String, Weak<Mutex<()>>>>,
}

impl Library {
    /// For tasks that have `limits` if nothing else is said, and `most` at most. `compiler` starts processes that compile.
    pub fn new(limits: Limits, most: &Limits, host: HostLimits, compiler: Option<Starter>) -> wasmtime::Result<Self> {
        let sandbox = Sandbox::new(most, &host)?;
        let compiler = compiler.map(|start| Compiler::new(start, host));
        Ok(Self { sandbox, cache: None, compiler, limits, host, ready: Mutex::default(), turns: Mutex::default() })
    }

    /// Keeps compiled code in the data directory, under tags made with `key`.
    pub fn kept_in(mut self, data_dir: &Path, key: &[u8; KEY]) -> Self {
        self.cache = Cache::open(data_dir, &sandbox::engine_key(&self.sandbox.engine), key);
        self
    }

    /// The plugin, if it is in memory.
    pub fn at_hand(&self, digest: &str) -> Option<Arc<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    /// Forgets a plugin that was removed.
    pub fn forget(&self, digest: &str) {
        self.let_go(digest);
        if let Some(cache) = &self.cache {
            cache.remove(digest);
        }
    }

    /// Lets go of a plugin in memory; its compiled code stays.
    pub fn let_go(&self, digest: &str) {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).remove(digest);
    }

    /// Gets an installed plugin ready. Takes long if it must be compiled: not for an async thread. `component` reads
    /// the file.
    pub fn prepare(
        &self,
        digest: &str,
        manifest: Manifest,
        component: impl FnOnce() -> Result<Option<Vec<u8>>, Error>,
    ) -> Result<Arc<Ready>, Error> {
        let turn = self.turn(digest);
        let _mine = turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = self.at_hand(digest) {
            return Ok(ready);
        }
        let loaded = match self.restore(digest) {
            Some(loaded) => loaded,
            None => {
                let damaged = |problem| PluginError::Damaged { digest: digest.to_owned(), problem };
                let bytes = component()?.filter(|bytes| !bytes.is_empty()).ok_or_else(|| damaged("missing"))?;
                if digest_of(&bytes) != digest {
                    return Err(damaged("changed").into());
                }
                self.compile(&bytes, digest)?
            }
        };
        self.keep(Ready::new(loaded, manifest, digest.to_owned()))
    }

    fn turn(&self, digest: &str) -> Arc<Mutex<()>> {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.retain(|_, turn| turn.strong_count() > 0);
        let found = turns.get(digest).and_then(Weak::upgrade);
        found.unwrap_or_else(|| {
            let turn = Arc::default();
            turns.insert(digest.to_owned(), Arc::downgrade(&turn));
            turn
        })
    }

    /// Checks a file, compiles it and asks it what it is. Takes long: not for an async thread.
    pub fn examine(&self, bytes: &[u8], runtime: &tokio::runtime::Handle) -> Result<Ready, Error> {
        sandbox::check(bytes, self.host.component)?;
        let digest = digest_of(bytes);
        let loaded = match self.restore(&digest) {
            Some(loaded) => loaded,
            None => self.compile(bytes, &digest)?,
        };
        let text = runtime.block_on(self.describe(&loaded))?;
        Ok(Ready::new(loaded, Manifest::parse(&text)?, digest))
    }

    /// Remembers a plugin that was examined.
    pub fn keep(&self, ready: Ready) -> Result<Arc<Ready>, Error> {
        let ready = Arc::new(ready);
        let mut all = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.entry(ready.digest.clone()).or_insert(ready).clone())
    }

    fn compile(&self, bytes: &[u8], digest: &str) -> Result<Loaded, PluginError> {
        let code = match &self.compiler {
            Some(compiler) => compiler.compile(bytes)?,
            None => sandbox::compile(&self.sandbox.engine, bytes)?,
        };
        let loaded = sandbox::load(&self.sandbox, &code)?;
        // Without its compiled code a plugin is compiled again, that is all.
        if let Some(Err(problem)) = self.cache.as_ref().map(|cache| cache.save(digest, &code)) {
            tracing::warn!("the compiled code of {digest} is not kept: {problem}");
        }
        Ok(loaded)
    }

    fn restore(&self, digest: &str) -> Option<Loaded> {
        let code = self.cache.as_ref()?.load(digest)?;
        let loaded = sandbox::load(&self.sandbox, &code);
        loaded.inspect_err(|problem| tracing::warn!("the code of {digest} is made again: {problem}")).ok()
    }

    /// Asks a component for its manifest: in an instance of its own, without a task, at a fixed time with a fixed seed.
    async fn describe(&self, loaded: &Loaded) -> Result<String, PluginError> {
        let mut instance = self.instance(loaded)?;
        let time = self.host.describe_time;
        let failed = |how: &str| PluginError::Describe(how.to_owned());
        let said = |limit: HostLimit| limit.said(self.host.get(limit));
        let control = instance.control();
        let described = instance.describe();
        tokio::pin!(described);
        let begun = Instant::now();
        let how = loop {
            tokio::select! {
                described = &mut described => break described,
                // Mostly what it computes is what it takes. On a machine that has no time for it the one is not the other; and
                // one that waits computes nothing.
                () = tokio::time::sleep(LOOK) => if control.computed() > time || begun.elapsed() > WAITS * time {
                    control.stop(Stop::RunTime);
                }
            }
        };
        how.map_err(|how| match how {
            How::Stopped(_) => {
                PluginError::Describe(format!("it took longer than {time:?} ({})", said(HostLimit::describe_time)))
            }
            How::Broke(Broke::Fuel, _) => {
                PluginError::Describe(format!("it used up its fuel ({})", said(HostLimit::describe_fuel)))
            }
            How::Interrupted(_) => failed("it asked for something that only a task may ask for"),
            How::Broke(_, message) => PluginError::Describe(message),
            How::NoInstance => failed("all instances are taken by tasks; install it again in a moment"),
            How::Returned(_) => failed("the host is at fault"),
        })
    }

    /// An instance without a task. Nobody listens to it, so whatever it asks for is refused.
    pub fn instance(&self, loaded: &Loaded) -> Result<Instance, PluginError> {
        let recorder = Recorder::new(Vec::new()).map_err(|_| PluginError::Describe("the host is at fault".into()))?;
        let (requests, _) = mpsc::unbounded_channel();
        let (_, never) = watch::channel(false);
        let epoch = Timestamp::from_millis(0);
        let run = Arc::new(Run::new(RunParts {
            recorder,
            inbox: Arc::default(),
            clock: Arc::new(SimulatedClock::at(epoch)),
            task: TaskId(String::new()),
            created_at: epoch,
            settings: Box::new(|_| None),
            limits: self.limits,
            near: Near::default(),
            opened: Opened::default(),
            warm: Arc::default(),
            crowded: Crowded::never(),
            stopping: never,
            requests,
            crash: Arc::default(),
        }));
        let wasi = sandbox::wasi_context(&run, &Seed::new([0; 32], 0));
        let instance = Instance::new(loaded, run, wasi, self.host.describe_fuel);
        instance.map_err(|(_, message)| PluginError::Describe(message))
    }
}

/// SHA-256 in hexadecimal.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

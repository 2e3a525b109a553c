//! The plugins that are ready to run: compiled once, kept on disk and in memory.

use std::collections::HashMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::sync::{mpsc, watch};
use wasmtime::component::Component;

use super::{CompiledSchema, Manifest};
use crate::clock::{SimulatedClock, Timestamp};
use crate::journal::Recorder;
use crate::limits::{HostLimits, Limit, Limits};
use crate::sandbox::{self, Crowded, How, Inbox, Instance, Loaded, Opened, Run, Sandbox, Seed, Stop};
use crate::task::TaskId;
use crate::testing::CrashPlan;
use crate::{Error, PluginError};

/// A plugin, ready to be instantiated.
pub(crate) struct Ready {
    pub loaded: Loaded,
    pub manifest: Manifest,
    pub digest: String,
    schemas: HashMap<String, Schemas>,
}

/// A tool's schemas, compiled.
pub(crate) struct Schemas {
    pub input: CompiledSchema,
    pub output: Option<CompiledSchema>,
}

impl Ready {
    fn new(loaded: Loaded, manifest: Manifest, digest: String) -> Result<Self, PluginError> {
        let mut schemas = HashMap::new();
        for (tool, place) in manifest.tools.iter().zip(0..) {
            let compiled = |schema, member| {
                CompiledSchema::new(schema)
                    .map_err(|problem| PluginError::Manifest { at: format!("/tools/{place}/{member}"), problem })
            };
            let input = compiled(&tool.input_schema, "inputSchema")?;
            let output = tool.output_schema.as_ref().map(|schema| compiled(schema, "outputSchema")).transpose()?;
            schemas.insert(tool.name.clone(), Schemas { input, output });
        }
        Ok(Self { loaded, manifest, digest, schemas })
    }

    /// A tool's schemas, if there is such a tool.
    pub fn schemas(&self, tool: &str) -> Option<&Schemas> {
        self.schemas.get(tool)
    }

    /// The input as it is kept, if there is such a tool and it takes that.
    pub fn accept(&self, tool: &str, input: &Value, limits: &Limits) -> Result<String, Error> {
        let Some(schemas) = self.schemas(tool) else {
            let has = self.manifest.tools.iter().map(|tool| tool.name.clone()).collect();
            return Err(Error::UnknownTool { plugin: self.manifest.name.clone(), tool: tool.to_owned(), has });
        };
        let refused = |problem| Error::Input { tool: tool.to_owned(), problem };
        let text = input.to_string();
        if text.len() as u64 > limits.input {
            return Err(refused(format!("it has {} bytes as JSON ({})", text.len(), limits.said(Limit::input))));
        }
        schemas.input.check(input).map_err(refused)?;
        Ok(text)
    }
}

/// Compiles plugins, and remembers what it has compiled.
pub(crate) struct Library {
    pub sandbox: Sandbox,
    /// Where compiled code is kept, if nobody else can write there.
    cache: Option<PathBuf>,
    /// For `describe`.
    limits: Limits,
    host: HostLimits,
    ready: Mutex<HashMap<String, Arc<Ready>>>,
}

impl Library {
    /// Keeps compiled code below `cache`. A task has `limits` if nothing else is said, and `most` at most.
    pub fn new(cache: PathBuf, limits: Limits, most: &Limits, host: HostLimits) -> wasmtime::Result<Self> {
        let sandbox = Sandbox::new(most, &host)?;
        let own = cache.join(sandbox::engine_key(&sandbox.engine));
        let private = create_private_dir(&own).is_ok() && own.ancestors().take(3).all(is_private);
        if !private {
            tracing::warn!("{} can be written by others: no compiled code is kept there", cache.display());
        }
        let cache = private.then_some(own);
        Ok(Self { sandbox, cache, limits, host, ready: Mutex::default() })
    }

    /// The plugin, if it is in memory.
    pub fn at_hand(&self, digest: &str) -> Option<Arc<Ready>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    /// Forgets a plugin that was removed.
    pub fn forget(&self, digest: &str) {
        self.let_go(digest);
        if let Some(path) = self.compiled(digest) {
            let _ = std::fs::remove_file(path);
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
        self.keep(Ready::new(loaded, manifest, digest.to_owned())?)
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
        Ok(Ready::new(loaded, Manifest::parse(&text)?, digest)?)
    }

    /// Remembers a plugin that was examined.
    pub fn keep(&self, ready: Ready) -> Result<Arc<Ready>, Error> {
        let ready = Arc::new(ready);
        let mut all = self.ready.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.entry(ready.digest.clone()).or_insert(ready).clone())
    }

    fn compile(&self, bytes: &[u8], digest: &str) -> Result<Loaded, PluginError> {
        let (component, loaded) = sandbox::compile(&self.sandbox.engine, bytes)?;
        // Without its compiled code a plugin is compiled again, that is all.
        let saved = self.compiled(digest).map_or(Ok(()), |path| save(&component, &path));
        if let Err(problem) = saved {
            tracing::warn!("the compiled code of {digest} is not kept: {problem}");
        }
        Ok(loaded)
    }

    fn restore(&self, digest: &str) -> Option<Loaded> {
        sandbox::restore(&self.sandbox.engine, &self.compiled(digest)?)
    }

    fn compiled(&self, digest: &str) -> Option<PathBuf> {
        Some(self.cache.as_ref()?.join(digest).with_extension("cwasm"))
    }

    /// Asks a component for its manifest: in an instance of its own, without a task, at a fixed time with a fixed seed.
    async fn describe(&self, loaded: &Loaded) -> Result<String, PluginError> {
        let mut instance = self.instance(loaded)?;
        let time = self.host.describe_time;
        let failed = |how: &str| PluginError::Describe(how.to_owned());
        let control = instance.control();
        let described = instance.describe();
        tokio::pin!(described);
        let how = tokio::select! {
            described = &mut described => described,
            () = tokio::time::sleep(time) => {
                control.stop(Stop::RunTime);
                described.await
            }
        };
        how.map_err(|how| match how {
            How::Stopped(_) => PluginError::Describe(format!("it took longer than {time:?} (limit `describe_time`)")),
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
        let run = Arc::new(Run::new(
            recorder,
            Arc::new(Inbox::default()),
            Arc::new(SimulatedClock::at(epoch)),
            TaskId(String::new()),
            epoch,
            Box::new(|_| None),
            self.limits,
            Opened::default(),
            Arc::default(),
            Crowded::never(),
            never,
            requests,
            Arc::new(CrashPlan::default()),
        ));
        let wasi = sandbox::wasi_context(&run, &Seed::new([0; 32], 0));
        let instance = Instance::new(loaded, run, wasi, self.host.describe_fuel);
        instance.map_err(|(_, message)| PluginError::Describe(message))
    }
}

/// Keeps compiled code.
fn save(component: &Component, path: &Path) -> std::io::Result<()> {
    let code = component.serialize().map_err(|error| std::io::Error::other(error.to_string()))?;
    // Whole or not at all: another may be reading it, or writing it at the same time, and after a power cut a file
    // that was renamed and not synced may have holes.
    let temporary = path.with_extension(format!("{}.new", ulid::Ulid::generate()));
    let written = std::fs::File::create(&temporary)
        .and_then(|mut file| file.write_all(&code).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
    written
}

/// Whether nobody but the owner can put anything into a directory. Compiled code is run as it is found.
fn is_private(path: &Path) -> bool {
    #[cfg(unix)]
    {
        const OTHERS_WRITE: u32 = 0o022;
        let mode = std::fs::metadata(path).map(|found| std::os::unix::fs::MetadataExt::mode(&found));
        mode.is_ok_and(|mode| mode & OTHERS_WRITE == 0)
    }
    #[cfg(not(unix))]
    path.is_dir()
}

/// A directory that only its owner may enter.
pub(crate) fn create_private_dir(path: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// SHA-256 in hexadecimal.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

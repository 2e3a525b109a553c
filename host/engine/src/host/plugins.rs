//! Installing, listing and removing plugins.

use std::path::Path;

use super::Host;
use crate::plugin::Plugin;
use crate::store::{self, PluginRow};
use crate::{Error, PluginError};

impl Host {
    /// Installs a plugin: checks the file, asks it what it is, compiles it and keeps all of that. The same file again is
    /// the same plugin, and becomes the newest of its name.
    ///
    /// # Errors
    ///
    /// [`Error::Plugin`] with what is wrong with it, [`Error::Pinned`] if the operator allows only another build; nothing is
    /// kept then.
    pub async fn install(&self, component: impl Into<Vec<u8>>) -> Result<Plugin, Error> {
        let bytes = component.into();
        let runtime = tokio::runtime::Handle::current();
        let now = self.runner().clock.now();
        let (bytes, row) = self
            .read(move |runner| {
                let ready = runner.library.examine(&bytes, &runtime)?;
                runner.policy.current().pinned(None, &ready.manifest.name, &ready.digest)?;
                let row = PluginRow {
                    digest: ready.digest.clone(),
                    size: bytes.len() as u64,
                    installed_at: now,
                    manifest: ready.manifest.clone(),
                };
                runner.library.keep(ready)?;
                Ok((bytes, row))
            })
            .await?;
        let plugin = of(row.clone(), true);
        let kept = move |tx: &mut store::Tx<'_>| Ok::<_, Error>(store::insert_plugin(tx, &row, &bytes)?);
        self.runner().store.write("the plugin", kept).await?;
        Ok(plugin)
    }

    /// [Installs](Self::install) a file.
    ///
    /// # Errors
    ///
    /// [`PluginError::Unreadable`], and those of [`install`](Self::install).
    pub async fn install_file(&self, path: impl AsRef<Path>) -> Result<Plugin, Error> {
        let path = path.as_ref().to_owned();
        let bytes = self.read(move |runner| read_file(&path, runner.host_limits.component)).await?;
        self.install(bytes).await
    }

    /// What a file declares, without installing it.
    ///
    /// # Errors
    ///
    /// Those of [`install_file`](Self::install_file).
    pub async fn inspect_file(&self, path: impl AsRef<Path>) -> Result<Plugin, Error> {
        let path = path.as_ref().to_owned();
        let runtime = tokio::runtime::Handle::current();
        let now = self.runner().clock.now();
        self.read(move |runner| {
            let bytes = read_file(&path, runner.host_limits.component)?;
            let ready = runner.library.examine(&bytes, &runtime)?;
            let size = bytes.len() as u64;
            let row = PluginRow { digest: ready.digest, size, installed_at: now, manifest: ready.manifest };
            Ok(of(row, false))
        })
        .await
    }

    /// The installed plugins, by name, newest first.
    pub async fn plugins(&self) -> Result<Vec<Plugin>, Error> {
        let rows = self.read(|runner| Ok(runner.store.read(store::plugins)?)).await?;
        Ok(rows.into_iter().map(|row| of(row, true)).collect())
    }

    /// The newest plugin of that name, which may be an [alias](crate::Policy::alias) in this namespace, or the one with that
    /// digest: the same that a start would run.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPlugin`].
    pub async fn plugin(&self, called: &str) -> Result<Plugin, Error> {
        let wanted = self.called(called);
        let found = self.read(move |runner| Ok(runner.store.read(|sql| store::find_plugin(sql, &wanted))?)).await?;
        found.map(|row| of(row, true)).ok_or_else(|| Error::UnknownPlugin(called.to_owned()))
    }

    /// The plugin's own name, or its digest.
    pub(super) fn called(&self, called: &str) -> String {
        self.runner().policy.current().plugin(&self.namespace, called).to_owned()
    }

    /// Removes a plugin, named as in [`plugin`](Self::plugin), unless a task that has not ended needs it.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownPlugin`], [`Error::PluginInUse`].
    pub async fn remove_plugin(&self, called: &str) -> Result<Plugin, Error> {
        let plugin = self.plugin(called).await?;
        let (digest, name) = (plugin.digest.clone(), plugin.name.clone());
        self.runner().store.write("the removal", move |tx| store::remove_plugin(tx, &digest, &name)).await?;
        self.runner().library.forget(&plugin.digest);
        Ok(plugin)
    }
}

pub(super) fn read_file(path: &Path, most: u64) -> Result<Vec<u8>, Error> {
    let unreadable =
        |error: std::io::Error| PluginError::Unreadable { path: path.to_owned(), problem: error.to_string() };
    let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
    if bytes > most {
        return Err(PluginError::TooLarge { bytes, limit: most }.into());
    }
    Ok(std::fs::read(path).map_err(unreadable)?)
}

pub(super) fn of(row: PluginRow, installed: bool) -> Plugin {
    Plugin {
        name: row.manifest.name.clone(),
        version: row.manifest.version.clone(),
        digest: row.digest,
        size: row.size,
        installed_at: installed.then_some(row.installed_at),
        manifest: row.manifest,
    }
}

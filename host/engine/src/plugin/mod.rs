//! Plugins: what they declare, and getting them ready to run.

mod cache;
mod compiler;
mod grants;
mod library;
mod manifest;
mod schema;

pub(crate) use cache::{KEY as CODE_KEY, Seal, create_private_dir, is_private, read as read_code};
pub use compiler::compile_child;
pub(crate) use compiler::{Compiler, Starter};
pub(crate) use grants::Grants;
pub(crate) use library::{Library, Ready, Schemas, digest_of};
pub(crate) use manifest::is_plugin_name;
pub use manifest::{Hints, Manifest, Need, NeedKind, Pace, Tool};
pub(crate) use schema::CompiledSchema;

use serde::Serialize;

use crate::clock::Timestamp;

/// An installed plugin, or one that was looked at.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of the file, in hexadecimal: what the plugin is known by.
    pub digest: String,
    /// Size of the file in bytes.
    pub size: u64,
    /// When it was installed; `None` if it was only looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub installed_at: Option<Timestamp>,
    /// What it declares.
    pub manifest: Manifest,
}

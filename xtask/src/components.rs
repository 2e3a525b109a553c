//! The components that cargo built: found in its messages, checked, and copied together under their packages' names.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

pub struct Component {
    /// The package's name, as it is written in its manifest.
    pub name: String,
    pub file: PathBuf,
}

/// Magic and version of a component; a core module has version 1, layer 0.
const PREAMBLE: [u8; 8] = *b"\0asm\x0d\0\x01\0";

impl Component {
    /// Reads one line of `--message-format=json`; none if it is about something else.
    pub fn from_cargo(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" {
            return None;
        }
        let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
        let file = files.find(|file| file.ends_with(".wasm"))?;
        let is_bin = message["target"]["kind"].as_array()?.iter().any(|kind| kind == "bin");
        let name = if is_bin {
            message["target"]["name"].as_str()?.to_owned()
        } else {
            package_name(message["package_id"].as_str()?)?
        };
        Some(Self { name, file: file.into() })
    }
}

/// Of `path+file:///a/b#0.1.0` it is `b`, of `path+file:///a/b#name@0.1.0` it is `name`.
fn package_name(id: &str) -> Option<String> {
    let (url, fragment) = id.rsplit_once('#')?;
    let name = match fragment.split_once('@') {
        Some((name, _)) => name,
        None => url.rsplit('/').next()?,
    };
    Some(name.to_owned())
}

/// Makes the folder hold these components and no others.
pub fn collect<'a>(dir: &Path, components: impl Iterator<Item = &'a Component>) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    let mut kept: Vec<OsString> = Vec::new();
    for component in components {
        let bytes = fs::read(&component.file).with_context(|| format!("cannot read {}", component.file.display()))?;
        if !bytes.starts_with(&PREAMBLE) {
            bail!("{} is not a component; was it linked by wasm-component-ld?", component.file.display());
        }
        let name = OsString::from(format!("{}.wasm", component.name));
        replace(&dir.join(&name), &bytes)?;
        kept.push(name);
    }
    for entry in dir.read_dir().with_context(|| format!("cannot read {}", dir.display()))?.flatten() {
        if !kept.contains(&entry.file_name()) {
            fs::remove_file(entry.path()).with_context(|| format!("cannot remove {}", entry.path().display()))?;
        }
    }
    Ok(())
}

/// Leaves an equal file alone, and never shows half of a new one to somebody who reads at the same time.
fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let partial = path.with_extension(format!("{}.partial", std::process::id()));
    fs::write(&partial, bytes).with_context(|| format!("cannot write {}", partial.display()))?;
    fs::rename(&partial, path).with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::{Component, package_name};

    #[test]
    fn a_package_is_named_by_its_id() {
        assert_eq!(package_name("path+file:///src/plugins/csv-profile#0.1.0").as_deref(), Some("csv-profile"));
        assert_eq!(package_name("path+file:///src/plugins/csv#csv-profile@0.1.0").as_deref(), Some("csv-profile"));
        assert_eq!(package_name("nonsense"), None);
    }

    #[test]
    fn only_a_built_component_is_taken_from_cargos_messages() {
        let line = r#"{"reason":"compiler-artifact","package_id":"path+file:///p/csv-profile#0.1.0",
            "target":{"kind":["cdylib"],"name":"csv_profile"},"filenames":["/t/release/csv_profile.wasm"]}"#;
        let component = Component::from_cargo(line).expect("an artifact");
        assert_eq!(
            (component.name.as_str(), component.file.to_str()),
            ("csv-profile", Some("/t/release/csv_profile.wasm"))
        );
        assert!(Component::from_cargo(&line.replace(".wasm", ".rlib")).is_none());
        assert!(Component::from_cargo(r#"{"reason":"build-finished","success":true}"#).is_none());
        assert!(Component::from_cargo("not json").is_none());
    }
}

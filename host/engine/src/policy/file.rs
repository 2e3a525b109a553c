//! `longhaul.toml` as it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use crate::egress::{HttpConfig, HttpRule, SecretSource, SecretUse};
use crate::limits::Section;
use crate::plugin::{NeedKind, is_plugin_name};
use crate::{LimitUnit, QueueLimits};

/// Characters of a digest.
const DIGEST: usize = 64;

/// Bytes of a setting's value, wherever it comes from.
pub(crate) const SETTING_BYTES: usize = 4 << 10;

/// Bytes of a namespace's name.
pub(crate) const NAMESPACE_BYTES: usize = 256;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct File {
    pub host: HostSection,
    /// Read when the host opens.
    pub http: HttpConfig,
    pub limits: Section,
    pub secrets: BTreeMap<Named, SourceOfSecret>,
    pub plugins: BTreeMap<PluginName, PluginSection>,
    pub namespaces: BTreeMap<Namespace, NamespaceSection>,
    /// Whoever serves the host reads it.
    pub server: Option<toml::Table>,
}

/// How a host is set up. Read when it opens.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HostSection {
    #[serde(deserialize_with = "duration")]
    pub retention: Duration,
    #[serde(deserialize_with = "duration")]
    pub warm: Duration,
    #[serde(deserialize_with = "bytes")]
    pub warm_memory: u64,
    #[serde(deserialize_with = "duration")]
    pub heartbeat: Duration,
    pub namespace_queue: QueueLimits,
    pub plugin_queue: QueueLimits,
}

impl Default for HostSection {
    fn default() -> Self {
        Self {
            retention: Duration::from_secs(30 * 24 * 3_600),
            warm: Duration::from_secs(2),
            warm_memory: 1 << 30,
            heartbeat: Duration::from_secs(5),
            namespace_queue: QueueLimits::default(),
            plugin_queue: QueueLimits::default(),
        }
    }
}

/// What one plugin may do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PluginSection {
    /// Where the file came from. For people.
    pub source: Option<String>,
    pub digest: Option<Digest>,
    pub alias: Option<PluginName>,
    pub http: Vec<HttpRule>,
    pub tools: BTreeSet<ToolName>,
    pub limits: Section,
    pub settings: BTreeMap<Named, SettingValue>,
    pub secrets: BTreeMap<Named, SecretUse>,
}

/// What is different for one namespace.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct NamespaceSection {
    pub plugins: BTreeMap<PluginName, PluginSection>,
}

/// Declares a text that has to have a form.
macro_rules! text {
    ($(#[$about:meta])* $name:ident, $fits:expr, $form:expr) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
        #[serde(try_from = "String", into = "String")]
        pub(crate) struct $name(String);

        impl TryFrom<String> for $name {
            type Error = String;

            fn try_from(text: String) -> Result<Self, String> {
                let fits: fn(&str) -> bool = $fits;
                if fits(&text) { Ok(Self(text)) } else { Err(format!("\"{}\" is not {}", crate::json::cut(&text), $form)) }
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text!(
    /// What a plugin is called, or is to be called here.
    PluginName,
    is_plugin_name,
    "a plugin's name: 1 to 64 characters a-z, 0-9 and -, the first of them a letter"
);
text!(
    /// `plugin/tool`.
    ToolName,
    |name| NeedKind::Tool.fits(name),
    NeedKind::Tool.such_as()
);
text!(
    /// The name of a setting or of a secret.
    Named,
    |name| NeedKind::Setting.fits(name),
    NeedKind::Setting.such_as()
);
text!(
    /// What a plugin's file hashes to.
    Digest,
    |text| text.len() == DIGEST && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')),
    "a digest: 64 characters 0-9 and a-f, as `longhaul plugin ls --json` shows them"
);
text!(
    /// A tenant's name.
    Namespace,
    |name| !name.is_empty() && name.len() <= NAMESPACE_BYTES,
    format_args!("a namespace's name: 1 to {NAMESPACE_BYTES} bytes")
);

/// A setting's value is a text. What is written as a number or a truth is taken as one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SettingValue(pub String);

impl<'de> Deserialize<'de> for SettingValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a setting is a text, a whole number, or true or false")]
        enum Scalar {
            Text(String),
            Bool(bool),
            Integer(i64),
        }
        let value = match Scalar::deserialize(deserializer)? {
            Scalar::Text(text) => text,
            Scalar::Bool(truth) => truth.to_string(),
            Scalar::Integer(number) => number.to_string(),
        };
        if value.len() > SETTING_BYTES {
            return Err(de::Error::custom(format_args!(
                "a setting may have {SETTING_BYTES} bytes, and this has {}",
                value.len()
            )));
        }
        Ok(Self(value))
    }
}

/// Where a secret is, and never the secret.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SourceOfSecret(pub SecretSource);

impl<'de> Deserialize<'de> for SourceOfSecret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = SourceOfSecret;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("{ env = \"VARIABLE\" } or { file = \"PATH\" }")
            }

            // The usual complaint would quote it.
            fn visit_str<E: de::Error>(self, _: &str) -> Result<SourceOfSecret, E> {
                Err(E::custom(
                    "a secret is not written into this file: say { env = \"VARIABLE\" } or { file = \"PATH\" }",
                ))
            }

            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<SourceOfSecret, A::Error> {
                SecretSource::deserialize(de::value::MapAccessDeserializer::new(map)).map(SourceOfSecret)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// `"2s"`, `"30days"`.
fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let parsed = humantime::parse_duration(&text);
    parsed.map_err(|error| de::Error::custom(format_args!("\"{text}\" is no time such as \"2s\": {error}")))
}

/// `"1GiB"`, or a number of bytes.
fn bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a number of bytes, such as 65536, \"64KiB\" or \"1GiB\"")]
    enum Amount {
        Bytes(u64),
        Text(String),
    }
    let text = match Amount::deserialize(deserializer)? {
        Amount::Bytes(bytes) => return Ok(bytes),
        Amount::Text(text) => text,
    };
    LimitUnit::Bytes
        .read(&text)
        .ok_or_else(|| de::Error::custom("a number of bytes is written as 65536, \"64KiB\" or \"1GiB\""))
}

//! How the host itself reaches the network: `[http]` of the policy.

use std::fmt;
use std::path::PathBuf;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use url::Url;

/// `[http]` of the policy. Nothing of it is taken from the environment.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HttpConfig {
    /// The proxy through which everything goes: `http://proxy.example:3128`, with a user and a password if it wants them.
    pub proxy: Option<ProxyUrl>,
    /// Hosts that are reached without it: names, which stand for what is below them too, addresses, and ranges.
    pub no_proxy: Vec<String>,
    /// Whether the proxy resolves names, where only it can. Then what addresses they lead to is its business alone: this
    /// host does not know them.
    pub proxy_resolves: bool,
    /// A file of certificates (PEM) that are trusted beside the system's.
    #[serde(deserialize_with = "optional_path")]
    pub ca: Option<PathBuf>,
}

/// A file's path from the root: what a relative one means depends on where a command was given.
pub(super) fn path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    let path = PathBuf::deserialize(deserializer)?;
    match path.is_absolute() {
        true => Ok(path),
        false => Err(D::Error::custom(format_args!("`{}` does not begin at the root; write it so", path.display()))),
    }
}

fn optional_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<PathBuf>, D::Error> {
    path(deserializer).map(Some)
}

/// Where a proxy is. Its password is not shown by any formatting.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct ProxyUrl(Url);

impl TryFrom<String> for ProxyUrl {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        // The text is in no error: it may hold a password.
        let url: Url = text.parse().map_err(|_| "the proxy is not a URL such as http://proxy.example:3128")?;
        match (url.scheme(), url.host(), url.path(), url.query()) {
            ("http" | "https", Some(_), "" | "/", None) => Ok(Self(url)),
            ("http" | "https", Some(_), ..) => Err("the URL of a proxy ends after host and port"),
            _ => Err("a proxy is spoken to by http or https: http://proxy.example:3128"),
        }
    }
}

impl ProxyUrl {
    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }
}

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let port = self.0.port_or_known_default().unwrap_or_default();
        write!(f, "{}://{}:{port}", self.0.scheme(), self.0.host_str().unwrap_or_default())
    }
}

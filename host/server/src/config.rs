//! How a server is set up: the section `[server]` of `longhaul.toml`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::Deserialize;

/// How a [`Server`](crate::Server) is set up. In `longhaul.toml` it is the section `[server]`.
///
/// ```
/// use longhaul_server::Config;
///
/// let table = "listen = \"127.0.0.1:8080\"\nrequests_per_second = 50".parse().unwrap();
/// let config = Config::from_toml(table).unwrap();
/// assert_eq!(config.listen.port(), 8080);
/// assert!(Config::from_toml("lisen = 1".parse().unwrap()).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Config {
    /// Where to listen: `127.0.0.1:7420` by default. On an address that others reach, put a reverse proxy that speaks TLS in
    /// front: tokens travel with each request.
    pub listen: SocketAddr,
    /// The names that requests may call this server by (`Host`), besides loopback's. Empty: on a loopback address no others,
    /// elsewhere any. This is what keeps a web page from reaching a server on loopback by a name of its own.
    pub allowed_hosts: Vec<String>,
    /// The origins whose web pages may call this server (`Origin`), such as `https://desk.example.com`, besides its own.
    pub allowed_origins: Vec<String>,
    /// Bytes that the body of a request may have, but for a plugin's: 8 MiB by default.
    pub body_bytes: usize,
    /// Requests in a second that are answered to one token; as many at once. 2,000 by default.
    pub requests_per_second: u32,
    /// Whether messages of webhooks and callbacks may go to private addresses and by plain `http`: no by default.
    pub webhooks_to_private: bool,
    /// Streams and long polls that one token may have open at once: 5,000 by default.
    pub streams: usize,
    /// How long a client may take to send the headers of a request, and how long a connection stays open without one: 30 s by
    /// default. In the file it is `header_seconds`.
    #[serde(rename = "header_seconds", deserialize_with = "crate::mcp::seconds")]
    pub headers: Duration,
    /// How long a client may send nothing of the body of a request, or take nothing of an answer: 30 s by default. A body must
    /// also bring 4 KiB a second on average, once that time has passed: a slow line does. In the file it is `body_seconds`.
    #[serde(rename = "body_seconds", deserialize_with = "crate::mcp::seconds")]
    pub body: Duration,
    /// Connections that there may be at once: 10,000 by default, and fewer where the process may not open that many files. When
    /// they are all taken, those have to make room on which nobody is served who has shown a token.
    pub connections: usize,
    /// The face for clients of the Model Context Protocol.
    pub mcp: crate::mcp::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7420),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            body_bytes: 8 << 20,
            requests_per_second: 2_000,
            webhooks_to_private: false,
            streams: 5_000,
            headers: Duration::from_secs(30),
            body: Duration::from_secs(30),
            connections: 10_000,
            mcp: crate::mcp::Config::default(),
        }
    }
}

impl Config {
    /// Reads the section.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn from_toml(section: toml::Table) -> Result<Self, String> {
        let config: Self =
            section.try_into().map_err(|error: toml::de::Error| format!("[server]: {}", error.message()))?;
        let none = [
            ("body_bytes", config.body_bytes == 0),
            ("requests_per_second", config.requests_per_second == 0),
            ("streams", config.streams == 0),
            ("header_seconds", config.headers.is_zero()),
            ("body_seconds", config.body.is_zero()),
            ("connections", config.connections == 0),
        ];
        match none.iter().find(|(_, zero)| *zero) {
            Some((name, _)) => Err(format!("[server]: `{name}` is 0: it must be 1 at least, or nobody is answered")),
            None => Ok(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_makes_no_sense_or_is_unknown_does_not_load() {
        for (text, says) in [
            ("streams = 0", "`streams` is 0"),
            ("lisen = \"127.0.0.1:1\"", "unknown field `lisen`"),
            ("listen = \"nowhere\"", "invalid socket address"),
            ("body_bytes = -1", "invalid value"),
            ("header_seconds = 0", "`header_seconds` is 0"),
            ("body_seconds = 0", "`body_seconds` is 0"),
            ("connections = 0", "`connections` is 0"),
        ] {
            let error = Config::from_toml(text.parse().unwrap()).unwrap_err();
            assert!(error.starts_with("[server]: ") && error.contains(says), "{error}");
        }
        assert_eq!(Config::from_toml(toml::Table::new()), Ok(Config::default()));
    }

    /// The annotated file for operators.
    const REFERENCE: &str = include_str!("../../../docs/longhaul.toml");

    #[test]
    fn the_reference_for_operators_has_every_key_with_its_default() {
        let (_, section) = REFERENCE.split_once("\n#[server]\n").unwrap();
        // A setting begins with `#` and no space.
        let set: Vec<_> = section.lines().filter_map(|line| line.strip_prefix('#')).collect();
        let set: Vec<_> = set.into_iter().filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
        let mut config = Config::from_toml(set.join("\n").replace("[server.mcp]", "[mcp]").parse().unwrap()).unwrap();
        // Where there is no default, an example stands.
        for examples in [&mut config.allowed_hosts, &mut config.allowed_origins] {
            assert!(!std::mem::take(examples).is_empty());
        }
        assert!(!std::mem::take(&mut config.mcp.require_tasks).is_empty());
        assert_eq!(config, Config::default());
        for place in ["", "[mcp]\n"] {
            let error = Config::from_toml(format!("{place}what-is-this = 1").parse().unwrap()).unwrap_err();
            let keys: Vec<_> = error.split("expected ").nth(1).unwrap().split('`').skip(1).step_by(2).collect();
            for key in keys.into_iter().filter(|key| *key != "mcp") {
                assert!(set.iter().any(|line| line.starts_with(&format!("{key} = "))), "`{key}` is not in it");
            }
        }
    }
}

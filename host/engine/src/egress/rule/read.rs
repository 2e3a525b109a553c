//! Reading a rule. Total: every text is a rule or an error that says why not.

use std::net::IpAddr;

use http::Method;
use ipnet::IpNet;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use url::{Host, Url};

use super::{HostPattern, HttpRule, InDoubt, path};
use crate::egress::Scheme;
use crate::json::cut;

/// Bytes of a rule. A host's name has 253 at most; the rest is for a path.
const LONGEST: usize = 2_000;

/// A rule as a table, where the words of a text would be too many.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    host: String,
    #[serde(default)]
    methods: Vec<String>,
    #[serde(default)]
    private: bool,
    #[serde(default)]
    in_doubt: InDoubt,
}

impl HttpRule {
    /// Reads a rule, or says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: String| format!("\"{}\" is no rule for HTTP: {what}", cut(text));
        if text.len() > LONGEST {
            return Err(wrong(format!("it has {} bytes; a rule may have {LONGEST}", text.len())));
        }
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let (mut private, mut in_doubt) = (false, InDoubt::Resend);
        while words.len() > 1 {
            match words.last().copied() {
                Some("private") => private = true,
                Some("in-doubt=fail") => in_doubt = InDoubt::Fail,
                Some("in-doubt=resend") => in_doubt = InDoubt::Resend,
                _ => break,
            }
            words.pop();
        }
        let (named, place) = match words.as_slice() {
            [place] => (None, *place),
            [named, place] => (Some(*named), *place),
            [] => return Err(wrong("it names no host".into())),
            [_, _, more, ..] => {
                let words = "`private` and `in-doubt=fail`";
                return Err(wrong(format!("`{more}` is not one of the words that may follow a host, {words}")));
            }
        };
        let methods = methods(named.into_iter().flat_map(|named| named.split(','))).map_err(wrong)?;
        let (scheme, host, port, path) = self::place(place).map_err(wrong)?;
        // An address that is named is named; the word adds nothing.
        let private = private && !matches!(host, HostPattern::Range(_));
        let rule = Self { scheme, host, port, methods, path, private, in_doubt };
        // It is kept as it is shown, and read again: a name of other letters is longer then.
        match rule.to_string().len() {
            ..=LONGEST => Ok(rule),
            shown => Err(wrong(format!("in plain letters it has {shown} bytes; a rule may have {LONGEST}"))),
        }
    }
}

impl TryFrom<Table> for HttpRule {
    type Error = String;

    fn try_from(table: Table) -> Result<Self, String> {
        if table.host.contains(char::is_whitespace) {
            let text = cut(&table.host);
            return Err(format!("\"{text}\" is no host: methods and other words have members of their own"));
        }
        let rule = Self::parse(&table.host)?;
        let methods = methods(table.methods.iter().map(String::as_str))
            .map_err(|what| format!("the methods of \"{}\" are wrong: {what}", cut(&table.host)))?;
        let private = table.private && !matches!(rule.host, HostPattern::Range(_));
        Ok(Self { methods, private, in_doubt: table.in_doubt, ..rule })
    }
}

/// From a text, or from a table such as `{ host = "api.internal", private = true }`.
impl<'de> Deserialize<'de> for HttpRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = HttpRule;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a rule such as \"api.example.com\", or a table with `host`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<HttpRule, E> {
                HttpRule::parse(text).map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HttpRule, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map))?.try_into().map_err(A::Error::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

fn methods<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Method>, String> {
    let mut methods = Vec::new();
    for name in names {
        match name {
            "CONNECT" | "TRACE" | "TRACK" => return Err(format!("no request of method {name} is ever sent")),
            _ if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-') => {
                return Err(format!("`{}` is not a method such as GET, in capitals", cut(name)));
            }
            _ => methods.push(Method::from_bytes(name.as_bytes()).map_err(|error| error.to_string())?),
        }
    }
    methods.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    methods.dedup();
    Ok(methods)
}

/// Scheme, host, port and path.
fn place(text: &str) -> Result<(Scheme, HostPattern, u16, Option<String>), String> {
    let (scheme, rest) = match text.split_once("://") {
        Some((word, rest)) if word.eq_ignore_ascii_case("https") => (Scheme::Https, rest),
        Some((word, rest)) if word.eq_ignore_ascii_case("http") => (Scheme::Http, rest),
        Some((word, _)) => return Err(format!("`{}` is neither https nor http", cut(word))),
        None => (Scheme::Https, text),
    };
    if let Some(odd) = rest.chars().find(|odd| matches!(odd, '@' | '?' | '#' | '\\')) {
        return Err(format!("`{odd}` has no place in it"));
    }
    let end = host_end(rest)?;
    let (host, rest) = rest.split_at(end);
    let (port, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let port = match port.strip_prefix(':') {
        None => scheme.port(),
        Some(digits) => match digits.parse::<u16>() {
            Ok(port) if port > 0 && digits.bytes().all(|byte| byte.is_ascii_digit()) => port,
            _ => return Err(format!("`{}` is not a port from 1 to 65535", cut(digits))),
        },
    };
    let path = match path {
        "" | "/" => None,
        path => Some(self::path(path)?),
    };
    Ok((scheme, self::host(host)?, port, path))
}

/// Where the host ends. The slash in `10.0.0.0/8` belongs to it.
fn host_end(text: &str) -> Result<usize, String> {
    if text.starts_with('[') {
        return text.find(']').map(|at| at + 1).ok_or_else(|| "the `]` after the address is missing".into());
    }
    let end = text.find([':', '/']).unwrap_or(text.len());
    let (address, rest) = text.split_at(end);
    let Some(length) = rest.strip_prefix('/') else { return Ok(end) };
    let digits = length.bytes().take_while(u8::is_ascii_digit).count();
    let ends = matches!(length.as_bytes().get(digits), None | Some(b':' | b'/'));
    match address.parse::<IpAddr>().is_ok() && digits > 0 && ends {
        true => Ok(end + 1 + digits),
        false => Ok(end),
    }
}

fn host(text: &str) -> Result<HostPattern, String> {
    if text == "*" {
        return Ok(HostPattern::Any);
    }
    if let Some(domain) = text.strip_prefix("*.") {
        return match name(domain)? {
            HostPattern::Name(domain) => Ok(HostPattern::Below(domain)),
            _ => Err(format!("nothing is below the address {domain}")),
        };
    }
    if let Some((address, _)) = text.trim_matches(['[', ']']).split_once('/') {
        let range: IpNet = text
            .trim_matches(['[', ']'])
            .parse()
            .map_err(|_| format!("`{}` is not a range of addresses such as 10.0.0.0/8", cut(text)))?;
        let first = range.network();
        if range.addr() != first {
            return Err(format!("the range of addresses that holds {address} begins with {first}; write {first}"));
        }
        return match range {
            IpNet::V6(range) if range.network().to_ipv4_mapped().is_some() => {
                Err("IPv4 addresses written as IPv6 are compared as IPv4; write an IPv4 range".into())
            }
            range => Ok(HostPattern::Range(range)),
        };
    }
    name(text)
}

/// One name, or one address.
fn name(text: &str) -> Result<HostPattern, String> {
    if text.contains('*') {
        return Err("`*` stands for whole labels, and only in front: `*.example.com`".into());
    }
    if text.is_empty() {
        return Err("it names no host".into());
    }
    let text = text.strip_suffix('.').unwrap_or(text);
    match Host::parse(text) {
        Ok(Host::Domain(name)) if name.ends_with('.') || name.split('.').any(str::is_empty) => {
            Err(format!("`{}` has two dots in a row", cut(text)))
        }
        Ok(Host::Domain(name)) => Ok(HostPattern::Name(name)),
        Ok(Host::Ipv4(address)) if text.parse() != Ok(address) => {
            Err(format!("`{}` is the address {address}; write it so", cut(text)))
        }
        Ok(Host::Ipv4(address)) => Ok(HostPattern::Range(IpAddr::V4(address).into())),
        Ok(Host::Ipv6(address)) => Ok(HostPattern::Range(IpAddr::V6(address).to_canonical().into())),
        Err(error) => Err(format!("`{}` is not a host: {error}", cut(text))),
    }
}

/// A path as a URL would have it.
fn path(text: &str) -> Result<String, String> {
    let url = Url::parse(&format!("https://host{text}")).map_err(|error| error.to_string())?;
    let normal = url.path();
    if normal != text {
        return Err(format!("the path `{}` is written `{}` in a URL; write it so", cut(text), cut(normal)));
    }
    match path::is_below(text, text) {
        true => Ok(normal.to_owned()),
        false => Err(format!("servers do not agree on what the path `{}` means", cut(text))),
    }
}

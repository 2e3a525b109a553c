//! `[limits]` of a configuration: of the host, or of one plugin.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeSeed, Deserializer, MapAccess, Visitor};

use super::table::{HostLimit, Limit, Row};
use super::{Allowed, HostLimits, Limits, value};
use crate::Error;

/// What a section says of each limit that it names. It may have been written for the host or for a plugin.
///
/// | entry | what it says |
/// |---|---|
/// | `questions = 200` | a task has 200, and may be given 200 at most |
/// | `memory = "1GiB"` | the same, with a unit |
/// | `fuel = { default = "10G", most = "1T" }` | a task has 10 G, and may be given 1 T |
/// | `fuel = { most = "1T" }` | only the most; a task has what it had, or that if it is less |
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Section {
    tasks: Vec<(Limit, Given)>,
    host: Vec<(HostLimit, u64)>,
}

/// An amount for a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Given {
    default: Option<u64>,
    most: Option<u64>,
}

impl Section {
    /// What the host's section makes of what there was.
    pub fn host(&self, allowed: Allowed, mut host: HostLimits) -> (Allowed, HostLimits) {
        for (limit, amount) in &self.host {
            host.put(*limit, *amount);
        }
        (self.over(allowed), host)
    }

    /// What a plugin's section makes of what there was; `host` is the most that any task may be given.
    ///
    /// # Errors
    ///
    /// It is above the host's, or names a limit of the host itself.
    pub fn plugin(&self, allowed: Allowed, host: &Limits) -> Result<Allowed, Error> {
        if let Some((limit, amount)) = self.host.first() {
            let row = limit.row();
            let value = value::shown(row.unit, *amount);
            let allowed = format!("it is the same for all plugins; {} sets it", row.setting());
            return Err(Error::OutOfRange { what: row.label, value, allowed });
        }
        let plugin = self.over(allowed);
        plugin.most.within(host)?;
        Ok(plugin)
    }

    fn over(&self, mut allowed: Allowed) -> Allowed {
        for (limit, given) in &self.tasks {
            if let Some(default) = given.default {
                allowed.default.put(*limit, default);
            }
            if let Some(most) = given.most {
                allowed.most.put(*limit, most);
            }
        }
        Allowed::new(allowed.default, allowed.most)
    }
}

/// What stands behind a limit's name.
enum Said {
    Value(String),
    Table(BTreeMap<String, Said>),
}

impl Said {
    fn read(&self, row: &Row) -> Result<Given, Error> {
        let wrong = |value: String, allowed: &str| {
            Err(Error::OutOfRange { what: row.label, value, allowed: allowed.to_owned() })
        };
        let table = match self {
            Self::Value(text) => {
                let amount = value::parse(row, text)?;
                return Ok(Given { default: Some(amount), most: Some(amount) });
            }
            Self::Table(table) => table,
        };
        let mut given = Given { default: None, most: None };
        for (key, said) in table {
            let place = match key.as_str() {
                "default" => &mut given.default,
                "most" => &mut given.most,
                _ => return wrong(format!("a table with `{key}`"), "it may have `default` and `most`"),
            };
            let Self::Value(text) = said else { return wrong("a table in a table".into(), "give an amount") };
            *place = Some(value::parse(row, text)?);
        }
        match (given.default, given.most) {
            (None, None) => wrong("an empty table".into(), "give an amount, or `default` and `most`"),
            (Some(default), Some(most)) if default > most => {
                let shown = |amount| value::shown(row.unit, amount);
                wrong(shown(default), &format!("that is more than its own `most`, {}", shown(most)))
            }
            _ => Ok(given),
        }
    }
}

impl<'de> Deserialize<'de> for Section {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Table;
        impl<'de> Visitor<'de> for Table {
            type Value = Section;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table of limits")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Section, A::Error> {
                let mut section = Section::default();
                while let Some(name) = map.next_key::<Name>()? {
                    match name {
                        Name::Task(limit) => section.tasks.push((limit, map.next_value_seed(Amount(limit.row()))?)),
                        Name::Host(limit) => {
                            let Given { most, default } = map.next_value_seed(Amount(limit.row()))?;
                            let amount = most.filter(|_| most == default).ok_or_else(|| {
                                de::Error::custom(format!("{} is one value for the whole host", limit.row().label))
                            })?;
                            section.host.push((limit, amount));
                        }
                    }
                }
                Ok(section)
            }
        }
        deserializer.deserialize_map(Table)
    }
}

/// The name of a limit.
enum Name {
    Task(Limit),
    Host(HostLimit),
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if let Ok(limit) = HostLimit::named(&name) {
            return Ok(Self::Host(limit));
        }
        let unknown = |_| de::Error::custom(super::unknown(&name, Limit::names().chain(HostLimit::names())));
        Limit::named(&name).map(Self::Task).map_err(unknown)
    }
}

/// Reads what stands behind the name of that row. Where it is wrong, the parser knows its line.
struct Amount(&'static Row);

impl<'de> DeserializeSeed<'de> for Amount {
    type Value = Given;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Given, D::Error> {
        Said::deserialize(deserializer)?.read(self.0).map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Said;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount, such as 100, \"64MiB\" or \"30s\", or a table with `default` and `most`")
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Said, E> {
                Ok(Said::Value(number.to_string()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Said, E> {
                Ok(Said::Value(number.to_string()))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Said, E> {
                Ok(Said::Value(text.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Said, A::Error> {
                Deserialize::deserialize(de::value::MapAccessDeserializer::new(map)).map(Said::Table)
            }
        }
        deserializer.deserialize_any(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(text: &str) -> Result<Section, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    fn defaults() -> Allowed {
        Allowed::new(Limits::default(), Limits::default())
    }

    #[test]
    fn a_value_is_what_tasks_have_and_the_most_that_they_may_have() {
        let text = "questions = 200\nmemory = \"1GiB\"\nhttp_time = '90s'\nwasm_stack = \"1MiB\"\n\
                    fuel = { default = '10G', most = '1T' }\njournal = { most = '1MiB' }";
        let (allowed, host) = section(text).unwrap().host(defaults(), HostLimits::default());
        assert_eq!((allowed.default.questions, allowed.most.questions), (200, 200));
        assert_eq!((allowed.default.memory, allowed.most.memory), (1 << 30, 1 << 30));
        assert_eq!(allowed.most.http_time.as_secs(), 90);
        assert_eq!((allowed.default.fuel, allowed.most.fuel), (10_000_000_000, 1_000_000_000_000));
        assert_eq!((allowed.default.journal, allowed.most.journal), (1 << 20, 1 << 20));
        assert_eq!(host.wasm_stack, 1 << 20);
        assert_eq!(allowed.most.children, Limits::default().children);
    }

    #[test]
    fn a_plugin_has_at_most_what_the_host_allows() {
        let plugin = |text: &str| section(text).unwrap().plugin(defaults(), &Limits::default());
        let less = plugin("fuel = '1G'\nmemory = { default = '64MiB' }").unwrap();
        assert_eq!((less.default.fuel, less.most.fuel), (1_000_000_000, 1_000_000_000));
        assert_eq!((less.default.memory, less.most.memory), (64 << 20, 256 << 20));
        let more = plugin("questions = 101").unwrap_err().to_string();
        assert_eq!(
            more,
            "limit `questions` is 101; this host allows at most 100; `limits.questions` in longhaul.toml raises that"
        );
        let hosts = plugin("wasm_stack = '1MiB'").unwrap_err().to_string();
        assert!(hosts.contains("the same for all plugins"), "{hosts}");
    }

    #[test]
    fn what_is_unknown_or_makes_no_sense_does_not_load_and_says_where() {
        for (text, problem) in [
            ("questons = 5", "there is no limit `questons`; is it `questions`?"),
            ("core_instance = 5", "is it `core_instances`?"),
            ("memory = 0", "it must be 64KiB at least"),
            ("memory = \"1TiB\"", "it may be 4GiB at most"),
            ("run_time = 3600", "it must be a time with its unit"),
            ("fuel = \"1s\"", "it must be a whole number"),
            ("fuel = -1", "it must be a whole number"),
            ("fuel = 1.5", "an amount, such as"),
            ("fuel = true", "an amount, such as"),
            ("fuel = {}", "an empty table"),
            ("fuel = { least = 5 }", "it may have `default` and `most`"),
            ("fuel = { default = 6, most = 5 }", "more than its own `most`, 5"),
            ("wasm_stack = { most = '1MiB' }", "one value for the whole host"),
        ] {
            let error = section(text).unwrap_err();
            assert!(error.contains(problem) && error.contains("line 1"), "{text}: {error}");
        }
    }
}

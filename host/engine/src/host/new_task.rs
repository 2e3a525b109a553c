//! What a caller says to start a task.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::Callback;
use crate::egress::HttpRule;
use crate::plugin::Grants;
use crate::runner::trace;
use crate::store::Locality;
use crate::task::{RetryPolicy, TaskId};
use crate::{Error, Limits};

/// A task to start.
///
/// ```
/// use longhaul::NewTask;
/// use serde_json::json;
///
/// let task = NewTask::new("csv-profile", "profile_csv")
///     .input(json!({ "csv": "a,b\n1,2\n" }))
///     .session("thread-7")
///     .idempotency_key("request-42");
/// ```
#[derive(Debug, Clone)]
pub struct NewTask {
    pub(super) plugin: String,
    pub(super) tool: String,
    /// Or why it can't be written as JSON.
    pub(super) input: Result<Value, String>,
    pub(super) session: Option<String>,
    pub(super) context: Value,
    pub(super) deadline: Option<Duration>,
    pub(super) key: Option<String>,
    pub(super) settings: BTreeMap<String, String>,
    pub(super) tools: BTreeSet<String>,
    pub(super) http: Vec<String>,
    pub(super) limits: Option<Limits>,
    pub(super) limit: Vec<(String, String)>,
    pub(super) callback: Option<Callback>,
    pub(super) traceparent: Option<String>,
    pub(super) locality: Locality,
    pub(super) retry: Option<RetryPolicy>,
}

/// A task that was taken. It is on disk: nothing but [`Host::remove`](crate::Host::remove) makes it go away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// Its name.
    pub id: TaskId,
    /// It had been started before, with the same idempotency key.
    pub existing: bool,
}

impl NewTask {
    /// A call of `tool` of the plugin with that name (the newest) or digest. The input is `{}` until it is set.
    pub fn new(plugin: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            plugin: plugin.into(),
            tool: tool.into(),
            input: Ok(Value::Object(serde_json::Map::new())),
            session: None,
            context: Value::Null,
            deadline: None,
            key: None,
            settings: BTreeMap::new(),
            tools: BTreeSet::new(),
            http: Vec::new(),
            limits: None,
            limit: Vec::new(),
            callback: None,
            traceparent: None,
            locality: Locality::default(),
            retry: None,
        }
    }

    /// The input: JSON, or a type of yours that is written as JSON. It must be valid against the tool's schema, and have 4 MiB
    /// as JSON at most; what is not is refused at the start.
    ///
    /// ```
    /// use longhaul::NewTask;
    ///
    /// #[derive(serde::Serialize)]
    /// struct Input {
    ///     csv: String,
    /// }
    ///
    /// let task = NewTask::new("csv-profile", "profile_csv").input(Input { csv: "a,b\n1,2\n".into() });
    /// ```
    #[must_use]
    pub fn input(mut self, input: impl Serialize) -> Self {
        self.input = serde_json::to_value(input).map_err(|error| error.to_string());
        self
    }

    /// The conversation that the task is started from, whatever the caller calls it.
    #[must_use]
    pub fn session(mut self, session: impl Into<String>) -> Self {
        self.session = Some(session.into());
        self
    }

    /// Anything that the caller wants back with the completion. The tool sees it too.
    #[must_use]
    pub fn context(mut self, context: Value) -> Self {
        self.context = context;
        self
    }

    /// How long the task may live, from now: 90 days at most and by default.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// A start with a key that was used before is that start: the task is found, not started again.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Grants a setting that the plugin declares.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.settings.insert(name.into(), value.into());
        self
    }

    /// Lets the task, and its children, start `tool` (`plugin/tool`) as a child, if its plugin declares that it does.
    #[must_use]
    pub fn grant_tool(mut self, tool: impl Into<String>) -> Self {
        self.tools.insert(tool.into());
        self
    }

    /// Lets the task, and its children, send the requests that a rule allows, if its plugin declares that it does. A rule is
    /// a host, `api.example.com`; `docs/http.md` has all that it can say. One that makes no sense is refused at the start.
    #[must_use]
    pub fn grant_http(mut self, rule: impl Into<String>) -> Self {
        self.http.push(rule.into());
        self
    }

    /// What is granted to this task alone.
    pub(super) fn grants(&self) -> Result<Grants, Error> {
        let rule = |text: &String| {
            HttpRule::parse(text).map_err(|problem| Error::OutOfRange {
                what: "a grant of `http`",
                value: format!("`{}`", crate::json::cut(text)),
                allowed: problem,
            })
        };
        let http = self.http.iter().map(rule).collect::<Result<_, _>>()?;
        Ok(Grants { tools: self.tools.clone(), http })
    }

    /// What the task may use, at most what the host allows.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// One limit of the task, by its name and as [`Limits::set`] takes it: `("questions", "20")`, `("memory", "64MiB")`.
    #[must_use]
    pub fn limit(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.limit.push((name.into(), value.into()));
        self
    }

    /// Where to send word of what happens to the task: questions, replies, the end, as a webhook's messages. They are signed
    /// with `secret`, or with the namespace's own ([`Host::callback_secret`](crate::Host::callback_secret)).
    #[must_use]
    pub fn callback(mut self, url: impl Into<String>, secret: Option<String>) -> Self {
        self.callback = Some(Callback { url: url.into(), secret });
        self
    }

    /// The trace that the task belongs to, as W3C's `traceparent` has it. It stands with what is logged of the task, and goes
    /// with the HTTP requests that the task sends.
    #[must_use]
    pub fn traceparent(mut self, trace: impl Into<String>) -> Self {
        self.traceparent = Some(trace.into());
        self
    }

    /// The language of the person the task works for, as BCP 47 has it: `de-CH`. The tool may speak it, and so may its
    /// children.
    #[must_use]
    pub fn locale(mut self, locale: impl Into<String>) -> Self {
        self.locality.locale = Some(locale.into());
        self
    }

    /// The time zone of the person the task works for, by its IANA name: `Europe/Zurich`.
    #[must_use]
    pub fn time_zone(mut self, zone: impl Into<String>) -> Self {
        self.locality.time_zone = Some(zone.into());
        self
    }

    /// When an attempt that failed for now, because the tool said `unavailable` or by a fault of the host, is followed by
    /// another: three in all by default. They share the task's [`Limits`].
    #[must_use]
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }
}

/// Whether a text is a `traceparent` that [`NewTask::traceparent`] takes.
///
/// ```
/// assert!(longhaul::is_traceparent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"));
/// assert!(!longhaul::is_traceparent("4bf92f3577b34da6a3ce929d0e0e4736"));
/// ```
pub fn is_traceparent(text: &str) -> bool {
    trace::next(text).is_some()
}

/// Refuses what is no language, or no time zone. Which there are is the tool's to know.
pub(super) fn checked(locality: &Locality) -> Result<(), Error> {
    let wrong = |what, value: &str, allowed: &str| {
        Err(Error::OutOfRange { what, value: format!("`{}`", crate::json::cut(value)), allowed: allowed.to_owned() })
    };
    if let Some(locale) = &locality.locale
        && !is_locale(locale)
    {
        return wrong("locale", locale, "it must be a language tag such as `de-CH`");
    }
    if let Some(zone) = &locality.time_zone
        && !is_time_zone(zone)
    {
        return wrong("time zone", zone, "it must be an IANA name such as `Europe/Zurich`");
    }
    Ok(())
}

/// Bytes of a locale, or of the name of a time zone. Those that there are have some 40 at most.
const LOCALITY_BYTES: usize = 64;

/// Subtags of letters and digits, of which the first is a language (RFC 5646).
fn is_locale(text: &str) -> bool {
    let mut subtags = text.split('-');
    let language = subtags.next().unwrap_or_default();
    let of =
        |subtag: &str, is: fn(&u8) -> bool| (1..=8).contains(&subtag.len()) && subtag.bytes().all(|byte| is(&byte));
    text.len() <= LOCALITY_BYTES
        && of(language, u8::is_ascii_alphabetic)
        && subtags.all(|subtag| of(subtag, u8::is_ascii_alphanumeric))
}

/// Parts between slashes, as the tz database names its files.
fn is_time_zone(text: &str) -> bool {
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_+-".contains(&byte))
    };
    text.len() <= LOCALITY_BYTES && text.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_and_time_zones_are_known_by_their_form() {
        for good in ["de", "de-CH", "zh-Hant-TW", "en-US-u-ca-gregory", "x-whatever"] {
            assert!(is_locale(good), "{good}");
        }
        for bad in ["", "-", "de-", "de_CH", "de-CH.UTF-8", "1a", "germanies", "de\n", &"a-".repeat(40)] {
            assert!(!is_locale(bad), "{bad}");
        }
        for good in ["UTC", "Europe/Zurich", "America/Argentina/Buenos_Aires", "Etc/GMT+5", "America/Port-au-Prince"] {
            assert!(is_time_zone(good), "{good}");
        }
        for bad in ["", "/", "Europe/", "../etc/passwd", "Europe/Zürich", "+02:00", "Europe Zurich", &"A".repeat(65)] {
            assert!(!is_time_zone(bad), "{bad}");
        }
    }
}

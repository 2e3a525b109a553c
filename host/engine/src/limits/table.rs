//! The one table of limits: what each is, what it is by default, and the most that an operator may make of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Error;

/// What a limit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitUnit {
    /// Things, or units of fuel.
    Count,
    /// Bytes.
    Bytes,
    /// Milliseconds.
    Time,
}

/// One row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub name: &'static str,
    /// As it is called in an error.
    pub label: &'static str,
    pub unit: LimitUnit,
    #[cfg_attr(not(test), allow(dead_code, reason = "the reference is written, and compared, by a test"))]
    pub default: u64,
    /// The least and the most that a configuration may say.
    pub least: u64,
    pub most: u64,
    /// What it is, in a sentence or two.
    #[cfg_attr(not(test), allow(dead_code, reason = "the reference is written, and compared, by a test"))]
    pub about: &'static str,
    /// Where it is enforced: the module, and how.
    #[cfg_attr(not(test), allow(dead_code, reason = "the reference is written, and compared, by a test"))]
    pub at: &'static str,
}

/// What a field's type makes of an amount in its unit.
trait Amount: Copy {
    fn of(amount: u64) -> Self;
    fn amount(self) -> u64;
}

impl Amount for u64 {
    fn of(amount: u64) -> Self {
        amount
    }

    fn amount(self) -> u64 {
        self
    }
}

impl Amount for Duration {
    fn of(amount: u64) -> Self {
        Self::from_millis(amount)
    }

    fn amount(self) -> u64 {
        u64::try_from(self.as_millis()).unwrap_or(u64::MAX)
    }
}

macro_rules! field {
    (Time) => {
        Duration
    };
    ($unit:ident) => {
        u64
    };
}

/// A struct with a field for each row, and an enum with a variant for each, in the settings' own words.
macro_rules! limits {
    (
        $(#[$struct_doc:meta])* $limits:ident;
        $(#[$enum_doc:meta])* $limit:ident;
        $($(#[doc = $about:literal])+ $name:ident: $unit:ident = $default:expr, $least:expr, $most:expr, $at:literal;)+
    ) => {
        $(#[$struct_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $limits {
            $($(#[doc = $about])+ pub $name: field!($unit),)+
        }

        $(#[$enum_doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(non_camel_case_types, reason = "they are the names of settings")]
        pub(crate) enum $limit { $($name),+ }

        impl $limit {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            pub fn names() -> impl Iterator<Item = &'static str> {
                $limits::NAMES.iter().copied()
            }

            /// The limit of that name.
            pub fn named(name: &str) -> Result<Self, Error> {
                let named = Self::ALL.iter().find(|limit| limit.row().name == name).copied();
                named.ok_or_else(|| super::unknown(name, Self::names()))
            }

            pub fn row(self) -> &'static Row {
                const ROWS: &[Row] = &[$(Row {
                    name: stringify!($name),
                    label: concat!("limit `", stringify!($name), "`"),
                    unit: LimitUnit::$unit,
                    default: $default,
                    least: $least,
                    most: $most,
                    about: concat!($($about),+),
                    at: $at,
                }),+];
                &ROWS[self as usize]
            }
        }

        impl Default for $limits {
            fn default() -> Self {
                Self { $($name: Amount::of($default)),+ }
            }
        }

        impl $limits {
            /// The names of all limits.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// Sets the limit of that name, as a configuration or a command line says it: `100`, `100G`; `65536`, `64KiB`,
            /// `256MiB`; `250ms`, `30s`, `5min`.
            ///
            /// ```
            /// let mut limits = longhaul::Limits::default();
            /// limits.set("memory", "1GiB").unwrap();
            /// assert_eq!(limits.memory, 1 << 30);
            /// let wrong = limits.set("memroy", "1GiB").unwrap_err();
            /// assert_eq!(wrong.to_string(), "there is no limit `memroy`; is it `memory`?");
            /// ```
            ///
            /// # Errors
            ///
            /// [`Error::UnknownLimit`]; [`Error::OutOfRange`] if it is no such amount, or makes no sense for that limit.
            pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
                let limit = $limit::named(name)?;
                self.put(limit, super::value::parse(limit.row(), value)?);
                Ok(())
            }

            /// The amount of a limit, in its unit.
            #[allow(dead_code, reason = "not all of the host's are read so")]
            pub(crate) fn get(&self, limit: $limit) -> u64 {
                match limit { $($limit::$name => self.$name.amount()),+ }
            }

            /// Makes a limit another amount.
            pub(crate) fn put(&mut self, limit: $limit, amount: u64) {
                match limit { $($limit::$name => self.$name = Amount::of(amount)),+ }
            }
        }
    };
}

const K: u64 = 1_000;
const M: u64 = 1_000 * K;
const G: u64 = 1_000 * M;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

// A task's row holds what differs from these defaults. Whoever changes one writes the old one into the tasks that there are, by
// a step of the schema: the limits of a task are fixed when it starts.
limits! {
    /// What a task may use, over all its attempts and restarts. Fixed when the task starts.
    ///
    /// ```
    /// use longhaul::Limits;
    /// use std::time::Duration;
    ///
    /// let limits = Limits { fuel: 1_000_000_000, ..Limits::default() };
    /// assert_eq!(limits.memory, 256 << 20);
    /// assert_eq!(limits.run_time, Duration::from_secs(3_600));
    /// ```
    Limits;
    /// A limit of a task.
    Limit;

    /// Instructions, about: wasmtime's fuel. 100 G are some minutes of one core.
    fuel: Count = 100 * G, 1, 1_000_000 * G, "sandbox/guest: the store's fuel";
    /// Bytes of linear memory, of all the guest's memories together, and of the headers and bodies of HTTP requests that it has
    /// not sent.
    memory: Bytes = 256 * MIB, 64 * KIB, 4 * GIB,
        "sandbox/meter: a growth beyond it answers -1, a header or a body beyond it is an error";
    /// As `fuel`, for bringing the tool back to where it stood after its instance was dropped in a wait: what it did since
    /// it began, or since its last ticket, is computed once more each time.
    replay_fuel: Count = 1_000 * G, 1, 10_000_000 * G, "runner/drive: before the instance is rebuilt";
    /// Time spent computing, by the wall; time spent waiting for people and timers does not count.
    run_time: Time = HOUR, 1, 90 * 24 * HOUR, "runner/drive: the guest is stopped";
    /// Elements of all the guest's tables together.
    table_elements: Count = 100 * K, 1, M, "sandbox/meter: a growth beyond it answers -1";
    /// Things that the guest holds by a handle at once: streams, timers, requests, resources of its own.
    resources: Count = 10 * K, 1, M, "sandbox/guest: the host's table, and the handles of each component";
    /// Bytes of the input as JSON.
    input: Bytes = 4 * MIB, 2, 64 * MIB, "host/start, runner/children: the start is refused";
    /// Bytes of the output as JSON; of a ticket; of an error's text and details.
    output: Bytes = 4 * MIB, 2, 64 * MIB, "sandbox/contract/convert: the task fails";
    /// Bytes of the message of `report-progress`; what is longer is cut.
    progress_message: Bytes = 4 * KIB, 1, 64 * KIB, "sandbox/contract/task: cut";
    /// Messages of `report-progress` in a second that the journal keeps; beyond them the newest wins.
    progress_rate: Count = 50, 1, K, "journal/throttle: merged";
    /// Bytes of a question in all.
    question: Bytes = 64 * KIB, 1, MIB, "sandbox/contract/questions: refused";
    /// Questions in the task's life.
    questions: Count = 100, 0, 10 * K, "sandbox/contract/questions: refused";
    /// Questions that are open at once.
    open_questions: Count = 16, 0, K, "sandbox/contract/questions: refused";
    /// Bytes of an answer's value as JSON.
    answer: Bytes = 64 * KIB, 1, 4 * MIB, "host: the answer is not taken";
    /// Bytes of who answered, and of why somebody declined to.
    reply_text: Bytes = 4 * KIB, 1, 64 * KIB, "host: the answer is not taken";
    /// Bytes of the journal, but for its end.
    journal: Bytes = 64 * MIB, 4 * KIB, GIB, "store/step: the task ends";
    /// Entries of the journal, but for its end.
    journal_entries: Count = M, 8, 10 * M, "store/step: the task ends";
    /// Bytes of the body of one HTTP request, and of one response.
    http_body: Bytes = 16 * MIB, 0, 256 * MIB, "sandbox/http, egress: the request fails";
    /// Bytes of the bodies of all HTTP requests and responses together.
    http_bytes: Bytes = 256 * MIB, 0, 16 * GIB, "sandbox/http, egress: the request fails";
    /// Time from an HTTP request to the first byte of the response's body.
    http_first_byte: Time = 30 * SECOND, 1, 10 * MINUTE, "egress: the request fails";
    /// Time that an HTTP exchange takes in all.
    http_time: Time = 5 * MINUTE, 1, HOUR, "egress: the request fails";
    /// HTTP requests in the task's life.
    http_exchanges: Count = K, 0, 100 * K, "sandbox/http: the request fails";
    /// HTTP requests that are under way at once.
    http_in_flight: Count = 16, 1, 256, "sandbox/http: the request fails";
    /// Bytes of the headers, or trailers, of one HTTP message.
    http_headers: Bytes = 64 * KIB, KIB, MIB, "sandbox/http, egress: the request fails";
    /// Children that the task starts in its life.
    children: Count = 100, 0, 10 * K, "sandbox/contract/children: refused";
    /// Tasks below a root, however deep: so a tree may use at most so many times what its root may, and no more.
    tree_tasks: Count = 100, 0, 10 * K, "store/children: refused";
    /// How deep a child stands below its root.
    child_depth: Count = 8, 0, 64, "runner/children: refused";
    /// Bytes of random numbers in one call.
    random: Bytes = MIB, 1, 64 * MIB, "sandbox/wasi: the guest is stopped";
    /// Bytes that are copied out of the guest in one call of the host: wasmtime's host-call fuel.
    host_call: Bytes = 64 * MIB, 64 * KIB, GIB, "sandbox/guest: the guest is stopped";
}

limits! {
    /// What any guest, or file, may use of this host. Fixed when the host opens.
    ///
    /// ```
    /// let limits = longhaul::HostLimits::default();
    /// assert_eq!(limits.core_instances, 64);
    /// ```
    HostLimits;
    /// A limit of the host.
    HostLimit;

    /// Core instances, memories and tables of one component. A Python guest has 14 instances.
    core_instances: Count = 64, 1, 256, "sandbox/engine: the instance pool";
    /// Bytes of a guest's own stack.
    wasm_stack: Bytes = 512 * KIB, 64 * KIB, 8 * MIB, "sandbox/engine: the guest is stopped";
    /// Bytes of a component's file.
    component: Bytes = 64 * MIB, KIB, 512 * MIB, "host/plugins, sandbox/load: it is not installed";
    /// Fuel of `describe`.
    describe_fuel: Count = G, M, 1_000 * G, "plugin/library: it is not installed";
    /// Computing time of `describe`; by the clock it may take ten times that.
    describe_time: Time = SECOND, 10, MINUTE, "plugin/library: it is not installed";
    /// Bytes of memory that compiling a component takes, where a process of its own does it; on Linux alone.
    compile_memory: Bytes = 2 * GIB, 64 * MIB, 64 * GIB, "plugin/compiler: it is not installed";
    /// Computing time that it takes there, of all threads together, in whole seconds.
    compile_time: Time = 2 * MINUTE, SECOND, 60 * MINUTE, "plugin/compiler: it is not installed";
}

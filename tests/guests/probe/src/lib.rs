//! A plugin for tests: its tools use everything the contract and WASI offer, and misbehave on request.

mod effects;
mod family;
mod hoard;
mod http;
mod job;
mod misuse;
mod plain;
mod trace;
mod waits;

longhaul_sdk::plugin! {
    name: "probe",
    tools: [
        effects::hash_imports,
        effects::steps,
        effects::outside,
        family::children,
        family::family,
        http::fetch,
        http::fetch_several,
        http::retell,
        http::http_misuse,
        hoard::hoard,
        hoard::smuggle,
        job::ExternalJob,
        misuse::panics,
        misuse::spin,
        misuse::eat_memory,
        misuse::many_progress,
        misuse::many_calls,
        misuse::chatty,
        misuse::big_output,
        misuse::big_random,
        plain::noop,
        plain::fail,
        plain::who_am_i,
        plain::parts,
        plain::pictures,
        waits::ask,
        waits::ask_many,
        waits::sleepy,
        waits::cancel_me,
    ],
    needs: [
        http("*", why = "tests grant it where their servers are"),
        setting("greeting", why = "tests read it"),
        setting("absent", why = "tests do not set it"),
        secret("token", why = "tests look for it where it should not be"),
        tool("probe/noop", why = "tests start it as a child"),
        tool("probe/sleepy", why = "tests start it as a child"),
        tool("probe/fail", why = "tests start it as a child"),
        tool("probe/ask", why = "tests start it as a child"),
        tool("probe/cancel_me", why = "tests start it as a child"),
        tool("probe/family", why = "tests start it as a child"),
    ],
}

//! Promise 6, limit by limit: what is exactly allowed passes, one less does not, and the limit is named; the same when the host
//! was closed in between.

use std::path::{Path, PathBuf};

use longhaul::{Error, EventKind, Host, HostLimits, Limits, NewTask, PluginError, Reply, Task, TaskId, TaskState};
use serde_json::json;

use crate::common::{
    FOR_EVER, Guest, START, ask, clock, cold_host_at, database, event, kid, names, open, parent, said, say, spin,
    structured, yes,
};

/// How it is seen whether a guest had enough.
enum Seen {
    /// Without enough the task fails with that code.
    Breaks(&'static str),
    /// It says these numbers last, with enough and without.
    Says(f64, f64),
    /// What its last message says, with enough and without.
    Message(&'static str, &'static str),
    /// So many messages are in the journal.
    Messages(usize, usize),
}

/// A limit, what a guest needs of it, and what it does with that after it has asked a question and was answered.
struct Case {
    limit: &'static str,
    enough: u64,
    short: u64,
    guest: Guest,
    seen: Seen,
}

fn case(limit: &'static str, enough: u64, guest: Guest, seen: Seen) -> Case {
    let guest = Guest { execute: format!("{} {}", ask(None), guest.execute), ..guest.with_question() };
    Case { limit, enough, short: enough - 1, guest, seen }
}

/// Whether the call before was refused, whose result lies at 3000.
fn refused() -> String {
    say("(i32.load8_u (i32.const 3000))")
}

fn cases() -> Vec<Case> {
    const PAGE: u64 = 64 << 10;
    let message = |bytes: u32| {
        format!(
            "(call $progress (i32.const 131072) (i32.const {bytes}) (i32.const 0) (f64.const 0)
               (i32.const 0) (f64.const 0) (i32.const 1))"
        )
    };
    let text = format!("(i32.store (i32.const 131072) (i32.const 0x64636261)) {}", message(4));
    let timers = "(drop (call $subscribe (i64.const 1000)))".repeat(5);
    // One byte more than the question that comes before.
    let longer = open(None).replacen("(i32.const 6)", "(i32.const 7)", 1);
    let more: String = (0..7).map(|n| say(&format!("(i32.const {n})"))).collect();
    vec![
        case("memory", 65 * PAGE, Guest::new(&say("(memory.grow (i32.const 1))")), Seen::Says(64.0, -1.0)),
        case("resources", 5, Guest::new(&timers), Seen::Breaks("limit")),
        case("output", 18, Guest::new(&structured(2100, 18)), Seen::Breaks("limit")),
        case("progress_message", 4, Guest::new(&text), Seen::Message("abcd", "abc")),
        // The newest is written when the guest is done.
        Case { short: 5, ..case("progress_rate", 7, Guest::new(&more), Seen::Messages(7, 6)) },
        case("question", 25, Guest::new(&(longer + &refused())).text(2054, "!"), Seen::Says(0.0, 1.0)),
        case("questions", 2, Guest::new(&(open(None) + &refused())), Seen::Says(0.0, 1.0)),
        case("open_questions", 2, Guest::new(&(open(None).repeat(2) + &refused())), Seen::Says(0.0, 1.0)),
        case("children", 2, parent(&(START.repeat(2) + &refused())), Seen::Says(0.0, 1.0)),
        case("tree_tasks", 2, parent(&(START.repeat(2) + &refused())), Seen::Says(0.0, 1.0)),
        case("child_depth", 1, parent(&(START.to_owned() + &refused())), Seen::Says(0.0, 1.0)),
        case("random", 16, Guest::new("(call $random_bytes (i64.const 16) (i32.const 3000))"), Seen::Breaks("limit")),
        case("host_call", 70_000, Guest::new(&message(70_000)), Seen::Breaks("limit")),
    ]
}

/// What is held elsewhere, since it is not a matter of one guest and one number: the tests, the last of them after a restart
/// where something adds up.
const ELSEWHERE: &[(&str, &[&str])] = &[
    (
        "fuel",
        &[
            "promise_6_fuel_is_enough_or_it_is_not",
            "promise_6_fuel_is_not_refilled_by_dropping_the_instance_or_the_host",
        ],
    ),
    ("replay_fuel", &["a_tool_is_not_brought_back_without_end"]),
    ("run_time", &["promise_6_run_time_stops_a_guest_that_spins", "promise_6_run_time_is_not_refilled_by_a_restart"]),
    ("table_elements", &["promise_6_a_guests_tables_are_counted_to_the_element"]),
    ("input", &["promise_6_what_callers_send_is_limited_to_the_byte"]),
    ("answer", &["promise_6_what_callers_send_is_limited_to_the_byte"]),
    ("reply_text", &["promise_6_what_callers_send_is_limited_to_the_byte"]),
    ("journal", &["promise_6_a_journal_is_limited_to_the_byte_and_the_entry"]),
    ("journal_entries", &["promise_6_a_journal_is_limited_to_the_byte_and_the_entry"]),
    ("http_body", &["promise_6_bodies_of_requests_and_responses_are_bounded"]),
    ("http_bytes", &["promise_6_requests_and_their_bytes_are_counted_over_all_attempts", HTTP_AFTER_A_RESTART]),
    ("http_first_byte", &["promise_6_a_response_that_does_not_come_in_time_is_not_waited_for"]),
    ("http_time", &["promise_6_a_response_that_does_not_come_in_time_is_not_waited_for"]),
    ("http_exchanges", &["promise_6_requests_and_their_bytes_are_counted_over_all_attempts", HTTP_AFTER_A_RESTART]),
    ("http_in_flight", &["promise_6_only_so_many_requests_are_under_way_at_once"]),
    ("http_headers", &["promise_6_headers_may_have_as_many_bytes_as_their_limit_and_not_one_more"]),
    ("core_instances", &["promise_6_core_instances_of_a_component_are_limited"]),
    ("wasm_stack", &["promise_6_the_stack_is_limited"]),
    ("component", &["promise_6_a_component_is_limited_to_the_byte"]),
    ("describe_fuel", &["promise_6_describe_has_its_own_fuel_and_time"]),
    ("describe_time", &["promise_6_describe_has_its_own_fuel_and_time"]),
    ("compile_memory", &["an_enormous_function_is_compiled_with_as_much_memory_as_the_limit_says"]),
    ("compile_time", &["an_enormous_function_is_compiled_for_as_long_as_the_limit_says"]),
];

const HTTP_AFTER_A_RESTART: &str = "promise_6_what_was_sent_and_received_counts_after_a_kill_and_a_restart";

/// The source of all tests, these and those of the built binary.
fn tests(dir: &Path) -> String {
    let entries = std::fs::read_dir(dir).expect("a folder of tests").map(|entry| entry.expect("an entry").path());
    let code = |path: PathBuf| match path.is_dir() {
        true => tests(&path),
        false => std::fs::read_to_string(path).expect("a source"),
    };
    entries.map(code).collect()
}

async fn start(host: &Host, limit: &str, value: u64) -> TaskId {
    let new = NewTask::new("test", "run").limit(limit, value.to_string());
    let new = if starts_children(limit) { new.grant_tool("kid/run") } else { new };
    host.start(new).await.unwrap().id
}

fn starts_children(limit: &str) -> bool {
    ["children", "tree_tasks", "child_depth"].contains(&limit)
}

/// Runs the guest with so much, the host closed while the question is open if `reopen`.
async fn run(guest: &Guest, limit: &str, value: u64, reopen: bool) -> (Task, Host, tempfile::TempDir) {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let mut host = cold_host_at(dir.path(), &clock).await;
    host.install(kid("").build()).await.unwrap();
    host.install(guest.build()).await.unwrap();
    let task = start(&host, limit, value).await;
    event(&host, &task, "question", 0).await;
    if reopen {
        host.shutdown().await;
        host = cold_host_at(dir.path(), &clock).await;
    }
    host.answer(&task, 1, yes()).await.unwrap();
    (host.wait(&task).await.unwrap(), host, dir)
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_what_is_allowed_passes_and_one_less_does_not() {
    for Case { limit, enough, short, guest, seen } in cases() {
        for (value, reopen) in [(enough, false), (short, false), (enough, true), (short, true)] {
            let (done, host, _dir) = run(&guest, limit, value, reopen).await;
            let what = format!("{limit} = {value}, reopened: {reopen}: {:?}", done.error);
            let had = value == enough;
            let messages: Vec<_> = host.journal(&done.id, 0, usize::MAX >> 1).await.unwrap();
            let messages: Vec<_> = messages
                .into_iter()
                .filter_map(|event| match event.kind {
                    EventKind::Progress(progress) => Some(progress.message),
                    _ => None,
                })
                .collect();
            let numbers = said(&host, &done.id).await;
            match seen {
                Seen::Breaks(code) if !had => {
                    let error = done.error.unwrap_or_else(|| panic!("{what}"));
                    assert_eq!(error.code, code, "{what}");
                    assert!(error.message.contains(&format!("limit `{limit}` = {value}; `--limit")), "{what}");
                    continue;
                }
                Seen::Breaks(_) => {}
                Seen::Says(with, without) => {
                    assert_eq!(numbers.last(), Some(&if had { with } else { without }), "{what}");
                }
                Seen::Message(with, without) => {
                    assert_eq!(messages.last().unwrap(), if had { with } else { without }, "{what}");
                }
                Seen::Messages(with, without) => {
                    assert_eq!(messages.len(), if had { with } else { without }, "{what}");
                }
            }
            assert_eq!(done.state, TaskState::Completed, "{what}");
        }
    }
}

#[test]
fn every_limit_has_a_test_of_its_own() {
    let (cases, here) = (cases(), Path::new(env!("CARGO_MANIFEST_DIR")));
    let code = tests(&here.join("tests")) + &tests(&here.join("../../tests/tests"));
    for name in Limits::NAMES.iter().chain(HostLimits::NAMES) {
        let elsewhere = ELSEWHERE.iter().find(|(other, _)| other == name);
        let named = elsewhere.map_or(&[][..], |(_, tests)| *tests);
        assert!(cases.iter().any(|case| case.limit == *name) || !named.is_empty(), "no test for `{name}`");
        for test in named {
            assert!(code.contains(&format!("fn {test}(")), "`{test}`, of `{name}`, is no test any more");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_guests_tables_are_counted_to_the_element() {
    let host = crate::common::cold_host().await;
    let (_dir, _clock, host) = host;
    let least = async |elements: u32| {
        let grow = say(&format!("(table.grow $t (ref.null func) (i32.const {elements}))"));
        let guest = Guest { more: "(table $t 0 funcref)".into(), ..Guest::new(&grow) };
        host.install(guest.build()).await.unwrap();
        for limit in u64::from(elements).. {
            let task = start(&host, "table_elements", limit).await;
            host.wait(&task).await.unwrap();
            if said(&host, &task).await == [0.0] {
                return limit;
            }
        }
        unreachable!()
    };
    // What the component itself has comes on top.
    assert_eq!(least(11).await, least(10).await + 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_what_callers_send_is_limited_to_the_byte() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(Guest::new(&ask(None)).with_question().build()).await.unwrap();
    let input = json!({"a": "bcd"});
    let sent = async |limit| {
        let new = NewTask::new("test", "run").input(input.clone()).limit("input", format!("{limit}"));
        host.start(new).await
    };
    sent(11).await.unwrap();
    let error = sent(10).await.unwrap_err();
    assert!(matches!(&error, Error::Input { problem, .. } if problem.contains("limit `input` = 10;")), "{error}");
    let by = Some("me".to_owned());
    for (limit, enough) in [("answer", 4), ("reply_text", 2)] {
        for value in [enough, enough - 1] {
            let task = start(&host, limit, value).await;
            event(&host, &task, "question", 0).await;
            let answered = host.answer(&task, 1, Reply::Answered { value: true.into(), by: by.clone() }).await;
            match value == enough {
                true => answered.unwrap(),
                false => {
                    let error = answered.unwrap_err().to_string();
                    assert!(error.contains(&format!("limit `{limit}` = {value};")), "{error}");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_journal_is_limited_to_the_byte_and_the_entry() {
    // Each message is an entry of its own, however they are committed.
    let body = "(call $progress (i32.const 131072) (i32.const 1000) (i32.const 0) (f64.const 0)
                  (i32.const 0) (f64.const 0) (i32.const 1))"
        .repeat(9);
    let guest = case("", 1, Guest::new(&body), Seen::Breaks("")).guest;
    let (_, host, dir) = run(&guest, "questions", 100, false).await;
    host.shutdown().await;
    let column = |what| database(dir.path()).query_row(what, [], |row| row.get::<_, i64>(0)).unwrap().cast_unsigned();
    // Its end is not counted, and neither is what is told of limits.
    let entries = "SELECT count(*) FROM entry WHERE kind NOT IN ('ended', 'limit-near')";
    let bytes = "SELECT journal_bytes FROM task";
    for (limit, enough) in [("journal_entries", column(entries)), ("journal", column(bytes))] {
        for (value, reopen) in [(enough, false), (enough - 1, false), (enough, true), (enough - 1, true)] {
            let (done, _host, _dir) = run(&guest, limit, value, reopen).await;
            match value == enough {
                true => assert_eq!(done.state, TaskState::Completed, "{limit} = {value}: {:?}", done.error),
                false => {
                    let error = done.error.unwrap();
                    assert_eq!(error.code, "limit");
                    assert!(error.message.contains(&format!("limit `{limit}` = ")), "{}", error.message);
                }
            }
        }
    }
}

/// The limits of the host itself.
async fn with(limits: HostLimits, guest: &Guest) -> Result<(Host, tempfile::TempDir), PluginError> {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::builder().data_dir(dir.path()).host_limits(limits).open().await.unwrap();
    match host.install(guest.build()).await {
        Ok(_) => Ok((host, dir)),
        Err(Error::Plugin(error)) => Err(error),
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_component_is_limited_to_the_byte() {
    let guest = Guest::new("");
    let component = guest.build().len() as u64;
    with(HostLimits { component, ..HostLimits::default() }, &guest).await.unwrap();
    let error = with(HostLimits { component: component - 1, ..HostLimits::default() }, &guest).await.err().unwrap();
    assert!(
        matches!(error, PluginError::TooLarge { .. })
            && error.to_string().contains(&format!("limit `component` = {}; `limits.component`", component - 1)),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_core_instances_of_a_component_are_limited() {
    // What it imports and its memory are instances of their own.
    let guest = Guest::new(&say("(i32.const 1)"));
    for core_instances in 1.. {
        match with(HostLimits { core_instances, ..HostLimits::default() }, &guest).await {
            Ok(_) => return assert!(core_instances > 1, "it has more than one"),
            Err(error) => {
                let said =
                    format!("limit `core_instances` = {core_instances}; `limits.core_instances` in longhaul.toml");
                assert!(error.to_string().contains(&said), "{error}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_component_that_begins_with_more_than_any_task_may_have_is_no_plugin() {
    let tables = Guest { more: "(table $t 1001 funcref)".into(), ..Guest::new("") };
    let defaults = Limits::default();
    for (limits, guest, said) in [
        (Limits { memory: 1 << 20, ..defaults }, Guest::new(""), "limit `memory` = 1MiB; `limits.memory`"),
        (Limits { table_elements: 1_000, ..defaults }, tables, "limit `table_elements` = 1k; `limits.table_elements`"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let host = Host::builder().data_dir(dir.path()).limits(limits).open().await.unwrap();
        let error = host.install(guest.build()).await.unwrap_err().to_string();
        assert!(error.contains("needs more than it may have") && error.contains(said), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_describe_has_its_own_fuel_and_time() {
    let describes = |describe: &str| Guest { describe: describe.into(), ..Guest::new("") };
    let spins =
        describes(&spin(1_000_000).replace("local.set $n", "global.set $n").replace("local.get $n", "global.get $n"));
    let spins = Guest { more: "(global $n (mut i64) (i64.const 0))".into(), ..spins };
    with(HostLimits::default(), &spins).await.unwrap();
    let error = with(HostLimits { describe_fuel: 1_000_000, ..HostLimits::default() }, &spins).await.err().unwrap();
    assert!(error.to_string().contains("limit `describe_fuel` = 1M; `limits.describe_fuel`"), "{error}");
    let describe_time = std::time::Duration::from_millis(50);
    let limits = HostLimits { describe_time, describe_fuel: u64::MAX >> 2, ..HostLimits::default() };
    let error = with(limits, &describes(FOR_EVER)).await.err().unwrap();
    assert!(error.to_string().contains("limit `describe_time` = 50ms; `limits.describe_time`"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_the_stack_is_limited() {
    let deep = "(func $deep (param i64) (result i64) (if (result i64) (i64.eqz (local.get 0)) (then (i64.const 0))
        (else (i64.add (call $deep (i64.sub (local.get 0) (i64.const 1))) (i64.const 1)))))";
    let guest = Guest { more: deep.into(), ..Guest::new("(drop (call $deep (i64.const 20000)))") };
    for (wasm_stack, enough) in [(8 << 20, true), (64 << 10, false)] {
        let (host, _dir) = with(HostLimits { wasm_stack, ..HostLimits::default() }, &guest).await.unwrap();
        let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
        let done = host.wait(&task).await.unwrap();
        match enough {
            true => assert_eq!(done.state, TaskState::Completed, "{:?}", done.error),
            false => assert!(done.error.unwrap().message.contains("limit `wasm_stack` = 64KiB; `limits.wasm_stack`")),
        }
    }
}

/// What was told of limits that are nearly used up.
async fn told(host: &Host, task: &TaskId) -> Vec<String> {
    let events = host.journal(task, 0, usize::MAX >> 1).await.unwrap();
    let near = events.into_iter().filter_map(|event| match event.kind {
        EventKind::LimitNear(near) => Some(near.to_string()),
        _ => None,
    });
    near.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_is_nearly_used_up_is_told_once_over_restarts_too() {
    let guest = case("questions", 5, Guest::new(&open(None).repeat(4)), Seen::Breaks("")).guest;
    for reopen in [false, true] {
        let (done, host, _dir) = run(&guest, "questions", 5, reopen).await;
        assert_eq!(told(&host, &done.id).await, ["questions 4 of 5"], "{:?}", names(&host, &done.id).await);
    }
    // Half of it is not worth a word.
    let (done, host, _dir) = run(&guest, "questions", 10, false).await;
    assert!(told(&host, &done.id).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn that_a_journal_is_nearly_full_is_told_in_it() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    // As JSON a thousand zeros are six thousand bytes.
    let body = "(call $progress (i32.const 131072) (i32.const 1000) (i32.const 0) (f64.const 0)
                  (i32.const 0) (f64.const 0) (i32.const 1))"
        .repeat(9);
    host.install(Guest::new(&(body + &ask(None))).with_question().build()).await.unwrap();
    let new = NewTask::new("test", "run").limit("journal", "64KiB").limit("journal_entries", "15");
    let task = host.start(new).await.unwrap().id;
    event(&host, &task, "question", 0).await;
    host.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    let told = told(&host, &task).await;
    assert!(
        told.len() == 2 && told[0].starts_with("journal_entries 1") && told[1].starts_with("journal 5"),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_computes_and_holds_is_told_while_it_runs_and_when_it_is_done() {
    let (_dir, _clock, host) = crate::common::cold_host().await;
    host.install(Guest::new(&format!("{} {FOR_EVER}", say("(memory.grow (i32.const 16))"))).build()).await.unwrap();
    let new = NewTask::new("test", "run").limit("fuel", "1G").limit("memory", "5MiB");
    let task = host.start(new).await.unwrap().id;
    let done = host.wait(&task).await.unwrap();
    assert_eq!(done.error.unwrap().code, "fuel");
    let told = told(&host, &task).await;
    assert!(told.contains(&"memory 5 MiB of 5 MiB".to_owned()), "{told:?}");
    assert!(told.iter().any(|told| told.starts_with("fuel ") && told.ends_with(" of 1 G")), "{told:?}");
    assert_eq!(told.len(), 2, "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_shows_what_it_has_used_of_its_limits() {
    let guest = case("", 1, parent(&format!("{START} {}", say("(memory.grow (i32.const 1))"))), Seen::Breaks("")).guest;
    let (done, _host, _dir) = run(&guest, "children", 4, false).await;
    let used = |limit: &str| {
        let usage = done.usage.iter().find(|usage| usage.limit == limit).unwrap();
        (usage.used, usage.allowed)
    };
    assert_eq!(used("questions"), (1, 100));
    assert_eq!(used("children"), (1, 4));
    assert_eq!(used("fuel"), (done.fuel_used, 100_000_000_000));
    assert_eq!(used("memory"), (65 << 16, 256 << 20));
    assert_eq!(used("journal_entries").0, done.last_seq - 1, "its end is not counted");
    assert!(used("journal").0 > 0);
    assert_eq!(used("http_bytes"), (0, 256 << 20));
}

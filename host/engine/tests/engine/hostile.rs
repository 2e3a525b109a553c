//! Guests that are out for trouble: they harm nobody but their own task.

use std::time::{Duration, Instant};

use crate::common::{Guest, ask, begin, event, failure, host, manifest, say, structured};
use longhaul::{Error, ErrorClass, Event, EventKind, Host, LogStream, NewTask, TaskId, TaskState};
use serde_json::json;

async fn open() -> (tempfile::TempDir, Host) {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    (dir, host)
}

async fn completed(host: &Host, guest: &Guest) -> TaskId {
    let task = begin(host, guest).await;
    let done = host.wait(&task).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
    task
}

async fn breaks_a_limit(host: &Host, guest: &Guest) -> String {
    let task = begin(host, guest).await;
    let (class, code, message) = failure(host, &task).await;
    assert_eq!((class, code.as_str()), (ErrorClass::Run, "limit"), "{message}");
    message
}

async fn events(host: &Host, task: &TaskId) -> Vec<Event> {
    host.journal(task, 0, 1_000_000).await.unwrap()
}

/// Does it `n` times, with `$n` counting down.
fn times(n: u64, body: &str) -> String {
    format!(
        "(local.set $n (i64.const {n}))
         (loop $l {body} (local.set $n (i64.sub (local.get $n) (i64.const 1)))
           (br_if $l (i64.gt_s (local.get $n) (i64.const 0))))"
    )
}

const SAY_N: &str = "(call $progress (i32.const 2048) (i32.const 0) (i32.const 1) (f64.convert_i64_s (local.get $n))
    (i32.const 0) (f64.const 0) (i32.const 1))";

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_hundred_thousand_reports_are_merged_and_the_newest_is_kept() {
    let (_dir, host) = open().await;
    let task = completed(&host, &Guest::new(&times(100_000, SAY_N))).await;
    let reports: Vec<_> = events(&host, &task)
        .await
        .into_iter()
        .filter_map(|event| if let EventKind::Progress(progress) = event.kind { progress.done } else { None })
        .collect();
    // 50 at once, then 50 a second, and one for each time that it was written meanwhile: of a hundred thousand few, however
    // slow the machine.
    assert!((50..20_000).contains(&reports.len()), "{}", reports.len());
    assert_eq!(reports[0], 100_000.0);
    assert_eq!(*reports.last().unwrap(), 1.0);
    assert!(reports.is_sorted_by(|before, after| before > after));
    assert_eq!(host.task(&task).await.unwrap().progress.unwrap().done, Some(1.0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_beyond_4_kib_is_cut_between_characters() {
    let (_dir, host) = open().await;
    let report = "(call $progress (i32.const 2048) (i32.const 5001) (i32.const 1) (f64.const nan) (i32.const 1)
        (f64.const inf) (i32.const 3))";
    let mut text = "a".to_owned();
    text.push_str(&"é".repeat(2_500));
    let guest = Guest::new(&report.replace("2048", "131072"));
    let guest = guest.text(131_072, &text);
    let task = completed(&host, &guest).await;
    let progress = host.task(&task).await.unwrap().progress.unwrap();
    assert_eq!((progress.message.len(), progress.done, progress.total), (4_095, None, None));
    assert!(progress.message.ends_with('é'));
}

#[tokio::test(flavor = "multi_thread")]
async fn megabytes_of_log_are_kept_whole_and_in_order() {
    let (_dir, host) = open().await;
    // 300 writes of 100,000 bytes; it never waits until the stream is ready.
    let body = format!(
        "(local.set $i (call $stdout)) (memory.fill (i32.const 131072) (i32.const 97) (i32.const 100000)) {}",
        times(300, "(call $write (local.get $i) (i32.const 131072) (i32.const 100000) (i32.const 3000))")
    );
    let task = completed(&host, &Guest::new(&body)).await;
    let mut bytes = 0;
    for event in events(&host, &task).await {
        if let EventKind::Log { stream, text } = event.kind {
            assert_eq!(stream, LogStream::Stdout);
            assert!(text.bytes().all(|byte| byte == b'a'));
            bytes += text.len();
        }
    }
    assert_eq!(bytes, 30_000_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_more_than_is_permitted_in_one_write_breaks_a_limit() {
    let (_dir, host) = open().await;
    let body = "(call $write (call $stdout) (i32.const 131072) (i32.const 1100000) (i32.const 3000))";
    let message = breaks_a_limit(&host, &Guest::new(body)).await;
    assert!(message.contains("permitted"), "{message}");
}

/// Entries that nothing merges: the memory that they take until they are written is bounded all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_is_faster_than_the_disk_waits_for_it() {
    let (_dir, host) = open().await;
    let line = |stream: &str| format!("(call $write {stream} (i32.const 2048) (i32.const 1) (i32.const 3000))");
    let lines =
        format!("{} {} {SAY_N}", line("(local.get $i)"), line("(i32.wrap_i64 (i64.trunc_f64_s (local.get $f)))"));
    let streams = "(local.set $i (call $stdout)) (local.set $f (f64.convert_i32_s (call $stderr)))";
    let body = format!("{streams} {}", times(30_000, &lines));
    let before = resident();
    let task = completed(&host, &Guest::new(&body).text(2048, "x")).await;
    let grown = resident().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes");
    let database = crate::common::database(_dir.path());
    let logs: i64 = database.query_row("SELECT sum(length(data ->> 'text')) FROM entry", [], |row| row.get(0)).unwrap();
    assert_eq!(logs, 60_000);
    assert_eq!(host.task(&task).await.unwrap().progress.unwrap().done, Some(1.0));
}

/// The most memory that this process has had.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap_or(0) << 10
}

#[tokio::test(flavor = "multi_thread")]
async fn log_keeps_characters_that_are_written_in_pieces() {
    let (_dir, host) = open().await;
    // é is two bytes, € is three: written one byte at a time, across the end of an entry too.
    let byte = "(call $write (local.get $i) (i32.add (i32.const 2048) (i32.rem_u (i32.wrap_i64 (i64.sub (i64.const 50000) (local.get $n))) (i32.const 5))) (i32.const 1) (i32.const 3000))";
    let body = format!("(local.set $i (call $stdout)) {}", times(50_000, byte));
    let task = completed(&host, &Guest::new(&body).text(2048, "é€")).await;
    let text: String = events(&host, &task)
        .await
        .into_iter()
        .filter_map(|event| if let EventKind::Log { text, .. } = event.kind { Some(text) } else { None })
        .collect();
    assert_eq!(text.chars().filter(|c| *c == '\u{fffd}').count(), 0);
    assert_eq!(text, "é€".repeat(10_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn log_that_is_no_text_is_replaced() {
    let (_dir, host) = open().await;
    let body = "(call $write (call $stderr) (i32.const 2048) (i32.const 4) (i32.const 3000))";
    let guest = Guest { more: r#"(data (i32.const 2048) "a\ff\c3(")"#.into(), ..Guest::new(body) };
    let task = completed(&host, &guest).await;
    let log = event(&host, &task, "log", 0).await;
    assert_eq!(log.kind, EventKind::Log { stream: LogStream::Stderr, text: "a\u{fffd}\u{fffd}(".into() });
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_wrote_last_is_told_when_it_crashes() {
    let (_dir, host) = open().await;
    let body = "(call $write (call $stderr) (i32.const 2048) (i32.const 10) (i32.const 3000)) unreachable";
    let task = begin(&host, &Guest::new(body).text(2048, "no such x\n")).await;
    let (_, code, message) = failure(&host, &task).await;
    assert_eq!(code, "trap");
    assert!(message.ends_with("it said: no such x"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_an_output_may_have_4_mib() {
    let (_dir, host) = open().await;
    let grown = |length: u32| {
        format!(
            "(drop (memory.grow (i32.const 100))) (memory.fill (i32.const 131072) (i32.const 32) (i32.const {length}))
             (i32.store8 (i32.const 131072) (i32.const 49)) {}",
            structured(131_072, length)
        )
    };
    let most = longhaul::Limits::default().output as u32;
    let message = breaks_a_limit(&host, &Guest::new(&grown(most + 1))).await;
    assert!(message.contains("4194305 bytes"), "{message}");
    let task = completed(&host, &Guest::new(&grown(most))).await;
    assert_eq!(host.task(&task).await.unwrap().output.unwrap().structured, Some(json!(1)));
    // A part whose name is as long, and a hundred thousand parts of nothing.
    let named = format!(
        "(drop (memory.grow (i32.const 100))) (memory.fill (i32.const 131072) (i32.const 32) (i32.const {most}))
         (i32.store (i32.const 1040) (i32.const 3000)) (i32.store (i32.const 1044) (i32.const 1))
         (i32.store (i32.const 3008) (i32.const 1)) (i32.store (i32.const 3012) (i32.const 131072))
         (i32.store (i32.const 3016) (i32.const {most}))"
    );
    breaks_a_limit(&host, &Guest::new(&named)).await;
    let many = "(drop (memory.grow (i32.const 100))) (i32.store (i32.const 1040) (i32.const 131072))
        (i32.store (i32.const 1044) (i32.const 200000))";
    breaks_a_limit(&host, &Guest::new(many)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_is_not_what_was_promised_breaks_the_contract() {
    let (_dir, host) = open().await;
    let schema =
        r#""outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"inputSchema""#;
    let promises = |execute: &str| {
        let mut guest = Guest::new(execute);
        guest.manifest = guest.manifest.replacen(r#""inputSchema""#, schema, 1);
        guest
    };
    let message = breaks_a_limit(&host, &promises(&structured(2048, 11)).text(2048, r#"{"n":"one"}"#)).await;
    assert!(message.contains("/n"), "{message}");
    let message = breaks_a_limit(&host, &promises("")).await;
    assert!(message.contains("no structured output"), "{message}");
    let message = breaks_a_limit(&host, &Guest::new(&structured(2048, 4)).text(2048, "nope")).await;
    assert!(message.contains("not JSON"), "{message}");
    completed(&host, &promises(&structured(2048, 7)).text(2048, r#"{"n":1}"#)).await;
}

/// A manifest for a tool that takes and returns lists of one of so many numbers, that are looked through one by one.
fn of_long_choices(of: impl Fn(&str) -> String, length: u32) -> String {
    let choices: Vec<_> = (10..length + 10).map(|choice| choice.to_string()).collect();
    let list = format!(r#"{{"type":"array","items":{{"enum":[0.5,{},7]}}}}"#, choices.join(","));
    manifest("test", "run").replacen(r#""inputSchema":{"type":"object"}"#, &of(&list), 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_what_would_take_the_host_too_long_to_check_is_refused() {
    let (_dir, host) = open().await;
    let sevens = |count: usize| format!("[7{}]", ",7".repeat(count - 1));
    let output = |count: usize| {
        let text = sevens(count);
        let guest = Guest::new(&structured(131_072, text.len() as u32)).text(131_072, &text);
        let of = |list: &str| format!(r#""outputSchema":{list},"inputSchema":{{"type":"object"}}"#);
        Guest { manifest: of_long_choices(of, 8_000), ..guest }
    };
    completed(&host, &output(1_000)).await;
    let message = breaks_a_limit(&host, &output(200_000)).await;
    assert!(message.contains("against its output schema: checking it could take 16"), "{message}");
    assert!(message.contains("value and schema are too large for one another; give a smaller value"), "{message}");

    let of = |list: &str| format!(r#""inputSchema":{{"type":"object","properties":{{"list":{list}}}}}"#);
    let guest = Guest { manifest: of_long_choices(of, 8_000), ..Guest::new("") };
    let plugin = host.install(guest.build()).await.unwrap();
    let start = async |count: usize| {
        let input: serde_json::Value = serde_json::from_str(&format!(r#"{{"list":{}}}"#, sevens(count))).unwrap();
        host.start(NewTask::new(&plugin.digest, "run").input(input)).await
    };
    start(1_000).await.unwrap();
    let error = start(200_000).await.unwrap_err();
    assert!(matches!(&error, Error::Input { problem, .. } if problem.contains("checking it could take 16")), "{error}");
    host.shutdown().await;
}

/// On one thread: what is checked there keeps everything else waiting until it is done.
#[tokio::test]
async fn promise_6_a_large_value_is_checked_beside_other_work() {
    let (_dir, host) = open().await;
    let of = |list: &str| format!(r#""inputSchema":{{"type":"object","properties":{{"list":{list}}}}}"#);
    let guest = Guest { manifest: of_long_choices(of, 8_000), ..Guest::new("") };
    let plugin = host.install(guest.build()).await.unwrap();
    host.start(NewTask::new(&plugin.digest, "run").input(json!({"list": [7]}))).await.unwrap();
    let input = json!({"list": vec![7; 2_400]});
    let (mut whole, mut longest) = (Duration::ZERO, Duration::ZERO);
    for _ in 0..10 {
        let begun = Instant::now();
        let mut last = begun;
        let starts = host.start(NewTask::new(&plugin.digest, "run").input(input.clone()));
        tokio::pin!(starts);
        loop {
            tokio::select! {
                started = &mut starts => break drop(started.unwrap()),
                // A task beside it that does a little again and again.
                () = tokio::task::yield_now() => {}
            }
            longest = longest.max(last.elapsed());
            last = Instant::now();
        }
        longest = longest.max(last.elapsed());
        whole += begun.elapsed();
    }
    // Checked here, each would have been one pause, nearly as long as its start: a tenth of the whole.
    assert!(longest < whole / 20, "{longest:?} of {whole:?}");
}

/// What could be written and not be read back would make the task, and every list that it is in, unreadable.
#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_nested_deeply_leaves_every_task_readable() {
    let (_dir, host) = open().await;
    for depth in [90, 101, 120, 126, 127, 128, 20_000] {
        let deep = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let length = deep.len() as u32;
        let output = Guest::new(&structured(131_072, length)).text(131_072, &deep);
        // A tool-error without a kind of its own, and `details`.
        let details = format!(
            "{} (i32.store8 (i32.const 1064) (i32.const 1)) (i32.store (i32.const 1068) (i32.const 131072))
             (i32.store (i32.const 1072) (i32.const {length}))",
            crate::common::error(crate::common::FAILED, None)
        );
        let details = Guest::new(&details).text(131_072, &deep);
        let options = crate::common::open(None).replacen(
            "(i32.const 0) (i32.const 0) (i32.const 0) (i32.const 3000)",
            &format!("(i32.const 1) (i32.const 131072) (i32.const {length}) (i32.const 3000)"),
            1,
        );
        let options = Guest::new(&options).with_question().text(131_072, &deep);
        for (guest, fits) in
            [(output, TaskState::Completed), (details, TaskState::Failed), (options, TaskState::Completed)]
        {
            let task = begin(&host, &guest).await;
            let done = host.wait(&task).await.unwrap();
            if depth <= 100 {
                assert_eq!(done.state, fits, "{:?}", done.error);
            }
            events(&host, &task).await;
        }
    }
    assert_eq!(host.tasks(Default::default()).await.unwrap().len(), 21);
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_with_control_characters_come_out_as_they_went_in() {
    let (_dir, host) = open().await;
    let text = "\u{1b}[2J\u{0}\u{7}\r\n\u{202e}é";
    let length = text.len();
    let report = say("(i32.const 1)").replacen("(i32.const 0)", &format!("(i32.const {length})"), 1);
    let asks = ask(None).replacen("(i32.const 6)", &format!("(i32.const {length})"), 1);
    let guest = Guest::new(&[report, asks].concat()).text(2048, text).text(2100, r#"{"type":"boolean"}"#);
    let task = begin(&host, &guest).await;
    event(&host, &task, "question", 0).await;
    let seen = host.task(&task).await.unwrap();
    assert_eq!((seen.progress.unwrap().message.as_str(), seen.questions[0].prompt.as_str()), (text, text));
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_is_no_utf8_is_the_guests_own_failure() {
    let (_dir, host) = open().await;
    let report = say("(i32.const 1)").replacen("(i32.const 0)", "(i32.const 2)", 1);
    let guest = Guest { more: r#"(data (i32.const 2048) "\ff\fe")"#.into(), ..Guest::new(&report) };
    breaks_a_limit(&host, &guest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_wants_others_is_refused_and_the_journal_says_so() {
    let (_dir, host) = open().await;
    let starts =
        "(call $start_tool (i32.const 131072) (i32.const 1000000) (i32.const 2048) (i32.const 0) (i32.const 3000))";
    let body = format!(
        "(memory.fill (i32.const 131072) (i32.const 97) (i32.const 1000000))
         (i32.store8 (i32.const 131073) (i32.const 47)) {starts} {}",
        say("(i32.load8_u (i32.const 3004))")
    );
    let task = completed(&host, &Guest::new(&body)).await;
    assert_eq!(crate::common::said(&host, &task).await, [2.0]);
    let refused = event(&host, &task, "refused", 0).await;
    assert!(serde_json::to_string(&refused).unwrap().len() < 1_000, "the name is not repeated in full");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_what_a_guest_hands_over_in_one_call_is_bounded() {
    let (_dir, host) = open().await;
    let body = "(drop (memory.grow (i32.const 1600)))
        (call $setting (i32.const 131072) (i32.const 100000000) (i32.const 3000))";
    let task = begin(&host, &Guest::new(body)).await;
    let (class, _, message) = failure(&host, &task).await;
    assert_eq!(class, ErrorClass::Run, "{message}");
    // The others go on.
    completed(&host, &Guest::new("")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_resources_are_bounded() {
    let (_dir, host) = open().await;
    let body = times(20_000, "(drop (call $subscribe (i64.const 1)))");
    let task = begin(&host, &Guest::new(&body)).await;
    let (class, _, message) = failure(&host, &task).await;
    assert_eq!(class, ErrorClass::Run, "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_of_spinning_guests_starves_nobody() {
    let (_dir, host) = open().await;
    host.install(Guest::new(crate::common::FOR_EVER).build()).await.unwrap();
    let limits = longhaul::Limits { fuel: 400_000_000, ..Default::default() };
    let mut crowd = Vec::new();
    for _ in 0..20 {
        crowd.push(host.start(NewTask::new("test", "run").limits(limits)).await.unwrap().id);
    }
    let quick = completed(&host, &Guest::new("")).await;
    let quick = host.task(&quick).await.unwrap();
    for task in crowd {
        assert_eq!(failure(&host, &task).await.1, "fuel");
    }
    assert_eq!(quick.state, TaskState::Completed);
}

//! Running a task again from its journal: what it did is heard again, and nothing else happens.

use std::path::Path;
use std::time::Duration;

use crate::common::{
    CANCELLED, FAILED, Guest, UNAVAILABLE, advancing, ask, begin, clock, cold_host_at, database, error, event, failure,
    names, pending, say, spin, yes,
};
use longhaul::{
    Broke, Diverged, ErrorClass, EventKind, Heard, Host, NewTask, ReplayOptions, Replayed, TaskId, TaskState, Upgrade,
};

async fn replay(host: &Host, task: &TaskId) -> (Replayed, Vec<Heard>) {
    replay_with(host, task, ReplayOptions::default()).await
}

async fn replay_with(host: &Host, task: &TaskId, options: ReplayOptions) -> (Replayed, Vec<Heard>) {
    let mut heard = Vec::new();
    let replayed = host.replay(task, options, |one| heard.push(one)).await.expect("it can be replayed");
    (replayed, heard)
}

fn another(guest: &Guest) -> ReplayOptions {
    let mut options = ReplayOptions::default();
    options.component = Some(guest.build());
    options
}

fn until(seq: u64) -> ReplayOptions {
    let mut options = ReplayOptions::default();
    options.until = Some(seq);
    options
}

/// Everything in the database but what changes with each host that opens it.
fn dump(dir: &Path) -> String {
    let database = database(dir);
    let mut all = String::new();
    for table in ["plugin", "task", "entry", "question"] {
        let mut select = database.prepare(&format!("SELECT * FROM {table}")).unwrap();
        // What a guest has computed is written when its instance is dropped, which may be a moment after it asked.
        let late = |column: &usize| ["run_ms", "segment_fuel"].contains(&select.column_name(*column).unwrap());
        let columns: Vec<_> = (0..select.column_count()).filter(|column| !late(column)).collect();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            for column in columns.iter().copied() {
                all.push_str(&format!("{:?}|", row.get_ref(column).unwrap()));
            }
        }
    }
    all
}

/// Fails once, says it is pending twice, asks, and is done. What it says differs in each segment.
fn eventful() -> Guest {
    let mut guest = Guest::new(&format!(
        "(if (i32.eq (local.get $attempt) (i32.const 1))
           (then {} (drop (call $random)) {})
           (else {} {}))",
        say("(i32.const 1)"),
        error(UNAVAILABLE, None),
        say("(i32.const 2)"),
        pending(2200, 3, Some(1_000)),
    ))
    .with_question()
    .text(2200, "oneTWO");
    // The first byte of the ticket says which look this is.
    guest.await_task = format!(
        "(if (i32.eq (i32.load8_u (local.get $ticket)) (i32.const {}))
           (then {} (drop (call $now)) {})
           (else {} {}))",
        b'o',
        say("(i32.const 3)"),
        pending(2203, 3, Some(1_000)),
        ask(None),
        say("(i32.const 4)"),
    );
    guest
}

#[tokio::test(flavor = "multi_thread")]
async fn all_attempts_and_segments_of_a_task_are_replayed_and_come_to_the_same_end_with_the_same_fuel() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let task = begin(&host, &eventful()).await;
    advancing(&clock, Duration::from_secs(1), event(&host, &task, "question", 0)).await;
    host.answer(&task, 1, yes()).await.unwrap();
    let done = host.wait(&task).await.unwrap();
    assert_eq!(done.state, TaskState::Completed, "{done:?}");
    let before = dump(dir.path());
    let (replayed, heard) = replay(&host, &task).await;
    assert_eq!(replayed.diverged, None);
    assert_eq!(replayed.output, done.output);
    assert_eq!(replayed.fuel, done.fuel_used, "to the unit");
    assert_eq!(replayed.recorded_fuel, Some(done.fuel_used));
    assert_eq!(replayed.seq, done.last_seq);
    // Every public entry is heard once, in order.
    let journal = host.journal(&task, 0, 1_000).await.unwrap();
    let entries: Vec<_> = heard.iter().filter_map(|one| Some((one.seq?, one.kind.clone()))).collect();
    let expected: Vec<_> = journal.into_iter().map(|event| (event.seq, event.kind)).collect();
    assert_eq!(entries, expected);
    let looks = |name: &str| expected.iter().filter(|(_, kind)| kind.name() == name).count();
    assert_eq!((looks("attempt"), looks("checkpoint"), looks("retry"), looks("question")), (2, 2, 1, 1));
    assert!(dump(dir.path()) == before, "something was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_goes_up_to_the_entry_that_is_named() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let task = begin(&host, &eventful()).await;
    advancing(&clock, Duration::from_secs(1), event(&host, &task, "question", 0)).await;
    let last = host.task(&task).await.unwrap().last_seq;
    for seq in 1..=last {
        let (replayed, heard) = replay_with(&host, &task, until(seq)).await;
        assert_eq!(replayed.diverged, None, "until {seq}");
        assert!(heard.iter().all(|one| one.seq.is_some_and(|at| at <= seq)), "until {seq}: {heard:?}");
        let expected = host.journal(&task, 0, 1_000).await.unwrap().iter().filter(|event| event.seq <= seq).count();
        assert_eq!(heard.len(), expected, "until {seq}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_waits_is_replayed_to_the_end_of_its_journal_whoever_owns_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let owner = cold_host_at(dir.path(), &clock).await;
    let guest = Guest::new(&format!("{} {} {}", say("(i32.const 1)"), ask(None), say("(i32.const 2)")));
    let task = begin(&owner, &guest.with_question()).await;
    event(&owner, &task, "question", 0).await;
    let other = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    let before = dump(dir.path());
    let (replayed, heard) = replay(&other, &task).await;
    assert_eq!((replayed.diverged, replayed.output, replayed.recorded_fuel), (None, None, None));
    let kinds: Vec<_> = heard.iter().map(|one| one.kind.name()).collect();
    assert_eq!(kinds, ["started", "attempt", "progress", "question"], "and not what it would do next");
    assert!(dump(dir.path()) == before, "something was written");
    owner.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(owner.wait(&task).await.unwrap().state, TaskState::Completed);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_way_to_end_is_replayed() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let ends = [
        (error(FAILED, None), "failed"),
        ("unreachable".to_owned(), "trap"),
        (crate::common::FOR_EVER.to_owned(), "fuel"),
        ("(drop (memory.grow (i32.const 9000))) unreachable".to_owned(), "memory"),
        (pending(0, 9_000_000, None), "limit"),
    ];
    let limits = longhaul::Limits { fuel: 50_000_000, ..Default::default() };
    for (body, code) in ends {
        let guest = Guest::new(&format!("{} {body}", say("(i32.const 1)")));
        let plugin = host.install(guest.build()).await.unwrap();
        let task = host.start(NewTask::new(plugin.digest, "run").limits(limits)).await.unwrap().id;
        let (_, was, message) = failure(&host, &task).await;
        assert_eq!(was, code, "{message}");
        let (replayed, heard) = replay(&host, &task).await;
        assert_eq!(replayed.diverged, None, "{code}");
        let used = host.task(&task).await.unwrap().fuel_used;
        assert_eq!((replayed.fuel, replayed.recorded_fuel), (used, Some(used)), "{code}");
        assert_eq!(heard.last().unwrap().kind.name(), "ended");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_was_cancelled_is_replayed_up_to_where_it_was_stopped() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let body = format!("{} {} {}", say("(i32.const 1)"), ask(None), error(CANCELLED, None));
    let task = begin(&host, &Guest::new(&body).with_question()).await;
    event(&host, &task, "question", 0).await;
    host.cancel(&task).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Cancelled);
    let (replayed, heard) = replay(&host, &task).await;
    assert_eq!(replayed.diverged, None);
    assert_eq!(heard.len(), names(&host, &task).await.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_build_is_told_from_the_one_that_ran() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let body = |first: u32, last: u32| {
        let (first, last) = (format!("(i32.const {first})"), format!("(i32.const {last})"));
        format!("{} (drop (call $now)) {}", say(&first), say(&last))
    };
    let task = begin(&host, &Guest::new(&body(1, 2))).await;
    host.wait(&task).await.unwrap();
    let with = async |guest: &Guest| replay_with(&host, &task, another(guest)).await.0.diverged;
    // One that computes more is no other.
    assert_eq!(with(&Guest::new(&format!("{} {}", spin(1_000), body(1, 2)))).await, None);
    let diverged = with(&Guest::new(&body(1, 3))).await.unwrap();
    let last = host.task(&task).await.unwrap().last_seq;
    assert_eq!((diverged.entry, diverged.call, diverged.agreed), (last - 1, 3, 2), "{diverged}");
    assert_eq!((diverged.did.as_str(), diverged.arguments.as_str()), ("report-progress", "3"));
    assert!(diverged.recorded.contains(r#""done":2.0"#), "{diverged}");
    // More than is recorded, less, and another end.
    let more = with(&Guest::new(&format!("{} {}", body(1, 2), say("(i32.const 9)")))).await.unwrap();
    assert_eq!((more.entry, more.did.as_str(), more.arguments.as_str()), (last, "report-progress", "9"), "{more}");
    let less = with(&Guest::new(&say("(i32.const 1)"))).await.unwrap();
    assert_eq!(less.did, "return the result", "{less}");
    assert!(less.recorded.contains("Monotonic"), "{less}");
    let other = with(&Guest::new(&format!("{} {}", body(1, 2), error(FAILED, None)))).await.unwrap();
    assert_eq!((other.entry, other.did.as_str()), (last, "return an error"), "{other}");
    assert!(other.recorded.starts_with("the result"), "{other}");
    let asks = with(&Guest::new(&format!("{} {}", body(1, 2), ask(None))).with_question()).await.unwrap();
    assert_eq!((asks.did.as_str(), asks.arguments.as_str()), ("a question", "go on?"), "{asks}");
}

/// Calls that leave nothing in the journal are compared with the next one that does.
#[tokio::test(flavor = "multi_thread")]
async fn a_divergence_within_calls_that_left_nothing_says_between_which_it_is() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let body = |polls: &str| format!("{} {polls} {}", say("(i32.const 1)"), ask(None));
    let polls = "(drop (call $is_cancelled))".repeat(3);
    let task = begin(&host, &Guest::new(&body(&polls)).with_question()).await;
    event(&host, &task, "question", 0).await;
    // One of them is another call, and leaves as little.
    let other = "(drop (call $is_cancelled)) (call $withdraw (i32.const 7)) (drop (call $is_cancelled))";
    let (replayed, _) = replay_with(&host, &task, another(&Guest::new(&body(other)).with_question())).await;
    let diverged = replayed.diverged.unwrap();
    assert_eq!((diverged.agreed, diverged.call), (1, 5), "{diverged}");
    assert!(diverged.to_string().ends_with("what differs is between call 2 and call 5)"), "{diverged}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_3_a_divergence_names_the_entry_and_both_sides_and_is_reproduced() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let body = format!("{} (drop (call $now)) {}", say("(i32.const 1)"), ask(None));
    let task = begin(&host, &Guest::new(&body).with_question()).await;
    let asked = event(&host, &task, "question", 0).await;
    let said = event(&host, &task, "progress", 0).await;
    // Nobody has it in memory when somebody changes what is recorded of the first call.
    host.shutdown().await;
    database(dir.path()).execute("UPDATE entry SET hash = ~hash WHERE seq = ?1", [said.seq.cast_signed()]).unwrap();
    let host = cold_host_at(dir.path(), &clock).await;
    host.answer(&task, 1, yes()).await.unwrap();
    let done = host.wait(&task).await.unwrap();
    let error = done.error.unwrap();
    assert_eq!((error.class, error.code.as_str()), (ErrorClass::Run, Broke::ReplayDiverged.as_str()));
    let diverged: Diverged = serde_json::from_value(error.details.unwrap()).unwrap();
    assert_eq!((diverged.entry, diverged.call), (said.seq, 1));
    assert_eq!((diverged.did.as_str(), diverged.arguments.as_str()), ("report-progress", "1"));
    assert!(diverged.recorded.contains(r#""kind":"progress""#), "{diverged}");
    assert_eq!(error.message, diverged.to_string());
    // The journal is as it was, and the replay comes to the same.
    assert!(host.journal(&task, 0, 100).await.unwrap().iter().any(|event| event.seq == asked.seq));
    let (replayed, _) = replay(&host, &task).await;
    assert_eq!(replayed.diverged, Some(diverged));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_is_judged_for_every_unfinished_task_and_not_installed() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let asks =
        |first: u32| Guest::new(&format!("{} {}", say(&format!("(i32.const {first})")), ask(None))).with_question();
    let ended = begin(&host, &Guest::new("")).await;
    host.wait(&ended).await.unwrap();
    let one = begin(&host, &asks(1)).await;
    event(&host, &one, "question", 0).await;
    let two = begin(&host.namespace("another"), &asks(2)).await;
    event(&host.namespace("another"), &two, "question", 0).await;
    // One that has returned a ticket begins its next segment afresh.
    let mut ticketed = Guest::new(&format!("{} {}", say("(i32.const 3)"), pending(2200, 3, Some(86_400_000))));
    ticketed = ticketed.text(2200, "one");
    let three = begin(&host, &ticketed).await;
    event(&host, &three, "checkpoint", 0).await;
    let before = dump(dir.path());
    let check = host.check_upgrade(asks(1).build()).await.unwrap();
    assert!(!check.is_safe());
    let judged: Vec<_> = check.tasks.iter().map(|task| (&task.task, &task.upgrade)).collect();
    assert_eq!(judged.len(), 3, "{judged:?}");
    assert_eq!(judged[0], (&one, &Upgrade::GoesOn { entries: 2 }));
    assert!(matches!(judged[1], (task, Upgrade::Diverges(diverged)) if *task == two && diverged.arguments == "1"));
    assert_eq!(check.tasks[1].namespace, "another");
    assert_eq!(judged[2], (&three, &Upgrade::GoesOn { entries: 0 }));
    // A build without the tool.
    let lacks = Guest { manifest: crate::common::manifest("test", "walk"), ..Guest::default() };
    let check = host.check_upgrade(lacks.build()).await.unwrap();
    assert!(
        check.tasks.iter().all(
            |task| matches!(&task.upgrade, Upgrade::Unjudged { why } if why == "it has no tool `run`; it has: walk")
        )
    );
    // A plugin of another name concerns nobody.
    let other = Guest { manifest: crate::common::manifest("other", "run"), ..Guest::default() };
    assert!(host.check_upgrade(other.build()).await.unwrap().tasks.is_empty());
    assert!(dump(dir.path()) == before, "something was installed or written");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_guest_says_past_the_rate_is_heard_without_an_entry_of_its_own() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let many = (0..200).map(|n| say(&format!("(i32.const {n})"))).collect::<String>();
    let task = begin(&host, &Guest::new(&many)).await;
    host.wait(&task).await.unwrap();
    let recorded = names(&host, &task).await.iter().filter(|name| *name == "progress").count();
    assert!(recorded < 200);
    let (_, heard) = replay(&host, &task).await;
    let said: Vec<_> = heard.iter().filter(|one| matches!(one.kind, EventKind::Progress(_))).collect();
    assert_eq!(said.len(), 200);
    assert_eq!(said.iter().filter(|one| one.seq.is_some()).count(), recorded);
}

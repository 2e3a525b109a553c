//! Promise 10: a question is answered once, by an answer that fits.

use std::time::Duration;

use crate::common::{Guest, ask, begin, clock, cold_host_at, event, failure, find, host_at, open, said, say, yes};
use longhaul::{Clock as _, Error, EventKind, Host, Reply, SimulatedClock, TaskState};
use serde_json::json;

fn answer(value: serde_json::Value, by: &str) -> Reply {
    Reply::Answered { value, by: Some(by.into()) }
}

/// Asks, and says what came: 0 answered, 1 declined, 2 timed out.
fn asks(timeout: Option<u64>) -> Guest {
    Guest::new(&format!("{} {}", ask(timeout), say("(i32.load8_u (i32.const 3004))"))).with_question()
}

async fn open_host() -> (tempfile::TempDir, SimulatedClock, Host) {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    (dir, clock, host)
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_of_answers_that_come_at_once_one_wins_and_the_others_get_it() {
    let (dir, clock, host) = open_host().await;
    let other = Host::builder().data_dir(dir.path()).clock(clock).take_over(false).open().await.unwrap();
    for _ in 0..10 {
        let task = begin(&host, &asks(None)).await;
        event(&host, &task, "question", 0).await;
        let answers: Vec<_> = (0..8)
            .map(|n| {
                let (host, task) = (if n % 2 == 0 { host.clone() } else { other.clone() }, task.clone());
                tokio::spawn(async move {
                    let mine = answer(json!(n % 3 == 0), &n.to_string());
                    (mine.clone(), host.answer(&task, 1, mine).await)
                })
            })
            .collect();
        let answers: Vec<_> = futures_util::future::try_join_all(answers).await.unwrap();
        let won: Vec<_> = answers.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(mine, _)| mine).collect();
        assert_eq!(won.len(), 1);
        for (_, outcome) in &answers {
            if let Err(error) = outcome {
                let Error::AlreadySettled { question: 1, reply, .. } = error else { panic!("{error}") };
                assert_eq!(&**reply, won[0]);
            }
        }
        assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
        let reply = find(&host, &task, 0, |event| event.kind.name() == "reply").await.unwrap();
        assert_eq!(reply.kind, EventKind::Reply { question: 1, reply: won[0].clone() });
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_the_second_answer_is_told_when_the_first_one_was_given() {
    let (_dir, clock, host) = open_host().await;
    let task = begin(&host, &asks(None)).await;
    event(&host, &task, "question", 0).await;
    clock.advance(Duration::from_secs(5));
    let (first, given_at) = (answer(json!(true), "ana"), clock.now());
    host.answer(&task, 1, first.clone()).await.unwrap();
    clock.advance(Duration::from_secs(60));
    for _ in 0..2 {
        let late = host.answer(&task, 1, answer(json!(false), "bob")).await.unwrap_err();
        let Error::AlreadySettled { question: 1, at, reply, .. } = late else { panic!("{late}") };
        assert_eq!((at, *reply), (given_at, first.clone()));
        // Also when the task has ended meanwhile.
        host.wait(&task).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_an_answer_is_checked_before_it_is_taken() {
    let (_dir, _clock, host) = open_host().await;
    let task = begin(&host, &asks(None)).await;
    event(&host, &task, "question", 0).await;
    for wrong in [json!("yes"), json!(1), json!(null), json!([true]), json!({"value": true})] {
        let error = host.answer(&task, 1, answer(wrong, "ann")).await.unwrap_err();
        assert!(matches!(error, Error::Answer { question: 1, .. }), "{error}");
    }
    // These are for the host to say.
    for not_a_persons in [Reply::TimedOut, Reply::Closed] {
        let error = host.answer(&task, 1, not_a_persons).await.unwrap_err();
        assert!(matches!(error, Error::Answer { question: 1, .. }), "{error}");
    }
    for unknown in [0, 2, u32::MAX] {
        let error = host.answer(&task, unknown, yes()).await.unwrap_err();
        assert!(matches!(&error, Error::UnknownQuestion { open, .. } if *open == [1]), "{error}");
    }
    assert_eq!(host.task(&task).await.unwrap().questions.len(), 1, "it is open still");
    host.answer(&task, 1, Reply::Declined { reason: Some("no time".into()), by: None }).await.unwrap();
    host.wait(&task).await.unwrap();
    assert_eq!(said(&host, &task).await, [1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_an_answer_after_the_timeout_is_too_late() {
    let (dir, clock, host) = open_host().await;
    let task = begin(&host, &asks(Some(60_000))).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    // Nobody runs it, so nobody has written down that its time is up.
    let idle = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    let deadline = clock.now().after(Duration::from_secs(60));
    clock.advance(Duration::from_secs(70));
    let late = idle.answer(&task, 1, yes()).await.unwrap_err();
    let timed_out = |error: &Error| matches!(error, Error::AlreadySettled { reply, at, .. } if **reply == Reply::TimedOut && *at == deadline);
    assert!(timed_out(&late), "{late}");
    idle.shutdown().await;
    let host = cold_host_at(dir.path(), &clock).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [2.0]);
    let late = host.answer(&task, 1, yes()).await.unwrap_err();
    assert!(matches!(&late, Error::AlreadySettled { reply, .. } if **reply == Reply::TimedOut), "{late}");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_a_question_of_a_warm_guest_times_out_too() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let task = begin(&host, &asks(Some(1_000))).await;
    event(&host, &task, "question", 0).await;
    clock.advance(Duration::from_secs(1));
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [2.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_an_answer_after_the_tasks_end_is_too_late() {
    let (_dir, _clock, host) = open_host().await;
    // It opens a question and does not wait for it.
    let task = begin(&host, &Guest::new(&open(None)).with_question()).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    let late = host.answer(&task, 1, yes()).await.unwrap_err();
    assert!(matches!(&late, Error::AlreadySettled { reply, .. } if **reply == Reply::Closed), "{late}");
    let none = host.answer(&task, 2, yes()).await.unwrap_err();
    assert!(matches!(&none, Error::UnknownQuestion { open, .. } if open.is_empty()), "{none}");
    assert_eq!(crate::common::names(&host, &task).await.last().unwrap(), "ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_10_an_answer_counts_while_no_host_runs_the_task() {
    let (dir, clock, host) = open_host().await;
    let task = begin(&host, &asks(None)).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    let idle = Host::builder().data_dir(dir.path()).clock(clock.clone()).take_over(false).open().await.unwrap();
    let waits = idle.task(&task).await.unwrap();
    assert_eq!((waits.state, waits.stalled, waits.questions.len()), (TaskState::Waiting, false, 1));
    idle.answer(&task, 1, yes()).await.unwrap();
    let answered = idle.task(&task).await.unwrap();
    assert!(answered.stalled && !answered.state.is_terminal(), "there is work to do, and nobody does it");
    idle.shutdown().await;
    let host = cold_host_at(dir.path(), &clock).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [0.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_warm_task_that_waits_is_left_waiting_when_its_host_stops() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let task = begin(&host, &asks(None)).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    let idle = Host::builder().data_dir(dir.path()).clock(clock).take_over(false).open().await.unwrap();
    assert_eq!(idle.task(&task).await.unwrap().state, TaskState::Waiting);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_questions_are_open_at_once_and_any_is_waited_for() {
    let (_dir, _clock, host) = open_host().await;
    let store = "(i32.store (i32.const 3200) (i32.const 1)) (i32.store (i32.const 3204) (i32.const 2))";
    let wait = "(call $wait_any (i32.const 3200) (i32.const 2) (i32.const 0) (i64.const 0) (i32.const 3100))";
    // The place of the first that is settled, then `reply-to` of the one and of the other.
    let guest = Guest::new(&format!(
        "{q} {q} {store} {wait} {found} (call $reply_to (i32.const 2) (i32.const 3300)) {there}
         (call $reply_to (i32.const 1) (i32.const 3300)) {there} (call $withdraw (i32.const 1))
         (call $reply_to (i32.const 1) (i32.const 3300)) {there}",
        q = open(None),
        found = say("(i32.load (i32.const 3108))"),
        there = say("(i32.load8_u (i32.const 3300))"),
    ))
    .with_question();
    let task = begin(&host, &guest).await;
    find(&host, &task, 0, |event| matches!(&event.kind, EventKind::Question(open) if open.question == 2))
        .await
        .unwrap();
    host.answer(&task, 2, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [1.0, 1.0, 0.0, 1.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn wait_any_with_what_was_never_opened_is_malformed() {
    let (_dir, _clock, host) = open_host().await;
    let wait = |length: u32| {
        format!(
            "(i32.store (i32.const 3200) (i32.const 7))
             (call $wait_any (i32.const 3200) (i32.const {length}) (i32.const 0) (i64.const 0) (i32.const 3100)) {} {}",
            say("(i32.load8_u (i32.const 3100))"),
            say("(i32.load8_u (i32.const 3104))")
        )
    };
    let task = begin(&host, &Guest::new(&[wait(1), wait(0), wait(2_000)].concat()).with_question()).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [1.0; 6], "an error, and that is `malformed`");
    // Handles that nobody knows do nothing elsewhere either.
    let strange = format!(
        "(call $reply_to (i32.const 9) (i32.const 3300)) {} (call $withdraw (i32.const 9))",
        say("(i32.load8_u (i32.const 3300))")
    );
    let task = begin(&host, &Guest::new(&strange)).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [0.0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_task_may_ask_a_hundred_questions_and_have_sixteen_open() {
    let (_dir, _clock, host) = open_host().await;
    let outcome = say("(i32.load8_u (i32.const 3000))");
    let seventeen = [open(None), outcome.clone()].concat().repeat(17);
    let task = begin(&host, &Guest::new(&seventeen).with_question()).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    let said_all = said(&host, &task).await;
    assert_eq!((said_all.len(), said_all.iter().sum::<f64>(), said_all[16]), (17, 1.0, 1.0));
    let closed = crate::common::names(&host, &task).await.iter().filter(|name| *name == "reply").count();
    assert_eq!(closed, 16, "what is open at the end is closed");
    // Asked and withdrawn, so that never more than one is open.
    let many = format!(
        "(local.set $n (i64.const 101))
         (loop $l {} (call $withdraw (i32.load (i32.const 3004)))
           (local.set $n (i64.sub (local.get $n) (i64.const 1))) (br_if $l (i64.gt_s (local.get $n) (i64.const 0)))) {outcome}
           {}",
        open(None),
        say("(i32.load8_u (i32.const 3004))"),
    );
    let task = begin(&host, &Guest::new(&many).with_question()).await;
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [1.0, 2.0], "the last is refused");
    let asked = crate::common::names(&host, &task).await.iter().filter(|name| *name == "question").count();
    assert_eq!(asked, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_breaks_the_contract_is_malformed_and_nobody_is_asked() {
    let (_dir, _clock, host) = open_host().await;
    for schema in [
        r#"{"type":"boolea"}"#,
        "{\"type\":\"boolean",
        "",
        "null",
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{"a":{"type":"object","properties":{}}}}"#,
        r#"{"type":"string","pattern":"(a+)+"}"#,
        // What would take the host long to hold an answer to.
        r#"{"type":"array","items":{"enum":[0.5,1,2,3]}}"#,
    ] {
        let call = ask(None).replace("(i32.const 18)", &format!("(i32.const {})", schema.len()));
        let outcome = [say("(i32.load8_u (i32.const 3000))"), say("(i32.load8_u (i32.const 3004))")].concat();
        let task = begin(&host, &Guest::new(&[call, outcome].concat()).text(2048, "go on?").text(2100, schema)).await;
        assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
        assert_eq!(said(&host, &task).await, [1.0, 1.0], "{schema}");
        assert!(!crate::common::names(&host, &task).await.contains(&"question".to_owned()));
    }
    // A prompt of 70,000 bytes is refused.
    let call = ask(None).replacen("(i32.const 6)", "(i32.const 70000)", 1).replacen("2048", "70000", 1);
    let outcome = [say("(i32.load8_u (i32.const 3000))"), say("(i32.load8_u (i32.const 3004))")].concat();
    let task = begin(&host, &Guest::new(&[call, outcome].concat()).with_question()).await;
    host.wait(&task).await.unwrap();
    assert_eq!(said(&host, &task).await, [1.0, 2.0]);
    // One that lies outside its memory is its own crash.
    let call = ask(None).replacen("2048", "-9", 1);
    let task = begin(&host, &Guest::new(&call).with_question()).await;
    failure(&host, &task).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_what_an_answer_brings_is_bounded() {
    let (_dir, _clock, host) = open_host().await;
    let text = |bytes: usize| "x".repeat(bytes);
    let by = |bytes: usize| Some(text(bytes));
    // As JSON a text has two quotes more.
    let answered = |bytes: usize, by| Reply::Answered { value: text(bytes - 2).into(), by };
    let (value, name) = (64 << 10, 4 << 10);
    for (reply, limit) in [
        (answered(value, by(name)), None),
        (answered(value + 1, None), Some("answer")),
        (answered(2, by(name + 1)), Some("reply_text")),
        (Reply::Declined { reason: by(name), by: by(name) }, None),
        (Reply::Declined { reason: by(name + 1), by: None }, Some("reply_text")),
        (Reply::Declined { reason: None, by: by(name + 1) }, Some("reply_text")),
    ] {
        let any_text = ask(None).replace("(i32.const 18)", "(i32.const 17)");
        let guest = Guest::new(&any_text).text(2048, "go on?").text(2100, r#"{"type":"string"}"#);
        let task = begin(&host, &guest).await;
        event(&host, &task, "question", 0).await;
        match (limit, host.answer(&task, 1, reply).await) {
            (None, taken) => {
                taken.unwrap();
                assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
            }
            (Some(limit), Err(Error::Answer { question: 1, problem })) => {
                assert!(problem.contains(&format!("limit `{limit}`")), "{problem}");
                assert_eq!(host.task(&task).await.unwrap().questions.len(), 1, "it is open still");
            }
            (Some(limit), other) => panic!("{limit}: {other:?}"),
        }
    }
}

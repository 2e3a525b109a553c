//! Ten thousand tasks at a kill.

use std::time::Instant;

use longhaul::{Host, Reply, TaskFilter};
use longhaul_tests::audit::{audit, number};
use longhaul_tests::cli::eventually;
use longhaul_tests::embedded::with_probe;
use longhaul_tests::worker::Worker;
use serde_json::json;

const TASKS: usize = 10_000;

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_tasks_that_were_live_at_a_kill_come_to_their_ends() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let mut worker = Worker::new(dir.path());
    for n in 0..TASKS {
        let (tool, input) = match n % 5 {
            // These are to be answered, the others go on by themselves.
            0..=2 => ("ask", json!({ "prompt": "Go on?", "schema": { "type": "boolean" } })),
            3 => ("sleepy", json!({ "ms": 40_000 })),
            _ => ("job", json!({ "checks": 1, "after_ms": 40_000 })),
        };
        worker.ask(&n.to_string(), tool, &input);
    }
    let begun = Instant::now();
    for _ in 0..TASKS {
        let told = worker.hear().expect("it is taken");
        assert!(told["id"].is_string(), "{told}");
    }
    let of = |query| number(dir.path(), query);
    eventually("all of them wait", || {
        (of("SELECT count(*) FROM task WHERE state IN ('waiting', 'completed')") == TASKS as i64).then_some(())
    });
    println!("{TASKS} wait after {:?}", begun.elapsed());
    worker.kill();
    // Some are answered while nobody runs them.
    let early = Host::builder().data_dir(dir.path()).take_over(false).open().await.unwrap();
    let questions = early.tasks(TaskFilter { limit: TASKS, ..TaskFilter::default() }).await.unwrap();
    let asked: Vec<_> =
        questions.iter().filter(|task| !task.questions.is_empty()).map(|task| task.id.clone()).collect();
    assert_eq!(asked.len(), TASKS / 5 * 3);
    let yes = || Reply::Answered { value: json!(true), by: None };
    for id in &asked[..100] {
        early.answer(id, 1, yes()).await.unwrap();
    }
    early.shutdown().await;

    let begun = Instant::now();
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    let me = of("SELECT max(id) FROM owner");
    eventually("all have a new owner", || {
        (number(dir.path(), &format!("SELECT count(*) FROM task WHERE owner = {me} OR ended_at IS NOT NULL"))
            == TASKS as i64)
            .then_some(())
    });
    let owned = begun.elapsed();
    eventually("those that were answered are done", || {
        (of("SELECT count(*) FROM task WHERE state = 'completed' AND tool = 'ask'") == 100).then_some(())
    });
    let done = begun.elapsed();
    println!("{TASKS} owned again after {owned:?}; the answered ones done after {done:?}");
    // Those that sleep may be due by now.
    assert_eq!(
        of("SELECT count(*) FROM task WHERE state = 'running' AND tool = 'ask'"),
        0,
        "what waits is left to wait"
    );
    let begun = Instant::now();
    // Many at once, as they would come from many people.
    for some in asked[100..].chunks(500) {
        let answers = some.iter().map(|id| host.answer(id, 1, yes()));
        futures_util::future::try_join_all(answers).await.unwrap();
    }
    eventually("all are done", || {
        (of("SELECT count(*) FROM task WHERE state = 'completed'") == TASKS as i64).then_some(())
    });
    println!("the others done after {:?}", begun.elapsed());
    assert_eq!(of("SELECT count(*) FROM entry WHERE kind = 'question'"), asked.len() as i64);
    assert_eq!(of("SELECT count(*) FROM entry WHERE kind = 'reply'"), asked.len() as i64);
    assert_eq!(audit(dir.path()), [""; 0]);
    host.shutdown().await;
}

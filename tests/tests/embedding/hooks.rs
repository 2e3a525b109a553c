//! What a subscription promises, over `kill -9` of real processes.

use longhaul::Host;
use longhaul_tests::audit::number;
use longhaul_tests::embedded::with_probe;
use longhaul_tests::worker::Worker;
use serde_json::{Value, json};

/// What it is told next of a delivery, whatever else it says.
fn delivered(worker: &mut Worker) -> Value {
    loop {
        let told = worker.hear().expect("it is told of a completion");
        if told["delivered"].is_string() {
            return told;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_was_not_dealt_with_comes_again_after_kill_9_and_one_that_was_does_not() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    // It is told, and dies before it has said that it has it.
    let mut first = Worker::new(dir.path());
    let task = first.start("1", "noop", &json!({}));
    first.subscribe("agent", "hangs");
    assert_eq!(delivered(&mut first)["delivered"], task.as_str());
    first.kill();
    // The next one is told again, and says so.
    let mut second = Worker::new(dir.path());
    second.subscribe("agent", "takes");
    assert_eq!(delivered(&mut second)["delivered"], task.as_str());
    assert_eq!(second.hear().expect("it says so")["cursor"], 1, "it is on disk");
    second.kill();
    // The third hears only what is new.
    let mut third = Worker::new(dir.path());
    let other = third.start("2", "noop", &json!({}));
    third.subscribe("agent", "takes");
    assert_eq!(delivered(&mut third)["delivered"], other.as_str());
    third.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_processes_one_delivers_and_the_other_goes_on_when_it_dies() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let mut first = Worker::new(dir.path());
    let task = first.start("1", "noop", &json!({}));
    first.subscribe("agent", "takes");
    assert_eq!(delivered(&mut first)["delivered"], task.as_str());
    assert_eq!(first.hear().expect("it says so")["cursor"], 1);
    let owner = "SELECT owner FROM subscription";
    let of_first = number(dir.path(), owner);
    let mut second = Worker::new(dir.path());
    second.subscribe("agent", "takes");
    let task = second.start("2", "noop", &json!({}));
    assert_eq!(delivered(&mut first)["delivered"], task.as_str(), "the first one is told, whoever started it");
    assert_eq!(number(dir.path(), owner), of_first);
    first.kill();
    second.ask("3", "noop", &json!({}));
    // The second completion comes again if the first process died before that was on disk.
    let (mut task, mut told) = (None, Vec::new());
    while task.as_ref().is_none_or(|task| !told.contains(task)) {
        let line = second.hear().expect("it goes on");
        match line["key"] == "3" {
            true => task = Some(line["id"].clone()),
            false => told.push(line["delivered"].clone()),
        }
    }
    assert_ne!(number(dir.path(), owner), of_first);
    second.kill();
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    assert!(host.subscription("agent").cursor().await.unwrap() >= Some(2), "what came before the third is dealt with");
    host.shutdown().await;
}

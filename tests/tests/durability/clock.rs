//! A clock that jumps back and forth.

use std::time::Duration;

use longhaul::{Host, NewTask, SimulatedClock, TaskState, Timestamp};
use longhaul_tests::audit::audit;
use longhaul_tests::embedded::{answer_all, journal, with_probe};
use serde_json::json;

const START: Timestamp = Timestamp::from_millis(1_900_000_000_000);

/// Jumps by hours both ways for as long as something is awaited, and gets on by a minute each time.
async fn jumping<T>(clock: &SimulatedClock, awaited: impl Future<Output = T>) -> T {
    let mut awaited = std::pin::pin!(awaited);
    let mut tick = tokio::time::interval(Duration::from_millis(5));
    for round in 0_u32.. {
        tokio::select! {
            it = &mut awaited => return it,
            _ = tick.tick() => {}
        }
        let far = START.after(Duration::from_secs(60) * (round + 1));
        clock.set(match round % 3 {
            0 => far.after(Duration::from_secs(5 * 3_600)),
            1 => START,
            _ => far,
        });
    }
    unreachable!("it counts for longer than a test runs")
}

async fn open(dir: &std::path::Path, clock: &SimulatedClock) -> Host {
    Host::builder().data_dir(dir).clock(clock.clone()).warm(Duration::ZERO).open().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_back_and_forth_loses_and_repeats_nothing() {
    let dir = tempfile::tempdir().unwrap();
    with_probe(dir.path()).await;
    let clock = SimulatedClock::at(START);
    let mut host = open(dir.path(), &clock).await;
    let mut tasks = Vec::new();
    for (tool, input) in [
        ("hash_imports", json!({ "rounds": 3 })),
        ("steps", json!({ "steps": 20, "sleep_ms": 600_000, "ask_every": 5 })),
        ("sleepy", json!({ "ms": 7_200_000, "by": "thread" })),
        ("job", json!({ "checks": 5, "after_ms": 1_800_000, "unavailable_at": 3 })),
        ("fail", json!({ "kind": "unavailable", "attempts": 2, "retry_after_ms": 3_600_000 })),
    ] {
        tasks.push(host.start(NewTask::new("probe", tool).input(input)).await.unwrap().id);
    }
    for task in &tasks {
        jumping(&clock, answer_all(&host, task)).await;
        let done = host.wait(task).await.unwrap();
        assert_eq!(done.state, TaskState::Completed, "{:?}", done.error);
        // Another one goes on with the others.
        host.shutdown().await;
        host = open(dir.path(), &clock).await;
    }
    let monotonic = host.task(&tasks[0]).await.unwrap().output.unwrap().structured.unwrap();
    for value in monotonic["values"].as_array().unwrap() {
        // A clock that fell would make the guest's subtraction saturate or panic; none of its spans is negative.
        assert!(!value.as_str().unwrap().contains('-'), "{value}");
    }
    let said = journal(&host, &tasks[1]).await;
    let count = |kind: &str| said.iter().filter(|event| event.kind.name() == kind).count();
    assert_eq!((count("progress"), count("question"), count("reply")), (20, 4, 4));
    assert_eq!(audit(dir.path()), [""; 0]);
    host.shutdown().await;
}

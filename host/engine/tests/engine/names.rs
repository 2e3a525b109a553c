//! What a person calls a task, and what a shell may offer.

use std::time::Duration;

use crate::common::{Guest, ask, begin, clock, cold_host_at, event, eventually, spin, yes};
use longhaul::{Error, Host, NewTask, TaskId, TaskState};

async fn found(host: &Host, given: &str) -> Result<TaskId, Vec<TaskId>> {
    match host.find_task(given).await {
        Ok(id) => Ok(id),
        Err(Error::AmbiguousTask { tasks, .. }) => Err(tasks),
        Err(Error::UnknownTask(_)) => Err(Vec::new()),
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_is_found_by_its_id_a_beginning_or_an_ending_of_it_and_as_the_last() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    assert_eq!(found(&host, "@last").await, Err(Vec::new()));
    host.install(Guest::new("").build()).await.unwrap();
    let mut ids = Vec::new();
    for _ in 0..3 {
        // A day apart: their beginnings differ.
        clock.advance(Duration::from_secs(86_400));
        ids.push(host.start(NewTask::new("test", "run")).await.unwrap().id);
    }
    for id in &ids {
        let whole = id.as_str();
        for given in [whole, &whole[..10], &whole[16..], &whole[12..], &whole.to_uppercase()] {
            assert_eq!(found(&host, given).await.as_ref(), Ok(id), "{given}");
        }
    }
    let newest_first: Vec<_> = ids.iter().rev().cloned().collect();
    assert_eq!(found(&host, &ids[0].as_str()[..2]).await, Err(newest_first), "all it could be");
    for nothing in ["", "zzzz", &ids[0].as_str()[24..], "%", "____", &format!("{}0", ids[0])] {
        assert_eq!(found(&host, nothing).await, Err(Vec::new()), "{nothing}");
    }
    assert_eq!(found(&host, "@last").await.as_ref(), Ok(&ids[2]));
    // Neither another namespace's, nor one that was removed.
    let other = host.namespace("other").start(NewTask::new("test", "run")).await.unwrap().id;
    assert_eq!(found(&host, other.as_str()).await, Err(Vec::new()));
    host.wait(&ids[2]).await.unwrap();
    host.remove(&ids[2]).await.unwrap();
    assert_eq!(found(&host, &ids[2].as_str()[16..]).await, Err(Vec::new()));
    assert_eq!(found(&host, "@last").await.as_ref(), Ok(&ids[1]));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_names_in_a_data_directory_are_read_beside_its_hosts_and_nothing_is_made_for_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let absent = dir.path().join("absent");
    assert!(longhaul::names(&absent, "default", 9).is_err() && !absent.exists());
    let host = cold_host_at(dir.path(), &clock).await;
    let asks = begin(&host, &Guest::new(&ask(None)).with_question()).await;
    event(&host, &asks, "question", 0).await;
    let names = longhaul::names(dir.path(), "default", 9).unwrap();
    let task = &names.tasks[0];
    assert_eq!((&task.id, task.tool.as_str(), task.state), (&asks, "run", TaskState::Waiting));
    assert_eq!(task.questions, [(1, "go on?".to_owned())]);
    assert_eq!((names.plugins[0].name.as_str(), names.plugins[0].tools[0].name.as_str()), ("test", "run"));
    host.answer(&asks, 1, yes()).await.unwrap();
    host.wait(&asks).await.unwrap();
    let names = longhaul::names(dir.path(), "default", 9).unwrap();
    assert!(names.tasks[0].questions.is_empty() && names.tasks[0].state == TaskState::Completed);
    assert!(longhaul::names(dir.path(), "other", 9).unwrap().tasks.is_empty());
    assert!(longhaul::names(dir.path(), "default", 0).unwrap().tasks.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fuel_of_a_task_that_has_not_ended_is_told_as_far_as_it_is_known() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    // It computes without end, and says nothing.
    let endless = begin(&host, &Guest::new("(loop $forever (br $forever))")).await;
    eventually(async || {
        let task = host.task(&endless).await.unwrap();
        assert!(!task.state.is_terminal(), "{task:?}");
        (task.state == TaskState::Running && task.fuel_used > 1_000_000).then_some(())
    })
    .await;
    host.cancel(&endless).await.unwrap();
    clock.advance(Duration::from_secs(11));
    let stopped = host.wait(&endless).await.unwrap();
    let fuel = |task: &longhaul::Task| task.usage.iter().find(|used| used.limit == "fuel").unwrap().used;
    assert_eq!(fuel(&stopped), stopped.fuel_used);

    // It computes less than is worth a row of its own, and is dropped while it waits: to the unit. What its replay burns is not added.
    let asks = begin(&host, &Guest::new(&format!("{} {}", spin(1_000), ask(None))).with_question()).await;
    let waits = eventually(async || Some(host.task(&asks).await.unwrap()).filter(|task| task.fuel_used > 0)).await;
    assert_eq!((waits.state, fuel(&waits)), (TaskState::Waiting, waits.fuel_used));
    host.answer(&asks, 1, yes()).await.unwrap();
    let done = host.wait(&asks).await.unwrap();
    assert!(done.fuel_used >= waits.fuel_used, "{} then {}", waits.fuel_used, done.fuel_used);
    let recorded = host.replay(&asks, Default::default(), |_| ()).await.unwrap().recorded_fuel;
    assert_eq!(recorded, Some(done.fuel_used));
}

//! The feed of a namespace: its own news, in order, as long as they are kept.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use longhaul::{Error, Host, NewTask, Reply};

use crate::common::{Guest, START, ask, begin, clock, event, eventually, kid, names, parent, start_parent, wait_any};

const DAY: Duration = Duration::from_secs(24 * 3_600);

async fn kinds(host: &Host, after: Option<u64>) -> Vec<String> {
    let page = host.feed_page(after, 100).await.unwrap();
    page.items.iter().map(|item| item.event.kind.name().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_older_than_what_is_kept_is_refused_and_not_silently_behind() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = Host::builder().data_dir(dir.path()).clock(clock.clone()).retention(10 * DAY).open().await.unwrap();
    let early = host.feed_end().await.unwrap();
    let old = begin(&host, &Guest::new("")).await;
    host.wait(&old).await.unwrap();
    let seen = host.feed_end().await.unwrap();
    clock.advance(9 * DAY);
    let young = begin(&host, &Guest::new("")).await;
    host.wait(&young).await.unwrap();
    clock.advance(2 * DAY);
    eventually(async || host.task(&old).await.is_err().then_some(())).await;
    let refused = host.feed_page(Some(early), 100).await.unwrap_err();
    assert!(matches!(refused, Error::FeedExpired { cursor: 0, oldest: 1 }), "{refused}");
    assert_eq!(kinds(&host, Some(seen)).await, ["ended"], "one that has seen what is gone has missed nothing");
    assert_eq!(kinds(&host, None).await, ["ended"], "one without a cursor begins with what is kept");
    // What somebody removes is no gap.
    host.remove(&young).await.unwrap();
    assert_eq!(kinds(&host, Some(seen)).await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_8_a_namespace_has_a_feed_of_its_own_whose_cursor_tells_nothing_of_others() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = Host::builder().data_dir(dir.path()).clock(clock).open().await.unwrap();
    let (ours, theirs) = (host.namespace("ours"), host.namespace("theirs"));
    for _ in 0..3 {
        let task = begin(&theirs, &Guest::new("")).await;
        theirs.wait(&task).await.unwrap();
    }
    assert_eq!(ours.feed_end().await.unwrap(), 0);
    let mut feed = std::pin::pin!(ours.feed(None));
    let (item, task) = tokio::join!(feed.try_next(), async {
        let started = ours.start(NewTask::new("test", "run").session("s")).await.unwrap();
        ours.wait(&started.id).await.unwrap().id
    });
    let item = item.unwrap().unwrap();
    assert_eq!((item.task, item.cursor, item.session.as_deref()), (task, 1, Some("s")));
    assert_eq!(theirs.feed_end().await.unwrap(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_is_heard_of_with_the_task_that_started_it() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = Host::builder().data_dir(dir.path()).clock(clock).open().await.unwrap();
    host.install(kid(&ask(None)).build()).await.unwrap();
    let task = start_parent(&host, &parent(&format!("{START} {}", wait_any(&[1], None)))).await;
    event(&host, &task, "child", 0).await;
    let child = eventually(async || host.task(&task).await.unwrap().questions.first().cloned()).await;
    let child = child.task.expect("the question is a child's");
    host.answer(&child, 1, Reply::Answered { value: true.into(), by: None }).await.unwrap();
    host.wait(&task).await.unwrap();
    let page = host.feed_page(None, 100).await.unwrap();
    let heard: Vec<_> = page.items.iter().map(|item| (item.task.clone(), item.event.kind.name())).collect();
    let expected = ["child", "child", "ended"].map(|kind| (task.clone(), kind));
    assert_eq!(
        heard,
        expected,
        "its question, the reply, and the end of its parent; all: {:?}",
        names(&host, &task).await
    );
}

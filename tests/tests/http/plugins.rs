//! The plugins that speak to others, on real servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use axum::http::StatusCode;
use axum::response::{Html, IntoResponse as _};
use axum::routing::{get, post};
use axum::{Json, Router};
use longhaul::{EventKind, Host, NewTask, Reply, Task, TaskId, TaskState};
use longhaul_tests::embedded::component;
use longhaul_tests::peer::Peer;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// A server on a port that is free.
async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    url
}

async fn start(plugin: &str, tool: &str, url: &str, input: Value) -> (TempDir, Host, TaskId) {
    let dir = tempfile::tempdir().unwrap();
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    host.install(component(plugin)).await.unwrap();
    let id = host.start(NewTask::new(plugin, tool).input(input).grant_http(url)).await.unwrap().id;
    (dir, host, id)
}

/// The first question of a task.
async fn question(host: &Host, id: &TaskId) -> longhaul::OpenQuestion {
    let mut events = std::pin::pin!(host.events(id, 0));
    while let Some(event) = futures_util::TryStreamExt::try_next(&mut events).await.unwrap() {
        if let EventKind::Question(question) = event.kind {
            return question;
        }
    }
    panic!("it asks nothing");
}

fn answered(value: bool) -> Reply {
    Reply::Answered { value: json!(value), by: Some("ada".into()) }
}

fn structured(task: &Task) -> &Value {
    let output = task.output.as_ref().unwrap_or_else(|| panic!("{:?}", task.error));
    output.structured.as_ref().expect("a structured output")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gated_request_is_sent_only_when_a_person_has_seen_it_and_said_yes() {
    let peer = Peer::start().await;
    for approve in [false, true] {
        let input = json!({ "url": peer.url("/echo"), "body": "pay 7 to ada" });
        let (_dir, host, id) = start("gated-request", "send_request", &peer.rule(), input).await;
        let asked = question(&host, &id).await;
        let detail = asked.detail.unwrap();
        assert!(detail.contains("pay 7 to ada") && detail.contains(&peer.url("/echo")), "{detail}");
        assert_eq!(peer.seen().len(), 0, "nothing is sent before it is approved of");
        host.answer(&id, asked.question, answered(approve)).await.unwrap();
        let task = host.wait(&id).await.unwrap();
        match approve {
            true => {
                let sent = structured(&task);
                assert_eq!((&sent["status"], &sent["body"]), (&json!(200), &json!("pay 7 to ada")));
                assert!(detail.contains(sent["seal"].as_str().unwrap()), "the seal is what was shown");
                assert_eq!(peer.seen().len(), 1);
            }
            false => assert!(task.error.unwrap().message.contains("ada said no")),
        }
        host.shutdown().await;
    }
}

/// A service that takes a job and says with each look that it is further; and what was asked of it.
#[derive(Default)]
struct Farm {
    submitted: AtomicU32,
    looks: AtomicU32,
    cancelled: AtomicU32,
    /// The look at which it is done; never if 0.
    done_at: u32,
}

async fn farm(farm: Arc<Farm>) -> String {
    let (submit, look, cancel) = (farm.clone(), farm.clone(), farm);
    let submitted = move || {
        submit.submitted.fetch_add(1, Ordering::Relaxed);
        async { (StatusCode::CREATED, [("location", "/jobs/7")], Json(json!({}))) }
    };
    let looked = move || {
        let looks = look.looks.fetch_add(1, Ordering::Relaxed) + 1;
        let done = looks == look.done_at;
        let state = if done { "done" } else { "running" };
        async move { Json(json!({ "status": state, "progress": looks * 10, "result": { "frames": 240 } })) }
    };
    let cancelled = move || {
        // The first time it is too busy.
        let busy = cancel.cancelled.fetch_add(1, Ordering::Relaxed) == 0;
        async move { if busy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT }.into_response() }
    };
    serve(Router::new().route("/jobs", post(submitted)).route("/jobs/7", get(looked).delete(cancelled))).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_remote_job_is_submitted_once_and_looked_after_until_it_is_done() {
    let jobs = Arc::new(Farm { done_at: 3, ..Farm::default() });
    let url = farm(jobs.clone()).await;
    let input = json!({ "submit_url": format!("{url}/jobs"), "job": { "scene": "s1" }, "poll_seconds": 0 });
    let (_dir, host, id) = start("remote-job", "run_remote_job", &url, input).await;
    let task = host.wait(&id).await.unwrap();
    assert_eq!(structured(&task)["result"], json!({ "frames": 240 }));
    assert_eq!((jobs.submitted.load(Ordering::Relaxed), jobs.looks.load(Ordering::Relaxed)), (1, 3));
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_9_a_remote_job_is_cancelled_with_its_task_until_the_service_has_heard() {
    let jobs = Arc::new(Farm::default());
    let url = farm(jobs.clone()).await;
    let input = json!({ "submit_url": format!("{url}/jobs"), "job": {}, "poll_seconds": 3_600 });
    let (_dir, host, id) = start("remote-job", "run_remote_job", &url, input).await;
    let mut events = std::pin::pin!(host.events(&id, 0));
    while let Some(event) = futures_util::TryStreamExt::try_next(&mut events).await.unwrap() {
        if matches!(event.kind, EventKind::Checkpoint { .. }) {
            break;
        }
    }
    host.cancel(&id).await.unwrap();
    assert_eq!(host.wait(&id).await.unwrap().state, TaskState::Cancelled);
    while jobs.cancelled.load(Ordering::Relaxed) < 2 {
        tokio::task::yield_now().await;
    }
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_is_audited_within_its_host_and_a_person_says_how_far() {
    let page = |html: &'static str| get(move || async move { Html(html) });
    let app = Router::new()
        .route(
            "/",
            page("<title>Home</title><a href='/a'>a</a> <a href='/gone'>b</a> <a href='https://other.example/'>c</a>"),
        )
        .route("/a", page("<title>Home</title><a href='b?x=1#top'>b</a>"))
        .route("/b", page("<p>no title</p><a href='/'>home</a>"));
    let url = serve(app).await;
    let (_dir, host, id) = start("site-audit", "audit_site", &url, json!({ "url": url })).await;
    let task = host.wait(&id).await.unwrap();
    let report = structured(&task);
    let at = |path: &str| format!("{url}{path}");
    assert_eq!(report["pages"].as_array().map(Vec::len), Some(4), "{report}");
    assert_eq!(report["broken"], json!([at("/gone")]));
    assert_eq!(report["untitled"], json!([at("/b?x=1")]));
    assert_eq!(report["same_title"]["Home"], json!([at("/"), at("/a")]));
    let replayed = host.replay(&id, Default::default(), |_| {}).await.unwrap();
    assert_eq!((replayed.diverged, &replayed.output), (None, &task.output));
    host.shutdown().await;
    let input = json!({ "url": url, "ask_after": 1 });
    let (_dir, host, id) = start("site-audit", "audit_site", &url, input).await;
    let asked = question(&host, &id).await;
    host.answer(&id, asked.question, answered(false)).await.unwrap();
    let task = host.wait(&id).await.unwrap();
    assert_eq!(
        (structured(&task)["pages"].as_array().map(Vec::len), &structured(&task)["not_visited"]),
        (Some(1), &json!(2))
    );
    host.shutdown().await;
}

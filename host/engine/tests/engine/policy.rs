//! Promise 5: what an operator writes into `longhaul.toml` decides what a task reaches, when it reaches for it.

use std::path::Path;
use std::time::Duration;

use crate::common::{Guest, START, ask, cold_host, event, kid, manifest, parent, said, say, yes};
use longhaul::{Error, EventKind, Host, NeedKind, NewTask, Policy, ReplayOptions, TaskState};

/// What is written replaces the file at once, as an editor does it.
fn write(dir: &Path, policy: &str) {
    let new = dir.join("new.toml");
    std::fs::write(&new, policy).unwrap();
    std::fs::rename(new, dir.join("longhaul.toml")).unwrap();
}

/// A plugin `test` with these needs.
fn needing(needs: &str, execute: &str) -> Guest {
    let manifest = manifest("test", "run").replace(r#""tools":"#, &format!(r#""needs":[{needs}],"tools":"#));
    Guest { manifest, ..Guest::new(execute) }.with_question()
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_5_a_grant_counts_when_it_is_asked_for_and_its_end_too() {
    let (dir, _clock, host) = cold_host().await;
    host.install(kid("").build()).await.unwrap();
    let started = say("(i32.load8_u (i32.const 3000))");
    let guest = parent(&format!("{START} {started} {0} {START} {started} {0} {START} {started}", ask(None)));
    let plugin = host.install(guest.build()).await.unwrap();
    let task = host.start(NewTask::new(&plugin.digest, "run")).await.unwrap().id;
    let asked = event(&host, &task, "question", 0).await;
    write(dir.path(), "[plugins.test]\ntools = ['kid/run']");
    host.answer(&task, 1, yes()).await.unwrap();
    event(&host, &task, "question", asked.seq).await;
    write(dir.path(), "[plugins.test]\ntools = []");
    // The first child was the first handle after the first question.
    host.answer(&task, 3, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(said(&host, &task).await, [1.0, 0.0, 1.0], "refused, started, refused");
    let refused = host.journal(&task, 0, 1_000).await.unwrap().into_iter();
    let refused = refused.filter(|event| matches!(event.kind, EventKind::Refused { .. })).count();
    assert_eq!(refused, 2, "verdicts are in the journal");
    // Whatever the policy says by now: replay asks for the verdicts that were.
    let replayed = host.replay(&task, ReplayOptions::default(), |_| {}).await.unwrap();
    assert!(replayed.diverged.is_none(), "{replayed:?}");
}

/// What a task has that says nothing of it, and whether one may be given more.
#[tokio::test(flavor = "multi_thread")]
async fn promise_6_limits_are_those_of_the_policy_when_a_task_starts() {
    let (dir, _clock, host) = cold_host().await;
    host.install(Guest::new(&ask(None)).with_question().build()).await.unwrap();
    let start = async |with: &dyn Fn(NewTask) -> NewTask| host.start(with(NewTask::new("test", "run"))).await;
    let allowed = async |task: &longhaul::TaskId, limit: &str| {
        let task = host.task(task).await.unwrap();
        task.usage.iter().find(|usage| usage.limit == limit).unwrap().allowed
    };
    let before = start(&|new| new).await.unwrap().id;
    write(dir.path(), "[limits]\nfuel = { default = '1G', most = '2T' }\nmemory = '8MiB'\nquestions = 3");
    let after = start(&|new| new).await.unwrap().id;
    assert_eq!((allowed(&before, "fuel").await, allowed(&before, "memory").await), (100_000_000_000, 256 << 20));
    assert_eq!((allowed(&after, "fuel").await, allowed(&after, "memory").await), (1_000_000_000, 8 << 20));
    let more = start(&|new| new.limit("fuel", "2T")).await.unwrap().id;
    assert_eq!(allowed(&more, "fuel").await, 2_000_000_000_000);
    let error = start(&|new| new.limit("questions", "4")).await.unwrap_err().to_string();
    assert!(error.contains("this host allows at most 3; `limits.questions` in longhaul.toml raises that"), "{error}");
    // The instances of this host were made for less.
    write(dir.path(), "[limits]\nmemory = '1GiB'");
    let most = start(&|new| new).await.unwrap().id;
    assert_eq!(allowed(&most, "memory").await, 256 << 20);
    // What an embedder says does not change.
    host.set_policy(Policy::parse("[limits]\nquestions = 5").unwrap());
    assert_eq!(allowed(&start(&|new| new).await.unwrap().id, "questions").await, 5);
    let own = tempfile::tempdir().unwrap();
    write(own.path(), "[limits]\nquestions = 9");
    let limits = longhaul::Limits { questions: 4, ..Default::default() };
    let given = Host::builder().data_dir(own.path()).limits(limits).open().await.unwrap();
    given.install(Guest::new("").build()).await.unwrap();
    let task = given.start(NewTask::new("test", "run")).await.unwrap().id;
    let task = given.wait(&task).await.unwrap();
    assert_eq!(task.usage.iter().find(|usage| usage.limit == "questions").unwrap().allowed, 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_is_what_it_was_when_it_was_asked_for() {
    let (dir, _clock, host) = cold_host().await;
    write(dir.path(), "[plugins.test.settings]\nregion = 'eu'");
    let read = "(call $setting (i32.const 2300) (i32.const 6) (i32.const 3000))";
    // Whether there is one, and its first letter.
    let show = [say("(i32.load8_u (i32.const 3000))"), say("(i32.load8_u (i32.load (i32.const 3004)))")].concat();
    let guest = needing(
        r#"{"kind":"setting","name":"region","why":"Where."}"#,
        &format!("{read} {show} {} {read} {show}", ask(None)),
    );
    let plugin = host.install(guest.text(2300, "region").build()).await.unwrap();
    let task = host.start(NewTask::new(&plugin.digest, "run")).await.unwrap().id;
    event(&host, &task, "question", 0).await;
    write(dir.path(), "[plugins.test.settings]\nregion = 'us'");
    host.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    let letter = |letter: u8| f64::from(letter);
    assert_eq!(said(&host, &task).await, [1.0, letter(b'e'), 1.0, letter(b'u')]);
    // One that came with the start is that task's own.
    let own = host.start(NewTask::new(&plugin.digest, "run").setting("region", "asia")).await.unwrap().id;
    event(&host, &own, "question", 0).await;
    host.answer(&own, 1, yes()).await.unwrap();
    host.wait(&own).await.unwrap();
    assert_eq!(said(&host, &own).await, [1.0, letter(b'a'), 1.0, letter(b'a')]);
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_required_host_is_granted_by_the_policy_or_with_the_start_or_refuses_it() {
    let (dir, _clock, host) = cold_host().await;
    let guest = needing(r#"{"kind":"http","name":"*.example.com","why":"To look."}"#, "");
    host.install(guest.build()).await.unwrap();
    let new = || NewTask::new("test", "run");
    let refused = |error: Error| matches!(error, Error::MissingGrant { kind: NeedKind::Http, .. });
    assert!(refused(host.start(new()).await.unwrap_err()));
    let error = host.start(new().grant_http("http://api.example.com")).await.unwrap_err();
    assert!(matches!(&error, Error::UndeclaredGrant { kind: NeedKind::Http, .. }), "{error}");
    let error = host.start(new().grant_http("ftp://api.example.com")).await.unwrap_err();
    assert!(matches!(error, Error::OutOfRange { what: "a grant of `http`", .. }), "{error}");
    host.start(new().grant_http("api.example.com")).await.unwrap();
    write(dir.path(), "[namespaces.acme.plugins.test]\nhttp = ['api.example.com']");
    assert!(refused(host.start(new()).await.unwrap_err()), "what another namespace has is its own");
    host.namespace("acme").start(new()).await.unwrap();
    // An embedder's policy takes the file's place.
    host.set_policy(Policy::parse("[plugins.test]\nhttp = ['www.example.com']").unwrap());
    host.start(new()).await.unwrap();
    host.set_policy(Policy::default());
    assert!(refused(host.namespace("acme").start(new()).await.unwrap_err()));
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_required_secret_that_is_not_where_it_should_be_refuses_the_start() {
    let (dir, _clock, host) = cold_host().await;
    host.install(needing(r#"{"kind":"secret","name":"token","why":"To be let in."}"#, "").build()).await.unwrap();
    let new = || NewTask::new("test", "run");
    let error = host.start(new()).await.unwrap_err();
    assert!(matches!(&error, Error::MissingGrant { kind: NeedKind::Secret, .. }), "{error}");
    let secret = dir.path().join("token");
    let usage = "token = { secret = 'farm', to = ['api.example.com'], as = 'bearer' }";
    write(dir.path(), &format!("[secrets]\nfarm = {{ file = {secret:?} }}\n[plugins.test.secrets]\n{usage}"));
    for (content, said) in [(None, "is not there"), (Some("hunter2"), "is too short")] {
        if let Some(content) = content {
            std::fs::write(&secret, content).unwrap();
        }
        let error = host.start(new()).await.unwrap_err().to_string();
        assert!(error.starts_with("`test` can't do without secret `token`: ") && error.contains(said), "{error}");
        assert!(!error.contains("hunter2"), "{error}");
    }
    std::fs::write(&secret, "hunter2hunter2hunter2").unwrap();
    host.start(new()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_of_a_start_is_part_of_what_its_key_stands_for() {
    let (_dir, _clock, host) = cold_host().await;
    let guest = needing(r#"{"kind":"http","name":"*.example.com","why":"To look.","required":false}"#, "");
    host.install(guest.build()).await.unwrap();
    let new = || NewTask::new("test", "run").idempotency_key("once");
    let first = host.start(new().grant_http("a.example.com")).await.unwrap();
    assert_eq!(host.start(new().grant_http("a.example.com")).await.unwrap().id, first.id);
    for other in [new(), new().grant_http("b.example.com")] {
        let error = host.start(other).await.unwrap_err();
        assert!(matches!(error, Error::IdempotencyMismatch { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pinned_plugin_is_installed_and_started_only_as_that_build() {
    let (dir, _clock, host) = cold_host().await;
    let one = host.install(Guest::new("").build()).await.unwrap();
    let other = Guest::new(&say("(i32.const 1)"));
    write(dir.path(), &format!("[plugins.test]\ndigest = '{}'", one.digest));
    let error = host.install(other.build()).await.unwrap_err();
    assert!(matches!(&error, Error::Pinned { pinned, .. } if *pinned == one.digest), "{error}");
    host.start(NewTask::new("test", "run")).await.unwrap();
    write(dir.path(), "");
    let two = host.install(other.build()).await.unwrap();
    write(dir.path(), &format!("[namespaces.default.plugins.test]\ndigest = '{}'", one.digest));
    let error = host.start(NewTask::new("test", "run")).await.unwrap_err();
    assert!(matches!(&error, Error::Pinned { found, .. } if *found == two.digest), "{error}");
    host.start(NewTask::new(&one.digest, "run")).await.unwrap();
    host.namespace("other").start(NewTask::new("test", "run")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_alias_is_a_name_to_start_a_plugin_by() {
    let (dir, _clock, host) = cold_host().await;
    host.install(Guest::new("").build()).await.unwrap();
    let error = host.start(NewTask::new("trial", "run")).await.unwrap_err();
    assert!(matches!(error, Error::UnknownPlugin(_)), "{error}");
    write(dir.path(), "[plugins.test]\nalias = 'trial'");
    let task = host.start(NewTask::new("trial", "run")).await.unwrap().id;
    assert_eq!(host.task(&task).await.unwrap().plugin, "test");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_does_not_open_on_a_policy_that_is_wrong_and_says_where() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "[host]\nretention = '2h'\n\n[plugins.test]\nhtpp = []");
    let error = Host::builder().data_dir(dir.path()).open().await.err().unwrap();
    let said = error.to_string();
    assert!(said.contains("longhaul.toml: line 5, `plugins.test.htpp`: unknown field `htpp`"), "{said}");
    assert!(!dir.path().join("longhaul.db").exists(), "nothing is touched");
    write(dir.path(), "[host]\nheartbeat = '1ms'");
    let error = Host::builder().data_dir(dir.path()).open().await.err().unwrap();
    assert!(matches!(error, Error::OutOfRange { what: "heartbeat", .. }), "{error}");
    // What the builder is told counts for more.
    Host::builder().data_dir(dir.path()).heartbeat(Duration::from_secs(5)).open().await.unwrap().shutdown().await;
}

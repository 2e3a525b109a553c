//! Bad plugins, each with its error, and plugins that come and go while their tasks stay.

use crate::common::{Guest, begin, clock, cold_host_at, database, error, event, failure, host, host_at, say, yes};
use longhaul::{Error, ErrorClass, Host, NewTask, PluginError, TaskState};

async fn refused(component: impl Into<Vec<u8>>) -> PluginError {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let refused = match host.install(component).await {
        Err(Error::Plugin(refused)) => refused,
        other => panic!("expected a refusal of the plugin, not {other:?}"),
    };
    assert_eq!(host.plugins().await.unwrap().len(), 0, "what is refused is not kept");
    refused
}

async fn refused_manifest(manifest: impl Into<String>) -> (String, String) {
    match refused(Guest { manifest: manifest.into(), ..Guest::default() }.build()).await {
        PluginError::Manifest { at, problem } => (at, problem),
        other => panic!("expected a refusal of the manifest, not {other}"),
    }
}

async fn refused_description(describe: &str) -> String {
    match refused(Guest { describe: describe.into(), ..Guest::new("") }.build()).await {
        PluginError::Describe(why) => why,
        other => panic!("expected a refusal of `describe`, not {other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_webassembly_is_refused_by_its_first_bytes() {
    let text = refused("#!/bin/sh").await;
    assert_eq!(text.to_string(), "not WebAssembly: the file begins with `#!/bin/s`, not with `\\0asm`");
    assert!(matches!(refused([0, 255, 7, 10]).await, PluginError::NotWasm { ref found } if found.contains("\\xff")));
    let empty = refused([]).await;
    assert_eq!(empty.to_string(), "not WebAssembly: the file begins with nothing, not with `\\0asm`");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_module_is_told_from_a_component() {
    let module = wat::parse_str("(module)").unwrap();
    assert!(matches!(refused(module).await, PluginError::CoreModule));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_without_the_interface_or_with_another_version_is_refused() {
    let nothing = wat::parse_str("(component)").unwrap();
    let nothing = refused(nothing).await;
    assert!(matches!(&nothing, PluginError::NoInterface { exports, .. } if exports.is_empty()), "{nothing}");
    let other =
        wat::parse_str(r#"(component (instance $i) (export "longhaul:tool/background-tool@0.2.0" (instance $i)))"#);
    let other = refused(other.unwrap()).await.to_string();
    assert!(other.contains("`longhaul:tool/background-tool@0.2.0`"), "{other}");
    assert!(other.contains("this host speaks `longhaul:tool/background-tool@0.1.0`"), "{other}");
    let hollow =
        wat::parse_str(r#"(component (instance $i) (export "longhaul:tool/background-tool@0.1.0" (instance $i)))"#);
    assert!(matches!(refused(hollow.unwrap()).await, PluginError::Invalid(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_imports_what_no_host_provides_is_refused() {
    let component = |import: &str| {
        wat::parse_str(format!(
            r#"(component (import "{import}" (instance (export "f" (func)))) (instance $i)
                 (export "longhaul:tool/background-tool@0.1.0" (instance $i)))"#,
        ))
        .unwrap()
    };
    let unknown = refused(component("acme:thing/api@1.0.0")).await;
    assert!(matches!(&unknown, PluginError::UnknownImport(name) if name == "acme:thing/api@1.0.0"), "{unknown}");
    let http = refused(component("wasi:http/incoming-handler@0.2.0")).await;
    assert!(matches!(http, PluginError::UnknownImport(_)), "{http}");
    // A namespace that is ours, and an interface that is not.
    let later = refused(component("longhaul:tool/later@0.1.0")).await.to_string();
    assert!(later.contains("longhaul:tool/later@0.1.0"), "{later}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_component_is_refused() {
    let whole = Guest::new("").build();
    for part in [8, 9, whole.len() / 2, whole.len() - 1] {
        let error = refused(&whole[..part]).await;
        assert!(matches!(error, PluginError::Invalid(_) | PluginError::NoInterface { .. }), "{part}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_6_a_component_may_have_64_mib() {
    let large = vec![0; longhaul::HostLimits::default().component as usize + 1];
    assert!(matches!(refused(large.clone()).await, PluginError::TooLarge { bytes, limit } if bytes == limit + 1));
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let file = dir.path().join("large.wasm");
    std::fs::write(&file, large).unwrap();
    for error in [host.install_file(&file).await.unwrap_err(), host.inspect_file(&file).await.unwrap_err()] {
        assert!(matches!(error, Error::Plugin(PluginError::TooLarge { .. })), "{error}");
    }
    let missing = host.install_file(dir.path().join("missing.wasm")).await.unwrap_err();
    assert!(matches!(missing, Error::Plugin(PluginError::Unreadable { .. })), "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_describe_that_crashes_or_never_returns_is_refused() {
    let trap = refused_description("unreachable").await;
    assert!(trap.contains("unreachable"), "{trap}");
    let loops = refused_description(crate::common::FOR_EVER).await;
    assert!(loops.contains("fuel") || loops.contains("1s"), "{loops}");
    let out_of_bounds =
        refused_description("(i32.store (i32.const 16) (i32.const -5)) (i32.store (i32.const 20) (i32.const 99))")
            .await;
    assert!(!out_of_bounds.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_describe_that_asks_or_waits_is_refused() {
    let asks = Guest { describe: crate::common::ask(None), ..Guest::new("") }.with_question();
    let sleeps = Guest { describe: "(call $sleep (i64.const 5) (i32.const 3000))".into(), ..Guest::new("") };
    let polls = Guest { describe: "(call $block (call $subscribe (i64.const 5000000)))".into(), ..Guest::new("") };
    for guest in [asks, sleeps, polls] {
        let error = refused(guest.build()).await;
        assert!(
            matches!(&error, PluginError::Describe(why) if why == "it asked for something that only a task may ask for"),
            "{error}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_describe_that_lies_is_refused_with_the_place() {
    let (at, problem) = refused_manifest("{\"manifest\": 1, ").await;
    assert_eq!(at, "", "{problem}");
    let good = crate::common::manifest("test", "run");
    let bad = |from: &str, to: &str| good.replacen(from, to, 1);
    for (manifest, place) in [
        (bad(r#""name":"test""#, r#""name":"../test""#), "/name"),
        (bad(r#""name":"test""#, r#""name":"Test""#), "/name"),
        (bad("1.0.0", "one"), "/version"),
        (bad(r#""manifest":1"#, r#""manifest":2"#), "/manifest"),
        (bad(r#""name":"run""#, r#""name":"run-it""#), "/tools/0/name"),
        (bad(r#"{"type":"object"}"#, r#"{"type":"objekt"}"#), "/tools/0/inputSchema"),
        (bad(r#"{"type":"object"}"#, r#"{"type":"object","properties":{"a":{"type":7}}}"#), "/tools/0/inputSchema"),
        (bad(r#"{"type":"object"}"#, r#"{"type":"object","$ref":"https://example.com/s"}"#), "/tools/0/inputSchema"),
        (bad(r#""tools":[{"#, r#""tools":[],"x":[{"#), "/tools"),
    ] {
        let (at, problem) = refused_manifest(manifest).await;
        assert!(at.starts_with(place), "{at} is not in {place}: {problem}");
    }
    let tool = &good[good.find("[{").unwrap() + 1..good.find("}]").unwrap() + 1];
    let (at, problem) = refused_manifest(good.replace(tool, &format!("{tool},{tool}"))).await;
    assert_eq!((at.as_str(), problem.as_str()), ("/tools/1", "the tool `run` is there twice"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_describe_of_ten_megabytes_is_refused() {
    let grown = "(drop (memory.grow (i32.const 200)))
        (memory.fill (i32.const 65536) (i32.const 32) (i32.const 10000000))
        (i32.store (i32.const 16) (i32.const 65536)) (i32.store (i32.const 20) (i32.const 10000000))";
    let error = refused(Guest { describe: grown.into(), ..Guest::new("") }.build()).await;
    assert!(matches!(&error, PluginError::Manifest { problem, .. } if problem.contains("10000000 bytes")), "{error}");
    let beyond = grown.replace("10000000", "99000000");
    let error = refused(Guest { describe: beyond, ..Guest::new("") }.build()).await;
    assert!(matches!(error, PluginError::Describe(_)), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_file_twice_is_one_plugin() {
    let dir = tempfile::tempdir().unwrap();
    let host = host(dir.path()).await;
    let file = Guest::new("").build();
    let (first, second) = tokio::join!(host.install(file.clone()), host.install(file));
    assert_eq!(first.unwrap().digest, second.unwrap().digest);
    assert_eq!(host.plugins().await.unwrap().len(), 1);
    let leftover: Vec<_> = std::fs::read_dir(dir.path().join("compiled"))
        .unwrap()
        .flat_map(|version| std::fs::read_dir(version.unwrap().path()).unwrap())
        .map(|file| file.unwrap().file_name())
        .collect();
    assert_eq!(leftover.len(), 1, "one compiled plugin and nothing half written: {leftover:?}");
}

fn version(version: &str, execute: &str) -> Guest {
    let mut guest = Guest::new(execute).with_question();
    guest.manifest = guest.manifest.replace("1.0.0", version);
    guest
}

#[tokio::test(flavor = "multi_thread")]
async fn the_plugin_that_was_installed_last_is_the_newest_even_if_the_clock_stands() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let files: Vec<_> = (0..6).map(|n| version(&format!("1.0.{n}"), "").build()).collect();
    for file in files.iter().chain([&files[0], &files[3]]) {
        let installed = host.install(file.clone()).await.unwrap();
        assert_eq!(host.plugin("test").await.unwrap().version, installed.version);
        assert_eq!(host.plugins().await.unwrap()[0].version, installed.version);
        let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
        assert_eq!(host.wait(&task).await.unwrap().version, installed.version);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_stays_with_the_plugin_that_it_was_started_with() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = cold_host_at(dir.path(), &clock).await;
    let old = host.install(version("1.0.0", &crate::common::ask(None)).build()).await.unwrap();
    let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
    event(&host, &task, "question", 0).await;
    host.install(version("2.0.0", "unreachable").build()).await.unwrap();
    let in_use = host.remove_plugin(&old.digest).await.unwrap_err();
    assert!(matches!(&in_use, Error::PluginInUse { plugin, tasks: 1 } if plugin == "test"), "{in_use}");
    host.answer(&task, 1, yes()).await.unwrap();
    let done = host.wait(&task).await.unwrap();
    assert_eq!((done.state, done.digest, done.version.as_str()), (TaskState::Completed, old.digest.clone(), "1.0.0"));
    host.remove_plugin(&old.digest).await.unwrap();
    assert_eq!(host.task(&task).await.unwrap().version, "1.0.0", "its ended tasks still name it");
    let gone = host.start(NewTask::new(old.digest.clone(), "run")).await.unwrap_err();
    assert!(matches!(gone, Error::UnknownPlugin(_)), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_file_that_is_removed_while_its_task_waits_changes_nothing() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let file = dir.path().join("plugin.wasm");
    std::fs::write(&file, version("1.0.0", &crate::common::ask(None)).build()).unwrap();
    let host = cold_host_at(dir.path(), &clock).await;
    let plugin = host.install_file(&file).await.unwrap();
    let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    std::fs::remove_file(file).unwrap();
    std::fs::remove_dir_all(dir.path().join("compiled")).unwrap();
    let host = cold_host_at(dir.path(), &clock).await;
    host.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
    assert_eq!(plugin.digest, host.plugin("test").await.unwrap().digest);
}

/// A task that waits, of a host that is gone.
async fn left_waiting(dir: &std::path::Path) -> longhaul::TaskId {
    let clock = clock();
    let host = cold_host_at(dir, &clock).await;
    let task = begin(&host, &version("1.0.0", &crate::common::ask(None))).await;
    event(&host, &task, "question", 0).await;
    host.shutdown().await;
    task
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_12_a_task_whose_stored_component_is_damaged_says_so() {
    for (damage, says) in [
        ("UPDATE plugin SET component = x''", "missing"),
        ("UPDATE plugin SET component = substr(component, 2)", "changed"),
        ("DELETE FROM plugin", "missing"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let task = left_waiting(dir.path()).await;
        database(dir.path()).execute(damage, []).unwrap();
        std::fs::remove_dir_all(dir.path().join("compiled")).unwrap();
        let clock = clock();
        let host = cold_host_at(dir.path(), &clock).await;
        host.answer(&task, 1, yes()).await.unwrap();
        let step = std::time::Duration::from_secs(1);
        let (class, code, message) = crate::common::advancing(&clock, step, failure(&host, &task)).await;
        assert_eq!((class, code.as_str()), (ErrorClass::Run, "host"), "{message}");
        assert!(message.contains(says) && message.contains("add the plugin again"), "{message}");
        // Nothing new is taken that could not be done either.
        let error = host.start(NewTask::new("test", "run")).await.unwrap_err();
        assert!(matches!(error, Error::Plugin(PluginError::Damaged { .. }) | Error::UnknownPlugin(_)), "{error}");
        assert_eq!(host.tasks(Default::default()).await.unwrap().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn compiled_code_that_is_damaged_is_compiled_again() {
    let dir = tempfile::tempdir().unwrap();
    let task = left_waiting(dir.path()).await;
    let file = std::fs::read_dir(compiled(dir.path())).unwrap().next().unwrap().unwrap().path();
    let good = std::fs::read(&file).unwrap();
    let clock = clock();
    for bad in [&b"garbage"[..], &[], &good[..good.len() / 2], &good[..good.len() - 1]] {
        std::fs::write(&file, bad).unwrap();
        let host = cold_host_at(dir.path(), &clock).await;
        assert_eq!(host.task(&task).await.unwrap().state, TaskState::Waiting);
        let other = host.start(NewTask::new("test", "run")).await.unwrap().id;
        event(&host, &other, "question", 0).await;
        assert_eq!(std::fs::read(&file).unwrap().len(), good.len());
        host.shutdown().await;
    }
    let host = Host::builder().data_dir(dir.path()).open().await.unwrap();
    host.answer(&task, 1, yes()).await.unwrap();
    assert_eq!(host.wait(&task).await.unwrap().state, TaskState::Completed);
}

/// Code that is sound, and another's: only its tag tells that it does not belong there.
#[tokio::test(flavor = "multi_thread")]
async fn compiled_code_of_another_plugin_or_another_host_is_not_run_under_this_ones_name() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let own = Guest::new(&say("(i32.const 1)")).build();
    let planted = Guest::new(&say("(i32.const 666)")).build();
    let mut code = Vec::new();
    for dir in [dir.path(), other.path()] {
        let host = host_at(dir, &clock()).await;
        host.install(own.clone()).await.unwrap();
        let digest = host.install(planted.clone()).await.unwrap().digest;
        host.shutdown().await;
        code.push(compiled(dir).join(digest).with_extension("cwasm"));
    }
    let name = Host::builder().data_dir(other.path()).open().await.unwrap().install(own.clone()).await.unwrap().digest;
    for planted in code {
        let place = compiled(dir.path()).join(&name).with_extension("cwasm");
        std::fs::copy(planted, &place).unwrap();
        let told = longhaul::examine(dir.path()).unwrap();
        assert!(told.is_sound(), "{told:?}");
        let told = told.findings.iter().map(|finding| finding.problem.as_str()).collect::<Vec<_>>();
        assert!(told.iter().any(|problem| problem.contains("compiled again")), "{told:?}");
        let host = host_at(dir.path(), &clock()).await;
        let task = host.start(NewTask::new(name.as_str(), "run")).await.unwrap().id;
        host.wait(&task).await.unwrap();
        assert_eq!(crate::common::said(&host, &task).await, [1.0]);
        host.shutdown().await;
        let found = longhaul::examine(dir.path()).unwrap();
        assert!(found.findings.iter().all(|finding| !finding.problem.contains("compiled again")), "{found:?}");
    }
}

/// Where the code of the only engine lies.
fn compiled(dir: &std::path::Path) -> std::path::PathBuf {
    std::fs::read_dir(dir.join("compiled")).unwrap().next().unwrap().unwrap().path()
}

#[tokio::test(flavor = "multi_thread")]
async fn promise_11_a_start_that_races_with_the_removal_of_its_plugin_is_refused_or_done() {
    let (dir, clock) = (tempfile::tempdir().unwrap(), clock());
    let host = host_at(dir.path(), &clock).await;
    let file = version("1.0.0", &crate::common::ask(None)).build();
    for round in 0..60 {
        host.install(file.clone()).await.unwrap();
        let starts: Vec<_> = (0..6)
            .map(|n| {
                let host = host.clone();
                tokio::spawn(async move {
                    // So that some come before the removal, some after it, and some in the middle.
                    for _ in 0..(round * n) % 40 {
                        tokio::task::yield_now().await;
                    }
                    host.start(NewTask::new("test", "run")).await
                })
            })
            .collect();
        let removed = host.remove_plugin("test").await;
        assert!(matches!(removed, Ok(_) | Err(Error::PluginInUse { .. })), "{removed:?}");
        for start in starts {
            match start.await.unwrap() {
                // It waits for an answer, so its plugin is needed.
                Ok(started) => {
                    assert!(removed.is_err(), "a task was taken whose plugin is gone");
                    host.cancel(&started.id).await.unwrap();
                    assert!(host.wait(&started.id).await.unwrap().state.is_terminal());
                }
                Err(Error::UnknownPlugin(_) | Error::Plugin(PluginError::Damaged { .. })) => {}
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_stays_while_cancel_task_is_owed_to_one_of_its_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let guest =
        Guest { await_task: error(crate::common::FAILED, None), ..Guest::new(&crate::common::pending(2048, 3, None)) };
    let host = host(dir.path()).await;
    let plugin = host.install(guest.build()).await.unwrap();
    let task = host.start(NewTask::new("test", "run")).await.unwrap().id;
    event(&host, &task, "checkpoint", 0).await;
    host.shutdown().await;
    // As a process leaves it that is killed before it could call `cancel-task`.
    database(dir.path()).execute("UPDATE task SET state = 'cancelled', ended_at = 1, waiting_on = NULL", []).unwrap();
    let host = Host::builder().data_dir(dir.path()).take_over(false).open().await.unwrap();
    let error = host.remove_plugin(&plugin.digest).await.unwrap_err();
    assert!(matches!(error, Error::PluginInUse { tasks: 1, .. }), "{error}");
}

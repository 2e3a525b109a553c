//! Components that are written to keep a compiler busy. It is a process of its own, which has so much memory and time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use longhaul::{Error, Host, HostLimits, NewTask, PluginError};
use longhaul_tests::cli::{Cli, compiler};
use longhaul_tests::hostile;
use longhaul_tests::server::send;
use reqwest::Method;

use crate::arena::{Arena, said_of_host};

async fn refused(limits: HostLimits) -> String {
    let arena = Arena::open_with(|host| host.host_limits(limits)).await;
    let bomb = hostile::enormous();
    let (refused, ()) = tokio::join!(arena.host.install(bomb), arena.witness());
    let limit = match refused {
        Err(Error::Plugin(error @ PluginError::CompileLimit { .. })) => error.to_string(),
        other => panic!("{other:?}"),
    };
    arena.close().await;
    limit
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enormous_function_is_compiled_for_as_long_as_the_limit_says() {
    let limits = HostLimits { compile_time: Duration::from_secs(1), ..HostLimits::default() };
    let refused = refused(limits).await;
    assert!(refused.contains(&said_of_host("compile_time", "1s")), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_enormous_function_is_compiled_with_as_much_memory_as_the_limit_says() {
    let limits = HostLimits { compile_memory: 64 << 20, ..HostLimits::default() };
    let refused = refused(limits).await;
    assert!(refused.contains(&said_of_host("compile_memory", "64MiB")), "{refused}");
}

/// Whatever becomes of them, the host and its tasks go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_thousand_functions_or_types_are_compiled_or_refused() {
    let limits = HostLimits { compile_time: Duration::from_secs(5), ..HostLimits::default() };
    let arena = Arena::open_with(|host| host.host_limits(limits)).await;
    let functions = "(func (param i32) (result i32) (local.get 0))".repeat(100_000);
    let types: String = (0..100_000).map(|n| format!("(type (func (param {})))", types(n))).collect();
    for more in [functions, types] {
        let (installed, ()) = tokio::join!(arena.host.install(hostile::with_more(&more)), arena.witness());
        if let Err(error) = installed {
            assert!(
                matches!(error, Error::Plugin(PluginError::CompileLimit { .. } | PluginError::Invalid(_))),
                "{error}"
            );
        }
    }
    arena.close().await;
}

/// A list of types that is like no other.
fn types(mut n: u32) -> String {
    let mut list = String::new();
    for _ in 0..17 {
        list.push_str(if n & 1 == 0 { "i32 " } else { "i64 " });
        n >>= 1;
    }
    list
}

/// Types of a component that hold the type before twice each: sixty of them are 2^60 numbers.
#[tokio::test(flavor = "multi_thread")]
async fn types_that_double_each_other_are_refused() {
    let arena = Arena::open().await;
    for (first, next) in
        [("(tuple u32 u32)", "(tuple $t $t)"), ("(list u32)", "(record (field \"a\" $t) (field \"b\" $t))")]
    {
        let doubled: String =
            (1..60).map(|n| format!("(type $t{n} {})", next.replace("$t", &format!("$t{}", n - 1)))).collect();
        // A function that is given one has to know how it lies in memory.
        let text = format!("(component (type $t0 {first}) {doubled} (import \"f\" (func (param \"x\" $t59))))");
        let bomb = wat::parse_str(text).unwrap();
        let (refused, ()) = tokio::join!(arena.host.install(bomb), arena.witness());
        assert!(matches!(refused, Err(Error::Plugin(PluginError::Invalid(_)))), "{refused:?}");
    }
    arena.close().await;
}

/// Whoever comes first compiles it, and the others wait for that.
#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_many_want_at_once_is_compiled_once() {
    let dir = tempfile::tempdir().unwrap();
    longhaul_tests::embedded::with_probe(dir.path()).await;
    // As after an upgrade.
    std::fs::remove_dir_all(dir.path().join("compiled")).unwrap();
    let started = Arc::new(AtomicUsize::new(0));
    let counted = started.clone();
    let counting = move || {
        counted.fetch_add(1, Ordering::Relaxed);
        compiler()
    };
    let host = Host::builder().data_dir(dir.path()).compile_with(counting).open().await.unwrap();
    let all = (0..20).map(|_| host.run::<serde_json::Value>(NewTask::new("probe", "noop")));
    futures_util::future::try_join_all(all).await.unwrap();
    assert_eq!(started.load(Ordering::Relaxed), 1);
    host.shutdown().await;
}

/// What the binary does by itself: a compiler of its own, and no trace of it in the way of other commands.
#[test]
fn the_binary_compiles_in_a_process_of_its_own() {
    let cli = Cli::new();
    let file = cli.file("loop.wasm", hostile::guest("loop"));
    cli.run(&["plugin", "add", file.to_str().unwrap()]).exits(0).says("added loop");
    let help = cli.run(&["--help"]);
    assert!(!help.stdout.contains("compile-plugin"));
    let broken = cli.file("broken.wasm", &hostile::guest("loop")[..3_000]);
    cli.run(&["plugin", "add", broken.to_str().unwrap()]).exits(2).says("not a valid component");
}

/// Whichever command is given the file, and over the network too.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_compiles_what_it_is_sent_in_a_process_of_its_own() {
    let cli = Cli::new();
    // What the server has from the start may take its time.
    longhaul_tests::embedded::with_probe(&cli.data()).await;
    std::fs::write(cli.data().join("longhaul.toml"), "[limits]\ncompile_time = \"1s\"\n").unwrap();
    let bomb = hostile::enormous();
    let file = cli.file("bomb.wasm", &bomb);
    let said = said_of_host("compile_time", "1s");
    for command in [["plugin", "add"], ["mcp", "--plugin"], ["serve", "--plugin"]] {
        cli.run(&[&command[..], &[file.to_str().unwrap()]].concat()).exits(2).says(&said);
    }
    let server = cli.serve(&[]);
    let agent = server.agent();
    let refused = send(agent.request(Method::POST, "/v1/plugins").body(bomb)).await;
    assert!((400..500).contains(&refused.status) && refused.text.contains(&said), "{}", refused.text);
}

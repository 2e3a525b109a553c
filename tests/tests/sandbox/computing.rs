//! Guests that compute without end, or too deeply.

use longhaul::{Error, NewTask, PluginError, TaskState};
use longhaul_tests::hostile;

use crate::arena::{Arena, broke, limited, said_of_host};

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_uses_up_its_fuel() {
    let arena = Arena::open().await;
    limited(&arena.run("loop").await, "fuel", "fuel", "3G");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_in_describe_or_before_it_is_no_plugin() {
    let arena = Arena::open().await;
    for name in ["describe-loop", "start-loop"] {
        let (refused, ()) = tokio::join!(arena.host.install(hostile::guest(name)), arena.witness());
        let Err(Error::Plugin(PluginError::Describe(why))) = refused else { panic!("{refused:?}") };
        let named = [said_of_host("describe_fuel", "1G"), said_of_host("describe_time", "1s")];
        assert!(named.iter().any(|said| why.contains(said)), "{why}");
    }
    assert_eq!(arena.host.plugins().await.unwrap().len(), 1, "the probe alone");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn endless_recursion_ends_at_the_end_of_its_stack() {
    let arena = Arena::open().await;
    let task = arena.run("recursion").await;
    broke(&task, "trap", "call stack exhausted");
    broke(&task, "trap", &said_of_host("wasm_stack", "512KiB"));
    arena.close().await;
}

/// Wherever on its stack a guest calls: what the host needs for that is there, or the guest traps before.
#[tokio::test(flavor = "multi_thread")]
async fn calls_of_the_host_from_the_end_of_a_stack_harm_the_guest_alone() {
    let arena = Arena::open().await;
    let task = arena.run("host-stack").await;
    broke(&task, "trap", "call stack exhausted");
    broke(&task, "trap", &said_of_host("wasm_stack", "512KiB"));
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guest_that_spins_in_cancel_task_is_cancelled_all_the_same() {
    let arena = Arena::open().await;
    let plugin = arena.host.install(hostile::guest("cancel-loop")).await.unwrap();
    let task = arena.host.start(NewTask::new(plugin.digest, "run")).await.unwrap().id;
    arena.host.cancel(&task).await.unwrap();
    assert_eq!(arena.host.wait(&task).await.unwrap().state, TaskState::Cancelled);
    arena.witness().await;
    arena.close().await;
}

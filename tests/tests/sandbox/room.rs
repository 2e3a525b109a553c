//! Guests that want more of the machine than they may have.

use longhaul::ErrorClass;
use longhaul_tests::hostile;
use serde_json::json;

use crate::arena::{Arena, broke};

#[tokio::test(flavor = "multi_thread")]
async fn memory_without_end_is_not_given() {
    let arena = Arena::open().await;
    broke(&arena.run("memory").await, "memory", "limit `memory`");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_without_end_are_not_given() {
    let arena = Arena::open().await;
    let task = arena.run("table").await;
    assert_eq!(task.error.expect("it traps").class, ErrorClass::Run);
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_are_counted_those_of_the_host_and_the_guests_own() {
    let arena = Arena::open().await;
    broke(&arena.run("handles").await, "limit", "resource table has no free keys");
    broke(&arena.run("own-handles").await, "limit", "handle limit exceeded");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_of_more_instances_than_it_may_have_is_no_plugin() {
    let arena = Arena::open().await;
    let few = hostile::with_instances(hostile::guest("loop"), 10);
    broke(&arena.run_file(few, json!({})).await, "fuel", "limit `fuel`");
    for many in [100, 500] {
        let refused = arena.host.install(hostile::with_instances(hostile::guest("loop"), many)).await.unwrap_err();
        assert!(refused.to_string().contains("core_instances"), "{refused}");
        arena.witness().await;
    }
    arena.close().await;
}

//! Guests that want more of the machine than they may have.

use longhaul_tests::hostile;
use serde_json::json;

use crate::arena::{Arena, limited, said_of_host};

#[tokio::test(flavor = "multi_thread")]
async fn memory_without_end_is_not_given() {
    let arena = Arena::open().await;
    limited(&arena.run("memory").await, "memory", "memory", "256MiB");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_without_end_are_not_given() {
    let arena = Arena::open().await;
    limited(&arena.run("table").await, "limit", "table_elements", "100k");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn handles_are_counted_those_of_the_host_and_the_guests_own() {
    let arena = Arena::open().await;
    for name in ["handles", "own-handles"] {
        limited(&arena.run(name).await, "limit", "resources", "10k");
    }
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_of_more_instances_than_it_may_have_is_no_plugin() {
    let arena = Arena::open().await;
    let few = hostile::with_instances(hostile::guest("loop"), 10);
    limited(&arena.run_file(few, json!({})).await, "fuel", "fuel", "3G");
    for many in [100, 500] {
        let refused = arena.host.install(hostile::with_instances(hostile::guest("loop"), many)).await.unwrap_err();
        assert!(refused.to_string().contains(&said_of_host("core_instances", "64")), "{refused}");
        arena.witness().await;
    }
    arena.close().await;
}

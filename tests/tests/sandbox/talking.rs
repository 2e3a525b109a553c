//! Guests that say too much, or what is no text.

use longhaul::{ErrorClass, TaskState};

use crate::arena::{Arena, completed, limited};

/// Each of them ends by itself or by a limit, and the journal stays within its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_million_calls_of_anything_end() {
    let arena = Arena::open().await;
    for which in 0..8 {
        let task = arena.run_as("flood", which).await;
        let error = task.error.as_ref().map(|error| (error.class, error.message.as_str()));
        match error {
            None => completed(&task),
            Some((class, message)) => {
                assert_eq!((class, task.state), (ErrorClass::Run, TaskState::Failed), "{which}: {message}");
                assert!(
                    message.contains("; `--limit ") && message.contains("` in longhaul.toml"),
                    "{which}: {message}"
                );
            }
        }
        let entries = arena.host.journal(&task.id, 0, usize::MAX >> 1).await.unwrap().len();
        assert!(entries <= 1_000_000, "{which}: {entries} entries");
    }
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_without_end_are_not_given() {
    let arena = Arena::open().await;
    limited(&arena.run("random").await, "limit", "random", "1MiB");
    arena.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poll_on_a_hundred_thousand_timers_is_one_on_too_many() {
    let arena = Arena::open().await;
    limited(&arena.run("poll").await, "limit", "resources", "10k");
    arena.close().await;
}

/// A hundred megabytes in one argument are not even copied.
#[tokio::test(flavor = "multi_thread")]
async fn huge_arguments_of_every_import_break_a_limit() {
    let arena = Arena::open().await;
    for which in 0..9 {
        limited(&arena.run_as("huge", which).await, "limit", "host_call", "64MiB");
    }
    arena.close().await;
}

/// Pointers beyond memory, texts that are none, handles that were never given: the guest traps, and nothing was said.
#[tokio::test(flavor = "multi_thread")]
async fn tricks_with_pointers_harm_the_guest_alone() {
    let arena = Arena::open().await;
    for which in 0..8 {
        let task = arena.run_as("pointers", which).await;
        let error = task.error.unwrap_or_else(|| panic!("{which}: {:?}", task.state));
        assert_eq!(error.class, ErrorClass::Run, "{which}: {}", error.message);
        assert!(task.progress.is_none(), "{which}");
    }
    arena.close().await;
}

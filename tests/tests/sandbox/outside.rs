//! What a guest finds of the world outside: nothing, and the right error for it.

use longhaul::NewTask;

use crate::arena::{Arena, completed};

#[tokio::test(flavor = "multi_thread")]
async fn files_sockets_names_and_the_environment_are_empty_or_denied() {
    let arena = Arena::open().await;
    let task = arena.beside(NewTask::new("probe", "outside")).await;
    completed(&task);
    let output = task.output.unwrap().structured.unwrap();
    let found: Vec<&str> = output["values"].as_array().unwrap().iter().map(|value| value.as_str().unwrap()).collect();
    let (through_std, answers) = found.split_at(10);
    assert!(through_std.iter().all(|answer| answer.ends_with("=\"denied\"")), "{through_std:?}");
    let (denied, empty) = answers.split_at(8);
    assert!(denied.iter().all(|answer| answer.contains("access-denied")), "{denied:?}");
    assert_eq!(
        empty,
        ["directories=0", "variables=[]", "words=[]", "directory=None", "terminals=(false, false, false)"]
    );
    arena.close().await;
}

//! What an embedder is given for its own tests: a person with a script.

use std::path::Path;
use std::time::Duration;

use longhaul::testing::{Person, ScriptError};
use longhaul::{Error, Host, NewTask, TaskId};
use longhaul_tests::cli::component;
use serde::{Deserialize, Serialize};

/// What `csv-profile` takes.
#[derive(Serialize)]
struct Input {
    csv: &'static str,
}

/// Of what it returns.
#[derive(Debug, Deserialize)]
struct Profile {
    rows: u64,
    delimiter: String,
}

/// It asks about the delimiter, then about the decimal sign.
const CSV: &str = "id;weight;size|colour\n1;1.234;9|red\n2;2.500;7|blue\n";

async fn begin(host: &Host) -> Result<TaskId, Error> {
    host.install_file(component("csv-profile")).await?;
    let new = NewTask::new("csv-profile", "profile_csv").input(Input { csv: CSV }).idempotency_key("1");
    Ok(host.start(new).await?.id)
}

fn ann() -> Person {
    Person::new("ann").answers("between two fields", ";").answers("Which number", "comma")
}

async fn open(data: &Path) -> Host {
    Host::builder().data_dir(data).warm(Duration::ZERO).open().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_goes_by_the_script_ends_and_one_that_does_not_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let host = open(dir.path()).await;
    let task = begin(&host).await.unwrap();
    let silent = Person::new("ben").answers("the weather", "rain").attend(&host, &task).await.unwrap_err();
    assert!(matches!(&silent, ScriptError::Unexpected { left, .. } if left == &["the weather"]), "{silent}");
    let wrong = Person::new("ben").answers("", 7).attend(&host, &task).await.unwrap_err();
    assert!(matches!(wrong, ScriptError::Host(Error::Answer { question: 1, .. })), "{wrong}");
    let mut ann = ann().declines("", "no more");
    let unused = ann.attend(&host, &task).await.unwrap_err();
    assert!(matches!(&unused, ScriptError::NotAsked { words, .. } if words.len() == 1), "{unused}");
    let profile: Profile = host.task(&task).await.unwrap().output_as().unwrap();
    assert_eq!((profile.rows, profile.delimiter.as_str()), (2, ";"));
    host.shutdown().await;
}

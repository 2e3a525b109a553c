//! What an embedder is given for its own tests: a person with a script, a crash at a place of its choice.

use std::path::Path;
use std::time::Duration;

use longhaul::testing::{CrashPlan, CrashPoint, Person, ScriptError};
use longhaul::{Error, Host, NewTask, TaskId};
use longhaul_tests::cli::component;
use longhaul_tests::embedded::{copy, sound};
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

/// The host dies at each commit in turn, and the process goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_dies_alone_at_any_commit_leaves_what_the_next_one_goes_on_with() {
    for point in [CrashPoint::BeforeCommit, CrashPoint::AfterCommit] {
        // What it takes to install and compile is tried often enough elsewhere.
        let prepared = tempfile::tempdir().unwrap();
        let host = open(prepared.path()).await;
        host.install_file(component("csv-profile")).await.unwrap();
        host.shutdown().await;
        let mut crashes = 0;
        for n in 2.. {
            let dir = tempfile::tempdir().unwrap();
            copy(prepared.path(), dir.path());
            let plan = CrashPlan::at_nth(point, n).host_only();
            let host = Host::builder().data_dir(dir.path()).crash(plan).warm(Duration::ZERO).open().await.unwrap();
            let mut ann = ann();
            let outcome = match begin(&host).await {
                Ok(task) => ann.attend(&host, &task).await,
                Err(error) => Err(error.into()),
            };
            let crashed = outcome.is_err();
            crashes += u32::from(crashed);
            // It is dead: whoever opens the data takes its tasks over, though it still is in this process.
            let next = open(dir.path()).await;
            let task = begin(&next).await.unwrap();
            let done = ann.attend(&next, &task).await.unwrap_or_else(|error| panic!("{point:?} {n}: {error}"));
            assert_eq!(done.output_as::<Profile>().unwrap().rows, 2);
            next.shutdown().await;
            drop(host);
            sound(dir.path());
            if !crashed {
                break;
            }
        }
        assert!(crashes >= 4, "{point:?}: a start, two questions with their answers, an end; there were {crashes}");
    }
}

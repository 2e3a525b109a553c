//! Guests that return what nobody can hold, and texts that a terminal would obey.

use longhaul_tests::cli::{Cli, component};
use longhaul_tests::hostile;

use crate::arena::{Arena, broke, limited};

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_is_not_returned() {
    let arena = Arena::open().await;
    for which in 0..4 {
        let task = arena.run_as("gigabyte", which).await;
        match which {
            0 | 3 => limited(&task, "limit", "host_call", "64MiB"),
            // Far beyond its memory there is nothing to return.
            _ => broke(&task, "limit", "out of bounds"),
        }
        assert!(task.output.is_none());
    }
    arena.close().await;
}

/// NUL, bell, colours, titles, a cleared screen, text that runs backwards: in what a plugin says, asks, logs and returns,
/// and in its manifest.
#[test]
fn nothing_that_a_plugin_says_reaches_the_terminal_as_more_than_text() {
    let manifest = hostile::manifest("texts", r#"{"type":"object","description":"\u001b[31m\u202e"}"#)
        .replace(r#""version":"#, r#""license":"A test.","version":"#)
        .replace(r#"{"name":"run","#, r#"{"name":"run","title":"A test.","#)
        .replace("A test.", r"\u0000\u0007\u001b[2J\u001b]0;owned\u0007\u202e\u009b31m");
    let cli = Cli::new();
    let file = cli.file("texts.wasm", hostile::with_manifest("texts", &manifest));
    let file = file.to_str().unwrap();
    let mut said = Vec::new();
    for command in [
        &["plugin", "inspect", file][..],
        &["run", file, "--no-input"],
        &["plugin", "ls"],
        &["plugin", "inspect", "texts"],
        &["tasks", "ls"],
    ] {
        said.push(cli.run(command));
    }
    let id = cli.only_id();
    said.push(cli.run(&["tasks", "show", &id]));
    said.push(cli.run(&["tasks", "watch", &id]));
    said.push(cli.run(&["tasks", "replay", &id]));
    said.push(cli.run(&["run", file, r#"which=1"#]));
    // A URL that is one, and runs backwards.
    let fetch = ["run", &component("probe"), "fetch", "url=http://127.0.0.1:9/\u{202e}/\u{2066}x"];
    said.push(cli.run(&fetch));
    for task in cli.run(&["tasks", "ls", "--json"]).exits(0).json() {
        said.push(cli.run(&["tasks", "show", task["id"].as_str().unwrap()]));
        said.push(cli.run(&["tasks", "watch", task["id"].as_str().unwrap()]));
    }
    let shown: String = said.iter().map(|done| done.stdout.as_str()).collect();
    assert!(shown.contains("failed") && shown.contains("http://127.0.0.1:9/"), "{shown}");
    for done in said {
        let text = [done.stdout.as_str(), done.stderr.as_str()].concat();
        let obeyed = |c: &char| {
            (c.is_control() && *c != '\n')
                || ('\u{202a}'..='\u{202e}').contains(c)
                || ('\u{2066}'..='\u{2069}').contains(c)
        };
        let found: Vec<char> = text.chars().filter(obeyed).collect();
        assert!(found.is_empty(), "{found:?} in {text:?}");
    }
}

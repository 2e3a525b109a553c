//! Guests that return what nobody can hold, and texts that a terminal would obey.

use longhaul_tests::cli::Cli;
use longhaul_tests::hostile;

use crate::arena::{Arena, broke};

#[tokio::test(flavor = "multi_thread")]
async fn a_gigabyte_is_not_returned() {
    let arena = Arena::open().await;
    for (which, named) in [(0, "hostcalls"), (1, ""), (2, ""), (3, "hostcalls")] {
        let task = arena.run_as("gigabyte", which).await;
        let code = task.error.as_ref().expect("it breaks").code.clone();
        assert!(["limit", "trap"].contains(&code.as_str()), "{which}: {:?}", task.error);
        broke(&task, &code, named);
        assert!(task.output.is_none());
    }
    arena.close().await;
}

/// NUL, bell, colours, titles, a cleared screen, text that runs backwards: in what a plugin says, asks, logs and returns,
/// and in its manifest.
#[test]
fn nothing_that_a_plugin_says_reaches_the_terminal_as_more_than_text() {
    let manifest = hostile::manifest("texts", r#"{"type":"object","description":"\u001b[31m\u202e"}"#)
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

//! What `longhaul serve` says when it begins: to a person, to a script, to a log.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use longhaul_tests::cli::{Cli, signal};
use longhaul_tests::server::{client, send};

#[cfg(unix)]
#[test]
fn a_person_is_told_where_it_is_how_to_sign_in_and_what_the_first_token_may_do() {
    let cli = Cli::new();
    let terminal = cli.at_terminal(500, &["serve", "--listen", "127.0.0.1:0"]);
    terminal.shows("makes a lesser one)");
    let said = terminal.output();
    let said: Vec<_> = said.lines().collect();
    let [serving, inbox, token] = said[..] else { panic!("three lines: {said:#?}") };
    let url = serving.split_whitespace().nth(1).expect("a URL");
    assert!(serving.starts_with("serving  http://127.0.0.1:") && serving.contains("MCP at /mcp"), "{serving}");
    assert!(
        inbox.starts_with("inbox    not built in")
            || inbox.starts_with(&format!("inbox    {url}/#code=")) && inbox.contains("once, within ten minutes"),
        "{inbox}"
    );
    let secret = token.split_whitespace().nth(1).expect("a token");
    let id = secret.split('_').nth(1).expect("its id");
    for what in
        ["all scopes in namespace default", "no expiry", "shown this once", &format!("token revoke {id}` ends it")]
    {
        assert!(token.contains(what), "`{what}` is not in {token}");
    }
    // The commands that it names are for this data.
    let commands: Vec<_> = token.split('`').skip(1).step_by(2).collect();
    let data = format!("longhaul --data {}", cli.data().display());
    assert!(commands.len() == 2 && commands.iter().all(|command| command.starts_with(&data)), "{commands:?}");
    terminal.signal("INT");
    terminal.end();

    let again = cli.at_terminal(500, &["serve", "--listen", "127.0.0.1:0"]);
    again.shows("token    as before");
    again.signal("INT");
    assert!(!again.end().1.contains("lh_"));
}

#[tokio::test]
async fn a_log_is_told_where_it_is_and_nothing_secret_and_a_token_made_then_counts_at_once() {
    let cli = Cli::new();
    let mut command = cli.command(&["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("longhaul starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
    let (serving, token) = (lines.next().expect("a line"), lines.next().expect("a line"));
    let url = serving.strip_prefix("serving  ").and_then(|rest| rest.split(' ').next()).expect("a URL").to_owned();
    assert!(token.starts_with("token    none yet") && token.contains("token create NAME"), "{token}");
    let secret = cli.token(&["agent"]);
    send(client().get(format!("{url}/v1/tools")).bearer_auth(&secret)).await.is(200);
    signal(&child, "TERM");
    let rest: String = lines.collect();
    let done = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    for said in [&serving, &token, &rest, &errors] {
        assert!(!said.contains("lh_") && !said.contains("#code="), "{said}");
    }
}

#[test]
fn a_script_has_one_line_of_json_with_all_of_it() {
    let cli = Cli::new();
    let server = cli.serve(&[]);
    assert!(server.inbox().starts_with(&format!("{}/#code=", server.url())));
    assert!(server.agent().token().starts_with("lh_"));
}

//! What `longhaul mcp --print-config` prints for each client: in the client's own form, and it works.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use longhaul_tests::cli::{Cli, binary};
use serde_json::{Value, json};

/// The words of a command, as a shell takes it apart.
fn words(command: &str) -> Vec<String> {
    let script = format!("claude() {{ printf '%s\\n' \"$@\"; }}; {command}");
    let said = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert!(said.status.success(), "{said:?}");
    String::from_utf8(said.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// The command that a client starts by what it was given.
fn command(client: &str, printed: &str) -> Vec<String> {
    let server = match client {
        "claude-code" => {
            let words = words(printed);
            let (add, command) = words.split_at(4);
            assert_eq!(add, ["mcp", "add", "longhaul", "--"]);
            return command.to_vec();
        }
        "codex" => {
            let config: toml::Table = printed.parse().unwrap_or_else(|e| panic!("{e}: {printed}"));
            json!(config["mcp_servers"]["longhaul"])
        }
        client => {
            let config: Value = serde_json::from_str(printed).unwrap_or_else(|e| panic!("{e}: {printed}"));
            let member = if client == "vscode" { "servers" } else { "mcpServers" };
            let server = config[member]["longhaul"].clone();
            assert_eq!(server["type"], "stdio", "{printed}");
            server
        }
    };
    let args = server["args"].as_array().expect("a list").iter();
    std::iter::once(&server["command"]).chain(args).map(|word| word.as_str().expect("a word").to_owned()).collect()
}

#[test]
fn what_each_client_is_to_be_given_is_in_its_own_form_and_starts_this_binary_on_this_data() {
    let cli = Cli::new();
    // As people call their directories.
    let data = cli.data().join("it's \"my\" $HOME\\data");
    let data = data.to_str().expect("UTF-8");
    for client in ["claude-code", "vscode", "cursor", "codex"] {
        let mut print = Command::new(binary());
        print.args(["--data", data, "mcp", "--print-config", client, "--wait", "2s"]);
        let printed = print.output().expect("longhaul starts");
        assert!(printed.status.success(), "{printed:?}");
        let (printed, about) = (String::from_utf8_lossy(&printed.stdout), String::from_utf8_lossy(&printed.stderr));
        assert!(about.trim_end().ends_with(':'), "where it belongs is said beside it: {about}");
        let command = command(client, &printed);
        assert!(Path::new(&command[0]).is_absolute() && Path::new(&command[0]).is_file(), "{command:?}");
        assert_eq!(command[1..], ["--data", data, "mcp", "--wait", "2s"], "{client}");

        let mut started = Command::new(&command[0]);
        started.args(&command[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = started.spawn().expect("it starts");
        let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}});
        writeln!(server.stdin.take().expect("a pipe"), "{hello}").expect("it reads");
        let said = server.wait_with_output().expect("it ends");
        let answer: Value = serde_json::from_slice(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        assert_eq!(answer["result"]["serverInfo"]["name"], "longhaul", "{client}");
    }
}

#[test]
fn a_path_that_is_not_absolute_is_printed_so_that_it_works_from_anywhere() {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).expect("a folder");
    let mut print = Command::new(binary());
    print.current_dir(cli.data()).args(["--data", "here", "mcp", "--print-config", "vscode"]);
    let printed = print.output().expect("longhaul starts");
    let command = command("vscode", &String::from_utf8_lossy(&printed.stdout));
    let data = cli.data().canonicalize().expect("a folder").join("here");
    assert_eq!(Path::new(&command[2]), data);
}

//! What a package installs beside the program, and what the program tells of itself.

use longhaul_tests::cli::Cli;

#[test]
fn there_are_completions_for_each_shell() {
    let cli = Cli::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = cli.run(&["completions", shell]).exits(0).stdout;
        for word in ["inbox", "check-upgrade", "--no-input"] {
            assert!(script.contains(word.trim_start_matches("--")), "{shell}: {word}");
        }
    }
    cli.run(&["completions", "cmd"]).exits(2).says("bash, elvish, fish, powershell, zsh");
    assert!(!cli.data().exists(), "nothing is opened for it");
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_options() {
    let cli = Cli::new();
    let script = cli.file("longhaul.bash", cli.run(&["completions", "bash"]).exits(0).stdout);
    let complete = |words: &[&str]| {
        let ask = format!(
            "source {}; COMP_WORDS=(longhaul {}); COMP_CWORD={}; _longhaul longhaul '{}' ''; echo \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words.len(),
            words.last().expect("a word"),
        );
        let done = std::process::Command::new("bash").args(["--norc", "-c", &ask]).output().expect("bash runs");
        String::from_utf8_lossy(&done.stdout).trim().to_owned()
    };
    assert_eq!(complete(&["inb"]), "inbox");
    assert_eq!(complete(&["tasks", "rep"]), "replay");
    assert_eq!(complete(&["serve", "--conf"]), "--config");
}

#[test]
fn each_command_has_its_man_page() {
    let cli = Cli::new();
    let page = cli.run(&["man"]).exits(0).stdout;
    assert!(page.contains(".TH longhaul 1") && page.contains("longhaul\\-inbox(1)"), "{page}");
    let dir = cli.data().with_file_name("man");
    cli.run(&["man", "--dir", &dir.display().to_string()]).exits(0).says("wrote man pages");
    for page in ["longhaul", "longhaul-run", "longhaul-tasks-answer", "longhaul-plugin-check-upgrade", "longhaul-man"] {
        let text = std::fs::read_to_string(dir.join(format!("{page}.1"))).unwrap_or_else(|e| panic!("{page}: {e}"));
        assert!(text.contains("Examples:"), "{page}: {text}");
    }
    let taken = cli.file("taken", "").display().to_string();
    cli.run(&["man", "--dir", &taken]).exits(2).says("cannot write man pages into").says("taken");
}

#[test]
fn the_version_is_short_or_tells_what_it_is_made_of() {
    let cli = Cli::new();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(cli.run(&["-V"]).exits(0).stdout, format!("longhaul {version}\n"));
    let long = cli.run(&["--version"]).exits(0).stdout;
    let lines: Vec<_> = long.lines().collect();
    assert_eq!(lines[0], format!("longhaul {version}"));
    assert!(lines[1].starts_with("wasmtime 48."), "{long}");
    assert_eq!(lines[2], "contract longhaul:tool@0.1.0");
    cli.run(&["tasks", "ls"]).exits(0);
    let sql = rusqlite::Connection::open(cli.data().join("longhaul.db")).expect("a database");
    let database: i64 = sql.query_row("PRAGMA user_version", [], |row| row.get(0)).expect("a number");
    assert_eq!(lines[3], format!("database {database}"));
}

//! What a package installs beside the program, and what the program tells of itself.

use longhaul_tests::cli::{Cli, component};

#[test]
fn there_are_completions_for_each_shell() {
    let cli = Cli::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = cli.run(&["completions", shell]).exits(0).stdout;
        assert!(script.contains("LONGHAUL_COMPLETE") && script.contains("longhaul"), "{shell}: {script}");
    }
    cli.run(&["completions", "cmd"]).exits(2).says("bash, elvish, fish, powershell, zsh");
    assert!(!cli.data().exists(), "nothing is opened for it");
}

#[cfg(unix)]
#[test]
fn bash_completes_commands_and_options_tasks_questions_plugins_and_tools() {
    let cli = Cli::new();
    let script = cli.file("longhaul.bash", cli.run(&["completions", "bash"]).exits(0).stdout);
    // The shell finds the program by its name.
    let here = script.parent().expect("a directory").to_owned();
    let program = cli.command(&[]).get_program().to_owned();
    std::os::unix::fs::symlink(program, here.join("longhaul")).expect("a link");
    let complete = |words: &[&str]| {
        let ask = format!(
            "source {}; COMP_WORDS=(longhaul {}); COMP_CWORD={}; COMP_TYPE=9; _clap_complete_longhaul longhaul '{}' ''
            printf '%s\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.iter().map(|word| if word.is_empty() { "''" } else { word }).collect::<Vec<_>>().join(" "),
            words.len(),
            words.last().expect("a word"),
        );
        let path = std::env::join_paths(
            std::iter::once(here.clone()).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
        );
        let mut bash = std::process::Command::new("bash");
        let done =
            bash.args(["--norc", "-c", &ask]).env("PATH", path.expect("a path")).env("LONGHAUL_DATA", cli.data());
        let done = done.output().expect("bash runs");
        assert_eq!(String::from_utf8_lossy(&done.stderr), "", "{words:?}");
        let offered = String::from_utf8_lossy(&done.stdout);
        offered.lines().filter(|word| !word.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(complete(&["inb"]), ["inbox"]);
    assert_eq!(complete(&["tasks", "rep"]), ["replay"]);
    assert_eq!(complete(&["serve", "--conf"]), ["--config"]);
    // Without a data directory there is nothing else to offer, and none is made.
    assert_eq!(complete(&["tasks", "show", "0"]), [""; 0]);
    assert!(!cli.data().exists());

    cli.run(&["run", &component("probe"), "noop"]).exits(0);
    let ended = cli.only_id();
    cli.run(&["run", "probe", "ask", "prompt=Shall we?", r#"schema={"type":"boolean"}"#]).exits(4);
    let asks = cli.run(&["tasks", "show", "@last", "--json"]).exits(0).task()["id"].as_str().expect("an id").to_owned();
    let of = |command: &str| {
        let offered = complete(&["tasks", command, ""]);
        offered.into_iter().filter(|word| !word.starts_with('-')).collect::<Vec<_>>()
    };
    assert_eq!(of("show"), ["@last", &asks[20..], &ended[20..]]);
    assert_eq!(
        (of("answer"), of("rm")),
        (vec!["@last".to_owned(), asks[20..].into()], vec!["@last".into(), ended[20..].into()])
    );
    assert_eq!(complete(&["tasks", "show", &asks[20..23]]), [&asks[20..]]);
    assert_eq!(complete(&["tasks", "show", &asks[..24]]), [asks.as_str()], "and a whole id, where one is typed");
    assert_eq!(complete(&["tasks", "answer", &asks[20..], "--question", ""]), ["1"]);
    assert_eq!(complete(&["tasks", "ls", "--state", "wai"]), ["waiting"]);
    assert_eq!(complete(&["plugin", "rm", "pr"]), ["probe"]);
    assert_eq!(complete(&["run", "prob"]), ["probe"]);
    assert_eq!(complete(&["run", "probe", "sleep"]), ["sleepy"]);
    assert_eq!(complete(&["run", "probe", "sleepy", "m"]), ["ms="]);
    assert_eq!(complete(&["tasks", "--namespace", "acme", "show", "0"]), [""; 0]);
    // What is locked is not waited for.
    let locked = rusqlite::Connection::open(cli.data().join("longhaul.db")).expect("a database");
    locked.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").expect("a lock");
    assert_eq!(complete(&["plugin", "rm", "pr"]), [""; 0]);
    assert_eq!(complete(&["plugin", "insp"]), ["inspect"]);
}

#[test]
fn each_command_has_its_man_page() {
    let cli = Cli::new();
    let page = cli.run(&["man"]).exits(0).stdout;
    assert!(page.contains(".TH longhaul 1") && page.contains("longhaul\\-inbox(1)"), "{page}");
    assert!(page.contains(".SH EXAMPLES") && page.contains(".SH \"EXIT STATUS\"") && !page.contains("EXTRA"), "{page}");
    let (_, examples) = page.split_once(".SH EXAMPLES").expect("examples");
    assert!(examples.trim_start().starts_with(".nf\n  longhaul run csv\\-profile.wasm"), "{examples}");
    let dir = cli.data().with_file_name("man");
    cli.run(&["man", "--dir", &dir.display().to_string()]).exits(0).says("wrote man pages");
    for page in ["longhaul", "longhaul-run", "longhaul-tasks-answer", "longhaul-plugin-check-upgrade", "longhaul-man"] {
        let text = std::fs::read_to_string(dir.join(format!("{page}.1"))).unwrap_or_else(|e| panic!("{page}: {e}"));
        assert!(text.contains(".SH EXAMPLES"), "{page}: {text}");
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

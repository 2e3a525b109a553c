//! What an operator grants by the command line, and what becomes of it.

use longhaul_tests::cli::{Cli, Done, component};

const POLICY: &str = "\
# Ours.

[plugins.other]   # as agreed
http = [
  \"a.example.com\",  # for the crawler
  \"b.example.com\",
]

[host]
retention = \"7days\"
";

fn with_policy(policy: &str) -> Cli {
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    std::fs::write(cli.data().join("longhaul.toml"), policy).unwrap();
    cli
}

fn policy(cli: &Cli) -> String {
    std::fs::read_to_string(cli.data().join("longhaul.toml")).unwrap()
}

/// The verdicts on the needs of a plugin: `not-granted tool csv-profile/profile_csv`.
fn verdicts(inspected: &Done) -> Vec<String> {
    let needs = inspected.json()[0]["needs"].as_array().unwrap().clone();
    let said = |need: &serde_json::Value, name| need[name].as_str().unwrap().to_owned();
    needs
        .iter()
        .map(|need| format!("{} {} {}", said(need, "verdict"), said(need, "kind"), said(need, "name")))
        .collect()
}

#[test]
fn a_start_that_lacks_a_grant_says_what_to_add_and_with_it_the_task_runs() {
    let cli = Cli::new();
    cli.run(&["plugin", "add", &component("csv-profile")]).exits(0);
    cli.run(&["plugin", "add", &component("csv-report")]).exits(0);
    let run = ["run", "csv-report", r#"files=[{"name":"january","csv":"day\n1\n"}]"#];
    cli.run(&run)
        .exits(2)
        .says("add `tools = [\"csv-profile/profile_csv\"]` to `[plugins.csv-report]` in longhaul.toml")
        .says("`longhaul plugin grant csv-report tool:csv-profile/profile_csv`")
        .says("`--grant tool:csv-profile/profile_csv`");
    let inspect = ["plugin", "inspect", "csv-report"];
    let page = cli.run(&inspect).exits(0);
    assert!(page.stdout.contains("not granted tool csv-profile/profile_csv: "), "{page:?}");
    cli.run(&["plugin", "grant", "csv-report", "tool:csv-profile/profile_csv", "setting:colour=red"])
        .exits(0)
        .says("granted tool csv-profile/profile_csv to csv-report, in ")
        .says("note: `csv-report` declares no need of setting `colour`");
    let json = cli.run(&[&inspect[..], &["--json"]].concat()).exits(0);
    assert_eq!(verdicts(&json), ["granted tool csv-profile/profile_csv", "not-needed setting colour"]);
    cli.run(&run).exits(0);
    cli.run(&["plugin", "revoke", "csv-report", "tool:csv-profile/profile_csv"]).exits(0).says("revoked tool");
    cli.run(&run).exits(2);
    cli.run(&["plugin", "revoke", "csv-report", "tool:csv-profile/profile_csv"])
        .exits(2)
        .says("tool csv-profile/profile_csv is not granted to `csv-report` there");
}

#[test]
fn a_grant_of_one_namespace_is_not_anothers() {
    let cli = Cli::new();
    cli.run(&["plugin", "add", &component("csv-report")]).exits(0);
    cli.run(&["plugin", "grant", "csv-report", "tool:csv-profile/profile_csv", "--namespace", "acme"]).exits(0);
    let of = |namespace: &str| {
        verdicts(&cli.run(&["plugin", "inspect", "csv-report", "--namespace", namespace, "--json"]).exits(0))
    };
    assert_eq!(of("acme"), ["granted tool csv-profile/profile_csv"]);
    assert_eq!(of("default"), ["not-granted tool csv-profile/profile_csv"]);
}

#[test]
fn an_edit_keeps_what_a_person_wrote() {
    let cli = with_policy(POLICY);
    let grant = |words: &[&str]| cli.run(&[&["plugin", "grant", "other"], words].concat());
    grant(&["http:GET c.example.com", "http:b.example.com"]).exits(0);
    let edited = POLICY.replace("  \"b.example.com\",\n", "  \"b.example.com\",\n  \"GET c.example.com\",\n");
    assert_eq!(policy(&cli), edited);
    grant(&["setting:language=de"]).exits(0);
    grant(&["setting:language=\"fr\""]).exits(0);
    assert!(policy(&cli).contains("[plugins.other.settings]\nlanguage = '\"fr\"'\n"), "{}", policy(&cli));
    cli.run(&["plugin", "revoke", "other", "setting:language", "http:GET c.example.com"]).exits(0);
    for part in ["# Ours.", "# as agreed", "# for the crawler", "retention = \"7days\""] {
        assert!(policy(&cli).contains(part), "`{part}` is not in:\n{}", policy(&cli));
    }
    assert!(!policy(&cli).contains("c.example.com") && !policy(&cli).contains("language"), "{}", policy(&cli));
}

#[test]
fn a_secret_is_granted_by_its_name_and_its_place() {
    let cli = Cli::new();
    let grant = |words: &[&str]| cli.run(&[&["plugin", "grant", "jobs", "secret:token=farm"], words].concat());
    grant(&[]).exits(2).says("needs to know where it may go");
    grant(&["--to", "api.example.com", "--as", "bearer"]).exits(2).says("there is no secret `farm`");
    assert!(!cli.data().join("longhaul.toml").exists(), "what is no policy is not written");
    let how = ["--from", "env:FARM_TOKEN", "--to", "api.example.com", "--as", "header:x-api-key"];
    grant(&how).exits(0);
    let policy = policy(&cli);
    assert!(policy.contains("farm = { env = \"FARM_TOKEN\" }"), "{policy}");
    let usage = "token = { secret = \"farm\", to = [\"api.example.com\"], as = { header = \"x-api-key\" } }";
    assert!(policy.contains(&format!("[plugins.jobs.secrets]\n{usage}")), "{policy}");
    cli.run(&["plugin", "revoke", "jobs", "secret:token"]).exits(0);
}

#[test]
fn a_secret_is_not_granted_to_a_single_task_and_what_grants_it_is_said() {
    let cli = Cli::new();
    for grant in ["secret:token", "secret:token=farm"] {
        cli.run(&["run", &component("probe"), "noop", "--grant", grant])
            .exits(2)
            .says("a secret is not granted to a single task: where it may go, and how it is put into requests, is for the policy")
            .says("`longhaul plugin grant PLUGIN secret:token --from env:VARIABLE --to HOST --as bearer`");
    }
    cli.run(&["run", &component("probe"), "noop", "--grant", "setting:greeting"])
        .exits(2)
        .says("setting:greeting=VALUE");
    assert!(!cli.data().exists(), "it is told before anything is done");
}

#[test]
fn a_grant_that_makes_no_sense_is_refused_and_nothing_is_written() {
    let cli = with_policy(POLICY);
    for (what, said) in [
        ("http:ftp://x.org", "neither https nor http"),
        ("setting:1st=x", "\"1st\" is not a name"),
        ("setting:language", "setting:language=VALUE"),
        ("tool:nothing", "it must be http:HOST"),
        ("file:/etc", "it must be http:HOST"),
    ] {
        cli.run(&["plugin", "grant", "other", what]).exits(2).says(said);
    }
    cli.run(&["plugin", "grant", "Other", "http:x.org"]).exits(2).says("\"Other\" is not a plugin's name");
    assert_eq!(policy(&cli), POLICY);
    let broken = with_policy("[plugins\n");
    broken.run(&["plugin", "grant", "other", "http:x.org"]).exits(2).says("longhaul.toml: line 1");
    assert_eq!(policy(&broken), "[plugins\n");
}

#[cfg(unix)]
#[test]
fn a_new_file_is_its_owners_alone_and_a_link_to_it_stays_one() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let cli = Cli::new();
    std::fs::create_dir_all(cli.data()).unwrap();
    let path = cli.data().join("longhaul.toml");
    let grant = ["plugin", "grant", "other", "tool:csv-profile/profile_csv"];
    cli.run(&grant).exits(0);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(&path).unwrap();
    let elsewhere = cli.file("policy.toml", POLICY);
    symlink(&elsewhere, &path).unwrap();
    cli.run(&grant).exits(0);
    assert!(path.symlink_metadata().unwrap().is_symlink());
    assert!(policy(&cli).contains("csv-profile/profile_csv"));
    let left: Vec<_> =
        elsewhere.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("unfinished")), "{left:?}");
}

#[cfg(unix)]
#[test]
fn promise_5_a_process_that_runs_sees_a_grant_at_once() {
    let cli = Cli::new();
    let input = r#"{"ask":true,"settings":["greeting"]}"#;
    let mut at = cli.at_terminal(100, &["run", &component("probe"), "who_am_i", "--input", input]);
    at.shows("Enter to answer");
    cli.run(&["plugin", "grant", "probe", "setting:greeting=good-day"]).exits(0);
    at.types("y");
    at.types("\r");
    let (code, output) = at.end();
    assert_eq!(code, 0, "{output}");
    assert!(output.contains("good-day"), "{output}");
}

/// A server that runs as somebody else reads the file.
#[cfg(unix)]
#[test]
fn promise_5_a_grant_leaves_the_file_to_whoever_could_read_it() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
    let cli = with_policy(POLICY);
    let file = cli.data().join("longhaul.toml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    // Only root can give files away.
    let given = chown(&file, Some(65_534), Some(65_534)).is_ok();
    let before = std::fs::metadata(&file).unwrap();
    cli.run(&["plugin", "grant", "other", "http:c.example.com"]).exits(0);
    let after = std::fs::metadata(&file).unwrap();
    let who = |found: &std::fs::Metadata| (found.mode() & 0o777, found.uid(), found.gid());
    assert_eq!(who(&after), who(&before));
    assert!(!given || after.uid() == 65_534);
    assert_ne!(after.ino(), before.ino(), "whoever reads it meanwhile finds a whole one");
}

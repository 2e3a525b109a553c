//! Limits on the command line: set for one task, refused above the host's, shown as used.

use longhaul_tests::cli::{Cli, component};

#[test]
fn a_limit_is_set_for_one_task_and_shown_with_what_is_used_of_it() {
    let cli = Cli::new();
    let probe = component("probe");
    let eat = ["run", &probe, "eat_memory", "mib=64", "politely=true", "--limit", "memory=32MiB"];
    cli.run(&eat).exits(0).says("nearly used up: memory");
    let task = cli.only_task();
    let eaten: u64 = task["output"]["structured"].as_u64().unwrap();
    assert!((1..32).contains(&eaten), "{eaten} MiB of 32");
    let memory = task["usage"].as_array().unwrap().iter().find(|usage| usage["limit"] == "memory").unwrap();
    assert_eq!((memory["unit"].as_str(), memory["allowed"].as_u64()), (Some("bytes"), Some(32 << 20)));
    assert!(memory["used"].as_u64().unwrap() > eaten << 20);
    let page = cli.run(&["tasks", "show", &cli.only_id()]).exits(0).stdout;
    assert!(page.contains(" MiB of 32 MiB") && page.contains("used      fuel "), "{page}");
}

#[test]
fn a_limit_that_is_unknown_or_above_the_hosts_starts_nothing() {
    let cli = Cli::new();
    let probe = component("probe");
    let run = |limit: &str| cli.run(&["run", &probe, "noop", "--limit", limit]).exits(2);
    run("memroy=1GiB").says("there is no limit `memroy`; is it `memory`?");
    run("memory=lots").says("a number of bytes, such as 65536, 64KiB or 256MiB");
    run("memory=1GiB").says("this host allows at most 256MiB; `limits.memory` in longhaul.toml raises that");
    cli.run(&["tasks", "ls"]).exits(0).says("no tasks");
}

#[test]
fn a_limit_that_is_reached_is_named_with_what_raises_it() {
    let cli = Cli::new();
    let spin = ["run", &component("probe"), "spin", "--limit", "fuel=100M"];
    cli.run(&spin)
        .exits(5)
        .says("limit `fuel` = 100M; `--limit fuel=…` raises it, up to `limits.fuel` in longhaul.toml");
}

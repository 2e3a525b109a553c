//! `longhaul plugin`, and files that are no plugins.

use longhaul_tests::cli::{Cli, component};

#[test]
fn a_plugin_is_added_listed_inspected_and_removed() {
    let cli = Cli::new();
    let file = component("checklist");
    cli.run(&["plugin", "add", &file]).exits(0).says("added checklist ");
    let listed = cli.run(&["plugin", "ls"]).exits(0);
    assert!(listed.stdout.contains("checklist") && listed.stdout.contains("run_checklist"), "{listed:?}");
    let page = cli.run(&["plugin", "inspect", "checklist"]).exits(0);
    assert!(
        page.stdout.contains("run_checklist")
            && page.stdout.contains("steps (an array of objects)")
            && page.stdout.contains("\n    title (a string)"),
        "{page:?}"
    );
    cli.run(&["plugin", "rm", "checklist"]).exits(0).says("removed checklist");
    cli.run(&["plugin", "inspect", "checklist"]).exits(2).says("no plugin `checklist`");
    cli.run(&["plugin", "rm", "checklist"]).exits(2);
    cli.run(&["plugin", "ls"]).exits(0).says("no plugins");
}

#[test]
fn a_file_is_inspected_without_being_installed() {
    let cli = Cli::new();
    let page = cli.run(&["plugin", "inspect", &component("checklist")]).exits(0);
    assert!(page.stdout.contains("run_checklist"), "{page:?}");
    assert_eq!(cli.run(&["plugin", "ls", "--json"]).exits(0).stdout, "");
}

#[test]
fn a_plugin_is_one_json_object_a_line() {
    let cli = Cli::new();
    let file = component("checklist");
    let added = cli.run(&["plugin", "add", &file, "--json"]).exits(0).json();
    let listed = cli.run(&["plugin", "ls", "--json"]).exits(0).json();
    let inspected = cli.run(&["plugin", "inspect", "checklist", "--json"]).exits(0).json();
    let looked_at = cli.run(&["plugin", "inspect", &file, "--json"]).exits(0).json();
    for plugins in [&added, &listed, &inspected, &looked_at] {
        assert_eq!(plugins.len(), 1);
        assert_eq!(plugins[0]["type"], "plugin");
        assert_eq!(plugins[0]["name"], "checklist");
        assert_eq!(plugins[0]["digest"], added[0]["digest"]);
        assert_eq!(plugins[0]["manifest"]["tools"][0]["name"], "run_checklist");
    }
    let removed = cli.run(&["plugin", "rm", "checklist", "--json"]).exits(0).json();
    assert_eq!(removed[0]["type"], "removed");
    assert_eq!(removed[0]["plugin"], "checklist");
}

#[test]
fn a_plugin_that_an_unfinished_task_needs_is_not_removed() {
    let cli = Cli::new();
    cli.run(&["run", &component("probe"), "ask", "prompt=Well?", r#"schema={"type":"boolean"}"#]).exits(4);
    cli.run(&["plugin", "rm", "probe"]).exits(2).says("needed by 1 unfinished task");
}

#[test]
fn a_file_that_is_no_component_is_refused_with_what_it_is() {
    let cli = Cli::new();
    let text = cli.file("text.wasm", "hello");
    let module = cli.file("module.wasm", b"\0asm\x01\0\0\0");
    let empty = cli.file("empty.wasm", b"");
    for command in [vec!["plugin", "add"], vec!["plugin", "inspect"], vec!["run"]] {
        let with = |path: &std::path::Path| cli.run(&[&command[..], &[path.to_str().unwrap()]].concat()).exits(2);
        with(&text).says("not WebAssembly");
        with(&empty).says("not WebAssembly");
        with(&module).says("not a component");
    }
    cli.run(&["plugin", "add", "/no/such/file.wasm"]).exits(2).says("cannot read /no/such/file.wasm");
    assert_eq!(cli.run(&["plugin", "ls", "--json"]).stdout, "");
}

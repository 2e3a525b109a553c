//! Input that is refused: nothing is taken, and it is said what is wrong and where.

use longhaul_tests::cli::{Cli, component};

fn refused(args: &[&str], why: &str) {
    let cli = Cli::new();
    let probe = component("probe");
    let done = cli.run(&[&["run", &probe], args].concat()).exits(2);
    assert_eq!(done.stdout, "");
    done.says("error: ").says(why);
    assert_eq!(cli.run(&["tasks", "ls", "--json"]).exits(0).stdout, "", "a task was taken");
}

#[test]
fn input_that_is_not_json_is_told_by_line_and_column() {
    refused(&["noop", "--input", "{\"a\":\n oops}"], "the input is not JSON: line 2, column 2");
    refused(&["noop", "--input", ""], "the input is not JSON: line 1");
}

#[test]
fn input_that_does_not_fit_the_schema_is_told_by_a_pointer() {
    refused(&["sleepy", "--input", r#"{"ms": "long"}"#], "/ms");
    refused(&["ask", "--input", r#"{"prompt": "x"}"#], "schema");
    refused(&["noop", "--input", "[]"], "`noop`");
}

#[test]
fn input_that_is_too_large_is_refused() {
    let cli = Cli::new();
    let file = cli.file("large.json", format!("{{\"a\": \"{}\"}}", "x".repeat(5 << 20)));
    let input = format!("@{}", file.display());
    let done = cli.run(&["run", &component("probe"), "noop", "--input", &input]).exits(2);
    done.says("error: ").says("bytes");
    assert_eq!(cli.run(&["tasks", "ls", "--json"]).exits(0).stdout, "");
}

#[test]
fn a_value_of_the_wrong_type_is_told_by_its_key() {
    refused(&["sleepy", "ms=long"], "`ms`: wants an integer, not `long`");
    refused(&["sleepy", "ms=1", "ms=2"], "`ms` is given twice");
    refused(&["sleepy", "ms=@/no/such/file"], "`ms`: cannot read /no/such/file");
}

#[test]
fn a_file_that_is_missing_or_no_text_is_refused() {
    refused(&["noop", "--input", "@/no/such/file"], "cannot read /no/such/file");
    let cli = Cli::new();
    let file = cli.file("latin.json", b"{\"a\": \"\xe9\"}");
    let input = format!("@{}", file.display());
    cli.run(&["run", &component("probe"), "noop", "--input", &input]).exits(2).says("is not UTF-8 text (byte 7)");
    // Forgotten the @.
    let bare = file.display().to_string();
    cli.run(&["run", &component("probe"), "noop", "--input", &bare]).exits(2).says("--input @");
}

#[test]
fn a_slip_of_the_pen_is_told_with_the_name_that_was_probably_meant() {
    let cli = Cli::new();
    let probe = component("probe");
    cli.run(&["run", &probe, "sleepy", "ms=1", "bi=ana"]).exits(0).says("does not name `bi`; did you mean `by`?");
    let object = cli.run(&["run", &probe, "sleepy", "--input", r#"{"ms": 1, "mss": 2}"#]).exits(0);
    object.says("does not name `mss`; did you mean `ms`?");
    cli.run(&["run", &probe, "sleppy"]).exits(2).says("did you mean `sleepy`?");
    cli.run(&["run", "porbe", "noop"]).exits(2).says("no plugin `porbe` is installed").says("did you mean `probe`?");
    let none = cli.run(&["run", "other", "noop"]).exits(2);
    assert!(!none.stderr.contains("did you mean"), "{none:?}");
    // What is refused says where to look.
    cli.run(&["run", &probe, "sleepy"]).exits(2).says("`longhaul plugin inspect probe` shows what it takes");
    cli.run(&["tasks", "list"]).exits(2).says("ls");
}

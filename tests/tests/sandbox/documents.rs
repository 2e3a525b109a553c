//! What the threat model says is tested, is.

use std::path::{Path, PathBuf};

fn sources(dir: &Path, all: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).expect("a directory").flatten() {
        let path = entry.path();
        match path.file_name().and_then(|name| name.to_str()) {
            Some("target") | None => {}
            Some(name) if name.starts_with('.') => {}
            Some(name) if path.is_file() && name.ends_with(".rs") => all.push(path),
            Some(_) if path.is_dir() => sources(&path, all),
            Some(_) => {}
        }
    }
}

#[test]
fn every_test_that_the_threat_model_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests are in the workspace");
    let mut files = Vec::new();
    for dir in ["host", "tests"] {
        sources(&root.join(dir), &mut files);
    }
    let code: String = files.iter().map(|file| std::fs::read_to_string(file).expect("a source")).collect();
    let page = std::fs::read_to_string(root.join("docs/threat-model.md")).expect("the page");
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with('|')) {
        let Some(column) = row.trim_end_matches('|').rsplit('|').next() else { continue };
        // Names of tests are sentences.
        for name in column.split('`').skip(1).step_by(2).filter(|name| name.matches('_').count() > 2) {
            assert!(code.contains(&format!("fn {name}(")), "`{name}` is no test any more");
            named += 1;
        }
    }
    assert!(named > 40, "{named}");
}

/// Each guest in `tests/hostile` is run by some test.
#[test]
fn every_hostile_guest_is_used() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sandbox"), &mut files);
    let code: String = files.iter().map(|file| std::fs::read_to_string(file).expect("a source")).collect();
    for name in longhaul_tests::hostile::all() {
        assert!(code.contains(&format!("\"{name}\"")), "nobody runs {name}");
    }
}

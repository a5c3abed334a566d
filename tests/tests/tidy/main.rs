//! The repository tests its own rules (CONTRIBUTING.md lists them).
//!
//! Every rule is a function from text to violations, so each is itself tested on a bad example in
//! its own file; this file reads the repository and runs them. Files count as soon as Git would
//! add them, so a rule speaks before the commit, not after it.

mod edges;
mod floors;
mod gate;
mod licences;
mod links;
mod repository;
mod text;

use repository::Repository;

/// A place where a rule does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    /// File from the root of the repository.
    path: String,
    /// Line from 1; 0 for the file as a whole.
    line: usize,
    message: String,
}

impl Violation {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, message: message.into() }
    }
}

/// Fails with all violations, one per line, in the form editors jump from.
fn assert_none(violations: &[Violation]) {
    let lines: Vec<String> = violations
        .iter()
        .map(|Violation { path, line, message }| format!("{path}:{line}: {message}"))
        .collect();
    assert!(lines.is_empty(), "{} violations:\n{}", lines.len(), lines.join("\n"));
}

/// Runs `rule` on every text file of the repository.
fn check_texts(rule: impl Fn(&str, &str) -> Vec<Violation>) {
    let repository = Repository::open();
    let texts = repository.paths().iter().filter_map(|path| Some((path, repository.text(path)?)));
    assert_none(&texts.flat_map(|(path, text)| rule(path, &text)).collect::<Vec<_>>());
}

#[test]
fn source_files_and_lines_stay_short() {
    check_texts(text::lengths);
}

#[test]
fn rust_files_begin_with_their_description() {
    check_texts(text::module_docs);
}

#[test]
fn open_ends_name_an_issue_and_debug_output_is_gone() {
    check_texts(text::open_ends);
}

#[test]
fn no_file_names_a_registry_host_or_a_machine_path() {
    check_texts(text::machine_details);
}

#[test]
fn unsafe_code_stays_in_its_modules() {
    check_texts(text::unsafe_code);
}

#[test]
fn code_of_features_for_tests_is_tested_by_the_gate() {
    let repository = Repository::open();
    let script = repository.text(gate::SCRIPT).expect("the gate exists");
    let manifest = repository.text(gate::MANIFEST).expect("the tests have a manifest");
    let is_checked =
        |path: &&String| path.ends_with(".rs") && !path.starts_with("tests/tests/tidy/");
    let paths = repository.paths().iter().filter(is_checked);
    let files: Vec<_> =
        paths.filter_map(|path| Some((path.as_str(), repository.text(path)?))).collect();
    for feature in gate::FEATURES {
        assert_none(&gate::check(&script, &manifest, feature, &files));
    }
}

#[test]
fn changelog_has_an_unreleased_section() {
    let changelog = Repository::open().text("CHANGELOG.md").expect("CHANGELOG.md exists");
    assert_none(&text::changelog("CHANGELOG.md", &changelog));
}

#[test]
fn files_stay_small() {
    let repository = Repository::open();
    let sizes = repository.paths().iter().map(|path| (path.as_str(), repository.size(path)));
    assert_none(&repository::sizes(sizes));
}

#[test]
fn links_and_paths_in_documents_resolve() {
    let repository = Repository::open();
    let documents = repository.paths().iter().filter(|path| path.ends_with(".md"));
    let texts = documents.filter_map(|path| Some((path, repository.text(path)?)));
    let violations =
        texts.flat_map(|(path, text)| links::document(path, &text, &|path| repository.entry(path)));
    assert_none(&violations.collect::<Vec<_>>());
}

#[test]
fn crates_depend_only_on_what_is_below_them() {
    assert_none(&edges::check(&Repository::open().metadata()));
}

#[test]
fn modules_use_only_what_is_on_the_floors_below_them() {
    let repository = Repository::open();
    for building in floors::BUILDINGS {
        let is_inside = |path: &&String| path.starts_with(building.root) && path.ends_with(".rs");
        let paths = repository.paths().iter().filter(is_inside);
        let files = paths.filter_map(|path| Some((path.as_str(), repository.text(path)?)));
        assert_none(&floors::check(&building, &files.collect::<Vec<_>>()));
    }
}

#[test]
fn dependencies_have_allowed_licences_and_sources() {
    let repository = Repository::open();
    let policy = repository.text("deny.toml").expect("deny.toml exists");
    let policy = licences::Policy::parse(&policy);
    assert_none(&licences::check(&repository.metadata(), &policy));
}

//! Data that tests read and that is not part of the repository: docs/test-data.md says what it is.
//!
//! A file of its own, without anything else, so that the tests of every crate can include it.
#![allow(clippy::print_stdout, reason = "it says what is skipped")]

use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file or folder of the data folder, which is `TELAR_SHARED`, or `shared` beside the repository.
/// Where it is missing, the test that asks says so and passes ([`skipped`]).
///
/// # Panics
/// If it is missing and `TELAR_REQUIRE_DATA=1` says that it must be there.
#[must_use]
pub fn shared(path: &str) -> Option<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let repository = repository.filter(|folder| folder.join("Cargo.lock").exists()).last();
    let beside = || repository.and_then(Path::parent).map(|folder| folder.join("shared"));
    let folder = std::env::var_os("TELAR_SHARED").map(PathBuf::from).or_else(beside)?;
    let found = folder.join(path);
    if found.exists() {
        return Some(found);
    }
    let required = std::env::var("TELAR_REQUIRE_DATA").is_ok_and(|value| value == "1");
    assert!(!required, "{} is missing (docs/test-data.md)", found.display());
    skipped(path);
    None
}

/// Says that something is not tested for want of this. With `TELAR_SKIPPED`, a file, it is a line
/// there, which the gate counts: the output of tests that pass is not shown.
pub fn skipped(what: &str) {
    println!("skipped: no {what} (docs/test-data.md)");
    let Some(list) = std::env::var_os("TELAR_SKIPPED") else { return };
    let list = OpenOptions::new().append(true).create(true).open(list);
    // One write: tests of several processes append to it at once.
    let noted = list.and_then(|mut list| list.write_all(format!("{what}\n").as_bytes()));
    if let Err(error) = noted {
        println!("skipped, and not noted: {error}");
    }
}

//! Cases written from a reading of Neo4j's Cypher manual, with what Neo4j 5.26 answers.
//!
//! `tests/cypher/manual/**/*.test` hold them, in the form that `tests/src/cases.rs` describes.
//! `tests/cypher/ask.py` asks a real Neo4j and writes its answers into the files.
//!
//! ```text
//! cargo test -p telar-tests --test manual              # all files
//! cargo test -p telar-tests --test manual -- paths     # files with this in their name
//! ```
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};
use telar_tests::cases::{Case, Way, files, read};

/// Least number of cases: fewer were not all found.
const CASES_MIN: usize = 250;

fn answered(cases: &[Case]) -> Result<(), Failed> {
    let wrong: Vec<String> =
        cases.iter().filter_map(|case| case.difference(Way::OneThread)).collect();
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(format!("{} differ\n\n{}", wrong.len(), wrong.join("\n")).into()),
    }
}

fn main() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cypher/manual"));
    let (mut trials, mut count) = (Vec::new(), 0);
    for path in files(folder) {
        let cases = read(&std::fs::read_to_string(&path).unwrap());
        count += cases.len();
        let name = path.strip_prefix(folder).unwrap().display().to_string();
        trials.push(Trial::test(name, move || answered(&cases)));
    }
    trials.push(Trial::test("all_cases_are_found", move || match count >= CASES_MIN {
        true => Ok(()),
        false => Err(format!("{count} cases").into()),
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

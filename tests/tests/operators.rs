//! A file of cases for each operator of a plan.
//!
//! `tests/cypher/operators/<Operator>.test` hold them, in the form that `tests/src/cases.rs`
//! describes. The plan of each case has the operator of its file, unless the title of the case
//! begins with `beside:`. Every case is asked in each [`Way`].
//!
//! ```text
//! cargo test -p telar-tests --test operators                   # all files
//! cargo test -p telar-tests --test operators -- VarExpand      # files with this in their name
//! ```
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use libtest_mimic::{Arguments, Failed, Trial};
use telar_db::query::OPERATORS;
use telar_tests::cases::{Case, Way, files, read};

/// Least number of cases of an operator: no rows, one row and many are three.
const CASES_MIN: usize = 3;

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/cypher/operators")).to_owned()
}

/// Why a case is no case of an operator, if it is none.
fn not_of(operator: &str, case: &Case) -> Option<String> {
    if case.title.starts_with("beside:") {
        return None;
    }
    match case.operators() {
        Err(problem) => Some(problem),
        Ok(operators) if operators.contains(&operator) => None,
        Ok(operators) => {
            let operators = operators.join(" ");
            Some(format!("{}\n{}\nits operators: {operators}", case.title, case.statement))
        }
    }
}

/// Fails with all problems, if there are any.
fn none(problems: &[String]) -> Result<(), Failed> {
    match problems.is_empty() {
        true => Ok(()),
        false => Err(format!("{}\n\n{}", problems.len(), problems.join("\n")).into()),
    }
}

fn planned(operator: &str, cases: &[Case]) -> Result<(), Failed> {
    let mut problems: Vec<String> =
        cases.iter().filter_map(|case| not_of(operator, case)).collect();
    let titles: BTreeSet<&str> = cases.iter().map(|case| &*case.title).collect();
    if titles.len() < cases.len() {
        problems.push("two cases have the same title".to_owned());
    }
    if cases.iter().filter(|case| !case.title.starts_with("beside:")).count() < CASES_MIN {
        problems.push(format!("fewer than {CASES_MIN} cases have the operator in their plan"));
    }
    none(&problems)
}

fn answered(cases: &[Case]) -> Result<(), Failed> {
    let asked = cases.iter().flat_map(|case| Way::ALL.map(|way| (case, way)));
    let asked = asked.filter(|(case, way)| case.allows(*way));
    none(&asked.filter_map(|(case, way)| case.difference(way)).collect::<Vec<_>>())
}

/// Every operator has a file, and every file is of an operator.
fn named(names: &BTreeSet<String>) -> Result<(), Failed> {
    let operators: BTreeSet<String> = OPERATORS.iter().map(|&name| name.to_owned()).collect();
    let missing = operators.difference(names).map(|name| format!("{name} has no file"));
    let unknown = names.difference(&operators).map(|name| format!("{name} is no operator"));
    none(&missing.chain(unknown).collect::<Vec<_>>())
}

fn main() {
    let (mut trials, mut names) = (Vec::new(), BTreeSet::new());
    for path in files(&folder()) {
        let operator = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let cases = read(&std::fs::read_to_string(&path).unwrap());
        names.insert(operator.clone());
        let (name, own) = (operator.clone(), cases.clone());
        trials.push(Trial::test(format!("{name}: planned"), move || planned(&name, &own)));
        trials.push(Trial::test(format!("{operator}: answered"), move || answered(&cases)));
    }
    trials.push(Trial::test("every_operator_has_a_file", move || named(&names)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

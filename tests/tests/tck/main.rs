//! The shared part of the openCypher TCK, every scenario a test.
//!
//! ```text
//! cargo test -p telar-tests --test tck                        all
//! cargo test -p telar-tests --test tck -- clauses/match       those with this in their name
//! cargo test -p telar-tests --test tck -- --list
//! ```
//!
//! Each runs three times: on one thread, with threads that share what they can, row by row, and in
//! transactions that have written something else before.
//! Prints the failures, counts by folder and how well errors match. Fails if a scenario fails that
//! `known_failures.txt` does not list, and if a listed one passes. Without the shared folder there
//! is nothing to run, and it passes.
#![allow(clippy::print_stdout, reason = "it is a test runner")]

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, FormatSetting, Trial};
use telar_tests::tck::known::Known;
use telar_tests::tck::report::{HEADER, Report};
use telar_tests::tck::run::{Outcome, run};
use telar_tests::tck::suite::{Graphs, Scenario, Suite};
use telar_tests::tck::telar::Telar;

/// What is tested, for the report.
const SUBJECT: &str = "Telar, in memory, through telar_db::Session";

fn main() {
    let mut arguments = Arguments::from_args();
    if !arguments.quiet {
        arguments.format.get_or_insert(FormatSetting::Terse);
    }
    let begun = Instant::now();
    let report = Arc::new(Mutex::new(Report::default()));
    let trials = match trials(&report) {
        Ok(trials) => trials,
        Err(problem) => vec![Trial::test("reading the TCK", move || Err(Failed::from(problem)))],
    };
    let conclusion = libtest_mimic::run(&arguments, trials);
    if !arguments.list {
        let report = report.lock().unwrap_or_else(PoisonError::into_inner);
        println!("\nsubject: {SUBJECT}\n{HEADER}\n{report}{:.1} s", begun.elapsed().as_secs_f64());
    }
    conclusion.exit();
}

fn trials(report: &Arc<Mutex<Report>>) -> Result<Vec<Trial>, String> {
    let Some(folder) = telar_tests::shared("tck") else { return Ok(Vec::new()) };
    let mut suite = Suite::read(&folder)?;
    let known = Known::parse(include_str!("known_failures.txt"))?;
    known.check_names(&suite)?;
    let scenarios = std::mem::take(&mut suite.scenarios);
    let shared = Arc::new((suite.graphs, known));
    let trial = |scenario: Scenario| {
        let (shared, report) = (Arc::clone(&shared), Arc::clone(report));
        Trial::test(scenario.id.clone(), move || {
            let (graphs, known) = &*shared;
            let alone = outcome(&scenario, graphs, |telar| telar);
            report.lock().unwrap_or_else(PoisonError::into_inner).add(&scenario, &alone);
            known.judge(&scenario.id, &alone.result).map_err(Failed::from)?;
            let judge = |way: &str, how: fn(Telar) -> Telar| {
                let judged = known.judge(&scenario.id, &outcome(&scenario, graphs, how).result);
                judged.map_err(|problem| Failed::from(format!("{way}: {problem}")))
            };
            judge("with threads", |telar| telar.sharing(1))?;
            judge("in a transaction", Telar::in_transactions)
        })
    };
    Ok(scenarios.into_iter().map(trial).collect())
}

/// Runs a scenario on a new subject. A panic is a failure of that scenario only. The thread has as
/// much stack as a program's first one: the longest queries of the TCK have hundreds of clauses.
fn outcome(scenario: &Scenario, graphs: &Graphs, how: fn(Telar) -> Telar) -> Outcome {
    const STACK_BYTES: usize = 8 << 20;
    let failed = |problem| Outcome { result: Err(problem), error: None };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        match thread.spawn_scoped(scope, || match Telar::new().map(how) {
            Ok(mut telar) => run(scenario, graphs, &mut telar),
            Err(problem) => failed(problem),
        }) {
            Err(e) => failed(e.to_string()),
            Ok(thread) => thread.join().unwrap_or_else(|payload| {
                let text = payload.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
                failed(format!("panicked: {}", text.unwrap_or("?")))
            }),
        }
    })
}

//! Random queries on random graphs: Telar against an evaluator that is too simple to be wrong, and
//! plans against those that follow no rule.
//!
//! `TELAR_DIFFERENTIAL_GRAPHS` says how many graphs (and seeds), each with 20 queries;
//! `TELAR_DIFFERENTIAL_SEED` where they begin. Of every graph the first query that is answered
//! otherwise is shown, with the seed and all it needs. Every other graph has indexes. Each query
//! runs on one thread, and again with threads that share its work in the smallest pieces; some also
//! with temporary files for all rows that operators keep.
#![allow(clippy::print_stdout, reason = "a long run says how far it is")]

use std::sync::Arc;
use std::time::Duration;

use telar_db::query::{Limits, Planning, Scratch, ScratchFolder};
use telar_tests::differential::{agree, cases, check};
use telar_tests::tck::step::Procedure;
use telar_tests::tck::subject::{Failure, GraphState, PanicsFail, Rows, Subject};
use telar_tests::tck::telar::Telar;
use telar_tests::tck::value::Entries;

const QUERIES: usize = 20;
/// How many differences a failure shows.
const SHOWN_MAX: usize = 10;

/// Indexes on what the graphs have, for every other seed.
const INDEXES: [&str; 7] = [
    "CREATE INDEX FOR (n:A) ON (n.i)",
    "CREATE INDEX FOR (n:B) ON (n.s, n.i)",
    "CREATE INDEX FOR (n:C) ON (n.f)",
    "CREATE INDEX FOR ()-[r:R]-() ON (r.i)",
    "CREATE INDEX FOR ()-[r:S]-() ON (r.s)",
    "CREATE INDEX FOR ()-[r:S]-() ON (r.i, r.b)",
    "CREATE INDEX FOR ()-[r:T]-() ON (r.f)",
];

fn telar(seed: u64, how: impl Fn(Telar) -> Telar) -> Result<PanicsFail<Telar>, String> {
    let mut telar = how(Telar::new()?);
    for index in INDEXES.iter().filter(|_| seed.is_multiple_of(2)) {
        telar.run(index, &Entries::new()).map_err(|e| e.to_string())?;
    }
    Ok(PanicsFail(telar))
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Runs the queries of so many graphs on one thread, and with threads that share them.
fn run(graphs: u64, how: impl Fn(Telar) -> Telar) {
    let first = setting("TELAR_DIFFERENTIAL_SEED", 1);
    let (mut with_rows, mut wrong) = (0, Vec::new());
    for seed in first..first + graphs {
        match telar(seed, &how).and_then(|mut telar| check(seed, QUERIES, &mut telar)) {
            Ok(found) => with_rows += found,
            Err(problem) => wrong.push(problem),
        }
        let shared = telar(seed, |telar| how(telar).sharing(1 + seed as usize % 3));
        let found = shared.and_then(|mut telar| check(seed, QUERIES, &mut telar));
        wrong.extend(found.err().map(|problem| format!("with threads: {problem}")));
    }
    println!("{graphs} graphs, {} queries, {with_rows} with rows", graphs * QUERIES as u64);
    let shown: Vec<&str> = wrong.iter().take(SHOWN_MAX).map(String::as_str).collect();
    let shown = shown.join("\n\n----\n\n");
    assert!(wrong.is_empty(), "{} of {graphs} graphs differ:\n\n{shown}", wrong.len());
    assert!(with_rows as u64 > graphs, "queries without rows tell little");
}

#[test]
fn queries_answer_like_the_naive_evaluator() {
    let graphs =
        setting("TELAR_DIFFERENTIAL_GRAPHS", if telar_tests::long() { 20_000 } else { 300 });
    run(graphs, |telar| telar);
}

/// A subject whose first query writes the graph that the others see before it is committed.
struct Uncommitted {
    telar: PanicsFail<Telar>,
    written: bool,
}

impl Subject for Uncommitted {
    fn run(&mut self, text: &str, parameters: &Entries) -> Result<Rows, Failure> {
        if !std::mem::replace(&mut self.written, true) {
            self.telar.0.after_writing(text);
            return Ok(Rows::default());
        }
        self.telar.run(text, parameters)
    }

    fn state(&mut self) -> Result<GraphState, String> {
        self.telar.state()
    }

    fn register(&mut self, procedure: &Procedure) -> Result<(), String> {
        self.telar.register(procedure)
    }
}

#[test]
fn queries_on_what_their_transaction_has_written_answer_like_the_naive_evaluator() {
    let graphs =
        setting("TELAR_DIFFERENTIAL_GRAPHS", if telar_tests::long() { 5_000 } else { 100 });
    let first = setting("TELAR_DIFFERENTIAL_SEED", 1);
    for seed in first..first + graphs {
        let telar = telar(seed, |telar| telar).expect("a database");
        let mut subject = Uncommitted { telar, written: false };
        check(seed, QUERIES, &mut subject).unwrap_or_else(|problem| panic!("{problem}"));
    }
}

#[test]
fn queries_that_spill_all_they_can_answer_like_the_naive_evaluator() {
    let graphs = setting("TELAR_DIFFERENTIAL_GRAPHS", if telar_tests::long() { 5_000 } else { 60 });
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scratch: Arc<dyn Scratch> = Arc::new(ScratchFolder::new(folder.path()));
    let limits = Limits { scratch: Some(scratch), spill_after: Some(0), ..Limits::default() };
    run(graphs, |telar| telar.with_limits(limits.clone()));
}

/// Each rule of planning alone, for telling which of them makes a difference.
const SINGLE: [(&str, Planning); 6] = [
    ("order", Planning { order: true, ..Planning::NAIVE }),
    ("count_store", Planning { count_store: true, ..Planning::NAIVE }),
    ("grouping", Planning { grouping: true, ..Planning::NAIVE }),
    ("pruning", Planning { pruning: true, ..Planning::NAIVE }),
    ("shortcuts", Planning { pruning: true, shortcuts: true, ..Planning::NAIVE }),
    (
        "index_order",
        Planning { order: true, index_order: true, at_any_cost: true, ..Planning::NAIVE },
    ),
];

/// Without rules a query may try very many combinations before it tests a condition: given up.
const TOO_LONG: Duration = Duration::from_millis(300);

/// A subject that holds the graph of a seed and plans by these rules.
fn planned(seed: u64, create: &str, planning: Planning) -> Result<PanicsFail<Telar>, String> {
    let mut telar = telar(seed, |telar| telar)?;
    telar.run(create, &Entries::new()).map_err(|e| e.to_string())?;
    Ok(PanicsFail(telar.0.planned(planning, TOO_LONG)))
}

/// Plans by all rules and by none, on one graph; how many queries had rows, and were given up.
fn check_plans(seed: u64) -> Result<(usize, usize), String> {
    let (create, queries) = cases(seed, QUERIES);
    // On half of the graphs that have indexes those are read in order, even if it does not pay.
    let all = Planning { at_any_cost: seed.is_multiple_of(4), ..Planning::default() };
    let mut optimised = planned(seed, &create, all)?;
    let mut naive = planned(seed, &create, Planning::NAIVE)?;
    let (mut with_rows, mut given_up) = (0, 0);
    for query in queries {
        match agree(&query, &mut optimised, &mut naive) {
            Ok(Some(rows)) => with_rows += usize::from(rows),
            Ok(None) => given_up += 1,
            Err(problem) => {
                let mut guilty = Vec::new();
                for (rule, planning) in SINGLE {
                    let mut single = planned(seed, &create, planning)?;
                    if agree(&query, &mut single, &mut naive).is_err() {
                        guilty.push(rule);
                    }
                }
                let rules = format!("with one rule alone it differs for {guilty:?}");
                return Err(format!("seed {seed}\n{create}\n\n{problem}\n{rules}"));
            }
        }
    }
    Ok((with_rows, given_up))
}

#[test]
fn plans_answer_alike_with_and_without_rules() {
    let graphs =
        setting("TELAR_DIFFERENTIAL_GRAPHS", if telar_tests::long() { 20_000 } else { 300 });
    let first = setting("TELAR_DIFFERENTIAL_SEED", 1);
    let (mut with_rows, mut given_up, mut wrong) = (0, 0, Vec::new());
    for seed in first..first + graphs {
        match check_plans(seed) {
            Ok((rows, longer)) => (with_rows, given_up) = (with_rows + rows, given_up + longer),
            Err(problem) => wrong.push(problem),
        }
    }
    let queries = graphs * QUERIES as u64;
    println!("{graphs} graphs, {queries} queries, {with_rows} with rows, {given_up} given up");
    let shown: Vec<&str> = wrong.iter().take(SHOWN_MAX).map(String::as_str).collect();
    let shown = shown.join("\n\n----\n\n");
    assert!(wrong.is_empty(), "{} of {graphs} graphs differ:\n\n{shown}", wrong.len());
    assert!(with_rows as u64 > graphs, "queries without rows tell little");
}

/// Writes graphs and queries for tools/differential.py to the file that `TELAR_DIFFERENTIAL_EXPORT`
/// names: a line each, `[seed, create, [[query, ordered], ..]]`.
#[test]
#[ignore = "writes a file for another program"]
fn export() {
    let file =
        std::env::var("TELAR_DIFFERENTIAL_EXPORT").expect("TELAR_DIFFERENTIAL_EXPORT is set");
    let (graphs, first) =
        (setting("TELAR_DIFFERENTIAL_GRAPHS", 200), setting("TELAR_DIFFERENTIAL_SEED", 1));
    let lines = (first..first + graphs).map(|seed| {
        let (create, queries) = cases(seed, QUERIES);
        format!("{}\n", serde_json::json!([seed, create, queries]))
    });
    std::fs::write(file, lines.collect::<String>()).expect("the file can be written");
}

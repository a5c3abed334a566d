//! Random queries on random graphs: Telar against an evaluator that is too simple to be wrong.
//!
//! `TELAR_DIFFERENTIAL_GRAPHS` says how many graphs (and seeds), each with 20 queries;
//! `TELAR_DIFFERENTIAL_SEED` where they begin. A failure prints the seed and all it needs.
#![allow(clippy::print_stdout, reason = "a long run says how far it is")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use telar_tests::differential::check;
use telar_tests::tck::telar::Telar;

const QUERIES: usize = 20;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

#[test]
fn queries_answer_like_the_naive_evaluator() {
    let graphs = setting("TELAR_DIFFERENTIAL_GRAPHS", 300);
    let first = setting("TELAR_DIFFERENTIAL_SEED", 1);
    let mut with_rows = 0;
    for seed in first..first + graphs {
        let mut telar = Telar::new().expect("a database in memory");
        let run = AssertUnwindSafe(|| check(seed, QUERIES, &mut telar));
        match catch_unwind(run) {
            Ok(Ok(found)) => with_rows += found,
            Ok(Err(problem)) => panic!("{problem}"),
            Err(_) => panic!("seed {seed}: a query panicked"),
        }
    }
    println!("{graphs} graphs, {} queries, {with_rows} with rows", graphs * QUERIES as u64);
    assert!(with_rows as u64 > graphs, "queries without rows tell little");
}

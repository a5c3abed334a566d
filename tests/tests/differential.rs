//! Random queries on random graphs, answered by Telar as by trying everything.
#![allow(clippy::print_stdout, reason = "a test says how much it tried")]

use telar_tests::differential::check;
use telar_tests::tck::subject::PanicsFail;
use telar_tests::tck::telar::Telar;

#[test]
fn random_queries_are_answered_as_by_trying_everything() {
    const QUERIES: usize = 20;
    let seeds = if telar_tests::long() { 5_000 } else { 100 };
    let first = std::env::var("TELAR_SEED").ok().and_then(|seed| seed.parse().ok());
    let first: u64 = first.unwrap_or(0);
    let (mut with_rows, mut wrong) = (0, Vec::new());
    for seed in first..first + seeds {
        let checked =
            Telar::new().map(PanicsFail).and_then(|mut telar| check(seed, QUERIES, &mut telar));
        match checked {
            Ok(count) => with_rows += count,
            Err(problem) => wrong.push(problem),
        }
    }
    println!("{} queries, {with_rows} with rows", seeds as usize * QUERIES);
    let shown = wrong.iter().take(10).map(String::as_str).collect::<Vec<_>>().join("\n\n----\n\n");
    assert!(wrong.is_empty(), "{} of {seeds} graphs differ\n\n{shown}", wrong.len());
    assert!(with_rows > seeds as usize * QUERIES / 2, "{with_rows} queries have rows");
}

//! How long each query takes, on data whose answers have been checked in the same run.
//!
//! ```text
//! cargo test --release -p telar-tests --test snb -- --ignored --nocapture times
//! ```
//!
//! Processor time of the one thread, warm, plans cached: for each query the median over its sets of
//! parameters of the median of several runs, and the slowest set. Results on this data are not LDBC
//! benchmark results.

use std::sync::Arc;

use telar_bench::measure::{Samples, median, time};
use telar_db::Session;
use telar_graph::ValueMap;
use telar_tests::snb::{Expected, READS, check_reads, updates};
use telar_tests::tck::graph::from_tck;
use telar_tests::tck::telar::Telar;
use telar_tests::tck::value::Entries;

/// Each set of parameters is run until it has taken so long, at least three times.
const ENOUGH_S: f64 = 0.15;

pub(super) fn given(entries: &Entries) -> ValueMap {
    entries.iter().map(|(key, value)| (Arc::from(key.as_str()), from_tck(value).unwrap())).collect()
}

fn line(name: &str, samples: &mut [f64]) {
    samples.sort_unstable_by(f64::total_cmp);
    let worst = samples.last().unwrap() * 1e3;
    println!("{name:<11} median {:>9.3} ms  worst {worst:>9.3} ms", median(samples) * 1e3);
}

/// `TELAR_SNB=complex-5` prints the plan of that query and times it alone, unchecked.
#[test]
#[ignore = "measures; run it in a release build"]
fn times() {
    let Some((archive, db)) = super::loaded("sf0.1-gen") else { return };
    let only = std::env::var("TELAR_SNB").unwrap_or_default();
    let queries = super::queries();
    let mut subject = Telar::on(db);
    let expected = Expected::read(&archive, "expected-neo4j-5.26.30.json").unwrap();
    if only.is_empty() {
        let right = check_reads(&queries, &expected, &mut subject).unwrap();
        println!("{right} answers are right");
    }
    let session = Session::new(subject.database());
    for (name, _) in READS.iter().filter(|(name, _)| only.is_empty() || *name == only) {
        let text = queries.text(name).unwrap();
        if !only.is_empty() {
            let plan = session.run(&format!("EXPLAIN {text}"), &[]).unwrap().plan;
            println!("{}", plan.unwrap());
        }
        let mut sets = Vec::new();
        for parameters in expected.parameters(name).unwrap() {
            let parameters = given(&parameters);
            let (mut samples, mut total) = (Samples::default(), 0.0);
            while total < ENOUGH_S || samples.count() < 3 {
                let (result, elapsed) = time(|| session.run_with(text, &parameters));
                result.unwrap();
                samples.push(elapsed.cpu_s);
                total += elapsed.cpu_s;
            }
            sets.push(samples.median());
        }
        line(name, &mut sets);
    }
    if only.is_empty() {
        let mut kinds: [Vec<f64>; 8] = Default::default();
        for update in updates(&archive).unwrap().into_iter().take(4000) {
            let text = queries.text(&format!("update-{}", update.kind as u8)).unwrap();
            let parameters = given(&update.parameters);
            let (result, elapsed) = time(|| session.run_with(text, &parameters));
            result.unwrap();
            kinds[update.kind as usize - 1].push(elapsed.cpu_s);
        }
        for (number, samples) in (1..).zip(&mut kinds).filter(|(_, samples)| !samples.is_empty()) {
            line(&format!("update-{number}"), samples);
        }
    }
}

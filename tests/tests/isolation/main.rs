//! Concurrent histories against the engine in memory, recorded and checked afterwards.
//!
//! - `workload`: threads that run random transactions and record them.
//! - `checkers`: the checkers find each anomaly in a history that has it.
//! - `invariants`: what must hold in every snapshot, whatever runs.
//! - `anomalies`: named anomalies step by step.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

mod anomalies;
mod checkers;
mod invariants;
mod workload;

use telar_engine::Isolation;
use telar_tests::graph::{self, Level};
use telar_tests::{PrintSeed, oracle};

fn histories(isolation: Isolation, level: Level, rounds: u64) {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let rounds = if telar_tests::long() { rounds * 20 } else { rounds };
    let (mut committed, mut aborted, mut dependencies) = (0, 0, graph::Found::default());
    for round in 0..rounds {
        let history = workload::run(isolation, seed.wrapping_add(round), round);
        let found = graph::check(&history, level)
            .unwrap_or_else(|e| panic!("round {round}: {:?}: {}", e.kind, e.text));
        oracle::check(&history, level)
            .unwrap_or_else(|e| panic!("round {round}: {:?}: {}", e.kind, e.text));
        let done = history.iter().filter(|t| t.commit_ts.is_some()).count();
        committed += done;
        aborted += history.len() - done;
        dependencies.ww += found.ww;
        dependencies.wr += found.wr;
        dependencies.rw += found.rw;
    }
    println!("{isolation:?}: {committed} committed, {aborted} aborted, {dependencies:?}");
    // A test that never meets a conflict tests nothing.
    assert!(aborted > committed / 200 && dependencies.rw > committed / 20, "{dependencies:?}");
}

#[test]
fn snapshot_histories_have_no_anomaly_but_write_skew() {
    histories(Isolation::Snapshot, Level::Snapshot, 45);
}

#[test]
fn serializable_histories_have_no_anomaly() {
    histories(Isolation::Serializable, Level::Serializable, 45);
}

#[test]
fn snapshot_histories_show_write_skew() {
    // The workload is able to show what serializable histories must not have.
    let skewed = (0..20).any(|round| {
        let history = workload::run(Isolation::Snapshot, telar_tests::seed() + round, round);
        graph::check(&history, Level::Serializable).is_err()
            && oracle::check(&history, Level::Serializable).is_err()
    });
    assert!(skewed, "20 rounds under snapshot isolation without a write skew");
}

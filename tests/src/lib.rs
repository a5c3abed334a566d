//! What the cross-crate tests share: a seeded generator, pictures of whole databases, the workload
//! of the crash tests, the checkers of isolation histories, the harness of the openCypher TCK, the
//! reader of cases that are text, and random queries with a naive evaluator.

pub mod cases;
pub mod differential;
pub mod dump;
pub mod failpoints;
pub mod graph;
pub mod history;
pub mod indexed;
pub mod large;
pub mod ledger;
pub mod load;
pub mod merges;
pub mod oracle;
pub mod outcomes;
pub mod power;
pub mod process;
pub mod recording;
mod rng;
pub mod tck;
mod test_data;
pub mod unit;
pub mod vectors;

pub use rng::Rng;
pub use test_data::{shared, skipped};

use std::time::{SystemTime, UNIX_EPOCH};

/// Whether `TELAR_LONG=1` asks for the long modes.
#[must_use]
pub fn long() -> bool {
    std::env::var("TELAR_LONG").is_ok_and(|v| v == "1")
}

/// A seed: `TELAR_SEED` if set, otherwise of the clock. Tests print it when they fail.
#[must_use]
pub fn seed() -> u64 {
    let set = std::env::var("TELAR_SEED").ok().and_then(|v| v.parse().ok());
    let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(7, |d| d.as_nanos() as u64);
    set.unwrap_or_else(clock)
}

/// Prints the seed if the test panics while this lives.
#[derive(Debug)]
pub struct PrintSeed(pub u64);

impl Drop for PrintSeed {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed with TELAR_SEED={}", self.0);
        }
    }
}

//! Elections of several nodes over one store, in simulated time, from a seed.
//!
//! ```text
//!  node: Election, clock ── request ──► latency, loss ──► Memory (the store)
//!        skewed and drifting ◄─ answer ─ latency, loss ──┘
//!        paused, killed, restarted, cut off one way or both
//! ```
//!
//! Everything happens at a place in one queue; what happens is written into a [`History`], which
//! the checker reads. The same seed gives the same history (docs/decisions/0106).

mod checker;
mod node;
mod world;

use super::fault::Fault;
use crate::replica::seeds::{run_each, seeds};
use checker::{History, Kind};
use world::World;

/// Seeds in every run of the tests, and in long ones.
const SEEDS: u64 = 200;
const SEEDS_LONG: u64 = 20_000;

fn run(seed: u64, fault: Option<Fault>) -> History {
    World::new(seed, fault).run()
}

/// Events of a run, or of several.
#[derive(Debug, Default)]
struct Sums {
    acknowledged: usize,
    reads: usize,
    epochs: usize,
    resolved: usize,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.acknowledged += other.acknowledged;
        self.reads += other.reads;
        self.epochs += other.epochs;
        self.resolved += other.resolved;
    }
}

fn check(seed: u64) -> Result<Sums, String> {
    let history = run(seed, None);
    let found = history.check();
    if !found.is_empty() {
        return Err(format!("{found:#?}"));
    }
    Ok(Sums {
        acknowledged: history.acknowledged(),
        reads: history.reads.len(),
        epochs: history.epochs(),
        resolved: history.resolved,
    })
}

#[test]
fn histories_are_clean() {
    let seeds = seeds(SEEDS, SEEDS_LONG);
    let count = seeds.end - seeds.start;
    let mut sums = Sums::default();
    for one in run_each(seeds, check) {
        sums.add(&one);
    }
    println!("{count} seeds: {sums:?}");
    if count >= SEEDS {
        // It did happen: take-overs, unknown outcomes, and work between them.
        let least = usize::try_from(count).unwrap();
        assert!(sums.epochs > 2 * least && sums.resolved > least, "{sums:?}");
        assert!(sums.acknowledged > 100 * least && sums.reads > 100 * least, "{sums:?}");
    }
}

#[test]
fn a_seed_gives_one_history() {
    let [a, b] = [(); 2].map(|()| run(7, None));
    assert_eq!(format!("{:?} {:?}", a.log, a.reads), format!("{:?} {:?}", b.log, b.reads));
}

/// The checker finds `fault`, by `kind`, within as many seeds as the tests run.
fn is_found(fault: Fault, kind: Kind) {
    is_found_within(SEEDS, fault, kind);
}

fn is_found_within(seeds: u64, fault: Fault, kind: Kind) {
    let mut others = Vec::new();
    for seed in 0..seeds {
        let found = run(seed, Some(fault)).check();
        if found.iter().any(|violation| violation.kind == kind) {
            println!("{fault:?}: {kind:?} at seed {seed}");
            return;
        }
        others.extend(found.into_iter().map(|violation| violation.kind));
    }
    panic!("{fault:?} was not found as {kind:?} in {seeds} seeds, but as {others:?}");
}

#[test]
fn taking_over_at_once_is_found() {
    is_found(Fault::TakesOverAtOnce, Kind::StaleRead);
    is_found(Fault::TakesOverAtOnce, Kind::TwoReaders);
}

#[test]
fn acknowledging_early_is_found() {
    is_found(Fault::AcknowledgesEarly, Kind::LostAppend);
    is_found(Fault::AcknowledgesEarly, Kind::TwoInOneSlot);
}

#[test]
fn reading_after_the_lease_lapsed_is_found() {
    is_found(Fault::ReadsAfterLapse, Kind::StaleRead);
}

#[test]
fn reading_in_snapshots_from_before_leading_is_found() {
    is_found(Fault::ReadsOldSnapshots, Kind::StaleRead);
}

#[test]
fn unknown_taken_for_won_is_found() {
    is_found(Fault::UnknownIsWon, Kind::LostAppend);
}

#[test]
fn unknown_taken_for_not_written_is_found() {
    is_found(Fault::NewIdentity, Kind::RefusedAndWritten);
}

#[test]
fn a_lease_counted_from_its_answer_is_found() {
    is_found(Fault::ValidFromAnswer, Kind::TwoReaders);
    // A late answer is a silent store, mostly, after which others wait for longer.
    is_found_within(5 * SEEDS, Fault::ValidFromAnswer, Kind::StaleRead);
}

#[test]
fn leading_on_after_a_lost_slot_is_found() {
    is_found(Fault::KeepsLeading, Kind::EpochsShrink);
}

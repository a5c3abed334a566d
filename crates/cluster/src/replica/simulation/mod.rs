//! Engines over a simulated store: time, faults, crashes and clients come from a seed.
//!
//! ```text
//!  world.rs   nodes with engines on disk, a clock for each; what happens, by chance
//!  clock.rs   time passes only where somebody waits; then the other nodes go on
//!  store.rs   the simulated store as one node reaches it: cut off or not
//!  upkeep.rs  trimming, and nodes that it leaves behind
//!  history.rs what was acknowledged and shown, and what must be true of it
//! ```
//!
//! All of it is one thread: a commit that waits for its slot lets the other nodes act meanwhile, so
//! a leader can be deposed in the middle of a group. A seed gives the same history again
//! (docs/decisions/0106).

pub(in crate::replica) mod clock;
mod history;
mod store;
mod upkeep;
mod world;

use super::seeds::{run_each, seeds};
use history::History;
use world::World;

/// A rule that is broken, to show that the histories are checked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::replica) enum Fault {
    /// A node reads strictly as soon as it holds the lease: before the log's end.
    TakesOverEarly,
    /// A deposed leader goes on with its engine.
    KeepsCopy,
    /// A leader reads after its lease has lapsed.
    ReadsAfterLapse,
    /// A leader trims what others have not on disk.
    TrimsEarly,
}

/// Seeds in every run of the tests, and in long ones.
const SEEDS: u64 = 200;
const SEEDS_LONG: u64 = 5000;

fn run(seed: u64, fault: Option<Fault>) -> Result<History, String> {
    World::run(seed, fault)
}

#[test]
fn replicas_agree_whatever_happens() {
    let seeds = seeds(SEEDS, SEEDS_LONG);
    let count = seeds.end - seeds.start;
    let mut total = History::default();
    for history in run_each(seeds, |seed| run(seed, None)) {
        total.add(&history);
    }
    println!("{count} seeds: {total:?}");
    if count >= SEEDS {
        // All of it happened.
        assert!(total.acknowledged > 20 * count, "{total:?}");
        assert!(total.takeovers > count, "{total:?}");
        assert!(total.refused > count / 4, "{total:?}");
        assert!(total.undecided > 0 && total.reads > 5 * count, "{total:?}");
        assert!(total.reopened > 0 && total.crashes > count, "{total:?}");
        assert!(total.lost_power > 0 && total.found_later > 0, "{total:?}");
        assert!(total.found_stale > count / 4, "{total:?}");
        assert!(total.trims > count && total.bootstraps > 0, "{total:?}");
    }
}

#[test]
fn a_seed_gives_the_same_history_again() {
    let once = run(7, None).unwrap();
    let again = run(7, None).unwrap();
    assert_eq!(once, again);
}

/// Seeds until a history shows that the rule is broken, and says so.
fn finds(fault: Fault, said: &str) {
    let mut others = Vec::new();
    for seed in 0..300 {
        match run(seed, Some(fault)) {
            Err(why) if why.contains(said) => return,
            Err(why) => others.push(why),
            Ok(_) => {}
        }
    }
    panic!("{fault:?} is not found: {others:?}");
}

#[test]
fn reading_before_the_logs_end_is_found() {
    finds(Fault::TakesOverEarly, "stale");
}

#[test]
fn going_on_with_a_deposed_copy_is_found() {
    finds(Fault::KeepsCopy, "lacks");
}

#[test]
fn reading_after_the_lease_has_lapsed_is_found() {
    finds(Fault::ReadsAfterLapse, "stale");
}

#[test]
fn trimming_what_others_lack_is_found() {
    finds(Fault::TrimsEarly, "lacks");
}

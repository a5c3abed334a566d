//! Seeds of the simulations.

use std::ops::Range;
use std::thread;

/// Seeds of a test: `ordinary` of them, `long` with `TELAR_LONG=1`, and `n` alone with
/// `TELAR_SEED=n`.
pub(super) fn seeds(ordinary: u64, long: u64) -> Range<u64> {
    if let Some(set) = std::env::var_os("TELAR_SEED") {
        let seed: Option<u64> = set.to_str().and_then(|seed| seed.parse().ok());
        let seed = seed.expect("TELAR_SEED is a number");
        return seed..seed + 1;
    }
    let is_long = std::env::var_os("TELAR_LONG").is_some_and(|value| value == "1");
    0..if is_long { long } else { ordinary }
}

/// Runs a history of each seed, half of them in each of two threads; returns what is known of each.
///
/// # Panics
/// If one is wrong, with its seed: `TELAR_SEED` gives it again.
pub(super) fn run_each<T: Send>(
    seeds: Range<u64>,
    run: impl Fn(u64) -> Result<T, String> + Sync,
) -> Vec<T> {
    let half = |first: u64| -> Vec<T> {
        let seeds = (seeds.start + first..seeds.end).step_by(2);
        let known = seeds.map(|seed| match run(seed) {
            Ok(known) => known,
            Err(why) => panic!("TELAR_SEED={seed}: {why}"),
        });
        known.collect()
    };
    thread::scope(|scope| {
        let halves = [0, 1].map(|first| scope.spawn(move || half(first)));
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    })
}

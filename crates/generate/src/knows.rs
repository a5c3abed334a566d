//! Persons who know each other, with power-law degrees: what query engines are compared on.
//!
//! Method: person `i` of a random order knows `SMALLEST * (n / (i + 1))^(9/16)` others, a Pareto
//! distribution (exponent 16/9) by its quantiles, so that the degrees are the same for every seed
//! and only who has them differs. The exponent is made of square roots, which are exact everywhere.
//! Whom they know is drawn in proportion to the same numbers, nobody twice and not oneself. With
//! 100,000 persons: 2,000,000 pairs, half of the persons know 13 others or fewer, the one who knows
//! most 800.

use std::collections::HashSet;

use crate::names::{CITIES, FAMILY, GIVEN};
use crate::rng::Rng;

/// Fewest others that a person knows, before whole numbers are made of it.
const SMALLEST: f64 = 8.8;
/// Most others that a person knows.
const LARGEST: f64 = 800.0;
/// Pairs for each person.
const PAIRS_PER_PERSON: usize = 20;

/// A person of a [`KnowsGraph`], whose number is its place there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acquaintance {
    /// Given name, family name and number.
    pub name: String,
    /// 16 to 90.
    pub age: i64,
    /// One of 24.
    pub city: &'static str,
}

/// Persons, and who knows whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnowsGraph {
    /// All persons.
    pub persons: Vec<Acquaintance>,
    /// Who knows whom since which year, in the order of the first.
    pub knows: Vec<(u32, u32, i64)>,
}

/// Returns a graph of `n` persons and 20 times as many pairs; fewer, if there are not so many.
pub fn knows(n: u32, seed: u64) -> KnowsGraph {
    let mut rng = Rng::new(seed);
    let persons: Vec<_> = (0..n).map(|number| person(&mut rng, number)).collect();
    let degrees = degrees(&mut rng, n as usize);
    let mut stubs = Vec::new();
    for (v, &degree) in (0..n).zip(&degrees) {
        stubs.extend((0..degree).map(|_| v));
    }
    let mut knows = Vec::with_capacity(stubs.len());
    let mut known = HashSet::new();
    for (v, &degree) in (0..n).zip(&degrees) {
        known.clear();
        while known.len() < degree {
            let other = stubs[rng.index(stubs.len())];
            if other != v && known.insert(other) {
                knows.push((v, other, 1990 + rng.below(36) as i64));
            }
        }
    }
    KnowsGraph { persons, knows }
}

fn person(rng: &mut Rng, number: u32) -> Acquaintance {
    let (given, family) = (GIVEN[rng.index(GIVEN.len())], FAMILY[rng.index(FAMILY.len())]);
    let age = 16 + rng.below(75) as i64;
    let city = CITIES[rng.index(CITIES.len())];
    Acquaintance { name: format!("{given} {family} {number}"), age, city }
}

/// How many others each person knows.
fn degrees(rng: &mut Rng, n: usize) -> Vec<usize> {
    // Nobody knows more than half of the others, so that drawing them ends soon.
    let most = LARGEST.min((n / 2) as f64);
    let quantile = |i: usize| {
        let rest = n as f64 / (i + 1) as f64;
        // rest^(9/16), by exact operations only.
        let root = rest.sqrt();
        let sixteenth = root.sqrt().sqrt().sqrt();
        (SMALLEST * root * sixteenth).min(most) as usize
    };
    let mut degrees: Vec<usize> = (0..n).map(quantile).collect();
    // What rounding and the cut at the top left, one by one.
    let (mut sum, wanted) = (degrees.iter().sum::<usize>(), n * PAIRS_PER_PERSON);
    while sum < wanted && degrees.iter().any(|d| *d < most as usize) {
        for degree in degrees.iter_mut().rev().filter(|d| **d < most as usize).take(wanted - sum) {
            *degree += 1;
            sum += 1;
        }
    }
    while sum > wanted {
        for degree in degrees.iter_mut().filter(|d| **d > 1).take(sum - wanted) {
            *degree -= 1;
            sum -= 1;
        }
    }
    rng.shuffle(&mut degrees);
    degrees
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_is_deterministic_and_without_loops_and_doubles() {
        let graph = knows(3000, 7);
        assert_eq!(graph, knows(3000, 7));
        assert_ne!(graph.knows, knows(3000, 8).knows);
        assert_eq!((graph.persons.len(), graph.knows.len()), (3000, 60_000));
        let pairs: HashSet<_> = graph.knows.iter().map(|(a, b, _)| (a, b)).collect();
        assert_eq!(pairs.len(), 60_000);
        assert!(graph.knows.iter().all(|(a, b, _)| a != b && *b < 3000));
    }

    #[test]
    fn knows_has_the_degrees_that_it_says() {
        let n = 100_000;
        let mut degrees = degrees(&mut Rng::new(1), n);
        degrees.sort_unstable();
        assert_eq!(degrees.iter().sum::<usize>(), 20 * n);
        assert!((12..=14).contains(&degrees[n / 2]), "median {}", degrees[n / 2]);
        assert_eq!(degrees[n - 1], 800);
        assert!(degrees[n - 1000] > 90, "{}", degrees[n - 1000]);
    }

    #[test]
    fn smallest_graphs_are_possible() {
        assert!(knows(0, 1).knows.is_empty());
        assert!(knows(1, 1).knows.is_empty());
        assert_eq!(knows(4, 1).knows.len(), 8);
    }
}

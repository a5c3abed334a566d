//! A social network: persons with names, ages and cities, who know each other since some day.
//!
//! Method: every person gets a target number of friends from a power law (exponent 7/3, drawn with
//! square roots alone, which are exact everywhere) and a community; community sizes are skewed too.
//! Three of four friendships are sought inside the community, the rest anywhere, both in proportion
//! to target degrees. Two persons know each other at most once, from a day on which both had
//! joined.
//!
//! The shape (communities, heavy-tailed degrees, homophily of place) follows LDBC's generator;
//! sizes are scaled by one number and nothing is read from files.
//!
//! Source: Erling et al., "The LDBC Social Network Benchmark: interactive workload", SIGMOD 2015.

use crate::names::{CITIES, FAMILY, GIVEN};
use crate::rng::Rng;
use std::collections::HashSet;

/// Fewest friendships a person seeks; about half as many again find it.
const FRIENDS_MIN: f64 = 3.0;
/// Friendships a person seeks at most, as a multiple of the square root of the network's size.
const FRIENDS_MAX_PER_ROOT: f64 = 3.0;
/// Persons per community on average.
const COMMUNITY_PERSONS: u32 = 40;
/// Share of friendships sought within the community.
const INSIDE_PERCENT: u64 = 75;
/// Share of a community that lives in its main city.
const MAIN_CITY_PERCENT: u64 = 70;
/// Midnight of 1 January 2012 UTC, when the first persons join.
const FIRST_DAY_MS: i64 = 1_325_376_000_000;
/// Midnight of 1 January 2026 UTC, by when everything has happened.
const LAST_DAY_MS: i64 = 1_767_225_600_000;

/// A vertex of the network; its number is its position in [`SocialNetwork::persons`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// Given name.
    pub given: &'static str,
    /// Family name.
    pub family: &'static str,
    /// Age in years, 16 to 90.
    pub age: u8,
    /// City of residence.
    pub city: &'static str,
    /// Community the person belongs to; communities share interests, not properties.
    pub community: u32,
    /// When the person joined, in milliseconds since 1970 UTC.
    pub joined_ms: i64,
}

impl Person {
    /// Returns given and family name.
    pub fn name(&self) -> String {
        format!("{} {}", self.given, self.family)
    }
}

/// A friendship; it holds in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knows {
    /// The person with the smaller number.
    pub a: u32,
    /// The person with the larger number.
    pub b: u32,
    /// Since when, in milliseconds since 1970 UTC; not before both had joined.
    pub since_ms: i64,
}

/// Persons and who knows whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocialNetwork {
    /// All persons.
    pub persons: Vec<Person>,
    /// All friendships, each pair once, in random order.
    pub knows: Vec<Knows>,
}

/// Returns a network of `n` persons.
pub fn social(n: u32, seed: u64) -> SocialNetwork {
    let mut rng = Rng::new(seed);
    let communities = n.div_ceil(COMMUNITY_PERSONS);
    let main_cities: Vec<_> = (0..communities).map(|_| skewed(&mut rng, CITIES.len())).collect();
    let persons: Vec<Person> =
        (0..n).map(|_| person(&mut rng, communities as usize, &main_cities)).collect();
    let friends: Vec<u32> = (0..n).map(|_| friends_sought(&mut rng, n)).collect();

    // A person stands in these lists once per friendship sought: drawing from them is in
    // proportion.
    let mut everyone = Vec::new();
    let mut inside = vec![Vec::new(); communities as usize];
    for ((v, person), &sought) in (0..n).zip(&persons).zip(&friends) {
        everyone.extend((0..sought).map(|_| v));
        inside[person.community as usize].extend((0..sought).map(|_| v));
    }
    let mut known = HashSet::new();
    let mut knows = Vec::with_capacity(everyone.len() / 2);
    for ((v, person), &sought) in (0..n).zip(&persons).zip(&friends) {
        for _ in 0..sought.div_ceil(2) {
            let near = rng.percent(INSIDE_PERCENT);
            let stubs = if near { &inside[person.community as usize] } else { &everyone };
            let other = stubs[rng.index(stubs.len())];
            let (a, b) = (v.min(other), v.max(other));
            if a != b && known.insert((a, b)) {
                let earliest = person.joined_ms.max(persons[other as usize].joined_ms);
                knows.push(Knows { a, b, since_ms: moment(&mut rng, earliest) });
            }
        }
    }
    rng.shuffle(&mut knows);
    SocialNetwork { persons, knows }
}

fn person(rng: &mut Rng, communities: usize, main_cities: &[usize]) -> Person {
    let community = skewed(rng, communities);
    let city = if rng.percent(MAIN_CITY_PERCENT) {
        main_cities[community]
    } else {
        skewed(rng, CITIES.len())
    };
    // The smaller of two draws: more young persons than old.
    let age = 16 + rng.below(75).min(rng.below(75));
    Person {
        given: GIVEN[rng.index(GIVEN.len())],
        family: FAMILY[rng.index(FAMILY.len())],
        age: age as u8,
        city: CITIES[city],
        community: community as u32,
        joined_ms: moment(rng, FIRST_DAY_MS),
    }
}

/// Returns an index below `len`; index `i` comes in proportion to `1 / sqrt(i)`.
fn skewed(rng: &mut Rng, len: usize) -> usize {
    let unit = rng.unit();
    ((unit * unit * len as f64) as usize).min(len - 1)
}

/// Returns a number with tail probability `(FRIENDS_MIN / x)^(4/3)`, capped.
fn friends_sought(rng: &mut Rng, n: u32) -> u32 {
    let unit = rng.unit();
    // unit^(-3/4), by exact operations only.
    let heavy = 1.0 / (unit.sqrt() * unit.sqrt().sqrt());
    let cap = FRIENDS_MIN.max(FRIENDS_MAX_PER_ROOT * f64::from(n).sqrt());
    (FRIENDS_MIN * heavy).min(cap) as u32
}

/// Returns a moment from `earliest` on.
fn moment(rng: &mut Rng, earliest: i64) -> i64 {
    let seconds = (LAST_DAY_MS - earliest) / 1000;
    earliest + rng.below(seconds.max(1) as u64) as i64 * 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn social_is_deterministic_and_consistent() {
        let network = social(5000, 11);
        assert_eq!(network, social(5000, 11));
        assert_eq!(network.persons.len(), 5000);
        let mut pairs = HashSet::new();
        for edge in &network.knows {
            assert!(edge.a < edge.b && edge.b < 5000 && pairs.insert((edge.a, edge.b)));
            let joined = |v: u32| network.persons[v as usize].joined_ms;
            assert!(edge.since_ms >= joined(edge.a).max(joined(edge.b)));
            assert!(edge.since_ms < LAST_DAY_MS);
        }
        assert!(network.persons.iter().all(|person| (16..=90).contains(&person.age)));
    }

    #[test]
    fn social_has_hubs_and_communities() {
        let network = social(20_000, 12);
        let mut degrees = vec![0u32; 20_000];
        let mut inside = 0;
        for edge in &network.knows {
            degrees[edge.a as usize] += 1;
            degrees[edge.b as usize] += 1;
            let community = |v: u32| network.persons[v as usize].community;
            inside += usize::from(community(edge.a) == community(edge.b));
        }
        degrees.sort_unstable();
        let mean = degrees.iter().sum::<u32>() / 20_000;
        assert!((5..20).contains(&mean), "mean degree {mean}");
        assert!(degrees[19_999] > 10 * mean, "largest degree {}", degrees[19_999]);
        assert!(inside * 2 > network.knows.len(), "{inside} of {}", network.knows.len());
    }

    #[test]
    fn smallest_networks_are_possible() {
        assert!(social(0, 1).persons.is_empty());
        assert!(social(1, 1).knows.is_empty());
        assert_eq!(social(2, 1).persons.len(), 2);
    }
}

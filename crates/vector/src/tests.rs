//! Recall, measured: what is found of the nearest vectors.

use std::collections::HashSet;
use std::thread;

use crate::{BLOCK_SLOTS, Found, Metric, Neighbours, Scratch, Shape};

/// Numbers that look random (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From a normal distribution, nearly.
    fn normal(&mut self) -> f32 {
        let sum: f64 = (0..6).map(|_| (self.word() >> 11) as f64 / (1u64 << 53) as f64).sum();
        ((sum - 3.0) * std::f64::consts::SQRT_2) as f32
    }

    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| self.normal()).collect()
    }
}

fn exact(metric: Metric, a: &[f32], b: &[f32]) -> f64 {
    let sum = |f: &dyn Fn(f64, f64) -> f64| -> f64 {
        a.iter().zip(b).map(|(a, b)| f((*a).into(), (*b).into())).sum()
    };
    match metric {
        Metric::Cosine => {
            let product = sum(&|a, b| a * b);
            -product / (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt()
        }
        Metric::Euclidean => sum(&|a, b| (a - b) * (a - b)),
    }
}

pub(crate) fn build(metric: Metric, vectors: &[Vec<f32>]) -> Neighbours {
    let neighbours = Neighbours::new(metric, vectors[0].len(), Shape::default());
    let mut scratch = Scratch::default();
    for (block, vectors) in vectors.chunks(BLOCK_SLOTS).enumerate() {
        let key = |at: usize| (block * BLOCK_SLOTS + at) as u64;
        let some: Vec<(u64, &[f32])> =
            vectors.iter().enumerate().map(|(at, v)| (key(at), &v[..])).collect();
        assert!(neighbours.add(&some, &mut scratch));
    }
    neighbours
}

/// The part of the ten nearest vectors that is found, ranked anew as callers do.
fn recall(
    metric: Metric,
    neighbours: &Neighbours,
    vectors: &[Vec<f32>],
    queries: &[Vec<f32>],
    effort: usize,
) -> f64 {
    const WANTED: usize = 10;
    let mut scratch = Scratch::default();
    let mut hits = 0;
    for query in queries {
        let ranked = |mut keys: Vec<usize>| {
            let far = |key: &usize| exact(metric, query, &vectors[*key]);
            keys.sort_by(|a, b| far(a).total_cmp(&far(b)));
            keys.truncate(WANTED);
            keys
        };
        let nearest: HashSet<usize> = ranked((0..vectors.len()).collect()).into_iter().collect();
        let found = neighbours.search(query, effort, &mut scratch);
        let found = ranked(found.map(|found| found.key as usize).collect());
        hits += found.iter().filter(|key| nearest.contains(key)).count();
    }
    hits as f64 / (WANTED * queries.len()) as f64
}

/// Vectors near some of a few thousand centres, as embeddings are.
fn clustered(random: &mut Random, count: usize, dimensions: usize, sorted: bool) -> Vec<Vec<f32>> {
    let centres: Vec<Vec<f32>> = (0..count / 40).map(|_| random.vector(dimensions)).collect();
    let near = |random: &mut Random, at: usize| -> Vec<f32> {
        let centre = &centres[at % centres.len()];
        centre.iter().map(|x| x + 0.4 * random.normal()).collect()
    };
    (0..count)
        .map(|at| match sorted {
            true => near(random, at * centres.len() / count),
            false => near(random, at),
        })
        .collect()
}

#[test]
fn nearly_all_of_the_nearest_are_found() {
    for (metric, dimensions, sorted) in [
        (Metric::Euclidean, 32, false),
        (Metric::Cosine, 32, false),
        // Cluster by cluster: later ones are found, too.
        (Metric::Cosine, 64, true),
        (Metric::Euclidean, 7, true),
    ] {
        let mut random = Random(7);
        let vectors = clustered(&mut random, 5120, dimensions, sorted);
        let neighbours = build(metric, &vectors);
        assert_eq!(neighbours.len(), vectors.len());
        let queries: Vec<Vec<f32>> = (0..50)
            .map(|at| vectors[at * 97].iter().map(|x| x + 0.3 * random.normal()).collect())
            .collect();
        let found = recall(metric, &neighbours, &vectors, &queries, 100);
        assert!(found >= 0.97, "{metric:?} {dimensions} {sorted}: {found}");
    }
}

/// A few hundred vectors in clusters that lie far apart, each tight: no cluster is missed.
#[test]
fn clusters_without_a_way_between_them_are_found() {
    for (seed, count) in [(1, 320), (2, 384), (3, 512), (4, 1216), (5, 2624)] {
        let mut random = Random(seed);
        let centres: Vec<Vec<f32>> = (0..9).map(|_| random.vector(512)).collect();
        let near = |random: &mut Random, at: usize| -> Vec<f32> {
            centres[at % 9].iter().map(|x| x + 0.3 * random.normal()).collect()
        };
        let some = |_| {
            let at = random.word() as usize;
            near(&mut random, at)
        };
        let vectors: Vec<Vec<f32>> = (0..count).map(some).collect();
        let neighbours = build(Metric::Cosine, &vectors);
        let queries: Vec<Vec<f32>> = (0..36).map(|at| near(&mut random, at)).collect();
        let found = recall(Metric::Cosine, &neighbours, &vectors, &queries, 144);
        assert!(found >= 0.97, "{count}: {found}");
    }
}

/// Vectors without any structure, where near and far differ little.
#[test]
fn what_is_unlike_everything_is_found() {
    let mut random = Random(11);
    let vectors: Vec<Vec<f32>> = (0..4096).map(|_| random.vector(48)).collect();
    let neighbours = build(Metric::Cosine, &vectors);
    let queries: Vec<Vec<f32>> = (0..40).map(|_| random.vector(48)).collect();
    let found = recall(Metric::Cosine, &neighbours, &vectors, &queries, 200);
    assert!(found >= 0.95, "{found}");
    // Each vector finds itself.
    let mut scratch = Scratch::default();
    let itself = |at: &usize| {
        let mut found = neighbours.search(&vectors[*at], 64, &mut scratch);
        found.next().is_some_and(|found| found.key == *at as u64)
    };
    let found = (0..vectors.len()).step_by(16).filter(itself).count();
    assert!(found >= 250, "{found} of 256");
}

/// A search that goes on finds what one with more effort finds, and gives nothing twice.
#[test]
fn a_search_goes_on_where_it_stopped() {
    let mut random = Random(23);
    let vectors = clustered(&mut random, 5120, 24, false);
    let neighbours = build(Metric::Euclidean, &vectors);
    let (mut one, mut other) = (Scratch::default(), Scratch::default());
    let (mut hits, mut all) = (0, 0);
    for query in vectors.iter().step_by(101) {
        let mut given: Vec<u64> =
            neighbours.begin(query, 20, &mut one).take(10).map(|found| found.key).collect();
        assert_eq!(given.len(), 10);
        for effort in [20, 35, 200, 1000] {
            let wanted = effort / 2;
            let found: Vec<Found> = neighbours.go_on(effort, &mut one).take(wanted).collect();
            assert!(found.is_sorted_by(|a, b| a.distance <= b.distance));
            for found in &found {
                assert_ne!(found.is_new, given.contains(&found.key), "{effort}");
            }
            given.extend(found.iter().filter(|found| found.is_new).map(|found| found.key));
            let expected: Vec<u64> =
                neighbours.search(query, effort, &mut other).take(wanted).map(|f| f.key).collect();
            hits += expected.iter().filter(|key| given.contains(key)).count();
            all += expected.len();
        }
    }
    assert!(hits as f64 >= 0.99 * all as f64, "{hits} of {all}");
}

#[test]
fn vectors_that_are_there_already_take_no_links() {
    let mut random = Random(3);
    let mut vectors: Vec<Vec<f32>> = (0..640).map(|_| random.vector(16)).collect();
    let same = vectors[5].clone();
    let neighbours = Neighbours::new(Metric::Euclidean, 16, Shape::default());
    let mut scratch = Scratch::default();
    for _ in 0..10 {
        for (at, vector) in vectors.iter_mut().enumerate().filter(|(at, _)| at % 2 == 0) {
            if at > 10 {
                vector.clone_from(&same);
            }
        }
        for (block, some) in vectors.chunks(BLOCK_SLOTS).enumerate() {
            let key = |at: usize, v: &[f32]| match v == same {
                true => 5,
                false => (block * BLOCK_SLOTS + at) as u64,
            };
            let some: Vec<(u64, &[f32])> =
                some.iter().enumerate().map(|(at, v)| (key(at, v), &v[..])).collect();
            assert!(neighbours.add(&some, &mut scratch));
        }
    }
    // What is beside the many that are the same is found.
    for at in (1..640).step_by(2) {
        let found: Vec<u64> =
            neighbours.search(&vectors[at], 32, &mut scratch).map(|found| found.key).collect();
        assert!(found.contains(&(if vectors[at] == same { 5 } else { at as u64 })), "{at}");
    }
}

#[test]
fn few_vectors_and_none() {
    let neighbours = Neighbours::new(Metric::Cosine, 3, Shape::default());
    let mut scratch = Scratch::default();
    assert!(neighbours.is_empty());
    assert_eq!(neighbours.search(&[1.0, 0.0, 0.0], 10, &mut scratch).count(), 0);
    let mut random = Random(1);
    let vectors: Vec<Vec<f32>> = (0..BLOCK_SLOTS).map(|_| random.vector(3)).collect();
    let neighbours = build(Metric::Cosine, &vectors);
    let all = neighbours.search(&vectors[0], 1000, &mut scratch).count();
    assert!(all >= BLOCK_SLOTS - 2, "{all}");
    let first = neighbours.search(&vectors[9], 1, &mut scratch).next().unwrap();
    assert_eq!(first.key, 9);
}

/// Vectors are added by several threads while others search.
#[test]
fn additions_beside_each_other_and_beside_searches() {
    let mut random = Random(5);
    let vectors = clustered(&mut random, 5120, 24, false);
    let neighbours = Neighbours::new(Metric::Cosine, 24, Shape::default());
    thread::scope(|scope| {
        for part in 0..3 {
            let (neighbours, vectors) = (&neighbours, &vectors);
            scope.spawn(move || {
                let mut scratch = Scratch::default();
                let blocks = vectors.chunks(BLOCK_SLOTS).enumerate();
                for (block, some) in blocks.filter(|(block, _)| block % 3 == part) {
                    let key = |at: usize| (block * BLOCK_SLOTS + at) as u64;
                    let some: Vec<(u64, &[f32])> =
                        some.iter().enumerate().map(|(at, v)| (key(at), &v[..])).collect();
                    assert!(neighbours.add(&some, &mut scratch));
                }
            });
        }
        for at in 0..2usize {
            let (neighbours, vectors) = (&neighbours, &vectors);
            scope.spawn(move || {
                let mut scratch = Scratch::default();
                while neighbours.len() < vectors.len() {
                    let query = &vectors[at * 1000];
                    let found: Vec<u64> =
                        neighbours.search(query, 50, &mut scratch).map(|f| f.key).collect();
                    let distinct: HashSet<&u64> = found.iter().collect();
                    assert_eq!(distinct.len(), found.len());
                    assert!(found.iter().all(|key| *key < vectors.len() as u64));
                }
            });
        }
    });
    assert_eq!(neighbours.len(), vectors.len());
    let queries: Vec<Vec<f32>> = vectors.iter().step_by(103).cloned().collect();
    let found = recall(Metric::Cosine, &neighbours, &vectors, &queries, 100);
    assert!(found >= 0.95, "{found}");
}

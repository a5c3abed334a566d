//! Rate and recall of searches on one thread: `rate [VECTORS] [DIMENSIONS]`.
//!
//! Vectors have 32 directions of their own and some noise, as those of
//! `bench/compare/vector_index.py`. Prints, for each effort, the part of the ten nearest that is
//! among the 30 first found, ranked exactly, and searches a second, the best of nine rounds.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::time::Instant;

use telar_vector::{BLOCK_SLOTS, Metric, Neighbours, Scratch, Shape};

const DIRECTIONS: usize = 32;
const QUERIES: usize = 500;
const NEAREST: usize = 10;
const COMPARED: usize = 30;

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From a normal distribution, nearly.
    fn normal(&mut self) -> f32 {
        let word = self.word();
        let sum: f32 = (0..4).map(|at| (word >> (16 * at) & 0xFFFF) as f32 / 65536.0).sum();
        (sum - 2.0) * 3f32.sqrt()
    }
}

fn some(random: &mut Random, directions: &[Vec<f32>], count: usize) -> Vec<Vec<f32>> {
    let dimensions = directions[0].len();
    let vector = |random: &mut Random| {
        let mut vector: Vec<f32> = (0..dimensions).map(|_| 0.3 * random.normal()).collect();
        for direction in directions {
            let by = random.normal();
            vector.iter_mut().zip(direction).for_each(|(x, d)| *x += by * d);
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    };
    (0..count).map(|_| vector(random)).collect()
}

fn product(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0f32; 16];
    for (a, b) in a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0) {
        (0..16).for_each(|lane| sums[lane] += a[lane] * b[lane]);
    }
    sums.iter().sum()
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |or: usize| arguments.next().map_or(or, |text| text.parse().unwrap_or(or));
    let (count, dimensions) = (number(200_000) / BLOCK_SLOTS * BLOCK_SLOTS, number(128));
    let efforts = [48, 64, 96, 144, 192, 256];
    let mut random = Random(7);
    let directions: Vec<Vec<f32>> =
        (0..DIRECTIONS).map(|_| (0..dimensions).map(|_| random.normal()).collect()).collect();
    let vectors = some(&mut random, &directions, count);
    let queries = some(&mut random, &directions, QUERIES);
    let best = |query: &[f32], among: &mut Vec<usize>| {
        let near = |at: &usize| product(query, &vectors[*at]);
        among.sort_by(|a, b| near(b).total_cmp(&near(a)));
        among.truncate(NEAREST);
    };
    let truth: Vec<Vec<usize>> = queries
        .iter()
        .map(|query| {
            let mut scores: Vec<(f32, usize)> =
                vectors.iter().map(|v| product(query, v)).zip(0..).collect();
            scores.select_nth_unstable_by(NEAREST, |a, b| b.0.total_cmp(&a.0));
            scores[..NEAREST].iter().map(|(_, at)| *at).collect()
        })
        .collect();
    let neighbours = Neighbours::new(Metric::Cosine, dimensions, Shape::default());
    let began = Instant::now();
    let blocks: Vec<usize> = (0..count / BLOCK_SLOTS).collect();
    std::thread::scope(|scope| {
        let add = |part: &[usize]| {
            let mut scratch = Scratch::default();
            for block in part {
                let first = block * BLOCK_SLOTS;
                let some: Vec<(u64, &[f32])> =
                    (first..first + BLOCK_SLOTS).map(|at| (at as u64, &vectors[at][..])).collect();
                assert!(neighbours.add(&some, &mut scratch));
            }
        };
        let (first, rest) = blocks.split_at(32.min(blocks.len()));
        add(first);
        for part in rest.chunks(rest.len().div_ceil(2).max(1)) {
            scope.spawn(move || add(part));
        }
    });
    println!("{count} x {dimensions}: built in {:.1} s", began.elapsed().as_secs_f64());
    println!("{} bytes a vector", neighbours.bytes() / count);
    let mut scratch = Scratch::default();
    for effort in efforts {
        let mut hits = 0;
        let mut search = |query: &[f32], out: &mut Vec<usize>| {
            out.clear();
            let found = neighbours.search(query, effort, &mut scratch).take(COMPARED);
            out.extend(found.map(|found| found.key as usize));
        };
        let mut found = Vec::new();
        for (query, truth) in queries.iter().zip(&truth) {
            search(query, &mut found);
            best(query, &mut found);
            hits += found.iter().filter(|at| truth.contains(at)).count();
        }
        // The best of several rounds: others may be at work on the machine.
        let mut best_s = f64::MAX;
        for _ in 0..9 {
            let began = Instant::now();
            queries.iter().for_each(|query| search(query, &mut found));
            best_s = best_s.min(began.elapsed().as_secs_f64());
        }
        let rate = QUERIES as f64 / best_s;
        let recall = hits as f64 / (NEAREST * QUERIES) as f64;
        println!("effort {effort:3}: recall {recall:.4}, {rate:6.0} searches/s");
    }
}

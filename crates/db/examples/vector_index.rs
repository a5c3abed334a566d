//! Measures a vector index in a folder, on two threads at most: `vector_index [VECTORS]
//! [DIMENSIONS]`.
//!
//! - the time from opening to the first search that the graph of neighbours answers, with the file
//!   of the graph and without it;
//! - searches a second and recall, of the ten nearest among all, 50 %, 10 % and 1 % of the vectors,
//!   a hundred in a statement, as `bench/compare/vector_index.py` asks: medians of rounds in turns,
//!   of rates and of what they are of the first in the same round.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints")]

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use telar_db::{Database, Session, Settings, Value};

const DIRECTIONS: usize = 32;
const QUERIES: usize = 200;
const NEAREST: usize = 10;
/// Percent of the vectors that pass.
const SHARES: [i64; 4] = [100, 50, 10, 1];
const ROUNDS: usize = 9;
const FILTERED: &str = "UNWIND range(0, size($queries) - 1) AS q \
     CALL db.index.vector.queryNodes('i', 10, $queries[q], {filter: [['part', '<', $part]]}) \
     YIELD node RETURN q, node.id";
const PLAIN: &str = "UNWIND range(0, size($queries) - 1) AS q \
     CALL db.index.vector.queryNodes('i', 10, $queries[q]) YIELD node RETURN q, node.id";

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    fn normal(&mut self) -> f32 {
        let word = self.word();
        let sum: f32 = (0..4).map(|at| (word >> (16 * at) & 0xFFFF) as f32 / 65536.0).sum();
        (sum - 2.0) * 3f32.sqrt()
    }

    fn vector(&mut self, directions: &[Vec<f32>]) -> Vec<f32> {
        let mut vector: Vec<f32> = directions[0].iter().map(|_| 0.3 * self.normal()).collect();
        for direction in directions {
            let by = self.normal();
            vector.iter_mut().zip(direction).for_each(|(x, d)| *x += by * d);
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|x| *x /= length);
        vector
    }
}

fn list(vector: &[f32]) -> Value {
    Value::list(vector.iter().map(|x| f64::from(*x)))
}

fn open(path: &Path) -> Database {
    let mut settings = Settings::default();
    settings.background_interval_ms = 0;
    Database::open(path, settings).unwrap()
}

/// Searches until the graph answers, which is when a search takes less than comparing all.
fn until_indexed(path: &Path, query: &[f32]) -> f64 {
    let began = Instant::now();
    let db = open(path);
    let session = Session::new(&db);
    let parameters = [("queries", Value::list([list(query)]))];
    loop {
        let one = Instant::now();
        session.run(PLAIN, &parameters).unwrap();
        // The graph is complete when nothing waits: a search after that one takes milliseconds.
        if one.elapsed().as_secs_f64() < 0.02 {
            return began.elapsed().as_secs_f64();
        }
    }
}

/// The nearest among the vectors that pass, of each query.
fn truth(
    percent: i64,
    parts: &[i64],
    vectors: &[Vec<f32>],
    queries: &[Vec<f32>],
) -> Vec<HashSet<i64>> {
    let nearest = |query: &Vec<f32>| {
        let distance = |at: usize| {
            let both = query.iter().zip(&vectors[at]);
            (-both.map(|(a, b)| a * b).sum::<f32>(), at as i64)
        };
        let passing = (0..vectors.len()).filter(|at| parts[*at] < percent);
        let mut all: Vec<(f32, i64)> = passing.map(distance).collect();
        all.select_nth_unstable_by(NEAREST, |a, b| a.0.total_cmp(&b.0));
        all[..NEAREST].iter().map(|(_, at)| *at).collect()
    };
    queries.iter().map(nearest).collect()
}

fn median(some: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = some.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut number = |or: usize| arguments.next().map_or(or, |text| text.parse().unwrap());
    let (count, dimensions) = (number(100_000), number(128));
    let mut random = Random(7);
    let directions: Vec<Vec<f32>> =
        (0..DIRECTIONS).map(|_| (0..dimensions).map(|_| random.normal()).collect()).collect();
    let vectors: Vec<Vec<f32>> = (0..count).map(|_| random.vector(&directions)).collect();
    let parts: Vec<i64> = (0..count).map(|_| (random.word() % 100) as i64).collect();
    let queries: Vec<Vec<f32>> = (0..QUERIES).map(|_| random.vector(&directions)).collect();
    let folder = std::env::temp_dir().join(format!("vector_index-{}", std::process::id()));
    let db = open(&folder);
    let label = db.label("Doc").unwrap();
    let [id, part, v] = ["id", "part", "v"].map(|key| db.property_key(key).unwrap());
    for first in (0..count).step_by(1000) {
        let mut txn = db.begin().unwrap();
        for at in first..(first + 1000).min(count) {
            let vertex = txn.create_vertex(&[label]).unwrap();
            txn.set_vertex_property(vertex, id, Value::Int(at as i64)).unwrap();
            txn.set_vertex_property(vertex, part, Value::Int(parts[at])).unwrap();
            txn.set_vertex_property(vertex, v, list(&vectors[at])).unwrap();
        }
        txn.commit().unwrap();
    }
    let began = Instant::now();
    let text = format!(
        "CREATE VECTOR INDEX i FOR (n:Doc) ON n.v OPTIONS {{indexConfig: {{`vector.dimensions`: \
         {dimensions}}}}}"
    );
    Session::new(&db).run(&text, &[]).unwrap();
    println!("{count} x {dimensions}: built in {:.1} s", began.elapsed().as_secs_f64());
    db.close().unwrap();
    for what in ["with the file", "with the file", "without the file"] {
        if what == "without the file" {
            // Where no version writes one there is none.
            drop(std::fs::remove_dir_all(folder.join("near")));
        }
        let took = until_indexed(&folder, &queries[0]);
        println!("from opening to an indexed search, {what}: {took:.2} s");
    }
    let db = open(&folder);
    let session = Session::new(&db);
    while {
        let one = Instant::now();
        session.run(PLAIN, &[("queries", Value::list([list(&queries[0])]))]).unwrap();
        one.elapsed().as_secs_f64() > 0.02
    } {}
    let truths = SHARES.map(|percent| truth(percent, &parts, &vectors, &queries));
    // In turns, so that a slow moment of the machine meets all of them.
    let mut took: [Vec<f64>; SHARES.len()] = Default::default();
    let mut hits = [0; SHARES.len()];
    for _ in 0..ROUNDS {
        for (at, percent) in SHARES.into_iter().enumerate() {
            hits[at] = 0;
            let began = Instant::now();
            for (batch, truth) in queries.chunks(100).zip(truths[at].chunks(100)) {
                let lists = Value::list(batch.iter().map(|query| list(query)));
                let parameters = [("queries", lists), ("part", Value::Int(percent))];
                let text = if percent == 100 { PLAIN } else { FILTERED };
                for row in session.run(text, &parameters).unwrap().rows {
                    let [Value::Int(q), Value::Int(id)] = row[..] else { panic!("{row:?}") };
                    hits[at] += usize::from(truth[q as usize].contains(&id));
                }
            }
            took[at].push(began.elapsed().as_secs_f64());
        }
    }
    for (at, percent) in SHARES.into_iter().enumerate() {
        let recall = hits[at] as f64 / (NEAREST * QUERIES) as f64;
        let rate = QUERIES as f64 / median(took[at].iter().copied());
        let share = median(took[0].iter().zip(&took[at]).map(|(all, some)| all / some));
        println!(
            "{percent:3} %: recall {recall:.4}, {rate:6.0} searches/s, {share:.2} of the first"
        );
    }
    drop(db);
    drop(std::fs::remove_dir_all(&folder));
}

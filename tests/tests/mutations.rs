//! Broken queries through the whole pipeline: whatever the text, no panic, no hang, and the
//! database works afterwards.
//!
//! Texts are those of the TCK and of LDBC's social network, and some of our own, cut into words and
//! put together anew: words are dropped, doubled, swapped, replaced by words of other texts.
//! `TELAR_MUTATIONS` says how many are run, `TELAR_MUTATIONS_SEED` where they begin.
#![allow(clippy::print_stdout, reason = "a long run says how far it is")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use telar_db::query::Limits;
use telar_db::{Session, ValueMap};
use telar_tests::Rng;
use telar_tests::tck::step::Step;
use telar_tests::tck::suite::Suite;

/// Queries that run one after the other on one database.
const PER_DATABASE: u64 = 40;
/// A query has 300 ms; one that has not stopped by then is never going to.
const LIMIT: Duration = Duration::from_millis(300);
const HANG: Duration = Duration::from_secs(120);

const OWN: [&str; 14] = [
    "MATCH (a:A)-[r:R*1..3 {x: 1}]->(b) WHERE a.x > 1 OR NOT (a)-->(b) RETURN a, collect(r)[0..2]",
    "UNWIND range(1, 9) AS i CREATE (:A {x: i})-[:R {y: i / 2.0}]->(:B {name: 'n' + i})",
    "MATCH p = shortestPath((a:A)-[*]-(b:B)) RETURN nodes(p), length(p) ORDER BY length(p) LIMIT 3",
    "MERGE (a:A {x: 1}) ON CREATE SET a.y = 2 ON MATCH SET a += {z: [1, 2, 3]} RETURN a.y, a {.*}",
    "MATCH (n) OPTIONAL MATCH (n)-[r]->() WITH n, count(r) AS c WHERE c > 0 DETACH DELETE n",
    "CALL { MATCH (n) RETURN n.x AS x UNION RETURN 1 AS x } RETURN x, [y IN range(0, x) | y % 3]",
    "RETURN CASE WHEN 1 / 0 > 1 THEN duration('P1D') ELSE date() + duration({days: 1}) END AS d",
    "CYPHER 5 runtime=slotted USE telar INSERT (:A {x: 1})-[:R]->(:B) LET y = 1 + 2 - 3 RETURN y",
    "MATCH REPEATABLE ELEMENTS p = (a)-[:R]-{1,3}(b) FILTER WHERE length(p) > 1 RETURN ALL p",
    "MATCH (n) ORDER BY n.x DESC OFFSET 1 LIMIT 2 LET x = n.x * 2 / 3 % 4 NODETACH DELETE n",
    "RETURN trim(LEADING 'x' FROM 'xy'), btrim('a', 'b'), 1 - 2 - 3 ^ 2 ^ 1, 'a' || 'b' || 'c' AS t",
    "MATCH DIFFERENT RELATIONSHIPS (a:A) USING SCAN a:A USING INDEX a:A(x) WHERE a.x = 1 RETURN a",
    "CALL () { USE telar LOAD CSV FROM 'x.csv' AS r RETURN linenumber() AS l } RETURN l, file()",
    "FOREACH (x IN [1, 2] | CREATE (:C {v: x})) WITH 1 AS one MATCH (c:C) SET c.v = c.v + one",
];

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn corpus() -> Vec<String> {
    let mut texts: Vec<String> = OWN.map(str::to_owned).to_vec();
    if let Some(folder) = telar_tests::shared("tck") {
        let suite = Suite::read(&folder).expect("the TCK is readable");
        for step in suite.scenarios.into_iter().flat_map(|scenario| scenario.steps) {
            if let Step::Execute(text) | Step::Query(text) | Step::ControlQuery(text) = step {
                texts.push(text);
            }
        }
    }
    if let Some(folder) = telar_tests::shared("data/snb/queries") {
        read_texts(&folder, &mut texts);
    }
    texts.sort();
    texts.dedup();
    texts
}

fn read_texts(folder: &Path, texts: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path() {
            path if path.is_dir() => read_texts(&path, texts),
            path => texts.extend(std::fs::read_to_string(path)),
        }
    }
}

/// Words, numbers, strings and single signs.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            c if c.is_alphanumeric() || c == '_' => {
                rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len())
            }
            c => c.len_utf8(),
        };
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

fn mutated(corpus: &[String], rng: &mut Rng) -> String {
    let pick = |rng: &mut Rng| &*corpus[rng.below(corpus.len() as u64) as usize];
    let text = pick(rng);
    let mut parts: Vec<&str> = words(text);
    let other: Vec<&str> = words(pick(rng));
    for _ in 0..rng.below(5) {
        if parts.is_empty() || other.is_empty() {
            break;
        }
        let at = rng.below(parts.len() as u64) as usize;
        let word = other[rng.below(other.len() as u64) as usize];
        match rng.below(7) {
            0 => drop(parts.remove(at)),
            1 => parts.insert(at, parts[at]),
            2 => {
                let with = rng.below(parts.len() as u64) as usize;
                parts.swap(at, with);
            }
            3 => parts[at] = word,
            4 => parts.insert(at, word),
            5 => {
                // A piece of the other text in the middle of this one.
                let from = rng.below(other.len() as u64) as usize;
                let to = other.len().min(from + 1 + rng.below(12) as usize);
                parts.splice(at..at, other[from..to].iter().copied());
            }
            _ => {
                parts[at] =
                    ["null", "-1", "''", "[]", "{}", "$p", "1e308", "()"][rng.below(8) as usize]
            }
        }
    }
    parts.concat()
}

fn run(corpus: &[String], first: u64, count: u64, progress: &mpsc::Sender<Result<String, String>>) {
    let say = |message| drop(progress.send(message));
    let mut seed = first;
    while seed < first + count {
        let db = telar_db::open_in_memory().expect("a database in memory");
        for _ in 0..PER_DATABASE.min(first + count - seed) {
            let text = mutated(corpus, &mut Rng::new(seed));
            say(Ok(format!("seed {seed}: {text}")));
            let deadline = Some(Instant::now() + LIMIT);
            let limits = Limits { deadline, memory: Some(64 << 20), ..Limits::default() };
            let session = Session::new(&db).with_limits(limits);
            let parameters = ValueMap::from([("p".into(), 7.into())]);
            let query = AssertUnwindSafe(|| session.run_with(&text, &parameters));
            if catch_unwind(query).is_err() {
                return say(Err(format!("seed {seed}: panicked\n{text}")));
            }
            seed += 1;
        }
        let session = Session::new(&db);
        if let Err(error) = session.run("CREATE (x:Still {n: 1}) WITH x RETURN x.n", &[]) {
            return say(Err(format!("before seed {seed}: the database no longer works: {error}")));
        }
    }
}

#[test]
fn broken_queries_neither_panic_nor_hang() {
    let corpus = corpus();
    let (first, count) = (setting("TELAR_MUTATIONS_SEED", 1), setting("TELAR_MUTATIONS", 4_000));
    println!("{} texts, {count} mutations", corpus.len());
    let (sender, receiver) = mpsc::channel();
    let runner = std::thread::spawn(move || run(&corpus, first, count, &sender));
    let mut last = String::new();
    loop {
        match receiver.recv_timeout(HANG) {
            Ok(Ok(text)) => last = text,
            Ok(Err(problem)) => panic!("{problem}"),
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("does not end: {last}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    assert!(runner.join().is_ok(), "after {last}");
}

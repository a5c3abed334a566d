//! LDBC's social network from the shared folder: loaded, read, updated, read again.
//!
//! Counts are those of the data's own description, answers those of Neo4j. Tests pass at once where
//! the folder is missing.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how long loading took"
)]

mod estimates;
mod times;

use std::time::Instant;

use telar_db::{Database, Value, VertexId, View};
use telar_tests::snb::{Archive, Expected, Queries, check_reads, check_tiny, counts, load};
use telar_tests::tck::step::Procedure;
use telar_tests::tck::subject::{Failure, GraphState, PanicsFail, Rows, Subject};
use telar_tests::tck::telar::Telar;
use telar_tests::tck::value::Entries;

fn loaded(name: &str) -> Option<(Archive, Database)> {
    let Some(path) = telar_tests::shared(&format!("data/snb/{name}.tar.zst")) else {
        println!("skipped: the shared folder has no {name} (docs/testing.md)");
        return None;
    };
    let archive = Archive::read(&path).unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let begun = Instant::now();
    load(&archive, &db).unwrap();
    println!("{name}: loaded in {:.1} s", begun.elapsed().as_secs_f64());
    Some((archive, db))
}

/// Prints how long slow queries take, so that a long run shows where it is.
struct Timed(PanicsFail<Telar>);

impl Subject for Timed {
    fn run(&mut self, query: &str, parameters: &Entries) -> Result<Rows, Failure> {
        let begun = Instant::now();
        let done = self.0.run(query, parameters);
        let seconds = begun.elapsed().as_secs_f64();
        if seconds > 1.0 {
            println!("{seconds:6.1} s  {}", query.lines().next().unwrap_or_default());
        }
        done
    }

    fn state(&mut self) -> Result<GraphState, String> {
        self.0.state()
    }

    fn register(&mut self, procedure: &Procedure) -> Result<(), String> {
        self.0.register(procedure)
    }
}

fn queries() -> Queries {
    Queries::read(&telar_tests::shared("data/snb/queries").unwrap()).unwrap()
}

/// Vertices and edges in all, and the counts of some label sets and types.
fn check_counts(db: &Database, vertices: u64, edges: u64, some: &[(&str, u64)]) {
    let statistics = db.reader().unwrap().statistics();
    assert_eq!((statistics.vertices, statistics.edges()), (vertices, edges));
    let counts = counts(db).unwrap();
    assert_eq!(counts.values().sum::<u64>(), vertices + edges);
    for (name, count) in some {
        assert_eq!(counts.get(*name), Some(count), "{name}");
    }
}

#[test]
fn tiny_has_the_counts_and_values_of_its_files() {
    let Some((_, db)) = loaded("tiny") else { return };
    let some = [
        ("Person", 222),
        ("Message:Post", 5_924),
        ("Comment:Message", 2_218),
        ("City:Place", 1_343),
        ("Company:Organisation", 1_575),
        ("KNOWS", 825),
        ("LIKES", 624 + 759),
        ("REPLY_OF", 2_218),
        ("IS_SUBCLASS_OF", 70),
    ];
    check_counts(&db, 34_735, 70_842, &some);

    // The first person of the file, found by a scan.
    let snapshot = db.snapshot().unwrap();
    let reader = snapshot.reader();
    let person = db.find_label("Person").unwrap();
    let key = |name: &str| db.find_property_key(name).unwrap();
    let mut people = Vec::new();
    reader.scan(Some(person), VertexId::from_raw(0), reader.vertex_bound(), &mut people);
    let jose = people
        .into_iter()
        .find(|v| reader.vertex_property(*v, key("id")) == Value::Int(8_796_093_022_220))
        .unwrap();
    let value = |name: &str| reader.vertex_property(jose, key(name));
    assert_eq!(value("birthday"), Value::Int(558_921_600_000));
    assert_eq!(value("speaks"), Value::list(["es", "en"]));
    assert_eq!(value("browserUsed"), Value::from("Internet Explorer"));
    assert_eq!(value("content"), Value::Null);
}

#[test]
fn scale_factor_0_1_has_its_counts_and_answers_as_neo4j_did() {
    let Some((archive, db)) = loaded("sf0.1-gen") else { return };
    let some = [
        ("Person", 1_528),
        ("Message:Post", 137_192),
        ("Comment:Message", 169_311),
        ("KNOWS", 14_116),
        ("HAS_MEMBER", 125_568),
        ("LIKES", 72_904 + 48_335),
    ];
    check_counts(&db, 347_337, 1_585_099, &some);

    let expected = Expected::read(&archive, "expected-neo4j-5.26.30.json").unwrap();
    let begun = Instant::now();
    match check_reads(&queries(), &expected, &mut Timed(PanicsFail(Telar::on(db)))) {
        Ok(right) => assert_eq!(right, 105),
        Err(wrong) => panic!("{} wrong answers:\n{}", wrong.len(), wrong.join("\n")),
    }
    println!("sf0.1-gen: answered in {:.1} s", begun.elapsed().as_secs_f64());
}

#[test]
fn tiny_answers_as_neo4j_did_before_and_after_all_updates() {
    let Some((archive, db)) = loaded("tiny") else { return };
    let begun = Instant::now();
    match check_tiny(&archive, &queries(), &mut PanicsFail(Telar::on(db))) {
        Ok(right) => assert_eq!(right, 210),
        Err(wrong) => panic!("{} wrong answers:\n{}", wrong.len(), wrong.join("\n")),
    }
    println!("tiny: updated and answered in {:.1} s", begun.elapsed().as_secs_f64());
}
